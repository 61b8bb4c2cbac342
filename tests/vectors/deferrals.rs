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

const WHOLE_NOTEBOOK: &str = "The notebook in full";

/// The list. The first entry that applies counts.
pub(crate) static DEFERRALS: [Deferral; 1] = [Deferral {
    feature: "file store",
    issue: WHOLE_NOTEBOOK,
    applies: |case| {
        case.topic == "file_store" || names_store(case, "file", &["version_hash", RACES])
    },
}];

const RACES: &str = "tool_replay_and_concurrency";

/// Whether a case of one of these topics is about a store that the peer has and we don't.
fn names_store(case: &Case, store: &str, topics: &[&str]) -> bool {
    topics.contains(&case.topic.as_str()) && case.given["store"] == store
}

/// What a case waits for, if it does.
pub(crate) fn deferral(case: &Case) -> Option<&'static Deferral> {
    DEFERRALS.iter().find(|deferral| (deferral.applies)(case))
}
