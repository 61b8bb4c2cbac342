//! A search tool that is an activity of the application's, called without a workflow.

use std::{
    convert::Infallible,
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
use tokio::sync::{
    OnceCell,
    oneshot::{self, error::TryRecvError},
};
use tracing::Instrument as _;

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
#[derive(Clone)]
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

    /// Runs the activity while somebody waits, and asks it to end where nobody does any more, as with a leg
    /// that is late or a query that is cancelled.
    async fn run(
        &self,
        input: ToolInput,
        id: String,
        mut waiting: Waiting,
    ) -> Result<Value, ToolCallError> {
        let no_answer = |_| unavailable("Temporal gives no answer");
        // What it is asked for is told to the server to the end: what was sent in part may have begun.
        let started =
            tokio::time::timeout(self.timeout + GRACE, self.start(input, id, &mut waiting));
        let handle = started.await.map_err(no_answer)??;
        // The server ends the activity at its time-out; should it be away, somebody waits here.
        let ended = tokio::time::timeout(self.timeout + GRACE, handle.result());
        tokio::select! {
            biased;
            ended = ended => {
                let result = ended.map_err(no_answer)?;
                result.map_err(|error| self.no_result(&error))
            }
            () = waiting.ends() => {
                // It ends by itself at its time-out.
                let _ = handle.cancel(ActivityCancelOptions::default()).await;
                Err(unavailable("it was given up"))
            }
        }
    }

    async fn start(
        &self,
        input: ToolInput,
        id: String,
        waiting: &mut Waiting,
    ) -> Result<ActivityHandle<Client, Called>, ToolCallError> {
        let client = self.temporal.get().await?;
        if waiting.has_ended() {
            return Err(unavailable("it was given up"));
        }
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
            store: None,
            facts_store: None,
            workspace: call.workspace.map(str::to_owned),
            operation: OperationRef { id: id.clone() },
        };
        let tool = self.clone();
        attended(async move |waiting| tool.run(input, id, waiting).await)
            .await
            .unwrap_or_else(|| Err(unavailable("it was given up")))
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

/// Whether somebody waits for what a task does.
struct Waiting(oneshot::Receiver<Infallible>);

impl Waiting {
    /// Comes when nobody waits any more.
    async fn ends(&mut self) {
        let Err(_) = (&mut self.0).await;
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.0.try_recv(), Err(TryRecvError::Closed))
    }
}

/// Does work in a task of its own, which goes on when the caller is dropped and is told of it: so nothing is
/// dropped half-way that has to be undone. `None` where the task doesn't come to its end.
async fn attended<T, F>(work: impl FnOnce(Waiting) -> F) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (somebody, waiting) = oneshot::channel();
    let task = tokio::spawn(work(Waiting(waiting)).in_current_span());
    let done = task.await.ok();
    drop(somebody);
    done
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

#[cfg(test)]
mod tests {
    use tokio::sync::Notify;

    use super::*;

    /// Longest wait for what comes at once.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn what_is_begun_when_the_caller_goes_is_finished_and_then_told_of_it() {
        let (begun, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (told, tells) = oneshot::channel();
        let (begins, passes) = (Arc::clone(&begun), Arc::clone(&gate));
        let caller = attended(move |mut waiting| async move {
            begins.notify_one();
            passes.notified().await;
            waiting.ends().await;
            let _ = told.send(());
        });
        // The caller is dropped in the middle.
        tokio::select! {
            _ = caller => panic!("it waits at the gate"),
            () = begun.notified() => {}
        }
        gate.notify_one();
        let told = tokio::time::timeout(PATIENCE, tells).await;
        assert_eq!(told.expect("in time"), Ok(()));
    }

    #[tokio::test]
    async fn while_the_caller_waits_nothing_has_ended() {
        let done = attended(|mut waiting| async move { waiting.has_ended() });
        assert_eq!(done.await, Some(false));
    }
}
