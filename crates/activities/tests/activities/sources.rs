//! `query_source` and `write_source` over sources that answer what a test says.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use notekeeper_activities::{Failure, Notebook, Sources, Stores};
use notekeeper_contract::{
    FailureType, FoundItem, QuerySourceInput, RESULT_BYTES_MAX, WriteSourceInput, WriteSourceOutput,
};
use notekeeper_domain::{ITEM_CHARS_MAX, ITEM_METADATA_BYTES_MAX, Item, ItemMetadata, OperationId};
use notekeeper_models::{HashingEmbedder, ModelError};
use notekeeper_recall::{
    Answer, CacheOptions, CachedSource, CompositeOptions, CompositeSource, FactsSource, FailedLeg,
    FileSource, HybridSource, JournalSource, LEG_TIMEOUT_DEFAULT, NotesSource, OnWrite, OpenStores,
    ReadOnlySource, ScopedSource, Scratchpad, ScratchpadSource, SequentialSource, Source,
    SourceCall, SourceError, SourceEvent, SourceEvents, SourceQuery, TranscriptSource,
    VectorSource, WriteOperation, Written,
};
use notekeeper_store::{MutationError, StoreError};
use serde_json::{Map, Value, json};

use crate::fixture::{Bench, bench, caller, input, scope};

/// What a call comes to.
type Told<T> = Box<dyn FnOnce(&SourceCall<'_>) -> Result<T, SourceError> + Send>;

/// A source that answers what it is told to, in this order, and keeps what it was asked.
#[derive(Default)]
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Told<Answer>>>,
    writes: Mutex<VecDeque<Told<Written>>>,
    queries: Mutex<Vec<(SourceQuery, Scratchpad)>>,
    written: Mutex<Vec<(Vec<Item>, WriteOperation)>>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

#[async_trait]
impl Source for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let asked = (query.clone(), call.scratchpad.clone());
        self.queries.lock().unwrap().push(asked);
        let told = self.answers.lock().unwrap().pop_front();
        told.map_or_else(|| Ok(Answer::default()), |told| told(call))
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        let given = (items.to_vec(), operation.clone());
        self.written.lock().unwrap().push(given);
        let told = self.writes.lock().unwrap().pop_front();
        told.map_or_else(|| Ok(Written::accepted_by("scripted")), |told| told(call))
    }
}

impl Scripted {
    pub(crate) fn answer(
        &self,
        told: impl FnOnce() -> Result<Answer, SourceError> + Send + 'static,
    ) {
        self.answers.lock().unwrap().push_back(Box::new(|_| told()));
    }

    pub(crate) fn write(
        &self,
        told: impl FnOnce(&SourceEvents) -> Result<Written, SourceError> + Send + 'static,
    ) {
        self.writes
            .lock()
            .unwrap()
            .push_back(Box::new(|call| told(call.events)));
    }

    fn is_untouched(&self) -> bool {
        self.queries.lock().unwrap().is_empty() && self.written.lock().unwrap().is_empty()
    }
}

/// A notebook with the source `s`, and the source.
pub(crate) fn scripted() -> (Notebook, Arc<Scripted>) {
    let source = Arc::new(Scripted::default());
    let named: [(String, Arc<dyn Source>); 1] = [("s".to_owned(), source.clone())];
    let notebook = Notebook::new(Stores::new([])).with_sources(Sources::new(named));
    (notebook, source)
}

pub(crate) fn query(fields: Value) -> QuerySourceInput {
    input(with_source(fields))
}

pub(crate) fn write(fields: Value) -> WriteSourceInput {
    let mut fields = with_source(fields);
    let object = fields.as_object_mut().unwrap();
    object.entry("items").or_insert(json!([{"content": "tea"}]));
    input(fields)
}

fn with_source(mut fields: Value) -> Value {
    let object = fields.as_object_mut().unwrap();
    object.entry("source").or_insert(json!("s"));
    fields
}

