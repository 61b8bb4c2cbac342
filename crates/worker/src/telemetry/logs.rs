//! Logs.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt as _, LevelFilter, filter_fn},
    registry::LookupSpan,
};

/// Libraries that quote a URL with a password, or a model's answer. They log nothing, whatever the
/// filter says.
const QUOTING: [&str; 2] = ["sqlx_postgres::options=off", "async_openai=off"];

/// The SDK's core. Of a history that it can't replay it logs an event whole: messages and notes.
const CORE: &str = "temporalio_sdk_core";

/// What the targets of this product's crates begin with.
const OURS: &str = "notekeeper";

/// Lines on standard error.
pub(super) fn layer<S>(filter: &str, replays: bool) -> anyhow::Result<impl Layer<S>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let directives = directives(filter, replays);
    let filter = EnvFilter::try_new(directives)
        .with_context(|| format!("log filter `{filter}` can't be used"))?;
    Ok(tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && wants_colour())
        .with_target(false)
        // A log that can't be written, on a full disk say, ends no worker.
        .log_internal_errors(false)
        .with_filter(filter.and(filter_fn(|metadata| !quotes_a_task(metadata)))))
}

/// The directives that a filter comes to. A level alone is for this product: libraries show what
/// they are given at lower levels, so of them there are warnings at most. Who names them in
/// directives of their own gets what they have to say.
fn directives(filter: &str, replays: bool) -> String {
    let mut directives = match filter.trim().parse::<LevelFilter>() {
        Ok(level) => {
            // The more is logged, the greater a level is.
            let of_libraries = level.min(LevelFilter::WARN);
            vec![of_libraries.to_string(), format!("{OURS}={level}")]
        }
        Err(_) => vec![filter.to_owned()],
    };
    if replays && !filter.contains(CORE) {
        directives.push(format!("{CORE}=off"));
    }
    // The driver would quote a parameter of the database's URL that it doesn't know, with its
    // value: a misspelt password. The store names the parameter alone.
    directives.extend(QUOTING.map(str::to_owned));
    directives.join(",")
}

/// Whether this is a line of the SDK's core that shows a task or events of a history whole, which
/// it has for answers of a server that it can't make sense of. It says the same without them
/// elsewhere.
fn quotes_a_task(metadata: &Metadata<'_>) -> bool {
    let has = |field: &str| metadata.fields().field(field).is_some();
    match metadata.target().strip_prefix("temporalio_sdk_core::") {
        Some("worker::workflow::history_update") => has("current_events"),
        Some("worker::workflow::wft_poller") => *metadata.level() == Level::ERROR,
        Some("pollers") => *metadata.level() == Level::WARN && !has("error"),
        _ => false,
    }
}

/// `NO_COLOR` with any value but an empty one asks for none.
fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_for_this_product_and_libraries_get_no_lower_than_warnings() {
        let cases = [
            ("trace", "warn,notekeeper=trace"),
            ("info", "warn,notekeeper=info"),
            ("error", "error,notekeeper=error"),
            ("off", "off,notekeeper=off"),
            ("info,sqlx=debug", "info,sqlx=debug"),
        ];
        for (filter, begins) in cases {
            let directives = directives(filter, false);
            assert!(directives.starts_with(begins), "{directives}");
            assert!(directives.ends_with("=off"), "{directives}");
            EnvFilter::try_new(&directives).expect("a usable filter");
        }
    }

    #[test]
    fn a_replay_leaves_the_core_silent_unless_it_is_named() {
        assert!(directives("info", true).contains("temporalio_sdk_core=off"));
        let named = directives("temporalio_sdk_core=debug", true);
        assert!(!named.contains("temporalio_sdk_core=off"), "{named}");
    }
}
