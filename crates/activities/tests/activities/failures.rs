use notekeeper_activities::Failure;
use notekeeper_contract::{Argument, BadArgument, FailureType};
use notekeeper_domain::InvalidScope;
use notekeeper_models::ModelError;
use notekeeper_store::{MutationError, StoreError};
use serde_json::json;
use temporalio_common::{
    data_converters::{
        ActivitySerializationContext, DefaultFailureConverter, FailureConverter as _,
        PayloadConverter, SerializationContextData,
    },
    error::{OutgoingActivityError, OutgoingError},
};
use temporalio_sdk::activities::ActivityError;

use crate::fixture::{bench, caller, input};

/// What Temporal would carry: message, type, whether it must not be retried, and the depth of
/// causes.
fn on_the_wire(failure: Failure) -> (String, String, bool, bool) {
    let ActivityError::Application(application) = ActivityError::from(failure) else {
        panic!("not an application failure")
    };
    let carried = DefaultFailureConverter::default().to_failure(
        OutgoingError::Activity(OutgoingActivityError::Application(application)),
        &PayloadConverter::default(),
        &SerializationContextData::Activity(ActivitySerializationContext::new()),
    );
    let info = carried.maybe_application_failure().unwrap().clone();
    (
        carried.message,
        info.r#type,
        info.non_retryable,
        carried.cause.is_some(),
    )
}

#[test]
fn each_failure_carries_its_type_and_only_unavailable_is_retried() {
    for kind in FailureType::ALL {
        let carried = on_the_wire(Failure::new(kind, "what to do"));
        let non_retryable = kind != FailureType::Unavailable;
        let expected = (
            "what to do".to_owned(),
            kind.as_str().to_owned(),
            non_retryable,
            false,
        );
        assert_eq!(carried, expected);
    }
}

#[test]
fn the_question_mark_keeps_the_type() {
    fn activity() -> Result<(), ActivityError> {
        Err(Failure::new(FailureType::TooLarge, "x"))?
    }
    let ActivityError::Application(application) = activity().unwrap_err() else {
        panic!("not an application failure")
    };
    assert_eq!(application.type_name(), Some("TooLarge"));
    assert!(application.is_non_retryable());
}

#[test]
fn errors_of_stores_models_and_callers_have_their_kinds() {
    let bad: BadArgument = Argument::<u8>::from(7)
        .decoded()
        .map(|_| bad_argument())
        .unwrap();
    let cases: [(Failure, FailureType); 12] = [
        (
            StoreError::Unavailable("x".to_owned()).into(),
            FailureType::Unavailable,
        ),
        (
            StoreError::Unmigrated {
                found: 0,
                needed: 1,
            }
            .into(),
            FailureType::Unmigrated,
        ),
        (
            StoreError::TooNew { found: 2, known: 1 }.into(),
            FailureType::Unavailable,
        ),
        (
            StoreError::Unexpected("x".to_owned()).into(),
            FailureType::Unsupported,
        ),
        (
            StoreError::Unusable("x".to_owned()).into(),
            FailureType::Unsupported,
        ),
        (
            StoreError::InvalidValue {
                field: "content",
                reason: "x".to_owned(),
            }
            .into(),
            FailureType::InvalidArgument,
        ),
        (
            StoreError::TooLarge {
                field: "content",
                bytes: 2,
                bytes_max: 1,
            }
            .into(),
            FailureType::TooLarge,
        ),
        (
            ModelError::unavailable("x").into(),
            FailureType::Unavailable,
        ),
        (
            ModelError::Refused("x".to_owned()).into(),
            FailureType::ModelRefused,
        ),
        (
            InvalidScope::AgentNameSegments.into(),
            FailureType::InvalidScope,
        ),
        (
            notekeeper_domain::InvalidOperation::Id.into(),
            FailureType::InvalidArgument,
        ),
        (bad.into(), FailureType::InvalidArgument),
    ];
    for (failure, kind) in cases {
        assert_eq!(failure.kind, kind);
        assert!(!failure.message.is_empty());
    }
}

fn bad_argument() -> BadArgument {
    use temporalio_common::data_converters::{SerializationContext, TemporalDeserializable as _};
    let converter = PayloadConverter::default();
    let data = SerializationContextData::Activity(ActivitySerializationContext::new());
    let context = SerializationContext::new(&data, &converter);
    Argument::<u8>::from_payloads(&context, Vec::new())
        .unwrap()
        .decoded()
        .unwrap_err()
}

#[tokio::test]
async fn what_a_store_answers_a_mutation_is_a_failure_unless_the_model_can_correct_it() {
    let cases: [(fn() -> MutationError, FailureType); 6] = [
        (
            || MutationError::OperationConflict,
            FailureType::OperationConflict,
        ),
        (
            || MutationError::VersionConflict,
            FailureType::VersionConflict,
        ),
        (crate::fixture::unavailable, FailureType::Unavailable),
        (crate::fixture::unmigrated, FailureType::Unmigrated),
        (
            || StoreError::Unexpected("x".to_owned()).into(),
            FailureType::Unsupported,
        ),
        (
            || {
                StoreError::InvalidValue {
                    field: "content",
                    reason: "x".to_owned(),
                }
                .into()
            },
            FailureType::InvalidArgument,
        ),
    ];
    for (answer, kind) in cases {
        let bench = bench();
        bench.store.fail_with(answer);
        let write = bench
            .notebook
            .write(input(json!({"content": "x"})), &caller("1"))
            .await;
        assert_eq!(write.unwrap_err().kind, kind);
        let delete = bench
            .notebook
            .delete(input(json!({"file": "n"})), &caller("1"))
            .await;
        assert_eq!(delete.unwrap_err().kind, kind);
    }
    let bench = bench();
    bench
        .store
        .fail_with(|| notekeeper_domain::Refusal::ConflictExhausted.into());
    let write = bench
        .notebook
        .write(input(json!({"content": "x"})), &caller("1"))
        .await;
    assert_eq!(
        crate::fixture::refusal(write.unwrap()),
        "conflict_exhausted"
    );
}

#[tokio::test]
async fn reads_and_searches_fail_as_their_store_does() {
    for (answer, kind) in [
        (
            crate::fixture::unavailable as fn() -> MutationError,
            FailureType::Unavailable,
        ),
        (crate::fixture::unmigrated, FailureType::Unmigrated),
    ] {
        let bench = bench();
        bench.store.fail_with(answer);
        let read = bench.notebook.read(input(json!({"file": "n"}))).await;
        assert_eq!(read.unwrap_err().kind, kind);
        let search = bench.notebook.search(input(json!({"query": "x"}))).await;
        assert_eq!(search.unwrap_err().kind, kind);
    }
}
