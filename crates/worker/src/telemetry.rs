//! Logs.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

/// Whatever the filter says: libraries that quote a URL with a password, or a model's answer.
const QUOTING: [&str; 2] = ["sqlx_postgres::options=off", "async_openai=off"];

/// The SDK's core. Of a history that it can't replay it logs an event whole: messages and notes.
const CORE: &str = "temporalio_sdk_core";

/// Starts logging to standard error. Libraries stay at warnings where the filter names none of
/// them. Where the command `replays` histories, the core logs nothing unless the filter names it.
pub(crate) fn start(filter: &str, replays: bool) -> anyhow::Result<()> {
    let quiet = [
        "temporalio_sdk_core=warn",
        "temporalio_client=warn",
        "sqlx=warn",
        "h2=warn",
    ];
    let mut parsed = EnvFilter::try_new(filter)
        .with_context(|| format!("log filter `{filter}` can't be used"))?;
    if !filter.contains('=') {
        for directive in quiet {
            parsed = parsed.add_directive(directive.parse().context("own log directive")?);
        }
    }
    if replays && !filter.contains(CORE) {
        let silent = format!("{CORE}=off");
        parsed = parsed.add_directive(silent.parse().context("own log directive")?);
    }
    // The driver would quote a parameter of the database's URL that it doesn't know, with its
    // value: a misspelt password. The store names the parameter alone.
    for directive in QUOTING {
        parsed = parsed.add_directive(directive.parse().context("own log directive")?);
    }
    tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && wants_colour())
        .with_target(false)
        // A log that can't be written, on a full disk say, ends no worker.
        .log_internal_errors(false)
        .init();
    Ok(())
}

/// `NO_COLOR` with any value but an empty one asks for none.
fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
