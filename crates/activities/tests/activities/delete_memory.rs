use notekeeper_contract::{DeletedMemory, FailureType, Outcome};
use serde_json::{Value, json};

use crate::fixture::{Bench, bench, caller, done, input, refusal};

async fn delete(bench: &Bench, fields: Value) -> Outcome<DeletedMemory> {
    let deleted = bench.notebook.delete(input(fields), &caller("1")).await;
    deleted.expect("the deletion doesn't fail")
}

#[tokio::test]
async fn a_note_is_deleted_once_and_the_repetition_is_answered() {
    let bench = bench();
    bench.put("n.md", "tea").await;
    let fields = json!({"file": "n", "operation": {"id": "a"}});
    let first = done(delete(&bench, fields.clone()).await);
    let expected = DeletedMemory {
        file: "n.md".to_owned(),
        version: None,
        replayed: false,
        status: "deleted".to_owned(),
    };
    assert_eq!(first, expected);
    bench.put("n.md", "made anew").await;
    let again = done(delete(&bench, fields).await);
    assert_eq!(
        again,
        DeletedMemory {
            replayed: true,
            ..expected
        }
    );
    assert_eq!(bench.text("n.md").await.as_deref(), Some("made anew"));
}

#[tokio::test]
async fn nothing_to_delete_is_done_and_stays_so() {
    let bench = bench();
    let fields = json!({"file": "n", "operation": {"id": "a"}});
    assert_eq!(
        done(delete(&bench, fields.clone()).await).status,
        "not_found"
    );
    bench.put("n.md", "tea").await;
    let again = done(delete(&bench, fields).await);
    assert_eq!((again.status.as_str(), again.replayed), ("not_found", true));
    assert_eq!(bench.text("n.md").await.as_deref(), Some("tea"));
}

#[tokio::test]
async fn the_main_note_is_protected_under_each_of_its_spellings_even_in_a_bad_scope() {
    let bench = bench();
    for file in ["MEMORY.md", "MEMORY", " MEMORY.md\n"] {
        let fields = json!({"file": file, "scope": {"namespace": ".."}});
        assert_eq!(refusal(delete(&bench, fields).await), "protected");
    }
    assert!(bench.store.take_calls().is_empty());
    for file in ["memory.md", "MEMORY.md.md"] {
        bench.put(file, "tea").await;
        let fields = json!({"file": file, "operation": {"id": file}});
        assert_eq!(done(delete(&bench, fields).await).status, "deleted");
    }
}

#[tokio::test]
async fn names_versions_and_operations_are_checked_as_for_a_write() {
    let bench = bench();
    bench.put("n.md", "tea").await;
    assert_eq!(
        refusal(delete(&bench, json!({"file": "a/b"})).await),
        "invalid_path"
    );
    let kinds = [
        (
            json!({"file": "n", "expected_version": "stale"}),
            FailureType::VersionConflict,
        ),
        (
            json!({"file": "n", "expected_version": "\u{0}"}),
            FailureType::InvalidArgument,
        ),
        (
            json!({"file": "n", "operation": {"id": "é"}}),
            FailureType::InvalidArgument,
        ),
        (
            json!({"file": "n", "store": "nowhere"}),
            FailureType::InvalidArgument,
        ),
        (
            json!({"file": "n", "scope": {"agent_name": ""}}),
            FailureType::InvalidScope,
        ),
    ];
    for (fields, kind) in kinds {
        let failure = bench
            .notebook
            .delete(input(fields), &caller("1"))
            .await
            .unwrap_err();
        assert_eq!(failure.kind, kind);
    }
    done(delete(&bench, json!({"file": "n", "operation": {"id": "a"}})).await);
    let other = json!({"file": "m", "operation": {"id": "a"}});
    let failure = bench
        .notebook
        .delete(input(other), &caller("1"))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureType::OperationConflict);
}
