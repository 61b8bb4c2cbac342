//! Numbers as databases keep them.

use notekeeper_domain::Version;

/// A count as a database's `integer`. No text comes near its end.
pub(crate) fn bounded(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// A count as a database's `bigint`.
pub(crate) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A version as callers see it.
pub(crate) fn token(version: i64) -> Version {
    Version::new(version.to_string())
}

/// The version behind a token; `None` where the token was never given out, so no note is at it.
pub(crate) fn version_of(token: &Version) -> Option<i64> {
    let version: i64 = token.as_str().parse().ok()?;
    // `01` and `+1` parse as well, but were never given out.
    (version > 0 && version.to_string() == token.as_str()).then_some(version)
}

/// A position as a database's `bigint`. No conversation comes near its end.
pub(crate) fn kept_position(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

/// A position from a database's `bigint`, which never holds a negative one.
pub(crate) fn position_of(kept: i64) -> u64 {
    u64::try_from(kept).unwrap_or_default()
}
