//! A worker's activities, called by a client without a workflow.

use std::{fmt::Display, time::Duration};

use notekeeper_contract::{Argument, FailureType};
use temporalio_client::{
    ActivityStartOptions, Client, RetryPolicy,
    errors::{ActivityResultError, StartActivityError},
    tonic::Code,
};
use temporalio_common::{
    ActivityCloseTimeouts, ActivityDefinition,
    protos::temporal::api::{
        enums::v1::TimeoutType,
        failure::v1::{Failure, failure::FailureInfo},
    },
};

use crate::{output::CodedError, random};

use super::effect::{NO_ANSWER, TIMEOUT};

/// Longest attempt, as for workflows.
const START_TO_CLOSE: Duration = Duration::from_secs(10);

/// A worker's activities.
pub(crate) struct OverTemporal {
    pub(crate) client: Client,
    /// Where the worker listens.
    pub(crate) task_queue: String,
    /// How long it may take to begin.
    pub(crate) begin_within: Duration,
}

impl OverTemporal {
    /// Calls an activity and waits for its result.
    ///
    /// # Errors
    ///
    /// A [`CodedError`], which says what is known of its effect.
    pub(crate) async fn call<A, I>(&self, activity: A, input: I) -> anyhow::Result<A::Output>
    where
        A: ActivityDefinition<Input = Argument<I>>,
    {
        let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
            schedule_to_close: self.begin_within + START_TO_CLOSE,
            start_to_close: START_TO_CLOSE,
        };
        let retries = RetryPolicy::builder()
            .initial_interval(Duration::from_millis(200))
            .maximum_interval(Duration::from_secs(2))
            .build();
        let id = format!("notekeeper-{}", random::name());
        let options = ActivityStartOptions::new(&self.task_queue, id, timeouts)
            .schedule_to_start_timeout(self.begin_within)
            .retry_policy(retries)
            .build();
        let handle = self
            .client
            .start_activity(activity, Argument::from(input), options)
            .await
            .map_err(not_started)?;
        let result = handle.result().await;
        Ok(result.map_err(|error| self.no_result(error))?)
    }

    /// Why there is no result, and what to do.
    fn no_result(&self, error: ActivityResultError) -> CodedError {
        let ActivityResultError::ActivityFailed(error) = error else {
            return no_answer("Temporal gave no result", &error);
        };
        let failure = error.failure();
        match &failure.failure_info {
            // With a cause it is a later attempt that nobody began; the first one may have done it.
            Some(FailureInfo::TimeoutFailureInfo(info))
                if info.timeout_type() == TimeoutType::ScheduleToStart
                    && failure.cause.is_none() =>
            {
                self.nobody_began()
            }
            Some(FailureInfo::TimeoutFailureInfo(_)) => self.not_in_time(failure),
            Some(FailureInfo::ApplicationFailureInfo(info)) if is_of_contract(&info.r#type) => {
                CodedError {
                    code: info.r#type.clone(),
                    message: failure.message.clone(),
                }
            }
            _ => no_answer("Temporal gave no result", &failure.message),
        }
    }

    fn nobody_began(&self) -> CodedError {
        CodedError {
            code: "NoWorker".to_owned(),
            message: format!(
                "no worker took the activity from the task queue `{}` within {} s; start one with \
                 `notekeeper worker`, or name its queue with --task-queue",
                self.task_queue,
                self.begin_within.as_secs()
            ),
        }
    }

    /// It ran, perhaps several times, and came to nothing.
    fn not_in_time(&self, failure: &Failure) -> CodedError {
        let within = (self.begin_within + START_TO_CLOSE).as_secs();
        let last = failure.cause.as_ref().map_or_else(
            || "the worker gave no answer".to_owned(),
            |cause| cause.message.clone(),
        );
        CodedError {
            code: TIMEOUT.to_owned(),
            message: format!("the activity came to no result within {within} s: {last}"),
        }
    }
}

fn not_started(error: StartActivityError) -> anyhow::Error {
    match &error {
        StartActivityError::Rpc(status) if status.code() == Code::Unimplemented => {
            anyhow::anyhow!(
                "this Temporal server runs no activities without a workflow ({}); use a newer server, or \
                 leave `--via temporal` out",
                status.message()
            )
        }
        // The request may have come through, and its answer not.
        StartActivityError::Rpc(status) if may_have_begun(status.code()) => {
            no_answer("Temporal didn't say whether it took the activity", status).into()
        }
        _ => anyhow::Error::new(error).context("Temporal doesn't take the activity"),
    }
}

fn may_have_begun(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::Aborted
            | Code::Internal
            | Code::Unknown
    )
}

/// Whether a worker failed with a type that says what happened; other failures come from what
/// nobody foresaw, perhaps behind the effect.
fn is_of_contract(failure_type: &str) -> bool {
    FailureType::ALL
        .iter()
        .any(|known| known.as_str() == failure_type)
}

fn no_answer(what: &str, why: &(impl Display + ?Sized)) -> CodedError {
    CodedError {
        code: NO_ANSWER.to_owned(),
        message: format!("{what}: {why}"),
    }
}
