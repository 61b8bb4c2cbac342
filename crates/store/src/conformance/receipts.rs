//! Receipts: an operation takes effect once, and a repetition is answered as the first call was.

use notekeeper_domain::Refusal;

use super::fixture::{
    Notebook, append, assert_operation_conflict, assert_refused, assert_version_conflict, at,
    at_token, notebook, operation, replace,
};
use crate::{Expected, Receipt, ReceiptStatus, Store, StoreError};

/// Every store answers repetitions at least while no more than this many newer operations of the
/// scope took effect.
pub(super) const NEWER_OPERATIONS: usize = 1_023;

pub(super) async fn exercise<S: Store>(store: &S) {
    a_replay_is_the_recorded_result(&notebook(store, "r/replay")).await;
    a_receipt_comes_before_the_version(&notebook(store, "r/before")).await;
    other_arguments_are_a_conflict(&notebook(store, "r/other")).await;
    a_failed_call_leaves_no_receipt(&notebook(store, "r/failed")).await;
    a_deletion_is_answered_for_good(&notebook(store, "r/deletion")).await;
    ids_are_exact(&notebook(store, "r/ids")).await;
    ids_belong_to_a_scope(store).await;
    the_note_names_the_operation_that_made_it(&notebook(store, "r/named")).await;
    receipts_can_be_asked_for(&notebook(store, "r/asked")).await;
    newer_operations_dont_push_out_a_receipt(store).await;
}

fn replay_of(first: &Receipt) -> Receipt {
    Receipt {
        chars: None,
        replayed: true,
        ..first.clone()
    }
}

async fn a_replay_is_the_recorded_result<S: Store>(notebook: &Notebook<'_, S>) {
    let create = operation("create", "f1");
    let change = operation("change", "f2");
    let whole = operation("whole", "f3");
    let created = notebook
        .edit("a.md", &append("one"), &create)
        .await
        .expect("edit");
    let updated = notebook
        .edit("a.md", &replace("one", "two"), &change)
        .await
        .expect("edit");
    let written = notebook
        .write("a.md", "all", Expected::Any, Some(&whole))
        .await
        .expect("write");
    assert!(!created.replayed && !updated.replayed && !written.replayed);
    let made = [&created, &updated, &written].map(|receipt| receipt.chars);
    assert_eq!(made, [Some(4), Some(4), Some(3)]);
    notebook.put("a.md", "something else").await;
    for _ in 0..2 {
        let again = notebook
            .edit("a.md", &append("one"), &create)
            .await
            .expect("replay");
        assert_eq!(again, replay_of(&created));
        let again = notebook
            .edit("a.md", &replace("one", "two"), &change)
            .await
            .expect("replay");
        assert_eq!(again, replay_of(&updated));
        let again = notebook
            .write("a.md", "all", Expected::Any, Some(&whole))
            .await;
        assert_eq!(again.expect("replay"), replay_of(&written));
    }
    assert_eq!(
        notebook.text("a.md").await.as_deref(),
        Some("something else")
    );
    notebook
        .delete("a.md", Expected::Any, None)
        .await
        .expect("delete");
    let again = notebook
        .edit("a.md", &append("one"), &create)
        .await
        .expect("replay");
    assert_eq!(again, replay_of(&created));
    assert_eq!(
        notebook.read("a.md").await,
        None,
        "a replay makes no note anew"
    );
}

async fn a_receipt_comes_before_the_version<S: Store>(notebook: &Notebook<'_, S>) {
    let first = operation("first", "f");
    let created = notebook
        .write("a.md", "one", Expected::Absent, Some(&first))
        .await
        .expect("write");
    let stale = notebook.put("a.md", "two").await;
    notebook.put("a.md", "three").await;
    // Even what it is about is the fingerprint's business, not the store's.
    let expectations = [
        Expected::Absent,
        at(&stale),
        at_token("garbage"),
        at_token(""),
    ];
    for expected in expectations {
        let again = notebook
            .write("b.md", "zzz", expected.clone(), Some(&first))
            .await;
        assert_eq!(again.expect("replay"), replay_of(&created));
        let again = notebook
            .delete("a.md", expected.clone(), Some(&first))
            .await;
        assert_eq!(again.expect("replay"), replay_of(&created));
        let again = notebook
            .edit_within("a.md", &append("x"), 0, expected, &first)
            .await;
        assert_eq!(again.expect("replay"), replay_of(&created));
    }
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("three"));
    assert_eq!(notebook.read("b.md").await, None);
}

