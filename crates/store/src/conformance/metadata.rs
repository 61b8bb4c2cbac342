//! Write metadata: it is the current version's, changes with the text, and is nobody else's. For
//! stores that keep it; of the others nothing is asked.

use futures::future::join_all;
use notekeeper_domain::{Edit, Operation, Refusal, WRITE_METADATA_CHARS_MAX, WriteMetadata};

use super::fixture::{
    CHARS_MAX, Notebook, append, assert_operation_conflict, assert_refused,
    assert_version_conflict, at, at_token, name, notebook, operation, replace,
};
use crate::{EditRequest, Expected, MutationError, Receipt, Store, WriteRequest};

pub(super) async fn exercise<S: Store>(store: &S) {
    if !store.keeps_metadata() {
        return;
    }
    a_write_and_an_edit_record_it(&notebook(store, "m/recorded")).await;
    each_write_replaces_it_wholly(&notebook(store, "m/replaced")).await;
    what_brings_none_leaves_none(&notebook(store, "m/none")).await;
    a_deletion_removes_it(&notebook(store, "m/deleted")).await;
    what_changes_nothing_leaves_it(&notebook(store, "m/unchanged")).await;
    a_repetition_leaves_it(&notebook(store, "m/repeated")).await;
    it_is_a_new_version_of_the_same_text(&notebook(store, "m/same")).await;
    every_text_comes_back(&notebook(store, "m/texts")).await;
    it_belongs_to_one_note(store).await;
    it_changes_in_one_step_with_the_text(&notebook(store, "m/step")).await;
}

fn metadata(entries: &[(&str, &str)]) -> WriteMetadata {
    let entries = entries.iter();
    let entries = entries.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    WriteMetadata::new(entries.collect())
        .expect("suite uses valid metadata")
        .expect("suite uses metadata with entries")
}

fn by(whom: &str) -> WriteMetadata {
    metadata(&[("updated_by", whom)])
}

impl<S: Store> Notebook<'_, S> {
    async fn write_with(
        &self,
        file: &str,
        content: &str,
        expected: Expected,
        metadata: Option<&WriteMetadata>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        let request = WriteRequest {
            metadata,
            ..WriteRequest::new(content, &expected)
        };
        self.store
            .write(&self.scope, &name(file), &request, operation)
            .await
    }

    /// A write that succeeds, whatever there is.
    async fn put_with(&self, file: &str, content: &str, metadata: &WriteMetadata) -> Receipt {
        self.write_with(file, content, Expected::Any, Some(metadata), None)
            .await
            .expect("an unconditional write succeeds")
    }

    async fn edit_with(
        &self,
        file: &str,
        edit: &Edit,
        expected: Expected,
        metadata: Option<&WriteMetadata>,
        operation: &Operation,
    ) -> Result<Receipt, MutationError> {
        let request = EditRequest {
            edit,
            note_chars_max: CHARS_MAX,
            expected,
            metadata,
        };
        self.store
            .edit(&self.scope, &name(file), &request, operation)
            .await
    }

    /// What a read and a listing say, which is the same.
    async fn metadata(&self, file: &str) -> Option<WriteMetadata> {
        let read = self.read(file).await.expect("the note is there").metadata;
        let listing = self.store.list(&self.scope, CHARS_MAX).await;
        let listing = listing.expect("list answers");
        let mut notes = listing.notes.into_iter();
        let listed = notes
            .find(|note| note.name == name(file))
            .expect("the note is listed");
        assert_eq!(listed.metadata, read);
        read
    }
}

async fn a_write_and_an_edit_record_it<S: Store>(notebook: &Notebook<'_, S>) {
    let (ui, agent) = (by("ui"), metadata(&[("updated_by", "agent"), ("a", "")]));
    notebook.put_with("a.md", "one", &ui).await;
    assert_eq!(notebook.metadata("a.md").await, Some(ui.clone()));
    let [change, create] = ["change", "create"].map(|id| operation(id, "f"));
    let edited = notebook
        .edit_with("a.md", &append("two"), Expected::Any, Some(&agent), &change)
        .await;
    edited.expect("edit");
    assert_eq!(notebook.metadata("a.md").await, Some(agent.clone()));
    let created = notebook
        .edit_with("b.md", &append("x"), Expected::Absent, Some(&ui), &create)
        .await;
    created.expect("edit");
    assert_eq!(notebook.metadata("b.md").await, Some(ui));
    // A read of a part is of the whole note's version.
    let part = notebook.store.read(&notebook.scope, &name("a.md"), 1).await;
    let part = part.expect("read").expect("the note is there");
    assert_eq!((part.truncated, part.metadata), (true, Some(agent)));
}

