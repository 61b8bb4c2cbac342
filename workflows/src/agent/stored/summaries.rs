//! What becomes of the summaries of a stored transcript.

use super::Stored;
use crate::agent::summary::{SkippedSummary, Summary};

impl Stored {
    pub(in crate::agent) fn summarized(&mut self, through: u64, tokens: u64, summary: Summary) {
        self.summary = Some(summary);
        self.skipped = None;
        self.view = self.view.summarized(through, tokens);
        self.settled = self.settled.summarized(through, tokens);
        self.forget_outlines();
    }

    /// The summary that is due can't be made. `turns` messages are answered so far.
    pub(in crate::agent) fn skip_summary(&mut self, error_type: &str, first: u64, turns: u64) {
        self.skipped = Some(SkippedSummary {
            error_type: error_type.to_owned(),
            messages: self.next.saturating_sub(first),
            end: self.next,
            turns,
        });
    }

    /// Why the summary that is due isn't asked for yet.
    pub(in crate::agent) fn skips_summary(&self, turns: u64) -> Option<&str> {
        let skipped = self.skipped.as_ref()?;
        skipped
            .holds(self.next, turns)
            .then_some(skipped.error_type.as_str())
    }
}
