//! A store of one's own: all notes in one JSON file.
//!
//! It is small and whole. It has the methods that a store must have and none of those that it may do
//! without; what it does without, Notekeeper makes of the others or leaves out. It keeps what every
//! store promises: compare-and-swap, a receipt for every operation that is there if and only if the
//! operation took effect, versions that never come back, and no answer before its effect is on the
//! disk. The price for being so small is that every change writes the whole file, so it suits
//! thousands of notes and not millions.

mod file;
mod shelf;
mod store;

pub use store::ShelfStore;
