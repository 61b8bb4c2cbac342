//! What is wrong with how a source is put together.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

/// Why a composition or a decorator can't be made. The text holds names of settings, and values that
/// are none of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {problem}")]
pub struct InvalidSetting {
    /// Which setting, as the TOML file has it, such as `sources[1]` or `leg_timeout_ms`.
    pub key: String,
    /// What is wrong with it and what is allowed.
    pub problem: String,
}

impl InvalidSetting {
    /// This setting has this fault.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            problem: problem.into(),
        }
    }
}

/// Checks that a number is inside its bounds.
pub(crate) fn check_bounds<T: PartialOrd + Display>(
    key: &str,
    value: T,
    bounds: RangeInclusive<T>,
) -> Result<(), InvalidSetting> {
    match bounds.contains(&value) {
        true => Ok(()),
        false => Err(InvalidSetting::new(
            key,
            format!(
                "is `{value}`; {} to {} are allowed",
                bounds.start(),
                bounds.end()
            ),
        )),
    }
}

/// The milliseconds of a duration, as a setting counts them.
pub(crate) fn whole_milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