async fn other_arguments_are_a_conflict<S: Store>(notebook: &Notebook<'_, S>) {
    let version = notebook.put("a.md", "one").await;
    notebook
        .edit("b.md", &append("x"), &operation("id", "f1"))
        .await
        .expect("edit");
    let other = operation("id", "f2");
    assert_operation_conflict(notebook.edit("a.md", &append("x"), &other).await);
    assert_operation_conflict(
        notebook
            .write("a.md", "x", Expected::Any, Some(&other))
            .await,
    );
    assert_operation_conflict(notebook.delete("a.md", Expected::Any, Some(&other)).await);
    // It wins over a version conflict and over what is wrong with the edit.
    assert_operation_conflict(
        notebook
            .write("a.md", "x", Expected::Absent, Some(&other))
            .await,
    );
    assert_operation_conflict(notebook.edit("none.md", &replace("x", "y"), &other).await);
    assert_operation_conflict(notebook.receipt(&other).await);
    assert_eq!(notebook.read("a.md").await.expect("there").version, version);
}

async fn a_failed_call_leaves_no_receipt<S: Store>(notebook: &Notebook<'_, S>) {
    notebook.put("a.md", "one").await;
    let first = operation("id", "f1");
    assert_version_conflict(
        notebook
            .write("a.md", "x", Expected::Absent, Some(&first))
            .await,
    );
    assert_version_conflict(notebook.delete("a.md", at_token("1x"), Some(&first)).await);
    assert_version_conflict(
        notebook
            .delete("a.md", Expected::Absent, Some(&first))
            .await,
    );
    assert_refused(
        notebook.edit("a.md", &replace("zz", "y"), &first).await,
        &Refusal::OldTextNotFound,
    );
    assert_refused(
        notebook.edit("none.md", &replace("zz", "y"), &first).await,
        &Refusal::NotFound,
    );
    let nul = notebook.edit("a.md", &append("a\0b"), &first).await;
    assert!(
        matches!(
            nul,
            Err(crate::MutationError::Store(StoreError::InvalidValue { .. }))
        ),
        "{nul:?}"
    );
    assert_eq!(notebook.receipt(&first).await.expect("answers"), None);
    // The id is free, with other arguments too.
    let other = operation("id", "f2");
    let applied = notebook
        .edit("a.md", &append("two"), &other)
        .await
        .expect("edit");
    assert!(!applied.replayed);
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("one\ntwo\n"));
}

async fn a_deletion_is_answered_for_good<S: Store>(notebook: &Notebook<'_, S>) {
    let early = operation("early", "f");
    let absent = notebook
        .delete("a.md", Expected::Any, Some(&early))
        .await
        .expect("delete");
    assert_eq!(
        absent,
        Receipt {
            status: ReceiptStatus::NotFound,
            version: None,
            chars: None,
            existed: false,
            replayed: false
        }
    );
    notebook.put("a.md", "made later").await;
    let again = notebook
        .delete("a.md", Expected::Any, Some(&early))
        .await
        .expect("replay");
    assert_eq!(again, replay_of(&absent));
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("made later"));

    let version = notebook.put("a.md", "made later").await;
    for (id, expected) in [("by version", at(&version)), ("whatever", Expected::Any)] {
        notebook.put("b.md", "x").await;
        let deletion = operation(id, "f");
        let file = if id == "whatever" { "b.md" } else { "a.md" };
        let deleted = notebook
            .delete(file, expected.clone(), Some(&deletion))
            .await;
        let deleted = deleted.expect("delete");
        assert_eq!(
            (deleted.status, deleted.existed),
            (ReceiptStatus::Deleted, true)
        );
        notebook.put(file, "made anew").await;
        let again = notebook
            .delete(file, expected, Some(&deletion))
            .await
            .expect("replay");
        assert_eq!(again, replay_of(&deleted));
        assert_eq!(notebook.text(file).await.as_deref(), Some("made anew"));
    }
    let never = operation("never", "f");
    let absent = notebook
        .delete("no.md", Expected::Absent, Some(&never))
        .await
        .expect("delete");
    notebook.put("no.md", "x").await;
    let again = notebook
        .delete("no.md", Expected::Absent, Some(&never))
        .await
        .expect("replay");
    assert_eq!(again, replay_of(&absent));
}

