//! `notekeeper`: see the library for what it does.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    notekeeper::run(notekeeper::Cli::parse())
}
