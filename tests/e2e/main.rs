//! End to end: real servers, worker processes, and the whole way between a message and a note.

#[path = "../support/mod.rs"]
mod support;

mod conversation;
