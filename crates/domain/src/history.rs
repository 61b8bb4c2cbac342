//! What of a conversation is sent to the model: pure rules over outlines, so that a replay comes to
//! the same decisions.

mod exchanges;
mod pairing;
mod plan;
mod policy;
mod policy_json;
mod summary;
mod timeline;

#[cfg(test)]
mod tests;

pub use exchanges::whole_exchanges;
pub use plan::{HistoryPlan, HistoryView, SummaryMark, SummaryOrder, plan};
pub use policy::{
    HistoryPolicy, InvalidHistory, SummaryPolicy, TokensPolicy, WindowPolicy, check_policies,
};
pub use policy_json::EXACTLY_ONE_POLICY;
pub use summary::{SummaryRequest, fit_summary, summary_request, summary_text};
