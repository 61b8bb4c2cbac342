//! Replays of recorded histories, with no server and no store.
//!
//! `make record` makes the files under `histories` anew; see `tests/e2e/record.rs`.

mod changed_code;
mod cold_and_warm;
mod command_line;
mod identities;
mod malformed;
mod note_taker;
mod other_tools;
mod recorded;
mod scope_changed;
mod twins;
mod versions;
