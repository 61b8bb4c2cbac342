use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex},
};

use notekeeper_activities::{ExpectedNote, ReplaceWhole, ScopeHashKey};
use notekeeper_contract::{LoadSnapshotInput, SnapshotAnswer};
use notekeeper_domain::Item;
use notekeeper_recall::{Answer, SourceError, SourceEvent};
use notekeeper_store::{MutationError, NoteStore as _};
use serde_json::{Value, json};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

use crate::{
    fixture::{bench, caller, input, scope, unmigrated},
    sources::{self, Scripted, away, partial, scripted},
};

type Fields = BTreeMap<String, String>;

/// Keeps what is recorded: spans in the order they close, then events.
#[derive(Clone, Default)]
struct Recorder {
    spans: Arc<Mutex<Vec<(&'static str, Fields)>>>,
    events: Arc<Mutex<Vec<Fields>>>,
}

struct IntoFields<'a>(&'a mut Fields);

impl Visit for IntoFields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::new();
        attributes.record(&mut IntoFields(&mut fields));
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        record.record(&mut IntoFields(extensions.get_mut::<Fields>().unwrap()));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut IntoFields(&mut fields));
        self.events.lock().unwrap().push(fields);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        let fields = span.extensions_mut().remove::<Fields>().unwrap();
        self.spans.lock().unwrap().push((span.name(), fields));
    }
}

impl Recorder {
    /// Records on this thread for as long as the guard lives.
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        let recorder = Self::default();
        let guard = tracing::subscriber::set_default(Registry::default().with(recorder.clone()));
        (recorder, guard)
    }

    /// The spans recorded since the last time, as JSON objects of name and fields.
    fn take_spans(&self) -> Vec<Value> {
        let spans = std::mem::take(&mut *self.spans.lock().unwrap());
        spans
            .into_iter()
            .filter(|(name, _)| name.starts_with("memory."))
            .map(|(name, mut fields)| {
                assert_eq!(fields.remove("memory.backend").as_deref(), Some("watched"));
                assert_eq!(fields.remove("memory.scope_hash"), Some(scope().hash()));
                json!([name, fields])
            })
            .collect()
    }
}

#[tokio::test]
async fn a_mutation_leaves_one_span_that_says_what_it_came_to() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    bench.put("n.md", "tea").await;
    let write = json!({"content": "tea", "operation": {"id": "a"}});
    let other = json!({"content": "x", "operation": {"id": "a"}});
    for fields in [write.clone(), write, other] {
        let _ = bench.notebook.write(input(fields), &caller("1")).await;
    }
    let conflict = "OperationConflict";
    assert_eq!(
        recorder.take_spans(),
        [
            json!(["memory.write", {
                "memory.outcome": "ok", "memory.replayed": "false", "memory.chars": "4",
            }]),
            json!(["memory.write", {"memory.outcome": "replayed", "memory.replayed": "true"}]),
            json!(["memory.write", {"memory.outcome": "error", "memory.exception_type": conflict}]),
        ]
    );
    for id in ["b", "b", "c"] {
        let fields = json!({"file": "n", "operation": {"id": id}});
        bench
            .notebook
            .delete(input(fields), &caller("1"))
            .await
            .unwrap();
    }
    assert_eq!(
        recorder.take_spans(),
        [
            json!(["memory.delete", {"memory.outcome": "deleted", "memory.replayed": "false"}]),
            json!(["memory.delete", {"memory.outcome": "replayed", "memory.replayed": "true"}]),
            json!(["memory.delete", {"memory.outcome": "not_found", "memory.replayed": "false"}]),
        ]
    );
}

#[tokio::test]
async fn reads_and_searches_leave_one_span_with_their_counts() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    bench.put("m.md", "tea").await;
    bench.put("n.md", "tea tea").await;
    for file in ["n", "zz"] {
        let fields = json!({"file": file});
        bench.notebook.read(input(fields)).await.unwrap();
    }
    assert_eq!(
        recorder.take_spans(),
        [
            json!(["memory.read", {"memory.outcome": "ok", "memory.chars": "7"}]),
            json!(["memory.read", {"memory.outcome": "error", "memory.exception_type": "not_found"}]),
        ]
    );
    let fields = json!({"query": "tea", "max_search_results": 1});
    bench.notebook.search(input(fields)).await.unwrap();
    let found = json!({
        "memory.outcome": "ok", "memory.matches": "1", "memory.scanned": "2", "memory.chars": "7",
        "memory.truncated": "true",
    });
    assert_eq!(recorder.take_spans(), [json!(["memory.search", found])]);
}

