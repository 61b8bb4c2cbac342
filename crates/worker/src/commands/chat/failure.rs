//! Why a message has no answer, and what to do about it.

use notekeeper_workflows::is_continuing;
use temporalio_client::{
    errors::{WorkflowStartError, WorkflowUpdateError, WorkflowUpdateWithStartError},
    tonic::{Code, Status},
};
use temporalio_common::protos::temporal::api::failure::v1::{Failure, failure::FailureInfo};

/// Why a message has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The person stopped waiting.
    Interrupted {
        /// Whether the conversation has the message.
        taken: bool,
    },
    /// Its answer didn't come in time.
    TimedOut {
        /// Whether the conversation has the message.
        taken: bool,
    },
    /// The conversation was closed.
    Closed,
    /// It was refused, or its turn failed; the conversation goes on.
    Failed {
        /// Type of the failure; empty where it has none.
        kind: String,
        /// What went wrong.
        message: String,
    },
}

/// What one attempt to send a message came to, where it came to no reply.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The conversation is continuing as a new run, which takes the message.
    Again,
    /// Temporal can't be reached.
    Away,
    /// No further attempt makes sense.
    Final(Unanswered),
}

impl Unanswered {
    /// What a person is told.
    pub(super) fn told(&self, id: &str) -> String {
        match self {
            Self::Interrupted { taken: true } => format!(
                "stopped waiting; the message is kept and will be answered: `notekeeper chat {id}`, \
                 or /history, shows the answer once it is there"
            ),
            Self::Interrupted { taken: false } => {
                "stopped waiting; no worker has taken the message yet, so it may be lost".to_owned()
            }
            Self::TimedOut { taken: true } => format!(
                "error: no answer within the time of --timeout; the message is kept: `notekeeper chat \
                 {id}` shows the answer once it is there"
            ),
            Self::TimedOut { taken: false } => {
                "error: no worker is known to have taken the message \
                within the time of --timeout, so it may be lost"
                    .to_owned()
            }
            Self::Closed => format!(
                "conversation `{id}` was closed; `notekeeper chat {id}` goes on with its messages where a \
                 store keeps them, and with --new begins another"
            ),
            Self::Failed { kind, message } if kind.is_empty() => format!("error: {message}"),
            Self::Failed { kind, message } => format!("error: {message} ({kind})"),
        }
    }
}

impl From<Unanswered> for Refusal {
    fn from(unanswered: Unanswered) -> Self {
        Self::Final(unanswered)
    }
}

impl From<WorkflowUpdateError> for Refusal {
    fn from(error: WorkflowUpdateError) -> Self {
        match error {
            WorkflowUpdateError::NotFound(_) => Unanswered::Closed.into(),
            WorkflowUpdateError::Failed(failure) => of_failure(*failure),
            WorkflowUpdateError::Rpc(status) => of_status(&status),
            other => failed(other.to_string()),
        }
    }
}

impl From<WorkflowUpdateWithStartError> for Refusal {
    fn from(error: WorkflowUpdateWithStartError) -> Self {
        match error {
            WorkflowUpdateWithStartError::Start(WorkflowStartError::AlreadyStarted { .. }) => {
                Unanswered::Closed.into()
            }
            WorkflowUpdateWithStartError::Start(WorkflowStartError::Rpc(status))
            | WorkflowUpdateWithStartError::Rpc(status) => of_status(&status),
            WorkflowUpdateWithStartError::Update(error) => error.into(),
            other => failed(other.to_string()),
        }
    }
}

fn of_failure(failure: Failure) -> Refusal {
    let kind = match failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => info.r#type,
        _ => String::new(),
    };
    if is_continuing(&kind, &failure.message) {
        return Refusal::Again;
    }
    let message = failure.message;
    Unanswered::Failed { kind, message }.into()
}

fn of_status(status: &Status) -> Refusal {
    match status.code() {
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown => {
            Refusal::Away
        }
        // A workflow that ended with the update in hand.
        Code::NotFound => Unanswered::Closed.into(),
        _ => failed(format!("Temporal answered: {}", status.message())),
    }
}

fn failed(message: String) -> Refusal {
    let kind = String::new();
    Unanswered::Failed { kind, message }.into()
}
