//! The command line.

#[cfg(test)]
mod tests;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        self, chat::ChatArgs, completions::CompletionsArgs, config::ConfigArgs, demo::DemoArgs,
        dev::DevArgs, fact::FactArgs, guarded::GuardedArgs, messages::MessagesArgs,
        migrate::MigrateArgs, note::NoteArgs, replay::ReplayArgs, sources::SourcesArgs,
        worker::WorkerArgs,
    },
    exit::{self, Exit},
    output::{UsageError, print_error, reader_is_gone},
    telemetry,
};

/// What to begin with.
const EXAMPLES: &str = "\
Examples:
  notekeeper dev
  notekeeper worker --config notekeeper.toml
  notekeeper note write MEMORY '- likes tea' --namespace customers/ada --sqlite notes.db
  notekeeper help note write";

/// Durable memory for AI agents, as a Temporal activity worker.
///
/// Settings come from flags, then from the environment, then from the file given with --config.
#[derive(Debug, Parser)]
#[command(
    name = "notekeeper",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = format!("{EXAMPLES}\n\n{}", exit::HELP)
)]
pub struct Cli {
    /// TOML file with settings; an unknown key in it is an error.
    #[arg(
        long,
        global = true,
        env = "NOTEKEEPER_CONFIG",
        value_name = "FILE",
        help_heading = "General"
    )]
    pub(crate) config: Option<PathBuf>,

    /// What is logged to standard error: `error`, `warn`, `info`, `debug`, or directives such as
    /// `info,notekeeper=debug`.
    #[arg(
        long,
        global = true,
        env = "NOTEKEEPER_LOG",
        default_value = "info",
        value_name = "FILTER",
        help_heading = "General"
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
    /// Talk to an agent that remembers, in the terminal.
    Chat(ChatArgs),
    /// Bring the schema of every configured PostgreSQL store up to date.
    Migrate(MigrateArgs),
    /// Replay recorded histories against this program's workflows, with no store.
    Replay(ReplayArgs),
    /// Read and change notes from the terminal, in a store or through a worker.
    Note(NoteArgs),
    /// Keep and recall facts from the terminal, in a store or through a worker.
    Fact(FactArgs),
    /// Read and change transcripts from the terminal, in a store or through a worker.
    Messages(MessagesArgs),
    /// See, try and use the sources of the settings, here or through a worker.
    Sources(SourcesArgs),
    /// Check the settings.
    Config(ConfigArgs),
    /// Print a script that lets a shell complete this program's arguments.
    Completions(CompletionsArgs),
    /// Run a short demonstration: conversations, a worker killed at the worst moment, a replay.
    Demo(DemoArgs),
    /// Become a server that ends with this program; for itself.
    #[command(hide = true)]
    Guarded(GuardedArgs),
}

impl Command {
    /// Whether results and errors are for programs.
    fn json(&self) -> bool {
        match self {
            Self::Note(args) => args.json(),
            Self::Fact(args) => args.json(),
            Self::Messages(args) => args.json(),
            Self::Sources(args) => args.json(),
            Self::Config(args) => args.json(),
            Self::Migrate(args) => args.output.json,
            Self::Replay(args) => args.output.json,
            Self::Dev(_)
            | Self::Worker(_)
            | Self::Chat(_)
            | Self::Demo(_)
            | Self::Completions(_)
            | Self::Guarded(_) => false,
        }
    }
}

/// Runs a command to its end and says how the process should exit: 0 done, 1 failed, 2 arguments
/// that make no sense, and 130 where a signal stopped it at once.
pub fn run(cli: Cli) -> ExitCode {
    let json = cli.command.json();
    let replays = matches!(cli.command, Command::Replay(_));
    let result = telemetry::start(&cli.log, replays).and_then(|()| dispatch(cli));
    result.unwrap_or_else(|error| {
        // `head` has seen enough: what it read is right, and nobody reads on.
        if reader_is_gone(&error) {
            return Exit::Done.into();
        }
        print_error(&error, json);
        if error.downcast_ref::<UsageError>().is_some() {
            return Exit::Usage.into();
        }
        Exit::Failed.into()
    })
}

fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    let config = cli.config.as_deref();
    match cli.command {
        Command::Dev(args) => commands::dev::run(config, args),
        Command::Worker(args) => commands::worker::run(config, args),
        Command::Chat(args) => commands::chat::run(config, args),
        Command::Migrate(args) => commands::migrate::run(config, args),
        Command::Replay(args) => commands::replay::run(config, args),
        Command::Note(args) => commands::note::run(config, args),
        Command::Fact(args) => commands::fact::run(config, args),
        Command::Messages(args) => commands::messages::run(config, args),
        Command::Sources(args) => commands::sources::run(config, args),
        Command::Config(args) => commands::config::run(config, args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Demo(args) => commands::demo::run(config, args),
        Command::Guarded(args) => commands::guarded::run(args),
    }
}