#[tokio::test]
async fn operations_on_messages_and_facts_leave_one_span_with_their_counts() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    let caller = caller("1");
    let notebook = &bench.notebook;
    let messages = json!([{"role": "user", "content": "tea?"}, {"role": "user"}]);
    for messages in [messages.clone(), messages, json!([])] {
        let fields = json!({"messages": messages, "operation": {"id": "a"}});
        notebook.add_messages(input(fields), &caller).await.unwrap();
    }
    let got = notebook.get_messages(input(json!({"limit": 1}))).await;
    got.unwrap();
    let cleared = notebook.clear_messages(input(json!({})), &caller).await;
    cleared.unwrap();
    let added = |outcome: &str, replayed: bool, count: usize| {
        json!(["memory.add_messages", {
            "memory.outcome": outcome, "memory.replayed": replayed.to_string(),
            "memory.messages": count.to_string(),
        }])
    };
    assert_eq!(
        recorder.take_spans(),
        [
            added("ok", false, 2),
            added("replayed", true, 2),
            added("ok", false, 0),
            json!(["memory.get_messages", {
                "memory.outcome": "ok", "memory.messages": "1", "memory.truncated": "false",
            }]),
            json!(["memory.clear_messages", {
                "memory.outcome": "ok", "memory.replayed": "false", "memory.messages": "2",
            }]),
        ]
    );
    for id in ["a", "f", "f"] {
        let fields = json!({"key": "tea", "value": "green", "operation": {"id": id}});
        let _ = notebook.remember(input(fields), &caller).await;
    }
    notebook.recall(input(json!({}))).await.unwrap();
    for id in ["g", "h"] {
        let fields = json!({"key": "tea", "operation": {"id": id}});
        notebook.forget(input(fields), &caller).await.unwrap();
    }
    let remembered = |outcome: &str, replayed: &str| {
        json!(["memory.remember", {
            "memory.outcome": outcome, "memory.replayed": replayed, "memory.chars": "5",
        }])
    };
    let forgotten = |outcome: &str| json!(["memory.forget", {"memory.outcome": outcome, "memory.replayed": "false"}]);
    assert_eq!(
        recorder.take_spans(),
        [
            json!(["memory.remember", {
                "memory.outcome": "error", "memory.exception_type": "OperationConflict",
            }]),
            remembered("ok", "false"),
            remembered("replayed", "true"),
            json!(["memory.recall", {
                "memory.outcome": "ok", "memory.matches": "1", "memory.chars": "5",
                "memory.truncated": "false",
            }]),
            forgotten("deleted"),
            forgotten("not_found"),
        ]
    );
}

#[tokio::test]
async fn each_memory_of_a_snapshot_leaves_one_span_with_its_counts() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    let memories = json!({"memories": [{"scope": {"namespace": "acme/alice"}}]});
    let load: LoadSnapshotInput = serde_json::from_value(memories).unwrap();
    bench.notebook.load_snapshot(load.clone()).await.unwrap();
    let nothing = json!({
        "memory.outcome": "ok", "memory.main_chars": "0", "memory.main_truncated": "false",
        "memory.files": "0", "memory.files_truncated": "false", "memory.injected_chars": "0",
    });
    assert_eq!(recorder.take_spans(), [json!(["memory.inject", nothing])]);

    bench.put("MEMORY.md", "tea\n").await;
    bench.put("n.md", "tea").await;
    let output = bench.notebook.load_snapshot(load).await.unwrap();
    let SnapshotAnswer::Block { stats, .. } = output.snapshots[0] else {
        panic!("no block")
    };
    let block = json!({
        "memory.outcome": "ok", "memory.main_chars": "4", "memory.main_truncated": "false",
        "memory.files": "1", "memory.files_truncated": "false", "memory.unchanged": "false",
        "memory.injected_chars": stats.chars.to_string(),
    });
    assert_eq!(recorder.take_spans(), [json!(["memory.inject", block])]);
}

#[tokio::test]
async fn a_call_that_never_reaches_the_store_leaves_no_span() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    for fields in [
        json!({"content": " "}),
        json!({"content": "x", "file": "../a"}),
    ] {
        bench
            .notebook
            .write(input(fields), &caller("1"))
            .await
            .unwrap();
    }
    bench
        .notebook
        .delete(input(json!({"file": "MEMORY"})), &caller("1"))
        .await
        .unwrap();
    bench
        .notebook
        .search(input(json!({"query": " "})))
        .await
        .unwrap();
    assert!(recorder.take_spans().is_empty());
}

