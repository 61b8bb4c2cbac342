//! Texts that a user gives: as an argument, or from a file or standard input.

use std::io::Read;

use anyhow::bail;

use crate::output::UsageError;

/// Reads all of it as text, up to a size. `kept_as` says what can't be larger: `note`, say.
pub(crate) fn read(from: impl Read, bytes_max: usize, kept_as: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(bytes_max)?;
    from.take(bound + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        bail!("it is longer than {bytes_max} bytes, which no {kept_as} may be");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => bail!(
            "it isn't UTF-8 text: the first odd byte is number {}",
            error.utf8_error().valid_up_to() + 1
        ),
    }
}

/// A text may begin with a dash, as items of a list do. What looks like an option is more likely
/// one that is misspelt, and would be kept as the text.
pub(crate) fn check_no_misspelt_flag(text: Option<&str>, command: &str) -> anyhow::Result<()> {
    let Some(text) = text else {
        return Ok(());
    };
    let escaped = std::env::args_os().any(|argument| argument == "--");
    if !escaped && looks_like_an_option(text) {
        let option = text.split(['=', ' ', '\n']).next().unwrap_or_default();
        return Err(UsageError(format!(
            "`{option}` isn't an option of `{command}`; if it is the text, put `--` before it"
        ))
        .into());
    }
    Ok(())
}

fn looks_like_an_option(text: &str) -> bool {
    let name = text.strip_prefix("--").or(text.strip_prefix('-'));
    name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_is_no_text_or_too_long_is_refused() {
        assert_eq!(read("固\n".as_bytes(), 9, "note").expect("text"), "固\n");
        let odd = read(&b"tea\xff"[..], 9, "note")
            .expect_err("not UTF-8")
            .to_string();
        assert!(odd.contains("number 4"), "{odd}");
        let long = read(io::repeat(b'x'), 9, "fact")
            .expect_err("endless")
            .to_string();
        assert!(
            long.contains("longer than 9 bytes, which no fact may be"),
            "{long}"
        );
    }

    #[test]
    fn an_item_of_a_list_is_text_and_a_misspelt_option_is_not() {
        for text in [
            "- likes tea",
            "-",
            "--",
            "---\ntitle: x",
            "-5 degrees",
            "tea",
        ] {
            assert!(!looks_like_an_option(text), "{text}");
        }
        for option in ["--relpace", "--relpace=tea", "-x"] {
            assert!(looks_like_an_option(option), "{option}");
        }
    }
}
