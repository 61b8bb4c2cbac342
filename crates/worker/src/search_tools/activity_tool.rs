//! A search tool that is an activity of the application's, called without a workflow.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use notekeeper_contract::{OperationRef, ScopeRef, ToolInput};
use notekeeper_recall::{SearchTool, SourceCall, ToolCallError};
use serde_json::{Map, Value};
use temporalio_client::{
    ActivityCancelOptions, ActivityHandle, ActivityStartOptions, Client, RetryPolicy,
    errors::{ActivityResultError, StartActivityError},
    tonic::Code,
};
use temporalio_common::{
    ActivityCloseTimeouts, ActivityDefinition,
    protos::temporal::api::failure::v1::{Failure, failure::FailureInfo},
};
use tokio::{runtime::Handle, sync::OnceCell};

use crate::{connection::TemporalTarget, random};

/// A connection that is made when it is first needed: from inside an activity there is none to be had.
#[derive(Default)]
pub(crate) struct LateClient {
    target: OnceLock<TemporalTarget>,
    client: OnceCell<Client>,
}

impl LateClient {
    /// Says where the server is. The first time counts.
    pub(crate) fn is_at(&self, target: &TemporalTarget) {
        self.target.get_or_init(|| target.clone());
    }

    async fn get(&self) -> Result<Client, ToolCallError> {
        let target = self.target.get();
        let target = target.ok_or_else(|| unavailable("nobody has said where Temporal is"))?;
        let connected = self.client.get_or_try_init(|| target.connect()).await;
        let client = connected.map_err(|error| {
            // The error names the address, which is a setting.
            ToolCallError::unavailable(format!("Temporal can't be reached ({error:#})"))
        })?;
        Ok(client.clone())
    }
}

/// A tool that is called as a standalone activity, as [`AgentWorkflow`](notekeeper_workflows::AgentWorkflow)
/// calls an application's tools: with arguments, scope and operation. So one activity serves a model that
/// chooses to call it and a source that fetches around the request.
pub(super) struct ActivityTool {
    temporal: Arc<LateClient>,
    activity: String,
    task_queue: String,
    timeout: Duration,
}

impl fmt::Debug for ActivityTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ActivityTool")
    }
}

impl ActivityTool {
    /// Nothing is connected yet.
    pub(super) fn new(
        temporal: Arc<LateClient>,
        activity: &str,
        task_queue: &str,
        timeout: Duration,
    ) -> Result<Self, String> {
        for (key, name) in [("activity", activity), ("task_queue", task_queue)] {
            if name.trim().is_empty() {
                return Err(format!("`{key}` is empty; name it"));
            }
        }
        Ok(Self {
            temporal,
            activity: activity.to_owned(),
            task_queue: task_queue.to_owned(),
            timeout,
        })
    }

    async fn start(
        &self,
        input: ToolInput,
        id: String,
    ) -> Result<ActivityHandle<Client, Called>, ToolCallError> {
        let client = self.temporal.get().await?;
        let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
            schedule_to_close: self.timeout,
            start_to_close: self.timeout,
        };
        // Whoever asks the source tries again; attempts of two kinds would multiply.
        let once = RetryPolicy::builder().maximum_attempts(1).build();
        let options = ActivityStartOptions::new(&self.task_queue, id, timeouts)
            .retry_policy(once)
            .build();
        client
            .start_activity(Called(self.activity.clone()), input, options)
            .await
            .map_err(|error| not_started(&error))
    }
}

#[async_trait]
impl SearchTool for ActivityTool {
    async fn call(
        &self,
        arguments: Map<String, Value>,
        call: &SourceCall<'_>,
    ) -> Result<Value, ToolCallError> {
        let id = format!("notekeeper-{}", random::name());
        let input = ToolInput {
            arguments: Value::Object(arguments),
            scope: ScopeRef::from(call.scope),
            workspace: call.workspace.map(str::to_owned),
            operation: OperationRef { id: id.clone() },
        };
        let called = async {
            let handle = self.start(input, id).await?;
            let mut in_hand = InHand(Some(handle));
            let result = match &in_hand.0 {
                Some(handle) => handle.result().await,
                None => return Err(unavailable("it was given up")),
            };
            in_hand.0 = None;
            result.map_err(|error| self.no_result(&error))
        };
        // The server ends the activity at its time-out; should it be away, somebody waits here.
        tokio::time::timeout(self.timeout + GRACE, called)
            .await
            .unwrap_or_else(|_| Err(unavailable("Temporal gives no answer")))
    }
}

/// How long the server gets to tell that an activity has timed out.
const GRACE: Duration = Duration::from_secs(2);

impl ActivityTool {
    fn no_result(&self, error: &ActivityResultError) -> ToolCallError {
        let failed = match error {
            ActivityResultError::ActivityFailed(error) => error.failure(),
            ActivityResultError::Cancelled { .. } | ActivityResultError::Terminated => {
                return unavailable("its activity was cancelled");
            }
            ActivityResultError::PayloadConversion(_) => {
                return refused("its activity's result can't be read as JSON");
            }
            _ => return unavailable("Temporal gives no result of its activity"),
        };
        self.of_failure(failed)
    }

    /// The failure's own message may hold anything, and isn't repeated.
    fn of_failure(&self, failure: &Failure) -> ToolCallError {
        match &failure.failure_info {
            Some(FailureInfo::TimeoutFailureInfo(_)) => ToolCallError::unavailable(format!(
                "its activity came to no result within {:?}; see that a worker serves its task queue",
                self.timeout
            )),
            Some(FailureInfo::ApplicationFailureInfo(info)) if info.non_retryable => {
                refused("its activity failed for good; the history of that activity says why")
            }
            _ => unavailable("its activity failed"),
        }
    }
}

/// An activity by its name.
#[derive(Debug, Clone)]
struct Called(String);

impl ActivityDefinition for Called {
    type Input = ToolInput;
    type Output = Value;

    fn name(&self) -> &str {
        &self.0
    }
}

/// An activity that somebody waits for. Where nobody does any more, as with a leg that is late or a
/// query that is cancelled, it is asked to end.
struct InHand(Option<ActivityHandle<Client, Called>>);

impl Drop for InHand {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move {
                // It ends by itself at its time-out.
                let _ = handle.cancel(ActivityCancelOptions::default()).await;
            });
        }
    }
}

fn not_started(error: &StartActivityError) -> ToolCallError {
    match error {
        StartActivityError::Rpc(status) => match status.code() {
            Code::Unimplemented => refused(
                "this Temporal server runs no activities without a workflow; use a newer one",
            ),
            Code::InvalidArgument | Code::PermissionDenied | Code::Unauthenticated => refused(
                "Temporal doesn't take the activity; check `task_queue` and what this worker may do",
            ),
            _ => unavailable("Temporal doesn't take its activity now"),
        },
        StartActivityError::AlreadyStarted { .. } => unavailable("Temporal has such an activity"),
        _ => refused("its arguments can't be sent"),
    }
}

fn unavailable(why: &str) -> ToolCallError {
    ToolCallError::unavailable(why.to_owned())
}

fn refused(why: &str) -> ToolCallError {
    ToolCallError::Refused(why.to_owned())
}
