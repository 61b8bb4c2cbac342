//! Names of sources.

use crate::SOURCE_NAME_BYTES_MAX;

/// Checks the name of a source: 1 to [`SOURCE_NAME_BYTES_MAX`] ASCII letters, digits, `_`, `-` and `.`.
///
/// # Errors
///
/// [`InvalidSourceName`].
pub fn check_source_name(name: &str) -> Result<(), InvalidSourceName> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    match (1..=SOURCE_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(plain) {
        true => Ok(()),
        false => Err(InvalidSourceName),
    }
}

/// Why a name can't be a source's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a source's name has 1 to {SOURCE_NAME_BYTES_MAX} ASCII letters, digits, `_`, `-` and `.`")]
pub struct InvalidSourceName;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for name in ["a", "Team.kb-2_x", &"n".repeat(SOURCE_NAME_BYTES_MAX)] {
            assert_eq!(check_source_name(name), Ok(()), "{name}");
        }
        for name in [
            "",
            "a b",
            "ä",
            "a/b",
            "a\n",
            &"n".repeat(SOURCE_NAME_BYTES_MAX + 1),
        ] {
            assert_eq!(check_source_name(name), Err(InvalidSourceName), "{name}");
        }
    }
}
