//! Write metadata: when a resolver is asked, what it is told, and where its answer stands.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use notekeeper_activities::{
    ExpectedNote, MetadataResolver, Notebook, ReplaceWhole, ResolverError, Stores, WriteCall,
};
use notekeeper_contract::{
    DEFAULT_STORE, FailureType, ListedMemory, MemoryContent, OperationRef, Outcome, ScopeRef,
    WrittenMemory,
};
use notekeeper_domain::{NoteName, WriteMetadata};
use notekeeper_store::{FileOptions, FileStore, NoteStore as _, Store};
use serde_json::{Value, json};

use crate::fixture::{Bench, bench, caller, done, input, refusal, scope};

/// Answers with the number of the call, or as it is told, and keeps what it is asked.
#[derive(Debug, Default)]
struct Numbering {
    calls: AtomicUsize,
    asked: Mutex<Vec<String>>,
    instead: Mutex<Option<Result<Option<WriteMetadata>, ResolverError>>>,
}

#[async_trait]
impl MetadataResolver for Numbering {
    async fn resolve(&self, write: &WriteCall<'_>) -> Result<Option<WriteMetadata>, ResolverError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let WriteCall {
            store,
            scope,
            note,
            operation,
            caller,
        } = write;
        self.asked.lock().unwrap().push(format!(
            "{store} {} {} {} {} {:?} {} {}",
            scope.as_str(),
            note.as_str(),
            operation.as_str(),
            caller.temporal_namespace,
            caller.workflow_id,
            caller.run_id,
            caller.activity_id,
        ));
        let instead = self.instead.lock().unwrap().clone();
        instead.unwrap_or_else(|| Ok(metadata(&[("n", &number.to_string())])))
    }
}

impl Numbering {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn answer_instead(&self, answer: Result<Option<WriteMetadata>, ResolverError>) {
        *self.instead.lock().unwrap() = Some(answer);
    }
}

fn metadata(entries: &[(&str, &str)]) -> Option<WriteMetadata> {
    let entries = entries.iter();
    let entries = entries.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    WriteMetadata::new(entries.collect()).unwrap()
}

/// A bench whose notebook has the resolver `number`.
fn numbering() -> (Bench, Arc<Numbering>) {
    let resolver = Arc::new(Numbering::default());
    let mut bench = bench();
    bench.notebook = bench
        .notebook
        .with_metadata_resolver("number", Arc::clone(&resolver) as _);
    (bench, resolver)
}

fn by_resolver(id: &str, content: &str) -> Value {
    json!({
        "content": content, "operation": {"id": id}, "write_metadata": {"resolver": "number"},
    })
}

async fn write(bench: &Bench, fields: Value) -> Outcome<WrittenMemory> {
    let written = bench.notebook.write(input(fields), &caller("1")).await;
    written.expect("the write doesn't fail")
}

async fn failure(notebook: &Notebook, fields: Value) -> (FailureType, String) {
    let failed = notebook.write(input(fields), &caller("1")).await;
    let failure = failed.expect_err("the write fails");
    (failure.kind, failure.message)
}

/// What the store has of the main note.
async fn kept(bench: &Bench) -> Option<String> {
    let read = bench.store.inner.read(&scope(), &NoteName::main(), 1).await;
    let metadata = read.unwrap().expect("the note is there").metadata;
    metadata.map(|metadata| metadata.to_json())
}

