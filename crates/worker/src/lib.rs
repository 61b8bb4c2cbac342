//! The Notekeeper worker and its command line.
//!
//! This library exists for the binary and its tests.

mod arguments;
mod cli;
mod commands;
mod config;
mod connection;
mod database_url;
mod dev_server;
mod drain;
mod exit;
mod exit_limits;
mod failure_converter;
mod histories;
mod http_client;
mod metadata_template;
mod output;
mod program;
mod random;
mod search_tools;
mod shutdown;
mod telemetry;
mod wiring;
mod workers;
mod workspace_files;

pub use cli::{Cli, run};
pub use failure_converter::data_converter;
pub use histories::{
    HistoryError, ReplayOutcome, checks_identity, find_histories, load_history, replay_history,
};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/calling.md")]
mod snippets_on_calling {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/sources.md")]
mod snippets_on_sources {}
