//! Notekeeper.
