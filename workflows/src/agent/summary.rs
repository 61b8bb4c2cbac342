//! Summaries: the one that is sent, and one that couldn't be made.

use serde::{Deserialize, Serialize};

/// The text of a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What the model said.
    pub text: String,
    /// SHA-256 of the text.
    pub digest: String,
    /// Whether the store keeps it under that digest.
    #[serde(default)]
    pub kept: bool,
}

/// Messages answered after which a summary that couldn't be made is asked for again, whatever has gathered
/// since.
const PATIENCE_TURNS: u64 = 5;

/// A summary that was due and couldn't be made. It isn't asked for again before each message: what the
/// model refused once it would refuse again, and a model that is away costs each message its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedSummary {
    /// Type of the failure.
    pub error_type: String,
    /// Messages that no summary covered then.
    pub messages: u64,
    /// Position after the last of them.
    pub end: u64,
    /// Messages answered until then.
    pub turns: u64,
}

impl SkippedSummary {
    /// Whether it is still too early to ask again, where the conversation ends at `end` and `turns` messages
    /// are answered: as long as a quarter more messages aren't there, and five weren't answered.
    pub(super) fn holds(&self, end: u64, turns: u64) -> bool {
        let growth = (self.messages / 4).max(1);
        end < self.end.saturating_add(growth) && turns < self.turns.saturating_add(PATIENCE_TURNS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_summary_is_asked_for_again_after_a_quarter_more_messages_or_five_turns() {
        let skipped = SkippedSummary {
            error_type: "ModelRefused".to_owned(),
            messages: 100,
            end: 340,
            turns: 7,
        };
        assert!(skipped.holds(340, 7));
        assert!(skipped.holds(364, 11));
        assert!(!skipped.holds(365, 7));
        assert!(!skipped.holds(341, 12));
        let of_few = SkippedSummary {
            messages: 3,
            ..skipped
        };
        assert!(of_few.holds(340, 7) && !of_few.holds(341, 7));
    }
}
