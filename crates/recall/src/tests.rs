//! What holds for several kinds of sources together.

mod accepts_writes;
mod tour;
