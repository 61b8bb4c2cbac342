//! Model requests as activities.

#![expect(
    missing_docs,
    reason = "the macro makes a public constant of each activity and drops its documentation"
)]

use std::{sync::Arc, time::Duration};

use notekeeper_contract::{
    Argument, CallModelInput, CallModelOutput, SummarizeMessagesInput, SummarizeMessagesOutput,
};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::time::{Instant, interval_at};

use crate::{ModelRequests, notebook_activities::finish};

/// How often a request tells that it is under way. Callers wait several times as long.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);

/// The activities `call_model` and `summarize_messages`.
#[derive(Debug, Clone)]
pub struct ModelActivities {
    requests: ModelRequests,
}

impl ModelActivities {
    /// Activities that send these requests.
    pub fn new(requests: ModelRequests) -> Self {
        Self { requests }
    }
}

#[activities]
impl ModelActivities {
    /// One model request.
    #[activity(definition = notekeeper_contract::CallModel)]
    pub async fn call_model(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<CallModelInput>,
    ) -> Result<CallModelOutput, ActivityError> {
        let attempt = context.info().attempt;
        let run = async { self.requests.call(input.decoded()?, attempt).await };
        let result = alive(&context, run).await?;
        finish(&context, result)
    }

    /// A summary of messages, by a model.
    #[activity(definition = notekeeper_contract::SummarizeMessages)]
    pub async fn summarize_messages(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<SummarizeMessagesInput>,
    ) -> Result<SummarizeMessagesOutput, ActivityError> {
        let attempt = context.info().attempt;
        let run = async { self.requests.summarize(input.decoded()?, attempt).await };
        let result = alive(&context, run).await?;
        finish(&context, result)
    }
}

/// Tells Temporal now and then that a request is still under way, so that one whose worker died
/// is tried elsewhere long before its start-to-close time-out; and ends it when it is cancelled.
pub(crate) async fn alive<T>(
    context: &ActivityContext,
    request: impl Future<Output = T>,
) -> Result<T, ActivityError> {
    let mut request = std::pin::pin!(request);
    // Not at once: most requests are over by the first beat.
    let mut beats = interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL);
    loop {
        tokio::select! {
            result = &mut request => return Ok(result),
            _ = context.cancelled() => return Err(ActivityError::cancelled()),
            _ = beats.tick() => context.record_heartbeat(()).await?,
        }
    }
}