async fn written(notebook: &Notebook, fields: Value) -> WriteSourceOutput {
    let caller = caller("1");
    let output = notebook.write_source(write(fields), &caller).await;
    output.unwrap()
}

#[tokio::test]
async fn a_query_goes_to_the_source_with_all_that_was_asked() {
    let (notebook, source) = scripted();
    source.answer(|| {
        let metadata = ItemMetadata::of_value(json!({"tier": "public"})).unwrap();
        Ok(Answer {
            items: vec![
                Item::new("tea", "leaf")
                    .with_id("7")
                    .with_score(0.5)
                    .with_metadata(metadata),
                Item::new("coffee", "leaf"),
            ],
            timed_out: vec!["slow".to_owned()],
            failed: vec![FailedLeg {
                source: "away".to_owned(),
                error: Arc::new(SourceError::Unavailable("the index is away".to_owned())),
            }],
            ..Answer::default()
        })
    });
    let asked = json!({
        "query": "what to drink", "k": 3, "where": {"tier": "public"}, "scratchpad": {"plan": [1]},
    });
    let output = notebook.query_source(query(asked)).await.unwrap();
    assert_eq!(
        serde_json::to_value(output).unwrap(),
        json!({
            "items": [
                {"content": "tea", "source": "leaf", "id": "7", "score": 0.5, "metadata": {"tier": "public"}},
                {"content": "coffee", "source": "leaf"},
            ],
            "timed_out": ["slow"],
            "failed": [{"source": "away", "type": "Unavailable", "message": "the index is away"}],
        })
    );
    let (query, scratchpad) = source.queries.lock().unwrap().remove(0);
    assert_eq!((query.text.as_str(), query.limit), ("what to drink", 3));
    assert_eq!(query.condition.canonical(), r#"{"tier":"public"}"#);
    assert_eq!(
        scratchpad,
        Scratchpad::from([("plan".to_owned(), json!([1]))])
    );
}

#[tokio::test]
async fn five_items_are_asked_for_where_the_caller_does_not_say_how_many() {
    let (notebook, source) = scripted();
    notebook.query_source(query(json!({}))).await.unwrap();
    let (query, _) = source.queries.lock().unwrap().remove(0);
    assert_eq!((query.limit, query.text.as_str()), (5, ""));
    assert!(query.condition.is_empty());
}

#[tokio::test]
async fn of_a_source_that_answers_more_than_it_was_asked_for_the_first_items_stay() {
    let (notebook, source) = scripted();
    source.answer(|| {
        let items = ["a", "b", "c"].map(|text| Item::new(text, "leaf"));
        Ok(Answer::of(items.to_vec()))
    });
    let output = notebook.query_source(query(json!({"k": 2}))).await.unwrap();
    let contents: Vec<_> = output.items.iter().map(|item| &item.content).collect();
    assert_eq!(contents, ["a", "b"]);
    assert!(!output.truncated);
}

#[tokio::test]
async fn what_a_result_cannot_carry_is_left_out_and_counted() {
    let (notebook, source) = scripted();
    let long = "\u{1}".repeat(2 * ITEM_CHARS_MAX);
    source.answer(|| Ok(Answer::of(vec![Item::new(long, "leaf"); 5])));
    let output = notebook.query_source(query(json!({}))).await.unwrap();
    assert_eq!(
        (output.items.len(), output.truncated, output.omitted),
        (2, true, 3)
    );
    let encoded = serde_json::to_string(&output).unwrap();
    assert!(encoded.len() <= RESULT_BYTES_MAX);
}

/// What is refused of a query, and in which words.
#[tokio::test]
async fn a_query_that_makes_no_sense_is_told_what_to_change_and_no_source_is_asked() {
    let (notebook, source) = scripted();
    let deep = (0..=33).fold(json!(1), |inner, _| json!([inner]));
    let mut said = String::new();
    for fields in [
        json!({"source": "SECRET"}),
        json!({"k": 0}),
        json!({"k": 101}),
        json!({"chars_max": 0}),
        json!({"query": "a\0"}),
        json!({"where": {"t": "\0"}}),
        json!({"where": {"t": [{"u": "\0"}]}}),
        json!({"where": {"t": deep}}),
        json!({"where": {"t": "x".repeat(ITEM_METADATA_BYTES_MAX)}}),
        json!({"where": {"t": vec!["a"; 60], "u": vec!["a"; 41]}}),
        json!({"scratchpad": {"t": "\0"}}),
        json!({"scratchpad": {"long": "x".repeat(2 * ITEM_METADATA_BYTES_MAX), "t": ["\0"]}}),
        json!({"scope": {"namespace": "a//b"}}),
    ] {
        let failure = notebook.query_source(query(fields)).await.unwrap_err();
        said += &format!("{}: {}\n", failure.kind, failure.message);
    }
    insta::assert_snapshot!(said);
    assert!(source.is_untouched());
    let scratchpad = json!({"scratchpad": {"long": "x".repeat(2 * ITEM_METADATA_BYTES_MAX)}});
    notebook.query_source(query(scratchpad)).await.unwrap();
}

#[tokio::test]
async fn a_write_that_makes_no_sense_is_told_which_item_to_change_and_nothing_is_written() {
    let (notebook, source) = scripted();
    let fine = json!({"content": "tea"});
    let mut said = String::new();
    for items in [
        json!([fine, {"content": " \n"}]),
        json!([{"content": "a\0"}]),
        json!([fine, fine, {"content": "x".repeat(ITEM_CHARS_MAX + 1)}]),
        json!([{"content": "a", "metadata": {"id": 7}}]),
        json!([{"content": "a", "metadata": {"id": "a\n"}}]),
        json!([{"content": "a", "id": "a\n"}]),
        json!([{"content": "a", "id": "a", "metadata": {"id": "b"}}]),
        json!([{"content": "a", "metadata": {"t": "\0"}}]),
        json!([{"content": "a", "metadata": {"t": "x".repeat(ITEM_METADATA_BYTES_MAX)}}]),
        Value::Array(vec![fine.clone(); 101]),
        Value::Array(vec![json!({"content": "x".repeat(60_000)}); 20]),
    ] {
        let input = write(json!({"items": items}));
        let failure = notebook
            .write_source(input, &caller("1"))
            .await
            .unwrap_err();
        said += &format!("{}: {}\n", failure.kind, failure.message);
    }
    for fields in [
        json!({"source": "SECRET"}),
        json!({"scope": {"namespace": "a//b"}}),
        json!({"operation": {"id": "é"}}),
    ] {
        let failure = notebook.write_source(write(fields), &caller("1")).await;
        let failure = failure.unwrap_err();
        said += &format!("{}: {}\n", failure.kind, failure.message);
    }
    insta::assert_snapshot!(said);
    assert!(source.is_untouched());
}

#[test]
fn a_scope_that_is_missing_or_names_nothing_makes_no_input() {
    for (scope, said) in [
        (None, "missing field `scope`"),
        (Some(json!({})), "names nothing"),
    ] {
        let mut fields = json!({"source": "anything", "items": []});
        if let Some(scope) = scope {
            fields["scope"] = scope;
        }
        let errors = [
            serde_json::from_value::<QuerySourceInput>(fields.clone()).map(|_| ()),
            serde_json::from_value::<WriteSourceInput>(fields).map(|_| ()),
        ];
        for error in errors {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}

#[tokio::test]
async fn ids_leave_metadata_and_stamps_of_queries_are_dropped() {
    let (notebook, source) = scripted();
    let items = json!([
        {"content": "tea", "metadata": {"id": "7", "tier": "public", "dedupe_count": 2}},
        {"content": "coffee", "metadata": {"id": ""}},
        {"content": "milk", "id": "8", "metadata": {"id": "", "tier": "public"}},
        {"content": "water", "id": "9", "metadata": {"id": "9"}},
        {"content": "wine", "id": "", "metadata": {"id": "10"}},
        {"content": "beer", "id": ""},
    ]);
    let output = written(&notebook, json!({"items": items, "operation": {"id": "a"}})).await;
    assert_eq!(output.accepted, ["scripted"]);
    let (items, operation) = source.written.lock().unwrap().remove(0);
    assert_eq!(operation.id().as_str(), "a");
    assert_eq!(items[0].id.as_deref(), Some("7"));
    let metadata = ItemMetadata::of_value(json!({"tier": "public"})).unwrap();
    assert_eq!(items[0].metadata, metadata);
    assert_eq!(
        (items[1].id.as_deref(), items[1].metadata.is_empty()),
        (None, true)
    );
    assert_eq!(items[2].metadata, metadata);
    let ids: Vec<_> = items[2..].iter().map(|item| item.id.as_deref()).collect();
    assert_eq!(ids, [Some("8"), Some("9"), Some("10"), None]);
}

#[tokio::test]
async fn without_an_operation_of_its_own_a_write_is_one_for_each_activity() {
    let (notebook, source) = scripted();
    for activity in ["1", "1", "2"] {
        let input = write(json!({}));
        notebook
            .write_source(input, &caller(activity))
            .await
            .unwrap();
    }
    let written = source.written.lock().unwrap();
    let ids: Vec<_> = written.iter().map(|(_, write)| write.id()).collect();
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2]);
}

#[tokio::test]
async fn what_happened_is_told_in_the_result() {
    let (notebook, source) = scripted();
    source.write(|events| {
        events.tell(SourceEvent::Written {
            source: "notes".to_owned(),
            items: 1,
        });
        events.tell(SourceEvent::WriteRefused {
            source: "registry".to_owned(),
            items: 1,
            policy: "ignore",
        });
        let mut written = Written::accepted_by("notes");
        written.add(Written::refused_by("registry"));
        written.scratchpad = Scratchpad::from([("k".to_owned(), json!("v"))]);
        Ok(written)
    });
    let output = written(&notebook, json!({})).await;
    assert_eq!(
        serde_json::to_value(output).unwrap(),
        json!({
            "accepted": ["notes"],
            "refused": ["registry"],
            "events": [
                {"event": "memory.written", "source": "notes", "items": 1},
                {"event": "memory.write_refused", "source": "registry", "items": 1, "policy": "ignore"},
            ],
            "scratchpad": {"k": "v"},
        })
    );
}

pub(crate) fn partial(accepted: &[&str], failed: SourceError) -> SourceError {
    SourceError::PartialWrite(Box::new(Written {
        accepted: accepted.iter().map(ToString::to_string).collect(),
        failed: vec![FailedLeg {
            source: "index".to_owned(),
            error: Arc::new(failed),
        }],
        ..Written::default()
    }))
}

pub(crate) fn away() -> SourceError {
    SourceError::Unavailable("the index is away".to_owned())
}

#[tokio::test]
async fn a_write_that_one_source_may_take_later_is_tried_again_under_its_operation() {
    let (notebook, source) = scripted();
    for _ in 0..2 {
        source.write(|events| {
            events.tell(SourceEvent::Written {
                source: "notes".to_owned(),
                items: 1,
            });
            Err(partial(&["notes"], away()))
        });
    }
    source.write(|events| {
        events.tell(SourceEvent::Written {
            source: "notes".to_owned(),
            items: 1,
        });
        let mut written = Written::accepted_by("notes");
        written.add(Written::accepted_by("index"));
        Ok(written)
    });
    let output = written(&notebook, json!({})).await;
    assert_eq!(output.accepted, ["notes", "index"]);
    assert_eq!(output.failed, []);
    assert_eq!(output.events.len(), 1, "{:?}", output.events);
    let written = source.written.lock().unwrap();
    assert_eq!(written.len(), 3);
    assert!(
        written
            .iter()
            .all(|(_, write)| write.id() == written[0].1.id())
    );
}

#[tokio::test]
async fn what_stays_undone_is_told_beside_what_is_done() {
    let (notebook, source) = scripted();
    for _ in 0..9 {
        source.write(|_| Err(partial(&["notes"], away())));
    }
    let output = written(&notebook, json!({})).await;
    assert_eq!(output.accepted, ["notes"]);
    assert_eq!(
        (
            output.failed[0].source.as_str(),
            output.failed[0].kind.as_str()
        ),
        ("index", "Unavailable")
    );
    assert_eq!(source.written.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn what_would_fail_again_is_not_tried_again() {
    let (notebook, source) = scripted();
    source.write(|_| {
        let refused = SourceError::WriteRefused {
            source_name: "registry".to_owned(),
            items: 1,
        };
        Err(partial(&["notes"], refused))
    });
    let output = written(&notebook, json!({})).await;
    assert_eq!(output.failed[0].kind, "ReadOnly");
    assert_eq!(source.written.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_write_that_nobody_kept_fails_as_what_may_succeed_later_did_or_as_the_conflict_that_it_has()
 {
    let conflict = || SourceError::from(MutationError::OperationConflict);
    let and_away = |first: SourceError| {
        let SourceError::PartialWrite(mut written) = partial(&[], first) else {
            panic!("a partial write");
        };
        written.failed.push(FailedLeg {
            source: "other".to_owned(),
            error: Arc::new(away()),
        });
        SourceError::PartialWrite(written)
    };
    let cannot = || SourceError::Unsupported("it can't".to_owned());
    for (error, kind) in [
        (partial(&[], conflict()), FailureType::OperationConflict),
        (and_away(cannot()), FailureType::Unavailable),
        (and_away(conflict()), FailureType::OperationConflict),
    ] {
        let (notebook, source) = scripted();
        source.write(move |_| Err(error));
        let failure = notebook.write_source(write(json!({})), &caller("1")).await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert_eq!(source.written.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn other_items_under_a_used_operation_are_a_conflict_of_the_whole_whoever_takes_them() {
    let inner: Vec<Arc<dyn Source>> = vec![
        Arc::new(ScratchpadSource::new("scratchpad")),
        Arc::new(VectorSource::in_memory("handbook")),
    ];
    let compose = |name: &str, legs| {
        let made = CompositeSource::new(name, legs, CompositeOptions::default());
        Arc::new(made.unwrap()) as Arc<dyn Source>
    };
    let inner = compose("inner", inner);
    let outer = compose(
        "outer",
        vec![inner.clone(), Arc::new(VectorSource::in_memory("faq"))],
    );
    let named = [("inner".to_owned(), inner), ("outer".to_owned(), outer)];
    let notebook = Notebook::new(Stores::new([])).with_sources(Sources::new(named));
    for (source, accepted) in [
        ("inner", &["scratchpad", "handbook"][..]),
        ("outer", &["scratchpad", "handbook", "faq"]),
    ] {
        let fields = |content: &str| {
            json!({
                "source": source,
                "items": [{"content": content, "id": "drink"}],
                "operation": {"id": "op-1"},
            })
        };
        let first = written(&notebook, fields("tea")).await;
        assert_eq!(first.accepted, accepted);

        let caller = caller("1");
        let other = notebook.write_source(write(fields("coffee")), &caller);
        let failure = other.await.unwrap_err();
        assert_eq!(failure.kind, FailureType::OperationConflict, "{failure}");
        let told = "accepted: scratchpad; refused (read-only): none; failed: handbook: operation";
        assert!(failure.message.contains(told), "{failure}");

        let again = written(&notebook, fields("tea")).await;
        assert_eq!(again.accepted, accepted);
    }
}

/// An error, and what it is to Temporal.
type Case = (fn() -> SourceError, FailureType);

/// Errors of sources themselves.
fn own_errors() -> Vec<Case> {
    vec![
        (
            || SourceError::ScopeRefused {
                source_name: "kb".to_owned(),
                reason: "it wants a namespace".to_owned(),
            },
            FailureType::ScopeRefused,
        ),
        (
            || SourceError::ForeignScope {
                source_name: "kb".to_owned(),
            },
            FailureType::ScopeRefused,
        ),
        (
            || SourceError::WriteRefused {
                source_name: "kb".to_owned(),
                items: 2,
            },
            FailureType::ReadOnly,
        ),
        (
            || SourceError::Invalid("`where` holds `path` twice".to_owned()),
            FailureType::InvalidArgument,
        ),
        (
            || SourceError::TooLarge("it is too large".to_owned()),
            FailureType::TooLarge,
        ),
        (
            || SourceError::Unsupported("the store keeps no vectors".to_owned()),
            FailureType::Unsupported,
        ),
        (away, FailureType::Unavailable),
    ]
}

/// Errors of what is behind sources.
fn errors_behind() -> Vec<Case> {
    vec![
        (
            || StoreError::Unavailable("connection refused".to_owned()).into(),
            FailureType::Unavailable,
        ),
        (
            || {
                let (found, needed) = (1, 2);
                StoreError::Unmigrated { found, needed }.into()
            },
            FailureType::Unmigrated,
        ),
        (
            || {
                StoreError::TooLarge {
                    field: "content",
                    bytes: 2,
                    bytes_max: 1,
                }
                .into()
            },
            FailureType::TooLarge,
        ),
        (
            || MutationError::OperationConflict.into(),
            FailureType::OperationConflict,
        ),
        (|| MutationError::ReadOnly.into(), FailureType::ReadOnly),
        (
            || ModelError::unavailable("busy").into(),
            FailureType::Unavailable,
        ),
        (
            || ModelError::Refused("no such model".to_owned()).into(),
            FailureType::ModelRefused,
        ),
    ]
}

fn errors() -> impl Iterator<Item = Case> {
    own_errors().into_iter().chain(errors_behind())
}

#[tokio::test]
async fn each_error_of_a_source_is_a_failure_of_its_type() {
    for (error, kind) in errors() {
        let (notebook, source) = scripted();
        source.answer(move || Err(error()));
        source.write(move |_| Err(error()));
        let queried = notebook.query_source(query(json!({}))).await;
        let kept = notebook.write_source(write(json!({})), &caller("1")).await;
        for failure in [queried.unwrap_err(), kept.unwrap_err()] {
            assert_eq!(failure.kind, kind, "{failure}");
            assert!(!failure.message.is_empty());
        }
    }
}

#[tokio::test]
async fn a_failure_among_several_sources_has_the_type_that_it_would_have_alone() {
    for (error, kind) in errors() {
        let (notebook, source) = scripted();
        source.answer(move || {
            Ok(Answer {
                failed: vec![FailedLeg {
                    source: "leg".to_owned(),
                    error: Arc::new(error()),
                }],
                ..Answer::default()
            })
        });
        let output = notebook.query_source(query(json!({}))).await.unwrap();
        assert_eq!(output.failed[0].kind, kind.as_str());
    }
}

#[tokio::test]
async fn sources_open_the_stores_of_the_worker_by_name() {
    let bench = bench();
    let (scope, scratchpad, events) = (scope(), Scratchpad::new(), SourceEvents::default());
    let call = SourceCall {
        scope: &scope,
        workspace: None,
        scratchpad: &scratchpad,
        events: &events,
        upkeep: true,
    };
    let opened = bench.stores.open("default", &call).await.unwrap();
    assert_eq!(opened.kind(), "watched");
    assert!(opened.facts().is_some());
    let error = bench.stores.open("nowhere", &call).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`store` names no configured store; configured: `default`, `other`"
    );
    assert!(matches!(error, SourceError::Invalid(_)));
}

/// One source of each kind over the bench's store, and compositions and decorators over them.
fn every_kind(bench: &Bench) -> Sources {
    let stores = || -> Arc<dyn OpenStores> { Arc::new(bench.stores.clone()) };
    let embedder = Arc::new(HashingEmbedder::default());
    let leaves: Vec<Arc<dyn Source>> = vec![
        Arc::new(VectorSource::in_memory("terms")),
        Arc::new(VectorSource::embedded(
            "vector",
            stores(),
            "default",
            "c",
            embedder.clone(),
        )),
        Arc::new(FileSource::new("file", stores(), "default")),
        Arc::new(JournalSource::new("journal", stores(), "default")),
        Arc::new(FactsSource::new("facts", stores(), "default")),
        Arc::new(TranscriptSource::new(
            "transcript",
            stores(),
            "default",
            None,
        )),
        Arc::new(NotesSource::new("notes", stores(), "default")),
        Arc::new(HybridSource::new("hybrid", stores(), "default", embedder)),
        Arc::new(ScratchpadSource::new("scratchpad")),
    ];
    let legs = || leaves.clone();
    let facts = || Arc::clone(&leaves[4]);
    let composite = CompositeSource::new("composite", legs(), CompositeOptions::default());
    let sequential = SequentialSource::new("sequential", legs(), LEG_TIMEOUT_DEFAULT);
    let cached = CachedSource::new(facts(), CacheOptions::default());
    let all: Vec<(String, Arc<dyn Source>)> = leaves
        .iter()
        .map(|leaf| (leaf.name().to_owned(), leaf.clone()))
        .chain([
            ("composite".to_owned(), Arc::new(composite.unwrap()) as _),
            ("sequential".to_owned(), Arc::new(sequential.unwrap()) as _),
            (
                "scoped".to_owned(),
                Arc::new(ScopedSource::new(facts())) as _,
            ),
            ("cached".to_owned(), Arc::new(cached.unwrap()) as _),
            (
                "read_only".to_owned(),
                Arc::new(ReadOnlySource::new(facts(), OnWrite::Refuse)) as _,
            ),
        ])
        .collect();
    Sources::new(all)
}

#[tokio::test]
async fn a_scope_that_is_none_is_refused_by_every_kind_before_its_store_is_touched() {
    let bench = bench();
    let sources = every_kind(&bench);
    let names: Vec<String> = sources.all().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names.len(), 14);
    let notebook = bench.notebook.clone().with_sources(sources);
    for namespace in ["a//b", "..", "a\0", "ä"] {
        let mut said = std::collections::BTreeSet::new();
        for name in &names {
            let fields = json!({"source": name, "query": "tea", "scope": {"namespace": namespace}});
            let queried = notebook.query_source(query(fields.clone())).await;
            let kept = notebook.write_source(write(fields), &caller("1")).await;
            for failure in [queried.unwrap_err(), kept.unwrap_err()] {
                assert_eq!(failure.kind, FailureType::InvalidScope);
                said.insert(failure.message);
            }
        }
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(bench.store.take_calls(), [""; 0]);
    }
    // The same calls for a scope that is one do reach the store.
    let fields = json!({"source": "composite", "query": "tea"});
    notebook.query_source(query(fields)).await.unwrap();
    assert!(bench.store.take_calls().contains(&"recall"));
}

/// What was found, as an item to write.
fn back(found: &FoundItem) -> Value {
    json!({"content": found.content, "id": found.id, "metadata": found.metadata})
}

/// A notebook over every kind, and a scratchpad as a workflow keeps one.
struct Round {
    notebook: Notebook,
    scratchpad: Map<String, Value>,
}

impl Round {
    fn new() -> Self {
        let bench = bench();
        let sources = every_kind(&bench);
        Self {
            notebook: bench.notebook.with_sources(sources),
            scratchpad: Map::new(),
        }
    }

    async fn found(&self, source: &str, text: &str, chars_max: usize) -> Vec<FoundItem> {
        let fields = json!({
            "source": source, "query": text, "chars_max": chars_max, "scratchpad": self.scratchpad,
        });
        let output = self.notebook.query_source(query(fields)).await;
        output.unwrap().items
    }

    async fn write(&mut self, source: &str, items: &[Value]) -> Result<(), Failure> {
        let operation = format!("{source}-{items:?}");
        let operation = OperationId::from_parts(&[&operation]);
        let fields = json!({
            "source": source, "items": items, "operation": {"id": operation.as_str()},
        });
        let caller = caller("1");
        let output = self.notebook.write_source(write(fields), &caller).await?;
        assert_eq!(output.accepted, [source]);
        self.scratchpad.extend(output.scratchpad);
        Ok(())
    }
}

#[tokio::test]
async fn what_a_query_cut_takes_the_place_of_no_whole_and_the_whole_can_be_written_back() {
    let mut round = Round::new();
    for source in ["terms", "file", "facts", "scratchpad"] {
        let known = json!({"id": "animals", "path": "animals.md"});
        let item = json!({"content": "animals are cats and dogs", "metadata": known});
        round.write(source, &[item]).await.unwrap();
        let before = round.found(source, "animals", 1_000).await;
        assert_eq!(before.len(), 1, "{source}");

        let cut = round.found(source, "animals", 10).await;
        assert_eq!(cut[0].content.chars().count(), 10, "{source}");
        let failure = round.write(source, &[back(&cut[0])]).await.unwrap_err();
        assert_eq!(failure.kind, FailureType::InvalidArgument);
        let told = failure.message;
        assert!(told.starts_with("`items[0]` is only a part of"), "{told}");
        let contents = |items: Vec<FoundItem>| -> Vec<(Option<String>, String)> {
            items.into_iter().map(|it| (it.id, it.content)).collect()
        };
        let before = contents(before);
        let after = contents(round.found(source, "animals", 1_000).await);
        assert_eq!(after, before, "{source}");

        let whole = round.found(source, "animals", 1_000).await;
        round.write(source, &[back(&whole[0])]).await.unwrap();
        let after = contents(round.found(source, "animals", 1_000).await);
        assert_eq!(after, before, "{source}");
    }
}

#[tokio::test]
async fn entries_of_a_scratchpad_are_written_back_under_their_keys_however_long_those_are() {
    let mut round = Round::new();
    let entries = json!({
        "customer": "Ada",
        "a\nb": "two lines",
        ("k".repeat(500)): "long",
        ("m".repeat(500)): {"content": "alpha", "metadata": {"key": "x", "tier": "public"}},
        (format!("sha256:{}", "0f".repeat(32))): "like a digest",
    });
    round.scratchpad = entries.as_object().unwrap().clone();
    for _ in 0..2 {
        let found = round.found("scratchpad", "", 10_000).await;
        assert_eq!(found.len(), 5, "{found:?}");
        let items: Vec<Value> = found.iter().map(back).collect();
        round.write("scratchpad", &items).await.unwrap();
        assert_eq!(Value::Object(round.scratchpad.clone()), entries);
    }
}

#[tokio::test]
async fn who_looked_at_a_part_alone_is_told_and_left_out_where_nobody_did() {
    let (notebook, source) = scripted();
    source.answer(|| {
        let answer = Answer::of(vec![Item::new("a", "notes")]);
        Ok(answer.looked_in_part("notes", true))
    });
    source.answer(|| Ok(Answer::of(vec![Item::new("a", "notes")])));
    let output = notebook.query_source(query(json!({}))).await.unwrap();
    assert_eq!(output.incomplete, ["notes"]);
    assert_eq!((output.items.len(), output.truncated), (1, false));
    let output = notebook.query_source(query(json!({}))).await.unwrap();
    let told = serde_json::to_value(output).unwrap();
    assert_eq!(told.get("incomplete"), None, "{told}");
}
