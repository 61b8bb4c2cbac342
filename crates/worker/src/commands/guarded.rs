//! `notekeeper guarded`: how a server is started that must not outlive this program.

use std::{os::unix::process::CommandExt as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;
use rustix::{
    fs::Mode,
    process::{Signal, getppid, umask},
};

#[derive(Debug, Args)]
pub(crate) struct GuardedArgs {
    /// The process that this one must not outlive: the one that starts it.
    #[arg(long, value_name = "PROCESS")]
    parent: i32,

    /// The program to become.
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,

    /// Its arguments.
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<std::ffi::OsString>,
}

/// Becomes the program, in the same process, after asking the kernel to end it with its parent.
/// The files that it makes are this user's alone.
///
/// The wish lives through `exec`, and the kernel grants it however the parent ends: also by
/// SIGKILL, where nothing of the parent's own could clean up.
pub(crate) fn run(args: GuardedArgs) -> anyhow::Result<ExitCode> {
    end_with_parent()?;
    // A parent that ended before the wish would leave this process to another one.
    if getppid().map(|parent| parent.as_raw_pid()) != Some(args.parent) {
        bail!("the process that started this one is gone");
    }
    // Its database holds messages and notes, and the directory may be open to others.
    umask(Mode::RWXG | Mode::RWXO);
    let error = std::process::Command::new(&args.program)
        .args(&args.arguments)
        .exec();
    Err(error).with_context(|| format!("can't run `{}`", args.program.display()))
}

#[cfg(target_os = "linux")]
fn end_with_parent() -> anyhow::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .context("can't bind this process to its parent")
}

/// Elsewhere there is no such wish: a parent that is killed leaves its server running.
#[cfg(not(target_os = "linux"))]
fn end_with_parent() -> anyhow::Result<()> {
    let _ = Signal::KILL;
    Ok(())
}
