//! Recorded histories: where they come from, what is read of them, and replaying them.

mod checks;
mod error;
mod expected;
mod fetch;
mod files;
mod json;
mod load;
mod proto_json;
mod replay;
mod save;

pub(crate) use self::{checks::check, fetch::fetch_history, save::save_history};
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
