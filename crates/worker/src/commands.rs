//! One module for each subcommand; each has its arguments and `run`.

mod access;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
mod confirm;
pub(crate) mod demo;
pub(crate) mod dev;
pub(crate) mod fact;
mod given_text;
pub(crate) mod guarded;
pub(crate) mod messages;
pub(crate) mod migrate;
pub(crate) mod note;
pub(crate) mod replay;
pub(crate) mod sources;
pub(crate) mod worker;

use std::future::Future;

use anyhow::Context as _;

/// Runs a command's future on a runtime of its own.
fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("can't start the runtime")?;
    let result = runtime.block_on(future);
    // A stop must not wait for a connection attempt that hangs in a thread of its own.
    runtime.shutdown_background();
    result
}
