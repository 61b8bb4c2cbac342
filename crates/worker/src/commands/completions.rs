//! `notekeeper completions`: scripts that let a shell complete this program's arguments.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::{cli::Cli, exit::Exit, output::print};

#[derive(Debug, Args)]
#[command(after_help = "\
Print the script, and put it where the shell looks for it; or load it where the shell starts.

Examples:
  notekeeper completions bash > ~/.local/share/bash-completion/completions/notekeeper
  notekeeper completions zsh > ~/.zfunc/_notekeeper    # with `fpath+=~/.zfunc` before compinit
  notekeeper completions fish > ~/.config/fish/completions/notekeeper.fish
  source <(notekeeper completions bash)")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "notekeeper", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(Exit::Done.into())
}
