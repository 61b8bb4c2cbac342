//! Failures of activities, as workflow code sees them.

use notekeeper_contract::FailureType;
use temporalio_common_wasm::{
    error::ApplicationFailure,
    protos::temporal::api::failure::v1::{Failure, failure::FailureInfo},
};
use temporalio_workflow::{ActivityExecutionError, WorkflowTermination};

/// An activity that failed finally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    type_name: String,
    message: String,
    cancelled: bool,
}

impl CallFailure {
    /// Type of the failure: one of [`FailureType`] for our activities, the application's own for
    /// its tools, `Timeout` where a timeout ended it without such a failure before, `Cancelled` where a cancellation did.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// What went wrong and what to do, without the type.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The type, if it is one of ours.
    pub fn failure_type(&self) -> Option<FailureType> {
        FailureType::from_name(&self.type_name)
    }

    /// Whether the workflow was cancelled under the call.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Whether the same call would fail again: one of ours that isn't retried.
    pub(crate) fn ends_the_run(&self) -> bool {
        self.failure_type().is_some_and(|kind| !kind.is_retryable())
    }

    /// Whether what is wrong is the call itself, such as its scope, and not what it came upon.
    pub(crate) fn is_about_the_call(&self) -> bool {
        matches!(
            self.failure_type(),
            Some(
                FailureType::InvalidArgument
                    | FailureType::InvalidScope
                    | FailureType::ScopeChanged
                    | FailureType::ScopeRefused
            )
        )
    }

    /// The same, said of `what` where the activity says it of the only memory that it was asked for.
    pub(crate) fn said_of(mut self, what: &str) -> Self {
        if let Some(said) = self.message.strip_prefix("memory 0 (from 0): ") {
            self.message = format!("{what}: {said}");
        }
        self
    }

    /// A failure of our own making.
    pub(crate) fn new(kind: FailureType, message: impl Into<String>) -> Self {
        Self::named(kind.as_str(), message)
    }

    /// A failure of any type.
    pub(crate) fn named(type_name: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            type_name: type_name.into(),
            message: message.into(),
            cancelled: false,
        }
    }
}

impl std::fmt::Display for CallFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.type_name, self.message)
    }
}

impl std::error::Error for CallFailure {}

impl From<ActivityExecutionError> for CallFailure {
    fn from(error: ActivityExecutionError) -> Self {
        let cancelled = matches!(error, ActivityExecutionError::Cancelled(_));
        let (type_name, message) = match error.failure().map(innermost) {
            _ if cancelled => ("Cancelled", "the activity was cancelled".to_owned()),
            None => ("ActivityFailed", error.to_string()),
            Some(failure) => match &failure.failure_info {
                Some(FailureInfo::ApplicationFailureInfo(info)) if !info.r#type.is_empty() => {
                    (info.r#type.as_str(), failure.message.clone())
                }
                Some(FailureInfo::TimeoutFailureInfo(_)) => timed_out(failure),
                _ => ("ActivityFailed", failure.message.clone()),
            },
        };
        Self {
            type_name: type_name.to_owned(),
            message,
            cancelled,
        }
    }
}

/// What went wrong in the activity. Temporal wraps that into a failure of its own; for a local activity
/// Core does so only with a timeout, and only when it happens, not when it is replayed.
fn innermost(failure: &Failure) -> &Failure {
    match (&failure.failure_info, &failure.cause) {
        (Some(FailureInfo::ActivityFailureInfo(_)), Some(cause)) => cause,
        _ => failure,
    }
}

/// Type and message of a timeout: those of the last attempt where it left any, for they say more.
fn timed_out(failure: &Failure) -> (&str, String) {
    let Some(last) = &failure.cause else {
        return ("Timeout", failure.message.clone());
    };
    let type_name = match &last.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) if !info.r#type.is_empty() => &info.r#type,
        _ => "Timeout",
    };
    (
        type_name,
        format!("{}; last attempt: {}", failure.message, last.message),
    )
}

impl From<CallFailure> for ApplicationFailure {
    fn from(failure: CallFailure) -> Self {
        let type_name = failure.type_name.clone();
        let retryable = failure
            .failure_type()
            .is_some_and(FailureType::is_retryable);
        Self::builder(failure.message)
            .type_name(type_name)
            // Whether it makes sense to try the run, or the message, again.
            .non_retryable(!retryable)
            .build()
    }
}

impl From<CallFailure> for WorkflowTermination {
    fn from(failure: CallFailure) -> Self {
        if failure.cancelled {
            Self::cancelled()
        } else {
            ApplicationFailure::from(failure).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use temporalio_common_wasm::{
        data_converters::{
            ActivityExecutionDecodeHint, DataConverter, SerializationContextData,
            WorkflowSerializationContext,
        },
        protos::temporal::api::failure::v1::{
            ActivityFailureInfo, ApplicationFailureInfo, TimeoutFailureInfo,
        },
    };

    use super::*;

    fn failure(message: &str, info: FailureInfo, cause: Option<Failure>) -> Failure {
        Failure {
            message: message.to_owned(),
            failure_info: Some(info),
            cause: cause.map(Box::new),
            ..Failure::default()
        }
    }

    fn unavailable() -> Failure {
        let info = ApplicationFailureInfo {
            r#type: FailureType::Unavailable.as_str().to_owned(),
            ..ApplicationFailureInfo::default()
        };
        failure(
            "it is away",
            FailureInfo::ApplicationFailureInfo(info),
            None,
        )
    }

    fn timeout(cause: Option<Failure>) -> Failure {
        let info = TimeoutFailureInfo::default();
        failure("timed out", FailureInfo::TimeoutFailureInfo(info), cause)
    }

    /// Type and message, as workflow code gets them.
    fn told(failure: Failure) -> (String, String) {
        let context = SerializationContextData::Workflow(WorkflowSerializationContext::new());
        let hint = ActivityExecutionDecodeHint::new(false);
        let error = DataConverter::default()
            .to_error(&context, failure, hint)
            .expect("an error");
        let failure = CallFailure::from(error);
        (failure.type_name, failure.message)
    }

    /// A failure of a local activity comes bare, but for timeouts on the worker that saw them.
    #[test]
    fn a_failure_says_the_same_wrapped_or_bare() {
        let wrapped = |cause| {
            let info = FailureInfo::ActivityFailureInfo(ActivityFailureInfo::default());
            failure("activity failed", info, Some(cause))
        };
        let of = |kind: &str, message: &str| (kind.to_owned(), message.to_owned());
        for (cause, expected) in [
            (unavailable(), of("Unavailable", "it is away")),
            (timeout(None), of("Timeout", "timed out")),
            (
                timeout(Some(unavailable())),
                of("Unavailable", "timed out; last attempt: it is away"),
            ),
        ] {
            assert_eq!(told(wrapped(cause.clone())), expected);
            assert_eq!(told(cause), expected);
        }
    }
}
