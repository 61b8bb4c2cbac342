//! The text of a note, from where the user has it.

use std::{
    fs::File,
    io::{self, IsTerminal as _},
    path::Path,
};

use anyhow::{Context as _, bail};
use notekeeper_store::CONTENT_BYTES_MAX;

use crate::commands::given_text::read;

/// The text of an argument, of a file (`-` is standard input), or of standard input.
pub(super) fn given(argument: Option<String>, file: Option<&Path>) -> anyhow::Result<String> {
    match (argument, file) {
        (Some(text), _) => Ok(text),
        (None, Some(file)) if file != Path::new("-") => {
            let opened =
                File::open(file).with_context(|| format!("can't open `{}`", file.display()))?;
            read(opened, CONTENT_BYTES_MAX, "note")
                .with_context(|| format!("can't use `{}`", file.display()))
        }
        (None, None) if io::stdin().is_terminal() => bail!(
            "there is no text; give it as an argument, with --file, or on standard input \
             (--file - to type it)"
        ),
        (None, _) => {
            read(io::stdin(), CONTENT_BYTES_MAX, "note").context("can't use standard input")
        }
    }
}
