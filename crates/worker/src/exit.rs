//! Exit codes: what a program that runs `notekeeper` can rely on.

use std::process::ExitCode;

/// How a command ended. Every command uses these and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done as asked. Of a worker: stopped by a signal, or by itself at a limit, with nothing left in
    /// hand.
    Done,
    /// Not done, or what was to be checked isn't as it should be. Standard error says why.
    Failed,
    /// The arguments make no sense together. `clap` ends the program in the same way.
    Usage,
    /// A signal stopped it at once: 128 + SIGINT, as shells report it.
    Interrupted,
}

impl Exit {
    /// The code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// What `--help` says of them.
pub(crate) const HELP: &str = "\
Exit codes:
  0    done
  1    failed, or a check found something wrong; standard error says why
  2    the arguments make no sense
  130  stopped at once by a signal";
