//! What a run hands over of a stored transcript.

use notekeeper_domain::HistoryView;
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::agent::{
    exchange::Exchange,
    summary::{SkippedSummary, Summary},
};

/// What a run hands over of a stored transcript when it continues as new. No message is among it, but
/// for an exchange that couldn't be stored yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResumedConversation {
    /// Which conversation of the scope.
    pub id: String,
    /// What of it is sent.
    pub view: HistoryView,
    /// The text of the view's summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The summary that was due last and couldn't be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkippedSummary>,
    /// Position of the oldest message that is there.
    #[serde(default)]
    pub oldest: u64,
    /// Position after the newest message.
    pub next: u64,
    /// Exchanges that may not be stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstored: Vec<Exchange>,
    /// Whether the store lost what was said before, and no reply has said so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

impl Stored {
    pub(in crate::agent) fn resume(outlined: bool, resumed: ResumedConversation) -> Self {
        Self {
            outlined,
            view: resumed.view,
            settled: resumed.view,
            summary: resumed.summary,
            skipped: resumed.skipped,
            oldest: resumed.oldest,
            next: resumed.next,
            unstored: resumed.unstored.into(),
            lost: resumed.lost,
            ..Self::default()
        }
    }

    pub(in crate::agent) fn handed_over(&self, id: String) -> ResumedConversation {
        ResumedConversation {
            id,
            view: self.settled,
            summary: self.summary.clone(),
            skipped: self.skipped.clone(),
            oldest: self.oldest,
            next: self.next,
            unstored: self.unstored.iter().cloned().collect(),
            lost: self.lost,
        }
    }
}
