//! `notekeeper config`: what the settings come to.

mod check;

use std::{path::Path, process::ExitCode};

use clap::{Args, Subcommand};

use self::check::CheckArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  notekeeper config check --config notekeeper.toml
  notekeeper config check --connect")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the settings that a worker would have, and say where each comes from.
    Check(CheckArgs),
}

impl ConfigArgs {
    /// Whether results and errors are for programs.
    pub(crate) fn json(&self) -> bool {
        let ConfigCommand::Check(args) = &self.command;
        args.output.json
    }
}

pub(crate) fn run(config: Option<&Path>, args: ConfigArgs) -> anyhow::Result<ExitCode> {
    let ConfigCommand::Check(args) = args.command;
    check::run(config, args)
}
