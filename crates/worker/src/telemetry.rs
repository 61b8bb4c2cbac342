//! Logs on standard error, and spans for a collector where one is configured.
//!
//! Neither holds content, names of notes or namespaces. Spans are ours alone: those of libraries,
//! and events, never leave the process.

mod collector;
mod logs;
mod spans;

pub(crate) use spans::SpanExport;

use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// Starts logging to standard error. Spans go nowhere until [`SpanExport::start`]. Where the
/// command `replays` histories, the SDK's core logs nothing unless the filter names it.
pub(crate) fn start(filter: &str, replays: bool) -> anyhow::Result<()> {
    let logs = logs::layer(filter, replays)?;
    tracing_subscriber::registry()
        .with(spans::layer())
        .with(logs)
        .init();
    Ok(())
}
