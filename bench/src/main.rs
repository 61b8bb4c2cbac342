//! Measures Notekeeper side by side with what it is compared to, on the same servers in one run,
//! and writes docs/performance.md. `make bench-quick` starts it.

mod bare;
mod dataset;
mod drive;
mod goals;
mod history;
mod host;
mod load;
mod machine;
mod memory;
mod note;
mod peer;
mod pgbench;
mod process;
mod product;
mod quick;
mod recall;
mod report;
mod results;
mod sample;
mod soak;
mod stage;
mod statements;
mod through_temporal;
mod work;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::{
    history::HistoryArgs, host::HostArgs, quick::QuickArgs, recall::RecallArgs, soak::SoakArgs,
};

/// Measures Notekeeper.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// All that fits into ten minutes; writes bench/results/quick.json and docs/performance.md.
    Quick(QuickArgs),
    /// A worker's memory over many activities; writes bench/results/soak.json and
    /// docs/performance.md.
    Soak(SoakArgs),
    /// Conversations of 1,000 turns, one of them with 10,000 messages: checks them, and writes
    /// bench/results/history.json and docs/performance.md.
    History(HistoryArgs),
    /// How well hybrid search finds what answers questions, beside each of its legs alone; writes
    /// bench/results/recall.json. Fails where a leg alone found more.
    Recall(RecallArgs),
    /// Writes docs/performance.md anew from the results.
    Report,
    /// Serves a task queue, for the other commands.
    #[command(hide = true)]
    Host(HostArgs),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Quick(args) => quick::run(args).await,
        Command::Soak(args) => soak::run(args).await,
        Command::History(args) => history::run(args).await,
        Command::Recall(args) => recall::run(args).await,
        Command::Report => report::write(),
        Command::Host(args) => host::serve(args).await,
    }
}

/// The directory of this package.
fn bench_directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The directory of the repository.
fn repository() -> PathBuf {
    let bench = bench_directory();
    bench.parent().map_or(bench.clone(), Path::to_owned)
}
