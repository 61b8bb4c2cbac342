//! Bounds of the numbers and short texts that callers give.

use notekeeper_domain::Version;
use notekeeper_store::Expected;

use crate::Failure;

/// Larger limits mean the same as this one. Stores count in 32 bits with a sign, and no note, list
/// or block comes near.
const LIMIT_MAX: usize = i32::MAX as usize;

/// Longest version that a caller may expect, in characters. Ours are shorter; the bound keeps
/// nonsense away from the database.
const VERSION_CHARS_MAX: usize = 200;

/// A limit of a payload, checked.
pub(crate) fn at_least_one(field: &str, limit: usize) -> Result<usize, Failure> {
    match limit {
        0 => Err(Failure::invalid(format!("`{field}` must be at least 1"))),
        limit => Ok(any_number(limit)),
    }
}

/// A number of a payload that may be 0.
pub(crate) fn any_number(number: usize) -> usize {
    number.min(LIMIT_MAX)
}

/// A text that will be stored or shown must not hold what a store refuses.
pub(crate) fn without_nul(field: &str, text: &str) -> Result<(), Failure> {
    if text.contains('\0') {
        return Err(Failure::invalid(format!(
            "`{field}` contains a NUL character (U+0000); leave it out"
        )));
    }
    Ok(())
}

/// What the caller expects of a note.
pub(crate) fn expected(version: Option<&str>) -> Result<Expected, Failure> {
    let Some(version) = version else {
        return Ok(Expected::Any);
    };
    without_nul("expected_version", version)?;
    if version.chars().nth(VERSION_CHARS_MAX).is_some() {
        return Err(Failure::invalid(format!(
            "`expected_version` must have at most {VERSION_CHARS_MAX} characters"
        )));
    }
    Ok(Expected::Version(Version::new(version)))
}
