//! What a notebook does over a store that has only what a store must have.

use std::sync::Arc;

use futures::future::join_all;
use notekeeper_activities::{Notebook, Stores};
use notekeeper_contract::{FailureType, LoadSnapshotInput, Outcome, SnapshotAnswer};
use notekeeper_domain::NoteName;
use notekeeper_store::{Expected, NoteStore as _, Store, WriteRequest, conformance::MinimalStore};
use serde_json::{Value, json};

use crate::fixture::{caller, done, input, refusal, scope};

fn over(store: &Arc<MinimalStore>) -> Notebook {
    let store: Arc<dyn Store> = Arc::clone(store) as _;
    Notebook::new(Stores::new([("default".to_owned(), store)]))
}

fn load(fields: Value) -> LoadSnapshotInput {
    let mut memory = json!({"scope": {"namespace": "acme/alice"}});
    let all = memory.as_object_mut().expect("an object");
    all.extend(fields.as_object().expect("an object").clone());
    serde_json::from_value(json!({"memories": [memory]})).expect("an input")
}

/// The text and digest of the block that is loaded.
async fn block(notebook: &Notebook, fields: Value) -> (String, String) {
    let loaded = notebook.load_snapshot(load(fields)).await;
    match loaded.expect("the snapshot loads").snapshots.remove(0) {
        SnapshotAnswer::Block {
            digest,
            text: Some(text),
            ..
        } => (text, digest),
        other => panic!("no block with its text: {other:?}"),
    }
}

#[tokio::test]
async fn the_tools_work_on_required_methods_alone() {
    let notebook = over(&Arc::default());
    let write = async |fields, id| done(notebook.write(input(fields), &caller(id)).await.unwrap());
    let first = write(json!({"content": "- likes tea"}), "1").await;
    assert_eq!((first.status.as_str(), first.replayed), ("created", false));
    let again = write(json!({"content": "- likes tea"}), "1").await;
    assert_eq!((again.status.as_str(), again.replayed), ("created", true));
    assert_eq!(again.version, first.version);
    let fields = json!({"content": "coffee", "old_text": "tea"});
    assert_eq!(write(fields, "2").await.status, "updated");
    write(json!({"content": "coffee prices", "file": "n"}), "3").await;

    let search = notebook.search(input(json!({"query": "COFFEE"}))).await;
    let found = done(search.unwrap());
    let files: Vec<&str> = found.matches.iter().map(|found| &*found.file).collect();
    assert_eq!((files, found.scanned), (vec!["MEMORY.md", "n.md"], 2));
    let listed = notebook.list(input(json!({}))).await.unwrap();
    assert_eq!(listed.files.len(), 2);
    let delete = input(json!({"file": "n"}));
    let deleted = notebook.delete(delete, &caller("4")).await.unwrap();
    assert_eq!(done(deleted).status, "deleted");
    let read = notebook.read(input(json!({"file": "n"}))).await.unwrap();
    assert_eq!(refusal(read), "not_found");
}

#[tokio::test]
async fn a_store_that_keeps_no_snapshots_has_blocks_delivered_inline_although_references_were_asked_for()
 {
    let notebook = over(&Arc::default());
    let tea = input(json!({"content": "- likes tea"}));
    done(notebook.write(tea, &caller("1")).await.unwrap());
    let (text, digest) = block(&notebook, json!({"delivery": "reference"})).await;
    assert!(text.contains("- likes tea"), "{text}");
    let held = load(json!({"delivery": "reference", "held_digest": digest}));
    let loaded = notebook.load_snapshot(held).await.unwrap();
    assert!(matches!(
        loaded.snapshots.as_slice(),
        [SnapshotAnswer::Unchanged { .. }]
    ));
}

#[tokio::test]
async fn a_store_without_tails_shows_the_beginning_of_an_over_long_note_and_says_so() {
    let store = Arc::<MinimalStore>::default();
    let (main, content) = (NoteName::main(), "first\nsecond\nthird\n");
    let request = WriteRequest::new(content, &Expected::Any);
    store.write(&scope(), &main, &request, None).await.unwrap();
    let (text, _) = block(&over(&store), json!({"render": {"max_memory_size": 12}})).await;
    assert!(text.contains("first\nsecond"), "{text}");
    assert!(!text.contains("third"), "{text}");
    assert!(text.contains("newer text is not shown"), "{text}");
}

#[tokio::test]
async fn metadata_for_a_store_that_keeps_none_is_refused_and_never_dropped() {
    let store = Arc::<MinimalStore>::default();
    let fields = json!({"content": "x", "write_metadata": {"fixed": {"by": "agent"}}});
    let failure = over(&store).write(input(fields), &caller("1")).await;
    let failure = failure.unwrap_err();
    assert_eq!(
        failure.kind,
        FailureType::Unsupported,
        "{}",
        failure.message
    );
    let names = store.names(&scope(), 10).await.unwrap();
    assert_eq!(names.names.len(), 0, "nothing was written");
}

/// More writers than an edit has attempts, of whom one succeeds each time.
#[tokio::test]
async fn an_edit_that_always_finds_another_before_it_is_a_refusal_that_the_model_can_answer() {
    const WRITERS: usize = 20;
    const ATTEMPTS: usize = 16;
    let store = Arc::new(MinimalStore::polite());
    let notebook = over(&store);
    let write = async |writer: usize| {
        let line = input(json!({"content": format!("line {writer}")}));
        let caller = caller(&writer.to_string());
        notebook.write(line, &caller).await.unwrap()
    };
    let written = join_all((0..WRITERS).map(write)).await;
    let mut gave_up = Vec::new();
    for (writer, outcome) in written.into_iter().enumerate() {
        if let Outcome::Refused(refused) = outcome {
            assert_eq!(refused.reason, "conflict_exhausted");
            gave_up.push(writer);
        }
    }
    assert_eq!(gave_up.len(), WRITERS - ATTEMPTS);
    // They left no receipt, so the same calls take effect when they come again.
    for writer in gave_up {
        assert!(!done(write(writer).await).replayed);
    }
    let note = store.read(&scope(), &NoteName::main(), 10_000).await;
    let text = note.unwrap().unwrap().content;
    assert_eq!(text.lines().count(), WRITERS);
}
