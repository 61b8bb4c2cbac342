//! Versions: compare-and-swap, and reads of what it left.

use std::collections::HashSet;

use super::fixture::{
    Notebook, append, assert_version_conflict, at, at_token, made, name, notebook, operation,
};
use crate::{Expected, Receipt, ReceiptStatus, Store};

pub(super) async fn exercise<S: Store>(store: &S) {
    a_written_note_reads_back(&notebook(store, "v/written")).await;
    a_stale_version_changes_nothing(&notebook(store, "v/stale")).await;
    tokens_that_were_never_given_match_no_note(&notebook(store, "v/tokens")).await;
    absent_means_that_there_is_no_note(&notebook(store, "v/absent")).await;
    a_version_never_comes_back(&notebook(store, "v/aba")).await;
    the_same_text_again_is_a_new_version(&notebook(store, "v/same")).await;
    an_empty_note_is_a_note(&notebook(store, "v/empty")).await;
    deletion_respects_the_version(&notebook(store, "v/deletion")).await;
    a_read_is_cut_at_characters(&notebook(store, "v/cut")).await;
    text_comes_back_byte_for_byte(&notebook(store, "v/bytes")).await;
}

async fn a_written_note_reads_back<S: Store>(notebook: &Notebook<'_, S>) {
    assert_eq!(notebook.read("a.md").await, None);
    let receipt = notebook
        .write("a.md", "one", Expected::Absent, None)
        .await
        .expect("write");
    let version = receipt.version.clone().expect("a write makes a version");
    assert_eq!(
        receipt,
        Receipt {
            status: ReceiptStatus::Created,
            version: Some(version.clone()),
            chars: Some(3),
            existed: false,
            replayed: false,
        }
    );
    let note = notebook.read("a.md").await.expect("the note is there");
    assert_eq!((note.content.as_str(), note.truncated), ("one", false));
    assert_eq!((note.version, note.operation_id), (version.clone(), None));

    let receipt = notebook
        .write("a.md", "two", at(&version), None)
        .await
        .expect("write");
    assert_eq!(
        (receipt.status, receipt.existed),
        (ReceiptStatus::Updated, true)
    );
    assert_ne!(receipt.version, Some(version));
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("two"));
}

async fn a_stale_version_changes_nothing<S: Store>(notebook: &Notebook<'_, S>) {
    let first = notebook.put("a.md", "one").await;
    notebook.put("a.md", "two").await;
    assert_version_conflict(notebook.write("a.md", "three", at(&first), None).await);
    assert_version_conflict(notebook.delete("a.md", at(&first), None).await);
    let late = operation("late", "f");
    assert_version_conflict(
        notebook
            .edit_within("a.md", &append("three"), 100, at(&first), &late)
            .await,
    );
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("two"));
}

async fn tokens_that_were_never_given_match_no_note<S: Store>(notebook: &Notebook<'_, S>) {
    let version = notebook.put("a.md", "one").await;
    let padded = [
        format!("0{}", version.as_str()),
        format!("+{}", version.as_str()),
        format!(" {}", version.as_str()),
        format!("{}\0", version.as_str()),
        version.as_str().repeat(30),
    ];
    let literal = [
        "",
        "0",
        "-1",
        "nope",
        "9223372036854775807",
        "9223372036854775808",
    ];
    for token in padded.iter().map(String::as_str).chain(literal) {
        assert_version_conflict(notebook.write("a.md", "two", at_token(token), None).await);
        assert_version_conflict(notebook.delete("a.md", at_token(token), None).await);
        assert_version_conflict(notebook.write("none.md", "x", at_token(token), None).await);
        assert_version_conflict(notebook.delete("none.md", at_token(token), None).await);
    }
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("one"));
    assert_eq!(notebook.read("none.md").await, None);
}

async fn absent_means_that_there_is_no_note<S: Store>(notebook: &Notebook<'_, S>) {
    notebook.put("a.md", "").await;
    assert_version_conflict(notebook.write("a.md", "two", Expected::Absent, None).await);
    assert_version_conflict(notebook.delete("a.md", Expected::Absent, None).await);
    let edit = operation("edit", "f");
    assert_version_conflict(
        notebook
            .edit_within("a.md", &append("x"), 100, Expected::Absent, &edit)
            .await,
    );
    let created = notebook
        .edit_within("b.md", &append("x"), 100, Expected::Absent, &edit)
        .await;
    assert_eq!(created.expect("edit").status, ReceiptStatus::Created);
    let gone = notebook
        .delete("c.md", Expected::Absent, None)
        .await
        .expect("delete");
    assert_eq!(
        (gone.status, gone.existed),
        (ReceiptStatus::NotFound, false)
    );
}

