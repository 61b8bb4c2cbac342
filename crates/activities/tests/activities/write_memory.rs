use notekeeper_contract::{FailureType, Outcome, WrittenMemory};
use serde_json::{Value, json};

use crate::fixture::{Bench, bench, caller, done, input, refusal};

async fn write(bench: &Bench, fields: Value) -> Outcome<WrittenMemory> {
    let written = bench.notebook.write(input(fields), &caller("1")).await;
    written.expect("the write doesn't fail")
}

async fn failure(bench: &Bench, fields: Value) -> (FailureType, String) {
    let failure = bench
        .notebook
        .write(input(fields), &caller("1"))
        .await
        .unwrap_err();
    (failure.kind, failure.message)
}

#[tokio::test]
async fn a_write_makes_appends_and_replaces() {
    let bench = bench();
    let first = done(write(&bench, json!({"content": "tea", "operation": {"id": "a"}})).await);
    assert_eq!(
        (first.file.as_str(), first.status.as_str(), first.replayed),
        ("MEMORY.md", "created", false)
    );
    let second = done(write(&bench, json!({"content": "milk", "operation": {"id": "b"}})).await);
    assert_eq!(second.status, "appended");
    assert_ne!(second.version, first.version);
    let third = json!({"content": "oat milk", "old_text": "milk", "operation": {"id": "c"}});
    assert_eq!(done(write(&bench, third).await).status, "updated");
    assert_eq!(
        bench.text("MEMORY.md").await.as_deref(),
        Some("tea\noat milk\n")
    );
}

#[tokio::test]
async fn a_repeated_operation_is_answered_and_not_applied() {
    let bench = bench();
    let fields = json!({"content": "tea", "file": "n", "operation": {"id": "a"}});
    let first = done(write(&bench, fields.clone()).await);
    bench.put("n.md", "changed since").await;
    let again = done(write(&bench, fields.clone()).await);
    assert_eq!(
        again,
        WrittenMemory {
            replayed: true,
            ..first
        }
    );
    assert_eq!(bench.text("n.md").await.as_deref(), Some("changed since"));
    // `n` and `n.md` name the same note, so they are the same arguments.
    let spelt_out = json!({"content": "tea", "file": "n.md", "operation": {"id": "a"}});
    assert!(done(write(&bench, spelt_out).await).replayed);
    let (kind, _) = failure(
        &bench,
        json!({"content": "x", "file": "n", "operation": {"id": "a"}}),
    )
    .await;
    assert_eq!(kind, FailureType::OperationConflict);
}

#[tokio::test]
async fn every_refusal_has_its_reason() {
    let bench = bench();
    bench.put("twice.md", "a a").await;
    bench.put("large.md", "0123456789").await;
    let cases = [
        (json!({"content": "x", "file": "../a"}), "invalid_path"),
        (json!({"content": "x", "file": "a\u{0}b"}), "invalid_path"),
        (json!({"content": " \n"}), "empty_content"),
        (json!({"content": "a\u{0}b"}), "nul"),
        (json!({"content": "x", "old_text": "\u{0}"}), "nul"),
        (json!({"content": "x", "old_text": "y"}), "not_found"),
        (
            json!({"content": "x", "file": "twice", "old_text": "b"}),
            "old_text_not_found",
        ),
        (
            json!({"content": "x", "file": "twice", "old_text": ""}),
            "old_text_not_found",
        ),
        (
            json!({"content": "x", "file": "twice", "old_text": "a"}),
            "ambiguous",
        ),
        (
            json!({"content": "0123456789", "max_memory_size": 10}),
            "too_large",
        ),
        (
            json!({"content": "x", "file": "large", "old_text": "y", "max_memory_size": 9}),
            "too_large_existing",
        ),
    ];
    for (fields, reason) in cases {
        assert_eq!(refusal(write(&bench, fields).await), reason);
    }
}

