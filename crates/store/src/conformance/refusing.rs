//! Values that no store takes: refused, typed, and without effect.

use notekeeper_domain::Edit;

use super::fixture::{Notebook, append, notebook, operation, replace};
use crate::{CONTENT_BYTES_MAX, DIGEST_BYTES_MAX, Expected, MutationError, Store, StoreError};

pub(super) async fn exercise<S: Store>(store: &S) {
    nul_is_refused_in_every_field(&notebook(store, "f/nul")).await;
    over_long_values_are_refused(&notebook(store, "f/long")).await;
}

#[track_caller]
fn assert_invalid<T: std::fmt::Debug>(result: Result<T, MutationError>, field: &str) {
    match result {
        Err(MutationError::Store(error)) => assert_invalid_value::<T>(Err(error), field),
        other => panic!("expected `{field}` to be refused, found {other:?}"),
    }
}

#[track_caller]
pub(super) fn assert_invalid_value<T: std::fmt::Debug>(result: Result<T, StoreError>, field: &str) {
    match result {
        Err(StoreError::InvalidValue {
            field: found,
            reason,
        }) => {
            assert_eq!(found, field);
            assert!(
                !reason.contains("secret"),
                "the reason quotes the value: {reason}"
            );
        }
        other => panic!("expected `{field}` to be refused, found {other:?}"),
    }
}

#[track_caller]
fn assert_too_large<T: std::fmt::Debug>(result: Result<T, MutationError>, refused: &'static str) {
    match result {
        Err(MutationError::Store(error)) => assert_too_large_value::<T>(Err(error), refused),
        other => panic!("expected `{refused}` to be refused, found {other:?}"),
    }
}

#[track_caller]
pub(super) fn assert_too_large_value<T: std::fmt::Debug>(
    result: Result<T, StoreError>,
    refused: &'static str,
) {
    match result {
        Err(StoreError::TooLarge {
            field,
            bytes,
            bytes_max: CONTENT_BYTES_MAX,
        }) => assert_eq!((field, bytes), (refused, CONTENT_BYTES_MAX + 1)),
        other => panic!("expected `{refused}` to be refused, found {other:?}"),
    }
}

async fn nul_is_refused_in_every_field<S: Store>(notebook: &Notebook<'_, S>) {
    let version = notebook.put("a.md", "one").await;
    let nul = "secret\0";
    let edit = operation("id", "f");
    assert_invalid(notebook.edit("a.md", &append(nul), &edit).await, "content");
    assert_invalid(
        notebook.edit("a.md", &replace("one", nul), &edit).await,
        "content",
    );
    assert_invalid(
        notebook.edit("a.md", &replace(nul, "x"), &edit).await,
        "old_text",
    );
    assert_invalid(
        notebook.write("a.md", nul, Expected::Any, None).await,
        "content",
    );
    let odd = operation("id", nul);
    assert_invalid(
        notebook.edit("a.md", &append("x"), &odd).await,
        "fingerprint",
    );
    assert_invalid(
        notebook.write("a.md", "x", Expected::Any, Some(&odd)).await,
        "fingerprint",
    );
    assert_invalid(
        notebook.delete("a.md", Expected::Any, Some(&odd)).await,
        "fingerprint",
    );
    assert_invalid(notebook.receipt(&odd).await, "fingerprint");
    assert_eq!(notebook.read("a.md").await.expect("there").version, version);
    assert_eq!(notebook.receipt(&edit).await.expect("answers"), None);
}

async fn over_long_values_are_refused<S: Store>(notebook: &Notebook<'_, S>) {
    let long = "x".repeat(CONTENT_BYTES_MAX + 1);
    let edit = operation("id", "f");
    assert_too_large(
        notebook.write("a.md", &long, Expected::Any, None).await,
        "content",
    );
    let appended = Edit::Append {
        content: long.clone(),
    };
    assert_too_large(notebook.edit("a.md", &appended, &edit).await, "content");
    let old_text = notebook.edit("a.md", &replace(&long, "x"), &edit).await;
    assert_too_large(old_text, "old_text");
    let odd = operation("id", &"d".repeat(DIGEST_BYTES_MAX + 1));
    assert_invalid(
        notebook.edit("a.md", &append("x"), &odd).await,
        "fingerprint",
    );
    assert_eq!(notebook.read("a.md").await, None);
}
