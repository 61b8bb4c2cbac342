//! The text of a note, from where the user has it.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read},
    path::Path,
};

use anyhow::{Context as _, bail};
use notekeeper_store::CONTENT_BYTES_MAX;

/// The text of an argument, of a file (`-` is standard input), or of standard input.
pub(super) fn given(argument: Option<String>, file: Option<&Path>) -> anyhow::Result<String> {
    match (argument, file) {
        (Some(text), _) => Ok(text),
        (None, Some(file)) if file != Path::new("-") => {
            let opened =
                File::open(file).with_context(|| format!("can't open `{}`", file.display()))?;
            read(opened).with_context(|| format!("can't use `{}`", file.display()))
        }
        (None, None) if io::stdin().is_terminal() => bail!(
            "there is no text; give it as an argument, with --file, or on standard input \
             (--file - to type it)"
        ),
        (None, _) => read(io::stdin()).context("can't use standard input"),
    }
}

/// Reads all of it, as long as a store could keep it.
pub(super) fn read(from: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(CONTENT_BYTES_MAX)?;
    from.take(bound + 1).read_to_end(&mut bytes)?;
    if bytes.len() > CONTENT_BYTES_MAX {
        bail!("it is longer than {CONTENT_BYTES_MAX} bytes, which no note may be");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => bail!(
            "it isn't UTF-8 text: the first odd byte is number {}",
            error.utf8_error().valid_up_to() + 1
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_or_too_long_for_any_store_is_refused() {
        assert_eq!(read("固\n".as_bytes()).expect("text"), "固\n");
        let odd = read(&b"tea\xff"[..]).expect_err("not UTF-8").to_string();
        assert!(odd.contains("number 4"), "{odd}");
        let long = read(io::repeat(b'x')).expect_err("endless").to_string();
        assert!(long.contains("longer than 16777216 bytes"), "{long}");
    }
}