#[tokio::test]
async fn nothing_recorded_holds_content_names_or_namespaces() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    let run = async || {
        let secret = json!({"content": "SECRET-content", "file": "SECRET-name", "scope": {"namespace": "SECRET/tenant"}});
        let _ = bench.notebook.write(input(secret), &caller("1")).await;
        let secret = json!({"content": "x", "old_text": "SECRET-old", "file": "SECRET-name", "scope": {"namespace": "SECRET/tenant"}});
        let _ = bench.notebook.write(input(secret), &caller("2")).await;
        let secret = json!({"file": "SECRET-name", "scope": {"namespace": "SECRET/tenant"}});
        let _ = bench.notebook.read(input(secret.clone())).await;
        let _ = bench.notebook.delete(input(secret), &caller("3")).await;
        let secret = json!({"query": "SECRET-query", "scope": {"namespace": "SECRET/tenant"}});
        let _ = bench.notebook.search(input(secret)).await;
        for id in ["SECRET-a", "SECRET-b"] {
            let secret: Value = json!({
                "scope": {"namespace": "SECRET/tenant"}, "conversation": "SECRET-conversation",
                "messages": [{"role": "user", "content": "SECRET-said", "SECRET": 1}],
                "key": "SECRET-key", "value": "SECRET-value", "query": "SECRET-query",
                "operation": {"id": id},
            });
            let caller = caller("4");
            let notebook = &bench.notebook;
            let _ = notebook.add_messages(input(secret.clone()), &caller).await;
            let _ = notebook.get_messages(input(secret.clone())).await;
            let _ = notebook
                .clear_messages(input(secret.clone()), &caller)
                .await;
            let _ = notebook.remember(input(secret.clone()), &caller).await;
            let _ = notebook.recall(input(secret.clone())).await;
            let _ = notebook.forget(input(secret.clone()), &caller).await;
            let mut listed = secret;
            listed["after"] = json!("SECRET-after");
            let _ = notebook.list_conversations(input(listed.clone())).await;
            listed["key"] = Value::Null;
            let _ = notebook.list_facts(input(listed)).await;
        }
        let load = json!({"memories": [{"scope": {"namespace": "SECRET/tenant"}, "render": {"heading": "SECRET"}}]});
        let _ = bench
            .notebook
            .load_snapshot(serde_json::from_value(load).unwrap())
            .await;
    };
    run().await;
    bench.store.fail_with(unmigrated);
    run().await;
    let spans = std::mem::take(&mut *recorder.spans.lock().unwrap());
    let events = std::mem::take(&mut *recorder.events.lock().unwrap());
    assert_eq!(
        spans
            .iter()
            .filter(|(name, _)| name.starts_with("memory."))
            .count(),
        2 * (6 + 2 * 8)
    );
    let told: Vec<_> = events
        .iter()
        .filter(|event| event.contains_key("failure.kind"))
        .collect();
    assert_eq!(
        told.len(),
        1,
        "a memory whose store fails for good is reported: {events:?}"
    );
    let text = format!("{spans:?}{events:?}");
    assert!(!text.contains("SECRET"), "{text}");
}