async fn ids_are_exact<S: Store>(notebook: &Notebook<'_, S>) {
    for id in ["id", "ID", " id", "id ", "i%", "i_", "'", "\\"] {
        let applied = notebook
            .edit("a.md", &append("x"), &operation(id, id))
            .await;
        assert!(
            !applied.expect("edit").replayed,
            "`{id}` is an id of its own"
        );
    }
    let longest = "i".repeat(notekeeper_domain::OPERATION_ID_CHARS_MAX);
    notebook
        .edit("a.md", &append("x"), &operation(&longest, "f"))
        .await
        .expect("edit");
}

async fn ids_belong_to_a_scope<S: Store>(store: &S) {
    let one = notebook(store, "r/scoped");
    let other = notebook(store, "r/scoped/below");
    let edit = operation("id", "f");
    for notebook in [&one, &other] {
        let applied = notebook
            .edit("a.md", &append("x"), &edit)
            .await
            .expect("edit");
        assert!(!applied.replayed);
    }
    assert!(
        one.edit("a.md", &append("x"), &edit)
            .await
            .expect("replay")
            .replayed
    );
}

async fn the_note_names_the_operation_that_made_it<S: Store>(notebook: &Notebook<'_, S>) {
    let named = async || notebook.read("a.md").await.expect("there").operation_id;
    notebook
        .edit("a.md", &append("x"), &operation("one", "f"))
        .await
        .expect("edit");
    assert_eq!(named().await.as_deref(), Some("one"));
    let whole = operation("two", "f");
    notebook
        .write("a.md", "y", Expected::Any, Some(&whole))
        .await
        .expect("write");
    assert_eq!(named().await.as_deref(), Some("two"));
    notebook
        .edit("a.md", &append("x"), &operation("one", "f"))
        .await
        .expect("replay");
    assert_eq!(
        named().await.as_deref(),
        Some("two"),
        "a replay changes nothing"
    );
    notebook.put("a.md", "z").await;
    assert_eq!(
        named().await,
        None,
        "a write without an operation clears it"
    );
}

async fn receipts_can_be_asked_for<S: Store>(notebook: &Notebook<'_, S>) {
    let edit = operation("edit", "f");
    assert_eq!(notebook.receipt(&edit).await.expect("answers"), None);
    let first = notebook
        .edit("a.md", &append("x"), &edit)
        .await
        .expect("edit");
    assert_eq!(
        notebook.receipt(&edit).await.expect("answers"),
        Some(replay_of(&first))
    );
    let deletion = operation("deletion", "f");
    let gone = notebook
        .delete("a.md", Expected::Any, Some(&deletion))
        .await
        .expect("delete");
    assert_eq!(
        notebook.receipt(&deletion).await.expect("answers"),
        Some(replay_of(&gone))
    );
    assert_eq!(
        notebook.receipt(&edit).await.expect("answers"),
        Some(replay_of(&first))
    );
}

async fn newer_operations_dont_push_out_a_receipt<S: Store>(store: &S) {
    let quiet = notebook(store, "r/quiet");
    let busy = notebook(store, "r/busy");
    let first = operation("first", "f");
    let in_quiet = quiet
        .delete("a.md", Expected::Any, Some(&first))
        .await
        .expect("delete");
    busy.delete("a.md", Expected::Any, Some(&operation("older", "f")))
        .await
        .expect("delete");
    let in_busy = busy
        .delete("a.md", Expected::Any, Some(&first))
        .await
        .expect("delete");
    for index in 0..NEWER_OPERATIONS {
        let newer = operation(&format!("newer {index}"), "f");
        busy.delete("a.md", Expected::Any, Some(&newer))
            .await
            .expect("delete");
    }
    assert_eq!(
        busy.receipt(&first).await.expect("answers"),
        Some(replay_of(&in_busy))
    );
    assert_eq!(
        quiet.receipt(&first).await.expect("answers"),
        Some(replay_of(&in_quiet))
    );
}
