//! What may be retried, and what can't: decided here and nowhere else.
//!
//! A [`Refusal`] is what the model can correct. It is a result and never becomes a failure.

use std::{fmt, time::Duration};

use notekeeper_contract::{BadArgument, FailureType, Outcome};
use notekeeper_domain::{
    InvalidMetadata, InvalidNoteName, InvalidOperation, InvalidScope, Refusal,
};
use notekeeper_models::ModelError;
use notekeeper_recall::{SourceError, ToolCallError};
use notekeeper_store::{Denial, MutationError, OddNote, StoreError};
use temporalio_common::error::ApplicationFailure;

use crate::ResolverError;

/// What a person does about a value that is too large.
const SHORTEN: &str = "make it shorter";

/// And about an item.
const SPLIT: &str = "split it into several items";

/// Why an operation ends without a result. The message holds no content, note name or namespace:
/// it ends up in histories and logs.
///
/// It is deliberately no [`std::error::Error`]: `?` in an activity then goes through
/// [`From<Failure> for anyhow::Error`](#impl-From<Failure>-for-Error) and keeps its type, where an
/// ordinary error would become an untyped one that Temporal retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure; it says whether the same call may succeed later.
    pub kind: FailureType,
    /// What went wrong and what to do about it.
    pub message: String,
    /// When the next attempt makes sense, where it is known better than by the retry policy.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureType, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    /// A value that the caller must correct.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(FailureType::InvalidArgument, message)
    }

    /// A failure of a store. `remedy` is for a person whose value is too large for it.
    pub(crate) fn of_store(error: &StoreError, remedy: &str) -> Self {
        match error {
            StoreError::TooLarge { .. } => {
                Self::new(FailureType::TooLarge, format!("{error}; {remedy}"))
            }
            // A newer worker may take the next attempt: old and new ones run side by side while a
            // release rolls out.
            StoreError::Unavailable(_) | StoreError::TooNew { .. } => {
                Self::new(FailureType::Unavailable, error.to_string())
            }
            StoreError::Unmigrated { .. } => Self::new(FailureType::Unmigrated, error.to_string()),
            StoreError::Unusable(_) | StoreError::Unexpected(_) => {
                Self::new(FailureType::Unsupported, error.to_string())
            }
            StoreError::InvalidValue { .. } => Self::invalid(error.to_string()),
            StoreError::OddScope(_) => Self::new(FailureType::ScopeRefused, error.to_string()),
            StoreError::OddNote(_) => Self::new(FailureType::Unsupported, error.to_string()),
            StoreError::Denied(Denial::ReadOnlyFileSystem) => {
                Self::new(FailureType::ReadOnly, error.to_string())
            }
            StoreError::Denied(_) => Self::new(FailureType::AccessDenied, error.to_string()),
        }
    }

    /// A failure of a source, or of one of several in a composition.
    pub(crate) fn of_source(error: &SourceError) -> Self {
        let message = error.to_string();
        let kind = match error {
            SourceError::ScopeRefused { .. } | SourceError::ForeignScope { .. } => {
                FailureType::ScopeRefused
            }
            SourceError::WriteRefused { .. } => FailureType::ReadOnly,
            SourceError::Invalid(_) => FailureType::InvalidArgument,
            SourceError::TooLarge(_) => FailureType::TooLarge,
            SourceError::Unsupported(_) => FailureType::Unsupported,
            SourceError::Unavailable(_) => FailureType::Unavailable,
            SourceError::Store(error) => return Self::of_store(error, SPLIT),
            SourceError::Mutation(error) => return Self::of_mutation(error, SPLIT),
            SourceError::Model(error) => return Self::of_model(error),
            SourceError::Tool(ToolCallError::Unavailable { .. }) => FailureType::Unavailable,
            SourceError::Tool(ToolCallError::Refused(_)) => FailureType::Unsupported,
            SourceError::PartialWrite(_) | SourceError::NoAnswer { .. } => match error.leading() {
                Some(leading) => Self::of_source(leading).kind,
                None => FailureType::Unavailable,
            },
        };
        Self {
            retry_after: error.retry_after(),
            ..Self::new(kind, message)
        }
    }

    fn of_model(error: &ModelError) -> Self {
        let message = error.to_string();
        match error {
            ModelError::Unavailable { retry_after, .. } => Self {
                retry_after: *retry_after,
                ..Self::new(FailureType::Unavailable, message)
            },
            ModelError::Refused(_) => Self::new(FailureType::ModelRefused, message),
        }
    }

    /// Of a change of messages, facts or items: what refuses notes refuses none of them, and which
    /// place denies access is for an operator to know, not for the model.
    fn of_mutation(error: &MutationError, remedy: &str) -> Self {
        match error {
            MutationError::Store(error) => Self::of_store(error, remedy),
            MutationError::OperationConflict => {
                Self::new(FailureType::OperationConflict, error.to_string())
            }
            MutationError::VersionConflict => {
                Self::new(FailureType::VersionConflict, error.to_string())
            }
            MutationError::ReadOnly => Self::new(FailureType::ReadOnly, error.to_string()),
            MutationError::Refused(refusal) => Self::invalid(refusal.to_string()),
        }
    }

    /// Says once, where it leaves this program, that a call failed. `attempt` counts from 1.
    pub(crate) fn log(&self, activity: &str, attempt: u32) {
        let (kind, message) = (self.kind.as_str(), self.message.as_str());
        if self.kind.is_retryable() {
            tracing::warn!(activity, attempt, failure.kind = kind, "{message}");
        } else {
            tracing::error!(activity, attempt, failure.kind = kind, "{message}");
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Failure> for ApplicationFailure {
    fn from(failure: Failure) -> Self {
        Self::builder(failure.message)
            .type_name(failure.kind.as_str().to_owned())
            .non_retryable(!failure.kind.is_retryable())
            .maybe_next_retry_delay(failure.retry_after)
            .build()
    }
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> Self {
        Self::new(ApplicationFailure::from(failure))
    }
}

impl From<BadArgument> for Failure {
    fn from(error: BadArgument) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<InvalidScope> for Failure {
    fn from(error: InvalidScope) -> Self {
        Self::new(FailureType::InvalidScope, error.to_string())
    }
}

impl From<InvalidOperation> for Failure {
    fn from(error: InvalidOperation) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<InvalidMetadata> for Failure {
    fn from(error: InvalidMetadata) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<ResolverError> for Failure {
    fn from(error: ResolverError) -> Self {
        let kind = if error.is_passing() {
            FailureType::Unavailable
        } else {
            FailureType::MetadataRefused
        };
        Self::new(kind, format!("the write's metadata isn't known: {error}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error, SHORTEN)
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::of_model(&error)
    }
}

impl From<MutationError> for Failure {
    fn from(error: MutationError) -> Self {
        Self::of_mutation(&error, SHORTEN)
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::of_source(&error)
    }
}

/// Why a tool call stops before it is done.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The model is told why.
    Refused(Refusal),
    /// The activity fails.
    Failed(Failure),
}

impl Stop {
    /// Name of the reason, for telemetry.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Failed(failure) => failure.kind.as_str(),
        }
    }
}

/// What a tool call came to: a refusal is an outcome, a failure is none.
pub(crate) fn settle<T>(result: Result<T, Stop>) -> Result<Outcome<T>, Failure> {
    match result {
        Ok(value) => Ok(Outcome::Ok(value)),
        Err(Stop::Refused(refusal)) => Ok(Outcome::Refused(refusal.into())),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<InvalidNoteName> for Stop {
    fn from(error: InvalidNoteName) -> Self {
        Self::Refused(error.into())
    }
}

impl From<InvalidScope> for Stop {
    fn from(error: InvalidScope) -> Self {
        Self::Failed(error.into())
    }
}

impl From<InvalidOperation> for Stop {
    fn from(error: InvalidOperation) -> Self {
        Self::Failed(error.into())
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            // Another name is all that it takes, and the model chooses names.
            StoreError::OddNote(OddNote::LeadsOut) => Self::Refused(Refusal::PathEscape),
            StoreError::OddNote(odd) => Self::Refused(Refusal::UnusableFile {
                reason: odd.to_string(),
            }),
            // Changes are refused in `change`, with the name of the note.
            StoreError::Denied(_) => Self::Refused(Refusal::ReadRefused {
                what: "the notebook".to_owned(),
            }),
            error => Self::Failed(error.into()),
        }
    }
}

impl From<MutationError> for Stop {
    fn from(error: MutationError) -> Self {
        match error {
            MutationError::Refused(refusal) => Self::Refused(refusal),
            MutationError::Store(error) => error.into(),
            // Those who change notes say which note; see `change`.
            error => Self::Failed(error.into()),
        }
    }
}