async fn each_write_replaces_it_wholly<S: Store>(notebook: &Notebook<'_, S>) {
    let first = metadata(&[("a", "1"), ("b", "2")]);
    let second = metadata(&[("b", "3")]);
    notebook.put_with("a.md", "one", &first).await;
    notebook.put_with("a.md", "two", &second).await;
    assert_eq!(notebook.metadata("a.md").await, Some(second));
    let edit = operation("edit", "f");
    let edited = notebook
        .edit_with("a.md", &append("x"), Expected::Any, Some(&first), &edit)
        .await;
    edited.expect("edit");
    assert_eq!(notebook.metadata("a.md").await, Some(first));
}

async fn what_brings_none_leaves_none<S: Store>(notebook: &Notebook<'_, S>) {
    notebook.put("a.md", "one").await;
    assert_eq!(notebook.metadata("a.md").await, None);
    notebook.put_with("a.md", "one", &by("ui")).await;
    notebook.put("a.md", "two").await;
    assert_eq!(notebook.metadata("a.md").await, None);
    notebook.put_with("a.md", "one", &by("ui")).await;
    let edit = operation("edit", "f");
    let edited = notebook.edit("a.md", &append("three"), &edit).await;
    edited.expect("edit");
    assert_eq!(notebook.metadata("a.md").await, None);
}

async fn a_deletion_removes_it<S: Store>(notebook: &Notebook<'_, S>) {
    notebook.put_with("a.md", "one", &by("ui")).await;
    let deleted = notebook.delete("a.md", Expected::Any, None).await;
    deleted.expect("delete");
    notebook.put("a.md", "one").await;
    assert_eq!(notebook.metadata("a.md").await, None);
    let edit = operation("edit", "f");
    notebook.put_with("b.md", "one", &by("ui")).await;
    let deleted = notebook.delete("b.md", Expected::Any, None).await;
    deleted.expect("delete");
    let created = notebook.edit("b.md", &append("x"), &edit).await;
    created.expect("edit");
    assert_eq!(notebook.metadata("b.md").await, None);
}

async fn what_changes_nothing_leaves_it<S: Store>(notebook: &Notebook<'_, S>) {
    let (ui, agent) = (by("ui"), by("agent"));
    notebook.put_with("a.md", "one", &ui).await;
    let agents = Some(&agent);
    let [stale, lost, used] = ["stale", "lost", "used"].map(|id| operation(id, "f"));
    let append = append("two");
    for expected in [Expected::Absent, at_token("none")] {
        let written = notebook
            .write_with("a.md", "two", expected.clone(), agents, None)
            .await;
        assert_version_conflict(written);
        let edited = notebook
            .edit_with("a.md", &append, expected.clone(), agents, &stale)
            .await;
        assert_version_conflict(edited);
        assert_version_conflict(notebook.delete("a.md", expected, None).await);
    }
    let refused = notebook
        .edit_with("a.md", &replace("zwei", "2"), Expected::Any, agents, &lost)
        .await;
    assert_refused(refused, &Refusal::OldTextNotFound);
    let made = notebook
        .edit_with("b.md", &append, Expected::Any, agents, &used)
        .await;
    made.expect("edit");
    let other = operation("used", "g");
    let conflict = notebook
        .edit_with("a.md", &append, Expected::Any, agents, &other)
        .await;
    assert_operation_conflict(conflict);
    let conflict = notebook
        .write_with("a.md", "two", Expected::Any, agents, Some(&other))
        .await;
    assert_operation_conflict(conflict);
    assert_eq!(notebook.metadata("a.md").await, Some(ui));
}

async fn a_repetition_leaves_it<S: Store>(notebook: &Notebook<'_, S>) {
    let (agent, ui) = (by("agent"), by("ui"));
    let [edit, write] = ["edit", "write"].map(|id| operation(id, "f"));
    let first = notebook
        .edit_with("a.md", &append("x"), Expected::Any, Some(&agent), &edit)
        .await;
    let first = first.expect("edit");
    let whole = notebook
        .write_with("b.md", "x", Expected::Any, Some(&agent), Some(&write))
        .await;
    let whole = whole.expect("write");
    for now in [Some(&ui), None] {
        let again = notebook
            .edit_with("a.md", &append("x"), Expected::Any, now, &edit)
            .await;
        let again = again.expect("a repetition with other metadata is no conflict");
        assert_eq!((again.replayed, &again.version), (true, &first.version));
        assert_eq!(notebook.metadata("a.md").await, Some(agent.clone()));
        let again = notebook
            .write_with("b.md", "x", Expected::Any, now, Some(&write))
            .await;
        let again = again.expect("a repetition with other metadata is no conflict");
        assert_eq!((again.replayed, &again.version), (true, &whole.version));
        assert_eq!(notebook.metadata("b.md").await, Some(agent.clone()));
    }
    // Nor does it touch what another write recorded since.
    notebook.put_with("a.md", "typed", &ui).await;
    let again = notebook
        .edit_with("a.md", &append("x"), Expected::Any, Some(&agent), &edit)
        .await;
    assert!(again.expect("a repetition").replayed);
    assert_eq!(notebook.metadata("a.md").await, Some(ui));
    assert_eq!(notebook.text("a.md").await.as_deref(), Some("typed"));
}