#[tokio::test]
async fn fixed_metadata_is_the_last_writes_and_a_write_without_it_leaves_none() {
    let bench = bench();
    let by = |id: &str, whom: &str| {
        json!({
            "content": "x", "operation": {"id": id},
            "write_metadata": {"fixed": {"updated_by": whom}},
        })
    };
    done(write(&bench, by("a", "agent")).await);
    assert_eq!(
        kept(&bench).await.as_deref(),
        Some(r#"{"updated_by":"agent"}"#)
    );
    // Nothing is asked of the store that a write without metadata wouldn't ask.
    assert_eq!(bench.store.take_calls(), ["edit"]);
    done(write(&bench, by("b", "other")).await);
    assert_eq!(
        kept(&bench).await.as_deref(),
        Some(r#"{"updated_by":"other"}"#)
    );
    // It is no part of the fingerprint, and a repetition leaves what is kept.
    assert!(done(write(&bench, by("b", "somebody")).await).replayed);
    assert_eq!(
        kept(&bench).await.as_deref(),
        Some(r#"{"updated_by":"other"}"#)
    );
    let empty = json!({"content": "x", "operation": {"id": "c"}, "write_metadata": {"fixed": {}}});
    done(write(&bench, empty).await);
    assert_eq!(kept(&bench).await, None);
    done(write(&bench, by("d", "agent")).await);
    done(write(&bench, json!({"content": "x", "operation": {"id": "e"}})).await);
    assert_eq!(kept(&bench).await, None);
}

#[tokio::test]
async fn a_resolver_is_asked_once_for_each_write_after_the_receipt_and_before_the_note() {
    let (bench, resolver) = numbering();
    done(write(&bench, by_resolver("a", "one")).await);
    assert_eq!(bench.store.take_calls(), ["receipt", "edit"]);
    assert_eq!(resolver.calls(), 1);
    assert_eq!(kept(&bench).await.as_deref(), Some(r#"{"n":"1"}"#));

    let again = done(write(&bench, by_resolver("a", "one")).await);
    assert!(again.replayed);
    assert_eq!(bench.store.take_calls(), ["receipt"]);
    assert_eq!(resolver.calls(), 1, "a repetition asks nothing");

    done(write(&bench, by_resolver("b", "two")).await);
    assert_eq!(resolver.calls(), 2);
    assert_eq!(kept(&bench).await.as_deref(), Some(r#"{"n":"2"}"#));

    // Also for an edit that is then refused, which leaves the id free and what is kept as it is.
    let mut refused = by_resolver("c", "x");
    refused["old_text"] = json!("not there");
    assert_eq!(refusal(write(&bench, refused).await), "old_text_not_found");
    assert_eq!(resolver.calls(), 3);
    assert_eq!(kept(&bench).await.as_deref(), Some(r#"{"n":"2"}"#));

    // Not for a call that is refused before it reaches the store, nor for other arguments.
    assert_eq!(
        refusal(write(&bench, by_resolver("d", " ")).await),
        "empty_content"
    );
    let (kind, _) = failure(&bench.notebook, by_resolver("a", "other")).await;
    assert_eq!(kind, FailureType::OperationConflict);
    assert_eq!(resolver.calls(), 3);

    resolver.answer_instead(Ok(None));
    done(write(&bench, by_resolver("e", "three")).await);
    assert_eq!(kept(&bench).await, None);
}

#[tokio::test]
async fn a_resolver_is_told_which_write_it_is_asked_about() {
    let (bench, resolver) = numbering();
    let mut fields = by_resolver("op-7", "x");
    fields["file"] = json!("plans");
    fields["store"] = json!("other");
    done(write(&bench, fields).await);
    let asked = resolver.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        ["other acme/alice/main plans.md op-7 default Some(\"chat-1\") run-1 1"]
    );
    assert_eq!(bench.other.take_calls(), ["receipt", "edit"]);
}

#[tokio::test]
async fn a_resolver_that_isnt_there_is_told_with_those_that_are() {
    let (bench, _) = numbering();
    let fields = json!({"content": "x", "write_metadata": {"resolver": "secret"}});
    let (kind, message) = failure(&bench.notebook, fields.clone()).await;
    assert_eq!(kind, FailureType::InvalidArgument);
    assert_eq!(
        message,
        "`resolver` names no configured resolver; configured: `number`"
    );
    let (kind, message) = failure(&Notebook::new(bench.stores.clone()), fields).await;
    assert_eq!(kind, FailureType::InvalidArgument);
    assert!(message.ends_with("none is configured"), "{message}");
    assert!(
        !bench.store.take_calls().contains(&"edit"),
        "nothing is written"
    );
}

#[tokio::test]
async fn a_repetition_is_answered_although_its_resolver_is_gone() {
    let (bench, _) = numbering();
    let first = done(write(&bench, by_resolver("a", "x")).await);
    let elsewhere = Notebook::new(bench.stores.clone());
    let caller = caller("2");
    let again = elsewhere.write(input(by_resolver("a", "x")), &caller).await;
    let again = done(again.expect("an answer"));
    assert!(again.replayed);
    assert_eq!(again.version, first.version);
}

#[tokio::test]
async fn a_resolver_says_whether_its_failure_passes() {
    let (bench, resolver) = numbering();
    resolver.answer_instead(Err(ResolverError::passing("the directory is away")));
    let (kind, message) = failure(&bench.notebook, by_resolver("a", "x")).await;
    assert_eq!(kind, FailureType::Unavailable);
    assert!(message.ends_with("the directory is away"), "{message}");
    resolver.answer_instead(Err(ResolverError::lasting("nobody may write")));
    let (kind, message) = failure(&bench.notebook, by_resolver("a", "x")).await;
    assert_eq!(kind, FailureType::MetadataRefused);
    assert!(message.ends_with("nobody may write"), "{message}");
    assert_eq!(bench.text("MEMORY.md").await, None, "nothing was written");
    // The id is free, so the next attempt writes.
    resolver.answer_instead(Ok(metadata(&[("by", "agent")])));
    assert!(!done(write(&bench, by_resolver("a", "x")).await).replayed);
}

#[tokio::test]
async fn what_no_store_keeps_is_an_invalid_argument_also_of_a_repetition() {
    let bench = bench();
    let with = |fixed: Value| json!({"content": "x", "operation": {"id": "a"}, "write_metadata": {"fixed": fixed}});
    done(write(&bench, with(json!({"by": "agent"}))).await);
    for (fixed, why) in [
        (json!({"secret": "a\0b"}), "NUL"),
        (json!({"a\0secret": "b"}), "NUL"),
        (json!({"a": "secret".repeat(1_000)}), "4096 are allowed"),
    ] {
        let (kind, message) = failure(&bench.notebook, with(fixed)).await;
        assert_eq!(kind, FailureType::InvalidArgument);
        assert!(message.contains(why), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
    assert_eq!(kept(&bench).await.as_deref(), Some(r#"{"by":"agent"}"#));
}

#[tokio::test]
async fn a_store_that_keeps_none_is_given_none_and_nothing_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let files = FileStore::open(FileOptions::new(directory.path().join("notes")));
    let files: Arc<dyn Store> = Arc::new(files.await.unwrap());
    assert!(!files.keeps_metadata());
    let resolver = Arc::new(Numbering::default());
    let stores = Stores::new([(DEFAULT_STORE.to_owned(), Arc::clone(&files))]);
    let notebook =
        Notebook::new(stores).with_metadata_resolver("number", Arc::clone(&resolver) as _);
    let fixed = json!({"content": "x", "write_metadata": {"fixed": {"by": "agent"}}});
    for fields in [fixed, by_resolver("a", "x")] {
        let (kind, message) = failure(&notebook, fields).await;
        assert_eq!(kind, FailureType::Unsupported);
        assert!(
            message.contains("of kind `file`, keeps no write metadata"),
            "{message}"
        );
    }
    let whole = notebook
        .replace_whole(whole("x", metadata(&[("by", "ui")])))
        .await;
    assert_eq!(whole.unwrap_err().kind, FailureType::Unsupported);
    assert_eq!(resolver.calls(), 0);
    assert_eq!(files.names(&scope(), 9).await.unwrap().names, []);
    for fields in [
        json!({"content": "x"}),
        json!({"content": "x", "write_metadata": null}),
        json!({"content": "x", "write_metadata": {"fixed": {}}}),
    ] {
        let written = notebook.write(input(fields), &caller("1")).await;
        done(written.expect("a write that records nothing"));
    }
}

fn whole(content: &str, metadata: Option<WriteMetadata>) -> ReplaceWhole {
    ReplaceWhole {
        store: DEFAULT_STORE.to_owned(),
        scope: ScopeRef::from(&scope()),
        file: "MEMORY".to_owned(),
        content: content.to_owned(),
        expected: ExpectedNote::Any,
        operation: OperationRef {
            id: format!("whole-{content}"),
        },
        max_memory_size: 1_000,
        metadata,
        workspace: None,
    }
}

#[tokio::test]
async fn an_editors_write_records_its_own_and_answers_have_it_only_for_those_who_ask() {
    let (bench, _) = numbering();
    let by = metadata(&[("updated_by", "ui")]);
    done(
        bench
            .notebook
            .replace_whole(whole("typed", by))
            .await
            .unwrap(),
    );
    let read =
        async |fields| -> MemoryContent { done(bench.notebook.read(input(fields)).await.unwrap()) };
    let list = async |fields| -> ListedMemory { bench.notebook.list(input(fields)).await.unwrap() };
    let expected = json!({"updated_by": "ui"});
    let asked = read(json!({"file": "MEMORY", "include_write_metadata": true})).await;
    assert_eq!(json!(asked.write_metadata), expected);
    let listed = list(json!({"include_write_metadata": true})).await;
    assert_eq!(json!(listed.files[0].write_metadata), expected);
    // A model reads these.
    assert_eq!(read(json!({"file": "MEMORY"})).await.write_metadata, None);
    assert_eq!(list(json!({})).await.files[0].write_metadata, None);
    // The model's next write says who wrote now.
    done(write(&bench, by_resolver("a", "x")).await);
    let asked = read(json!({"file": "MEMORY", "include_write_metadata": true})).await;
    assert_eq!(json!(asked.write_metadata), json!({"n": "1"}));
    done(
        bench
            .notebook
            .replace_whole(whole("anew", None))
            .await
            .unwrap(),
    );
    assert_eq!(kept(&bench).await, None);
}