async fn a_version_never_comes_back<S: Store>(notebook: &Notebook<'_, S>) {
    let mut seen = HashSet::new();
    let first = notebook.put("a.md", "same").await;
    seen.insert(first.clone());
    for round in 0..5 {
        notebook
            .delete("a.md", Expected::Any, None)
            .await
            .expect("delete");
        let version = made(notebook.write("a.md", "same", Expected::Absent, None).await);
        assert!(
            seen.insert(version.clone()),
            "version repeats in round {round}"
        );
        assert!(seen.insert(notebook.put("a.md", "other").await));
        assert!(seen.insert(notebook.put("a.md", "same").await));
    }
    // The text is what it was at the first version; the version isn't.
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("same"));
    assert_version_conflict(notebook.write("a.md", "x", at(&first), None).await);
    assert_version_conflict(notebook.delete("a.md", at(&first), None).await);
}

async fn the_same_text_again_is_a_new_version<S: Store>(notebook: &Notebook<'_, S>) {
    let first = notebook.put("a.md", "same").await;
    let second = made(notebook.write("a.md", "same", at(&first), None).await);
    assert_ne!(first, second);
    assert_version_conflict(notebook.write("a.md", "same", at(&first), None).await);
}

async fn an_empty_note_is_a_note<S: Store>(notebook: &Notebook<'_, S>) {
    let version = notebook.put("a.md", "").await;
    let note = notebook.read("a.md").await.expect("an empty note is there");
    assert_eq!(
        (note.content.as_str(), note.truncated, note.version),
        ("", false, version)
    );
    let deleted = notebook
        .delete("a.md", Expected::Any, None)
        .await
        .expect("delete");
    assert_eq!(
        (deleted.status, deleted.existed),
        (ReceiptStatus::Deleted, true)
    );
}

async fn deletion_respects_the_version<S: Store>(notebook: &Notebook<'_, S>) {
    let version = notebook.put("a.md", "one").await;
    let deleted = notebook
        .delete("a.md", at(&version), None)
        .await
        .expect("delete");
    assert_eq!(
        deleted,
        Receipt {
            status: ReceiptStatus::Deleted,
            version: None,
            chars: None,
            existed: true,
            replayed: false
        }
    );
    assert_eq!(notebook.read("a.md").await, None);
    assert_version_conflict(notebook.delete("a.md", at(&version), None).await);
    let absent = notebook
        .delete("a.md", Expected::Any, None)
        .await
        .expect("delete");
    assert_eq!(
        (absent.status, absent.existed),
        (ReceiptStatus::NotFound, false)
    );
}

async fn a_read_is_cut_at_characters<S: Store>(notebook: &Notebook<'_, S>) {
    let text = "a固👩\u{200d}👩é\u{200c}z";
    let version = notebook.put("a.md", text).await;
    let chars = text.chars().count();
    for chars_max in 0..chars + 2 {
        let note = notebook
            .store
            .read(&notebook.scope, &name("a.md"), chars_max)
            .await
            .expect("read")
            .expect("the note is there");
        assert_eq!(
            note.content,
            text.chars().take(chars_max).collect::<String>()
        );
        assert_eq!(note.truncated, chars_max < chars, "at {chars_max}");
        assert_eq!(note.version, version, "the version is the whole note's");
    }
}

async fn text_comes_back_byte_for_byte<S: Store>(notebook: &Notebook<'_, S>) {
    let texts = [
        "line\r\nline\r\n\r\n",
        "\u{feff}bom, \u{1}\u{7f}\u{85}\u{2028} controls",
        "$& $$ $1 ${0} \\1 \\& \\\\ %s {} ' \" ` ; -- /* */",
        "e\u{301} is not é",
        "\u{10ffff}\u{e000}\u{fffd}",
        "   \n\t ",
    ];
    for text in texts {
        notebook.put("a.md", text).await;
        assert_eq!(notebook.text("a.md").await.as_deref(), Some(text));
    }
}
