//! The command line.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        self, demo::DemoArgs, dev::DevArgs, guarded::GuardedArgs, migrate::MigrateArgs,
        replay::ReplayArgs, worker::WorkerArgs,
    },
    telemetry,
};

/// Durable memory for AI agents, as a Temporal activity worker.
///
/// Settings come from flags, then from the environment, then from the file given with --config.
#[derive(Debug, Parser)]
#[command(
    name = "notekeeper",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 arguments that make no sense, 130 interrupted."
)]
pub struct Cli {
    /// TOML file with settings; an unknown key in it is an error.
    #[arg(long, global = true, env = "NOTEKEEPER_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// What is logged to standard error: `error`, `warn`, `info`, `debug`, or directives such as
    /// `info,notekeeper=debug`.
    #[arg(
        long,
        global = true,
        env = "NOTEKEEPER_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    pub(crate) log: String,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run all on this machine: a Temporal server, a store and a worker, until Ctrl-C.
    Dev(DevArgs),
    /// Run a worker: activities for callers in any language, and the workflows.
    Worker(WorkerArgs),
    /// Bring the schema of every configured PostgreSQL store up to date. SQLite files need none:
    /// they are migrated whenever they are opened.
    Migrate(MigrateArgs),
    /// Replay recorded histories, with no server and no store.
    Replay(ReplayArgs),
    /// Run a short demonstration against a Temporal server and a PostgreSQL database.
    Demo(DemoArgs),
    /// Become a server that ends with this program; for itself.
    #[command(hide = true)]
    Guarded(GuardedArgs),
}

/// Runs a command to its end and says how the process should exit: 0 done, 1 failed, and 130 where a
/// signal interrupted a demonstration. (2 is for arguments that make no sense.)
pub fn run(cli: Cli) -> ExitCode {
    if let Err(error) = telemetry::start(&cli.log) {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    let config = cli.config.as_deref();
    let result = match cli.command {
        Command::Dev(args) => commands::dev::run(config, args),
        Command::Worker(args) => commands::worker::run(config, args),
        Command::Migrate(args) => commands::migrate::run(config, args),
        Command::Replay(args) => commands::replay::run(args),
        Command::Demo(args) => commands::demo::run(config, args),
        Command::Guarded(args) => commands::guarded::run(args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
