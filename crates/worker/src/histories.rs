//! Recorded histories: where they come from, what is read of them, and replaying them.

mod checks;
mod error;
mod files;
mod json;
mod load;
mod proto_json;
mod replay;

pub use self::{
    checks::checks_identity,
    error::HistoryError,
    files::find_histories,
    load::load_history,
    replay::{ReplayOutcome, replay_history},
};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/replay.md")]
mod snippets_of_the_documentation {}
