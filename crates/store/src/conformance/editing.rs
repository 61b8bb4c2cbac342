//! Edits: what they make of a note, and what they refuse.

use notekeeper_domain::Refusal;

use super::fixture::{
    Notebook, append, assert_refused, assert_version_conflict, at, made, notebook, operation,
    replace,
};
use crate::{Expected, ReceiptStatus, Store};

pub(super) async fn exercise<S: Store>(store: &S) {
    appending_creates_then_appends(&notebook(store, "e/append")).await;
    a_blank_note_counts_as_created(&notebook(store, "e/blank")).await;
    replacing_is_literal(&notebook(store, "e/replace")).await;
    a_refused_edit_changes_nothing(&notebook(store, "e/refused")).await;
    the_bound_counts_characters_before_and_after(&notebook(store, "e/bound")).await;
    an_edit_can_expect_a_version(&notebook(store, "e/expect")).await;
}

async fn appending_creates_then_appends<S: Store>(notebook: &Notebook<'_, S>) {
    let created = notebook
        .edit("a.md", &append("one\n\n"), &operation("1", "f"))
        .await;
    let created = created.expect("edit");
    assert_eq!(
        (created.status, created.existed),
        (ReceiptStatus::Created, false)
    );
    let appended = notebook
        .edit("a.md", &append("two"), &operation("2", "f"))
        .await;
    let appended = appended.expect("edit");
    assert_eq!(
        (appended.status, appended.existed),
        (ReceiptStatus::Appended, true)
    );
    assert_ne!(created.version, appended.version);
    let note = notebook.read("a.md").await.expect("the note is there");
    assert_eq!(note.content, "one\ntwo\n");
    assert_eq!(Some(note.version), appended.version);
    assert_eq!(note.operation_id.as_deref(), Some("2"));
}

async fn a_blank_note_counts_as_created<S: Store>(notebook: &Notebook<'_, S>) {
    notebook.put("a.md", " \n\u{a0}").await;
    let edit = operation("1", "f");
    let first = notebook
        .edit("a.md", &append("one"), &edit)
        .await
        .expect("edit");
    assert_eq!(
        (first.status, first.existed),
        (ReceiptStatus::Created, true)
    );
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("one\n"));
    let again = notebook
        .edit("a.md", &append("one"), &edit)
        .await
        .expect("replay");
    assert_eq!(
        again.status,
        ReceiptStatus::Created,
        "a replay has the recorded status"
    );
}

async fn replacing_is_literal<S: Store>(notebook: &Notebook<'_, S>) {
    let templates = [
        "$&", "$$", "$`", "$1", "${0}", "\\1", "\\&", "\\\\", "%s", "{}", "",
    ];
    for (index, template) in templates.into_iter().enumerate() {
        notebook.put("a.md", "before TOKEN after").await;
        let edit = operation(&format!("r{index}"), "f");
        let receipt = notebook
            .edit("a.md", &replace("TOKEN", template), &edit)
            .await;
        let receipt = receipt.expect("edit");
        assert_eq!(
            (receipt.status, receipt.existed),
            (ReceiptStatus::Updated, true)
        );
        let expected = format!("before {template} after");
        assert_eq!(notebook.text("a.md").await, Some(expected));
    }
    notebook.put("empty.md", "all").await;
    notebook
        .edit("empty.md", &replace("all", ""), &operation("e", "f"))
        .await
        .expect("edit");
    assert_eq!(
        notebook.text("empty.md").await.as_deref(),
        Some(""),
        "emptied, not removed"
    );
}

async fn a_refused_edit_changes_nothing<S: Store>(notebook: &Notebook<'_, S>) {
    let edit = operation("1", "f");
    assert_refused(
        notebook.edit("none.md", &replace("x", "y"), &edit).await,
        &Refusal::NotFound,
    );
    assert_eq!(
        notebook.read("none.md").await,
        None,
        "a refusal makes no note"
    );
    let version = notebook.put("a.md", "ab ab").await;
    let refused = [
        (replace("zz", "y"), Refusal::OldTextNotFound),
        (replace("", "y"), Refusal::OldTextNotFound),
        (replace("ab", "y"), Refusal::Ambiguous { count: 2 }),
    ];
    for (change, refusal) in refused {
        assert_refused(notebook.edit("a.md", &change, &edit).await, &refusal);
    }
    let note = notebook.read("a.md").await.expect("the note is there");
    assert_eq!((note.content.as_str(), note.version), ("ab ab", version));
}

async fn the_bound_counts_characters_before_and_after<S: Store>(notebook: &Notebook<'_, S>) {
    let edit = operation("1", "f");
    let within = async |change, chars_max| {
        notebook
            .edit_within("a.md", &change, chars_max, Expected::Any, &edit)
            .await
    };
    notebook.put("a.md", "固固固固").await;
    assert_refused(
        within(append("固"), 3).await,
        &Refusal::ExistingTooLarge { chars_max: 3 },
    );
    // Too large already beats what is wrong with the edit, even where it would shrink the note.
    assert_refused(
        within(replace("nowhere", ""), 3).await,
        &Refusal::ExistingTooLarge { chars_max: 3 },
    );
    assert_refused(
        within(append("固"), 6).await,
        &Refusal::TooLarge {
            chars: 7,
            chars_max: 6,
        },
    );
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("固固固固"));
    within(append("固"), 7)
        .await
        .expect("exactly the bound fits");
    assert_eq!(
        notebook.text("a.md").await.as_deref(),
        Some("固固固固\n固\n")
    );
    assert_refused(
        notebook
            .edit_within(
                "new.md",
                &append("12345"),
                5,
                Expected::Any,
                &operation("2", "f"),
            )
            .await,
        &Refusal::TooLarge {
            chars: 6,
            chars_max: 5,
        },
    );
    assert_eq!(notebook.read("new.md").await, None);
}

async fn an_edit_can_expect_a_version<S: Store>(notebook: &Notebook<'_, S>) {
    let first = notebook.put("a.md", "one").await;
    let edit = operation("1", "f");
    let second = made(
        notebook
            .edit_within("a.md", &append("two"), 100, at(&first), &edit)
            .await,
    );
    assert_version_conflict(
        notebook
            .edit_within(
                "a.md",
                &append("three"),
                100,
                at(&first),
                &operation("2", "f"),
            )
            .await,
    );
    // What the caller expects is looked at before the edit is.
    assert_version_conflict(
        notebook
            .edit_within(
                "a.md",
                &replace("zz", ""),
                1,
                at(&first),
                &operation("3", "f"),
            )
            .await,
    );
    made(
        notebook
            .edit_within(
                "a.md",
                &append("three"),
                100,
                at(&second),
                &operation("4", "f"),
            )
            .await,
    );
    assert_eq!(
        notebook.text("a.md").await.as_deref(),
        Some("one\ntwo\nthree\n")
    );
}
