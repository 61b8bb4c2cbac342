//! Failures of `send_message`.

use notekeeper_contract::FailureType;
use temporalio_common_wasm::error::ApplicationFailure;

use crate::{CallFailure, OpenError};

/// Why a message got no reply, with its type.
///
/// The SDK gives a failed update's failure no type of its own. This error carries a typed
/// [`ApplicationFailure`] as its source, which the SDK records as the cause; a worker's failure
/// converter may lift it.
#[derive(Debug)]
pub struct AgentFailure(Box<ApplicationFailure>);

impl AgentFailure {
    pub(crate) fn new(kind: FailureType, message: impl Into<String>) -> Self {
        Self::typed(kind.as_str(), message)
    }

    /// The workflow was cancelled before the message had its turn.
    pub(crate) fn cancelled() -> Self {
        Self::typed("Cancelled", "the conversation was cancelled")
    }

    fn typed(type_name: &str, message: impl Into<String>) -> Self {
        ApplicationFailure::builder(message.into())
            .type_name(type_name.to_owned())
            .non_retryable(!may_pass(type_name))
            .build()
            .into()
    }

    /// Type of the failure.
    pub fn type_name(&self) -> &str {
        self.0.type_name().unwrap_or_default()
    }

    /// Whether the same message can't get a reply later either.
    pub fn is_non_retryable(&self) -> bool {
        self.0.is_non_retryable()
    }

    /// The same failure once more, for another who asks.
    pub(crate) fn again(&self) -> Self {
        Self::typed(self.type_name(), self.message())
    }

    /// What went wrong and what to do, without the type.
    pub fn message(&self) -> String {
        self.0.source_error().to_string()
    }

    pub(crate) fn into_application_failure(self) -> ApplicationFailure {
        *self.0
    }
}

/// Whether the same message may get a reply later.
fn may_pass(type_name: &str) -> bool {
    FailureType::from_name(type_name).is_some_and(FailureType::is_retryable)
}

impl std::fmt::Display for AgentFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.type_name(), self.message())
    }
}

impl std::error::Error for AgentFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.as_ref())
    }
}

impl From<ApplicationFailure> for AgentFailure {
    fn from(failure: ApplicationFailure) -> Self {
        Self(Box::new(failure))
    }
}

impl From<CallFailure> for AgentFailure {
    fn from(failure: CallFailure) -> Self {
        ApplicationFailure::from(failure).into()
    }
}

impl From<OpenError> for AgentFailure {
    fn from(error: OpenError) -> Self {
        ApplicationFailure::from(error).into()
    }
}
