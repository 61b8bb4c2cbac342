//! Model requests as activities.

#![expect(
    missing_docs,
    reason = "the macro makes a public constant of each activity and drops its documentation"
)]

use std::sync::Arc;

use notekeeper_contract::{Argument, CallModelInput, CallModelOutput};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use crate::{ModelRequests, notebook_activities::finish};

/// The activity `call_model`.
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
        finish(&context, run.await)
    }
}