/// Spans and their attributes, as the documentation lists them.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");
    let text = std::fs::read_to_string(path).unwrap();
    let quoted = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `memory."))
        .map(|line| line.split(" | ").collect())
        .collect();
    let (spans, attributes): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.len() == 2);
    let mut documented: BTreeMap<String, BTreeSet<String>> = spans
        .iter()
        .map(|row| (quoted(row[0]).remove(0), BTreeSet::new()))
        .collect();
    for row in attributes {
        let attribute = quoted(row[0]).remove(0);
        for (span, attributes) in &mut documented {
            if row[2] == "all" || quoted(row[2]).contains(span) {
                attributes.insert(attribute.clone());
            }
        }
    }
    documented
}

#[tokio::test]
async fn the_documentation_lists_every_span_with_every_attribute() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    let run = async |content: &str, id: &str| {
        let operation = json!({"id": id});
        let write = json!({"content": content, "file": "n", "operation": operation});
        let _ = bench.notebook.write(input(write), &caller("1")).await;
        let replace = ReplaceWhole {
            store: "default".to_owned(),
            scope: serde_json::from_value(json!({"namespace": "acme/alice"})).unwrap(),
            file: "m".to_owned(),
            content: content.to_owned(),
            expected: ExpectedNote::Any,
            operation: serde_json::from_value(json!({"id": format!("{id}-whole")})).unwrap(),
            metadata: None,
            max_memory_size: 100,
            workspace: None,
        };
        let _ = bench.notebook.replace_whole(replace).await;
        let _ = bench.notebook.read(input(json!({"file": "n"}))).await;
        let _ = bench.notebook.search(input(json!({"query": "tea"}))).await;
        let _ = bench.notebook.list(input(json!({}))).await;
        let load = json!({"memories": [{"scope": {"namespace": "acme/alice"}}]});
        let _ = bench
            .notebook
            .load_snapshot(serde_json::from_value(load).unwrap())
            .await;
        let delete = json!({"file": "n", "operation": {"id": format!("{id}-deletion")}});
        let _ = bench.notebook.delete(input(delete), &caller("1")).await;
        let about = |kind: &str| {
            json!({
                "messages": [{"role": "user"}], "key": "tea", "value": "green", "query": "tea",
                "operation": {"id": format!("{id}-{kind}")},
            })
        };
        let caller = caller("1");
        let notebook = &bench.notebook;
        let _ = notebook.add_messages(input(about("add")), &caller).await;
        let _ = notebook.get_messages(input(json!({}))).await;
        let _ = notebook
            .clear_messages(input(about("clear")), &caller)
            .await;
        let _ = notebook.remember(input(about("remember")), &caller).await;
        let _ = notebook.recall(input(about("recall"))).await;
        let _ = notebook.forget(input(about("forget")), &caller).await;
        let _ = notebook.list_conversations(input(json!({}))).await;
        let _ = notebook.list_facts(input(json!({}))).await;
        let (notebook, source) = scripted();
        for _ in 0..2 {
            let _ = notebook.query_source(sources::query(json!({}))).await;
            let _ = notebook
                .write_source(sources::write(json!({})), &caller)
                .await;
            source.answer(|| Err(away()));
            source.write(|_| Err(away()));
        }
    };
    run("tea", "a").await;
    bench.store.fail_with(unmigrated);
    run("tea", "b").await;

    let mut recorded: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, fields) in std::mem::take(&mut *recorder.spans.lock().unwrap()) {
        if name.starts_with("memory.") {
            let of_span = recorded.entry(name.to_owned()).or_default();
            of_span.extend(fields.into_keys());
        }
    }
    assert_eq!(recorded, documented());
}

#[tokio::test]
async fn with_a_key_spans_call_a_scope_by_another_hash_which_is_the_same_each_time() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    let key = ScopeHashKey::new("0123456789abcdef").unwrap();
    let other = ScopeHashKey::new("fedcba9876543210").unwrap();
    let mut hashes = Vec::new();
    for key in [None, Some(key.clone()), Some(key), Some(other)] {
        let notebook = bench.notebook.clone().with_scope_hash_key(key);
        notebook.read(input(json!({"file": "n"}))).await.unwrap();
        let mut spans = std::mem::take(&mut *recorder.spans.lock().unwrap());
        let (_, fields) = spans
            .iter_mut()
            .find(|(name, _)| *name == "memory.read")
            .unwrap();
        hashes.extend(fields.remove("memory.scope_hash"));
    }
    assert_eq!(hashes[0], scope().hash());
    assert_eq!(hashes[1], hashes[2]);
    let distinct: BTreeSet<&String> = hashes.iter().collect();
    assert_eq!(distinct.len(), 3, "{hashes:?}");
}

/// Metadata goes to the store and to those who ask for it; nothing that a model, a history or a
/// collector gets holds it.
#[tokio::test]
async fn no_span_log_result_snapshot_or_failure_holds_write_metadata() {
    let (recorder, _guard) = Recorder::start();
    let bench = bench();
    let run = async || {
        let metadata = json!({"fixed": {"SECRET-key": "SECRET-value"}});
        let write = |content: &str, old_text: Option<&str>, id: &str| {
            input(json!({
                "content": content, "old_text": old_text, "operation": {"id": id},
                "write_metadata": metadata,
            }))
        };
        let mut told = String::new();
        for (content, old_text, id) in [
            ("tea", None, "a"),
            ("tea", None, "a"),
            ("coffee", Some("water"), "b"),
            ("other", None, "a"),
        ] {
            let input = write(content, old_text, id);
            let written = bench.notebook.write(input, &caller("1")).await;
            told += &format!("{written:?}");
        }
        let read = bench.notebook.read(input(json!({"file": "MEMORY"}))).await;
        let listed = bench.notebook.list(input(json!({}))).await;
        let found = bench.notebook.search(input(json!({"query": "tea"}))).await;
        let load = json!({"memories": [{"scope": {"namespace": "acme/alice"}}]});
        let load: LoadSnapshotInput = serde_json::from_value(load).unwrap();
        let snapshot = bench.notebook.load_snapshot(load).await;
        told + &format!("{read:?}{listed:?}{found:?}{snapshot:?}")
    };
    let mut told = run().await;
    assert!(told.contains("tea"), "{told}");
    let receipt = notekeeper_domain::Operation {
        id: notekeeper_domain::OperationId::parse("a").unwrap(),
        fingerprint: notekeeper_domain::Fingerprint::of_write(
            &scope(),
            &notekeeper_domain::NoteName::main(),
            "tea",
            None,
        ),
    };
    let receipt = bench.store.inner.receipt(&scope(), &receipt).await;
    told += &format!("{:?}", receipt.unwrap().expect("it is kept"));
    bench.store.fail_with(unmigrated);
    told += &run().await;
    let spans = std::mem::take(&mut *recorder.spans.lock().unwrap());
    let events = std::mem::take(&mut *recorder.events.lock().unwrap());
    let text = format!("{told}{spans:?}{events:?}");
    assert!(!text.contains("SECRET"), "{text}");
}

/// A query that finds something and one that fails; a write that is kept in part and one that is refused.
fn tell_of_four_calls(source: &Scripted) {
    source.answer(|| {
        Ok(Answer {
            items: vec![
                Item::new("SECRET-tea", "leaf"),
                Item::new("1234567890", "leaf"),
            ],
            timed_out: vec!["slow".to_owned()],
            ..Answer::default()
        })
    });
    source.answer(|| Err(away()));
    source.write(|events| {
        events.tell(SourceEvent::Written {
            source: "leaf".to_owned(),
            items: 2,
        });
        Err(partial(&["leaf"], MutationError::ReadOnly.into()))
    });
    source.write(|events| {
        events.tell(SourceEvent::WriteRefused {
            source: "registry".to_owned(),
            items: 1,
            policy: "refuse",
        });
        Err(SourceError::WriteRefused {
            source_name: "registry".to_owned(),
            items: 1,
        })
    });
}

/// A span on the source `s`.
fn of_source(name: &str, fields: &Value) -> Value {
    let mut all = json!({
        "memory.backend": "source", "memory.source": "s", "memory.scope_hash": scope().hash(),
    });
    let object = all.as_object_mut().unwrap();
    object.extend(fields.as_object().unwrap().clone());
    json!([name, all])
}

#[tokio::test]
async fn operations_on_sources_leave_one_span_with_their_counts_and_events_in_the_log() {
    let (recorder, _guard) = Recorder::start();
    let (notebook, source) = scripted();
    tell_of_four_calls(&source);
    for _ in 0..2 {
        let asked = json!({"query": "SECRET-query", "where": {"SECRET-key": "SECRET-value"}});
        let _ = notebook.query_source(sources::query(asked)).await;
        let items =
            json!([{"content": "SECRET-content", "metadata": {"SECRET-key": 1}}, {"content": "a"}]);
        let written = json!({"items": items, "operation": {"id": "SECRET-id"}});
        let _ = notebook
            .write_source(sources::write(written), &caller("1"))
            .await;
    }
    let spans = std::mem::take(&mut *recorder.spans.lock().unwrap());
    let told: Vec<Value> = spans
        .iter()
        .filter(|(name, _)| name.starts_with("memory."))
        .map(|(name, fields)| json!([name, fields]))
        .collect();
    assert_eq!(
        told,
        [
            of_source(
                "memory.query_source",
                &json!({
                    "memory.outcome": "ok", "memory.matches": "2", "memory.chars": "20", "memory.truncated": "false",
                    "memory.sources_timed_out": "1", "memory.sources_failed": "0",
                    "memory.sources_incomplete": "0",
                })
            ),
            of_source(
                "memory.write_source",
                &json!({
                    "memory.outcome": "ok", "memory.items": "2", "memory.sources_accepted": "1",
                    "memory.sources_refused": "0", "memory.sources_failed": "1",
                })
            ),
            of_source(
                "memory.query_source",
                &json!({
                    "memory.outcome": "error", "memory.exception_type": "Unavailable",
                })
            ),
            of_source(
                "memory.write_source",
                &json!({
                    "memory.outcome": "error", "memory.exception_type": "ReadOnly", "memory.items": "2",
                })
            ),
        ]
    );
    let events = std::mem::take(&mut *recorder.events.lock().unwrap());
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| {
            Some((
                event.get("message")?.as_str(),
                event.get("memory.source")?.as_str(),
            ))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("memory.written", "leaf"),
            ("memory.write_refused", "registry")
        ]
    );
    let text = format!("{spans:?}{events:?}");
    assert!(!text.contains("SECRET"), "{text}");
}
