//! Notekeeper.
fn main() {}
