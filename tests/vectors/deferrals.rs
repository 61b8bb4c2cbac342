//! Cases that wait for a feature. A case that is here and runs all the same fails its test.

use crate::case::Case;

/// Cases that wait for one feature.
#[derive(Debug)]
pub(crate) struct Deferral {
    /// The feature.
    pub(crate) feature: &'static str,
    /// Title of the issue that brings it.
    pub(crate) issue: &'static str,
    /// Which cases.
    pub(crate) applies: fn(&Case) -> bool,
}

/// The list. The first entry that applies counts.
pub(crate) static DEFERRALS: [Deferral; 0] = [];

/// What a case waits for, if it does.
pub(crate) fn deferral(case: &Case) -> Option<&'static Deferral> {
    DEFERRALS.iter().find(|deferral| (deferral.applies)(case))
}