async fn it_is_a_new_version_of_the_same_text<S: Store>(notebook: &Notebook<'_, S>) {
    let first = notebook.put_with("a.md", "same", &by("agent")).await;
    let first = first.version.expect("a write makes a version");
    let second = notebook
        .write_with("a.md", "same", at(&first), Some(&by("ui")), None)
        .await;
    let second = second.expect("write").version;
    assert_ne!(second, Some(first));
    assert_eq!(notebook.metadata("a.md").await, Some(by("ui")));
}

async fn every_text_comes_back<S: Store>(notebook: &Notebook<'_, S>) {
    let longest = "x".repeat(WRITE_METADATA_CHARS_MAX - 8);
    let most_escapes = "\u{1}".repeat((WRITE_METADATA_CHARS_MAX - 8) / 6);
    let widest = "😀".repeat(WRITE_METADATA_CHARS_MAX - 8);
    let texts = [
        [("", ""), (" ", " ")],
        [("A", "1"), ("a", "2")],
        [("é", "😀\u{202e}\"\\/"), ("e\u{301}", "\u{2028}\u{feff}")],
        [("\n", "\r\t\u{8}\u{c}"), ("\u{1}", "\u{1f}\u{7f}\u{85}")],
        [("\u{ffff}", "\u{10ffff}"), ("\u{10000}", "\u{d7ff}")],
        [("null", "null"), ("'", "';--$1 %s {}")],
        [("__proto__", "1e400"), ("a.b", "{\"a\":\"b\"}")],
    ];
    for entries in &texts {
        let kept = metadata(entries);
        notebook.put_with("a.md", "x", &kept).await;
        assert_eq!(notebook.metadata("a.md").await, Some(kept));
    }
    for text in [&longest, &most_escapes, &widest] {
        let kept = metadata(&[("a", text)]);
        notebook.put_with("a.md", "x", &kept).await;
        assert_eq!(notebook.metadata("a.md").await, Some(kept));
    }
}

async fn it_belongs_to_one_note<S: Store>(store: &S) {
    let here = notebook(store, "m/own");
    let nested = notebook(store, "m/own/nested");
    here.put_with("a.md", "x", &by("one")).await;
    here.put_with("b.md", "x", &by("two")).await;
    nested.put("a.md", "x").await;
    assert_eq!(here.metadata("a.md").await, Some(by("one")));
    assert_eq!(here.metadata("b.md").await, Some(by("two")));
    assert_eq!(nested.metadata("a.md").await, None);
}

/// Writers that get into each other's way, some of which record nothing. Whoever reads meanwhile
/// sees a text and what the write of that very text recorded.
async fn it_changes_in_one_step_with_the_text<S: Store>(notebook: &Notebook<'_, S>) {
    const WRITERS: usize = 12;
    let writing = (0..WRITERS).map(async |writer| {
        let text = format!("line {writer}");
        let recorded = (writer % 3 != 0).then(|| metadata(&[("line", &text)]));
        let edit = operation(&format!("writer-{writer}"), "f");
        let edited = notebook
            .edit_with(
                "a.md",
                &append(&text),
                Expected::Any,
                recorded.as_ref(),
                &edit,
            )
            .await;
        edited.expect("edit");
        let note = notebook.read("a.md").await.expect("the note is there");
        let last = note.content.lines().last().expect("a line").to_owned();
        let number: usize = last
            .strip_prefix("line ")
            .and_then(|number| number.parse().ok())
            .expect("a line of a writer");
        let line = note.metadata.as_ref().and_then(|found| found.get("line"));
        assert_eq!(line, (!number.is_multiple_of(3)).then_some(last.as_str()));
    });
    join_all(writing).await;
    let text = notebook.text("a.md").await.expect("the note is there");
    assert_eq!(text.lines().count(), WRITERS);
}
