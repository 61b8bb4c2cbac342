//! Asking a person whether something is meant that can't be taken back.

use std::io::{self, BufRead as _, Write as _};

use anyhow::Context as _;

use crate::output::shown;

/// Asks on the terminal; anything but yes is no.
pub(crate) fn is_meant(question: &str) -> anyhow::Result<bool> {
    let mut stderr = io::stderr();
    stderr
        .write_all(shown(&format!("{question} [y/N] ")).as_bytes())
        .and_then(|()| stderr.flush())
        .context("can't ask whether that is meant")?;
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .context("the terminal can't be read")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