#[tokio::test]
async fn checks_come_in_their_order_and_the_store_is_asked_last() {
    let bench = bench();
    // Everything is wrong at first; each step corrects what was found.
    let mut fields = json!({
        "store": "nowhere", "max_memory_size": 0, "expected_version": "\u{0}",
        "file": "..", "content": "", "scope": {"namespace": "a//b"}, "operation": {"id": ""},
    });
    let mut correct = async |key: &str, value: Value| -> String {
        let outcome = bench
            .notebook
            .write(input(fields.clone()), &caller("1"))
            .await;
        fields[key] = value;
        assert!(bench.store.take_calls().is_empty());
        match outcome {
            Ok(outcome) => refusal(outcome),
            Err(failure) => failure.message,
        }
    };
    let mut found = Vec::new();
    for (key, value) in [
        ("store", json!("default")),
        ("max_memory_size", json!(10)),
        ("expected_version", json!("v0")),
        ("file", json!("n")),
        ("content", json!("tea")),
        ("scope", json!({"namespace": "a/b"})),
        ("operation", json!({"id": "a"})),
    ] {
        found.push(correct(key, value).await);
    }
    assert_eq!(
        found,
        [
            "`store` names no configured store; configured: `default`, `other`",
            "`max_memory_size` must be at least 1",
            "`expected_version` contains a NUL character (U+0000); leave it out",
            "invalid_path",
            "empty_content",
            "namespace has a segment that is empty; use `/`-separated segments of ASCII letters, digits, `_`, `-` and `.`",
            "operation id must be 1 to 200 printable ASCII characters",
        ]
    );
    let (kind, _) = failure(&bench, fields).await;
    assert_eq!(kind, FailureType::VersionConflict);
    assert_eq!(bench.store.take_calls(), ["edit"]);
}

#[tokio::test]
async fn a_receipt_answers_before_the_note_and_the_expected_version_are_looked_at() {
    let bench = bench();
    let fields = json!({"content": "0123456789", "operation": {"id": "a"}});
    done(write(&bench, fields.clone()).await);
    for more in [
        json!({"max_memory_size": 3}),
        json!({"expected_version": "stale"}),
    ] {
        let mut fields = fields.clone();
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        assert!(done(write(&bench, fields).await).replayed);
    }
}

#[tokio::test]
async fn a_refused_or_failed_write_leaves_its_operation_free() {
    let bench = bench();
    let operation = json!({"id": "a"});
    let refused = json!({"content": "x", "old_text": "y", "operation": operation});
    assert_eq!(refusal(write(&bench, refused).await), "not_found");
    let stale = json!({"content": "x", "expected_version": "v", "operation": operation});
    assert_eq!(failure(&bench, stale).await.0, FailureType::VersionConflict);
    let other = json!({"content": "tea", "operation": operation});
    assert_eq!(done(write(&bench, other).await).status, "created");
}

#[tokio::test]
async fn the_current_version_is_accepted_and_an_old_one_is_not() {
    let bench = bench();
    let first = done(write(&bench, json!({"content": "tea", "operation": {"id": "a"}})).await);
    let with = |id: &str| json!({"content": "x", "operation": {"id": id}, "expected_version": first.version});
    let second = done(write(&bench, with("b")).await);
    assert_ne!(second.version, first.version);
    let (kind, message) = failure(&bench, with("c")).await;
    assert_eq!(kind, FailureType::VersionConflict);
    assert!(
        !message.contains(&first.version) || first.version.len() == 1,
        "{message}"
    );
    assert_eq!(bench.text("MEMORY.md").await.as_deref(), Some("tea\nx\n"));
}

#[tokio::test]
async fn bounds_of_a_million_and_more_are_bounds_like_others() {
    let bench = bench();
    for max in [1_000_000_usize, i32::MAX as usize + 1, usize::MAX >> 1] {
        let fields = json!({
            "content": "x".repeat(300_000), "max_memory_size": max,
            "operation": {"id": format!("{max}")},
        });
        done(write(&bench, fields).await);
    }
    let fields = json!({
        "content": "x".repeat(300_000), "max_memory_size": 1_000_000, "operation": {"id": "last"},
    });
    assert_eq!(refusal(write(&bench, fields).await), "too_large");
}

#[tokio::test]
async fn over_long_values_are_invalid() {
    let bench = bench();
    let version = json!({"content": "x", "expected_version": "v".repeat(201)});
    let expected = "`expected_version` must have at most 200 characters".to_owned();
    assert_eq!(
        failure(&bench, version).await,
        (FailureType::InvalidArgument, expected)
    );
    let operation = json!({"content": "x", "operation": {"id": "o".repeat(201)}});
    assert_eq!(
        failure(&bench, operation).await.0,
        FailureType::InvalidArgument
    );
    let scope = json!({"content": "x", "scope": {"namespace": "n/".repeat(1_000) + "n"}});
    assert_eq!(failure(&bench, scope).await.0, FailureType::InvalidScope);
}
