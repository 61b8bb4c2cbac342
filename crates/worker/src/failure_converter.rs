//! Failures of updates keep their type.

use notekeeper_workflows::AgentFailure;
use temporalio_common::{
    data_converters::{
        DataConverter, DefaultFailureConverter, DefaultPayloadCodec, FailureConverter,
        PayloadConversionError, PayloadConverter, SerializationContextData,
    },
    error::{ApplicationFailure, IncomingError, OutgoingError, OutgoingWorkflowError},
    protos::temporal::api::failure::v1::Failure,
};

/// The SDK wraps the error of an update handler into a failure without a type. This converter
/// gives the failure the type that the error carries, and is the SDK's default otherwise.
struct TypedFailures(DefaultFailureConverter);

impl FailureConverter for TypedFailures {
    fn to_failure(
        &self,
        error: OutgoingError,
        payload_converter: &PayloadConverter,
        context: &SerializationContextData,
    ) -> Failure {
        let error = match error {
            OutgoingError::Workflow(OutgoingWorkflowError::Application(failure)) => {
                OutgoingError::Workflow(lift(*failure).into())
            }
            other => other,
        };
        self.0.to_failure(error, payload_converter, context)
    }

    fn to_error(
        &self,
        failure: Failure,
        payload_converter: &PayloadConverter,
        context: &SerializationContextData,
    ) -> Result<IncomingError, PayloadConversionError> {
        self.0.to_error(failure, payload_converter, context)
    }
}

fn lift(failure: ApplicationFailure) -> ApplicationFailure {
    match failure.source_error().downcast_ref::<AgentFailure>() {
        Some(typed) => ApplicationFailure::builder(typed.message())
            .type_name(typed.type_name().to_owned())
            .non_retryable(typed.is_non_retryable())
            .build(),
        None => failure,
    }
}

/// The SDK's data converter, with typed failures of updates.
pub fn data_converter() -> DataConverter {
    DataConverter::new(
        PayloadConverter::default(),
        TypedFailures(DefaultFailureConverter::default()),
        DefaultPayloadCodec,
    )
}
