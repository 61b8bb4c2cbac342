//! Vectors: in memory, and over an embedder and a store.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use futures::{FutureExt as _, poll};
use notekeeper_models::{EMBEDDED_TEXTS_MAX, EmbeddingModel, HashingEmbedder, ModelError};
use notekeeper_recall::{
    EmbeddedVectors, Source, SourceError, TermVectors, TextChunk, VectorIndex as _, VectorSource,
};
use notekeeper_store::{InMemoryStore, MutationError, Store, conformance::MinimalStore};
use serde_json::json;

use crate::{
    fixture::{Tenant, item, metadata, opening, operation, whole},
    odd_store::OddStore,
    stores::{Kept, on_each_store},
};

on_each_store!(
    an_id_in_metadata_becomes_the_items_own_and_what_queries_stamp_is_never_kept,
    fewer_are_found_only_where_there_are_fewer,
    a_query_without_text_finds_nothing,
);

#[tokio::test]
async fn what_shares_words_with_the_query_is_found_under_the_sources_own_name() {
    let source = VectorSource::in_memory("vector");
    let tenant = Tenant::of("1");
    let items = [
        item("Refunds are issued within 5 business days.", json!({})),
        item("Store credit never expires.", json!({})),
    ];
    let written = tenant.write(&source, &items, "op").await.expect("written");
    assert_eq!(written.accepted, ["vector"]);
    assert!(source.accepts_writes());

    let found = tenant.found(&source, "how long do refunds take", 2).await;
    let said: Vec<String> = found
        .iter()
        .map(|item| {
            let score = item.score().unwrap_or_default();
            format!("{score:.3} {} | {}", item.source, item.content)
        })
        .collect();
    assert_eq!(
        said,
        ["0.169 vector | Refunds are issued within 5 business days."]
    );
}

async fn an_id_in_metadata_becomes_the_items_own_and_what_queries_stamp_is_never_kept(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.vectors() {
        let stamped = item(
            "alpha",
            json!({"id": "7%_\\", "tier": "public", "dedupe_sources": ["a", "b"], "dedupe_count": 9}),
        );
        tenant
            .write(&source, &[stamped], "op-1")
            .await
            .expect("write");
        let found = tenant.found(&source, "alpha", 5).await;
        assert_eq!(found[0].id.as_deref(), Some("7%_\\"));
        assert_eq!(found[0].metadata, metadata(json!({"tier": "public"})));
        assert_eq!(found[0].source, source.name());

        // Round and round: nothing adds up, and nothing is doubled.
        let mut again = found[0].clone();
        again.metadata = again.metadata.with("dedupe_count", json!(2));
        tenant
            .write(&source, &[again], "op-2")
            .await
            .expect("write");
        let found = tenant.found(&source, "alpha", 5).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].metadata, metadata(json!({"tier": "public"})));

        // An empty id is none: the item gets one that follows from the operation.
        let without = item("alpha beta", json!({"id": ""}));
        tenant
            .write(&source, &[without], "op-3")
            .await
            .expect("write");
        let found = tenant.found(&source, "beta", 1).await;
        let derived = operation("op-3").item_id(0, "alpha beta");
        assert_eq!(found[0].id.as_deref(), Some(derived.as_str()));
    }
}

async fn fewer_are_found_only_where_there_are_fewer(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.vectors() {
        assert_eq!(tenant.found(&source, "alpha", 100).await, []);
        let items: Vec<_> = (0..7)
            .map(|index| item("alpha", json!({"id": format!("{index}")})))
            .collect();
        tenant.write(&source, &items, "op").await.expect("write");
        for (limit, count) in [(0, 0), (1, 1), (6, 6), (7, 7), (100, 7)] {
            let found = tenant.found(&source, "alpha", limit).await;
            let ids: Vec<String> = found.into_iter().filter_map(|item| item.id).collect();
            // As near as each other: ascending by id.
            let expected: Vec<String> = (0..count).map(|index: i32| index.to_string()).collect();
            assert_eq!(ids, expected, "{limit} {}", source.name());
        }
    }
}

async fn a_query_without_text_finds_nothing(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.vectors() {
        tenant
            .write(&source, &[item("alpha", json!({}))], "op")
            .await
            .expect("write");
        for text in ["", " \n\t"] {
            assert_eq!(tenant.found(&source, text, 5).await, [], "{text:?}");
        }
    }
}

#[tokio::test]
async fn words_in_memory_are_folded_and_counted_and_nothing_in_them_is_syntax() {
    let source = VectorSource::in_memory("vector");
    let tenant = Tenant::of("acme");
    let items = [
        "Café CAFÉ cafe",
        "one cafe, once",
        "東京 is far",
        "a_b 100%",
        "\"quoted\" -not",
    ];
    let items: Vec<_> = items.iter().map(|text| item(text, json!({}))).collect();
    tenant.write(&source, &items, "op").await.expect("write");
    for (query, first) in [
        ("cafe", "Café CAFÉ cafe"),
        ("CAFE\u{301}", "Café CAFÉ cafe"),
        ("once:*", "one cafe, once"),
        ("東京", "東京 is far"),
        ("100", "a_b 100%"),
        ("\"not", "\"quoted\" -not"),
    ] {
        let found = tenant.found(&source, query, 1).await;
        assert_eq!(
            found.first().map(|item| item.content.as_str()),
            Some(first),
            "{query}"
        );
    }
    for query in ["%", "_", "a%", "<->", ":*", &"(".repeat(1_000)] {
        let found = tenant.found(&source, query, 5).await;
        assert!(
            found.iter().all(|item| item.content.contains("a_b")),
            "{query}"
        );
    }
    assert_eq!(tenant.found(&source, "cafe", 1).await[0].score(), Some(1.0));
}

#[tokio::test]
async fn the_index_in_memory_remembers_a_bounded_number_of_operations_of_each_tenant() {
    let index = Arc::new(TermVectors::default());
    let source = VectorSource::new("vector", index.clone());
    let (tenant, other) = (Tenant::of("acme"), Tenant::of("other"));
    let write = async |tenant: &Tenant, text: &str, op: String| {
        let items = [item(text, json!({"id": "1"}))];
        tenant.write(&source, &items, &op).await
    };
    write(&other, "first", "op-0".to_owned())
        .await
        .expect("write");
    for number in 0..1_025 {
        write(&tenant, "text", format!("op-{number}"))
            .await
            .expect("write");
    }
    let conflict = write(&tenant, "changed", "op-1".to_owned())
        .await
        .expect_err("an error");
    assert!(matches!(
        conflict,
        SourceError::Mutation(MutationError::OperationConflict)
    ));
    write(&tenant, "changed", "op-0".to_owned())
        .await
        .expect("it made room for a newer one");
    // Nobody else's made room for it.
    assert!(write(&other, "changed", "op-0".to_owned()).await.is_err());
    assert_eq!(format!("{index:?}"), "TermVectors { scopes: 2, chunks: 2 }");
}

#[tokio::test]
async fn what_is_written_down_as_a_stamp_of_a_query_is_not_believed() {
    let index = Arc::new(TermVectors::default());
    let source = VectorSource::new("vector", index.clone());
    let tenant = Tenant::of("acme");
    let stamped = TextChunk {
        id: "1".to_owned(),
        content: "alpha".to_owned(),
        metadata: metadata(json!({"dedupe_sources": ["a", "b"], "dedupe_count": 9, "n": 1})),
    };
    // Past the source, as whoever has the store can.
    let (whole, call) = (whole("op", "f"), tenant.call());
    let kept = index.keep(vec![stamped], &whole, &call).await;
    kept.expect("kept");
    let found = tenant.found(&source, "alpha", 5).await;
    assert_eq!(found[0].metadata, metadata(json!({"n": 1})));
}

#[tokio::test]
async fn a_write_in_memory_does_not_wait_for_a_query_that_looks_at_many_chunks() {
    let source = VectorSource::in_memory("vector");
    let tenant = Tenant::of("acme");
    for batch in 0..6 {
        let items: Vec<_> = (0..100).map(|_| item("alpha", json!({}))).collect();
        let written = tenant.write(&source, &items, &format!("op-{batch}")).await;
        written.expect("write");
    }
    let mut query = pin!(tenant.query(&source, "alpha", 1_000));
    assert!(
        poll!(&mut query).is_pending(),
        "others have their turn before it ends"
    );
    let items = [item("alpha beta", json!({}))];
    let written = tenant.write(&source, &items, "op").now_or_never();
    written.expect("it waits for nothing").expect("write");
    let found = query.await.expect("an answer").items;
    assert_eq!(
        found.len(),
        600,
        "a query answers what was there when it began"
    );
    assert_eq!(tenant.found(&source, "beta", 5).await.len(), 1);
}

#[tokio::test]
async fn a_repeated_write_asks_no_model() {
    let store: Arc<dyn Store> = Arc::new(InMemoryStore::default());
    let model = Arc::new(Numbers::new(|before| {
        assert_eq!(before, 0, "it is asked once");
        vec![1.0]
    }));
    let source = VectorSource::embedded("kb", opening(&store), "default", "c", model.clone());
    let tenant = Tenant::of("acme");
    let items = [item("alpha", json!({}))];
    for _ in 0..3 {
        let written = tenant.write(&source, &items, "op").await.expect("written");
        assert_eq!(written.accepted, ["kb"]);
    }
    assert_eq!(*model.batches.lock().expect("no panic"), [1]);
    let other = tenant
        .write(&source, &[item("beta", json!({}))], "op")
        .await;
    assert!(matches!(
        other.expect_err("an error"),
        SourceError::Mutation(MutationError::OperationConflict)
    ));
}

#[tokio::test]
async fn what_a_backend_finds_of_another_tenant_is_caught_and_nothing_is_passed_on() {
    let store: Arc<dyn Store> = Arc::new(OddStore::failing_after(0));
    let embedder = Arc::new(Numbers::new(|_| vec![1.0]));
    let source = VectorSource::embedded("kb", opening(&store), "default", "c", embedder);
    // The row of its own that comes first fills the limit, and doesn't save it.
    for limit in [1, 5] {
        let error = Tenant::of("acme")
            .query(&source, "text", limit)
            .await
            .expect_err("an error");
        assert!(matches!(&error, SourceError::ForeignScope { source_name } if source_name == "kb"));
        assert!(error.is_of_scope() && !error.is_passing());
        assert!(!error.to_string().contains("elsewhere"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

/// A model that answers as it is told, and says how many texts it was given at a time.
struct Numbers {
    /// By how many texts came before.
    embedding: Box<dyn Fn(usize) -> Vec<f32> + Send + Sync>,
    batches: Mutex<Vec<usize>>,
    seen: AtomicUsize,
    /// How many embeddings of each batch it leaves out.
    left_out: usize,
}

impl Numbers {
    fn new(embedding: impl Fn(usize) -> Vec<f32> + Send + Sync + 'static) -> Self {
        Self {
            embedding: Box::new(embedding),
            batches: Mutex::default(),
            seen: AtomicUsize::new(0),
            left_out: 0,
        }
    }
}

impl std::fmt::Debug for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Numbers")
    }
}

#[async_trait]
impl EmbeddingModel for Numbers {
    fn id(&self) -> &str {
        "numbers"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.batches.lock().expect("no panic").push(texts.len());
        let made = texts.iter().skip(self.left_out).map(|_| {
            let before = self.seen.fetch_add(1, Ordering::SeqCst);
            (self.embedding)(before)
        });
        Ok(made.collect())
    }
}

fn chunks(count: usize) -> Vec<TextChunk> {
    let chunk = |index: usize| TextChunk {
        id: index.to_string(),
        content: format!("text {index}"),
        metadata: metadata(json!({})),
    };
    (0..count).map(chunk).collect()
}

#[tokio::test]
async fn embeddings_that_cannot_be_kept_or_compared_are_refused_by_what_is_wrong_with_them() {
    let store: Arc<dyn Store> = Arc::new(OddStore::failing_after(0));
    let tenant = Tenant::of("acme");
    let whole = whole("op", "f");
    let mut short = Numbers::new(|_| vec![1.0]);
    short.left_out = 1;
    let models = [
        short,
        Numbers::new(|_| Vec::new()),
        Numbers::new(|_| vec![0.5; 4_097]),
        Numbers::new(|_| vec![1.0, f32::NAN]),
        Numbers::new(|_| vec![f32::INFINITY]),
        Numbers::new(|before| vec![1.0; if before < 2 { 3 } else { 4 }]),
        // Of the second batch.
        Numbers::new(|before| vec![1.0; if before < EMBEDDED_TEXTS_MAX { 3 } else { 4 }]),
        // Nothing is near it, so nobody would ever find the last text.
        Numbers::new(|before| vec![if before < 299 { 1.0 } else { 0.0 }; 3]),
    ];
    let mut said = Vec::new();
    for model in models {
        let index = EmbeddedVectors::new(opening(&store), "default", "c", Arc::new(model));
        let kept = index.keep(chunks(300), &whole, &tenant.call()).await;
        let error = kept.expect_err("an error");
        assert!(matches!(error, SourceError::Model(ModelError::Refused(_))));
        assert!(!error.is_passing());
        said.push(error.to_string());
    }
    // A query's embedding is looked at as well.
    for number in [f32::NAN, 0.0] {
        let none = Arc::new(Numbers::new(move |_| vec![number]));
        let source = VectorSource::embedded("kb", opening(&store), "default", "c", none);
        let error = tenant
            .query(&source, "text", 5)
            .await
            .expect_err("an error");
        assert!(matches!(error, SourceError::Model(ModelError::Refused(_))));
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test]
async fn a_text_of_signs_alone_is_found_by_its_signs_where_texts_are_hashed() {
    let store: Arc<dyn Store> = Arc::new(InMemoryStore::default());
    let model = Arc::new(HashingEmbedder::default());
    let source = VectorSource::embedded("kb", opening(&store), "default", "c", model);
    let tenant = Tenant::of("acme");
    let items = [item("!?", json!({})), item("alpha", json!({}))];
    tenant.write(&source, &items, "op").await.expect("written");
    let contents = async |query: &str| -> Vec<String> {
        let found = tenant.found(&source, query, 5).await;
        found.into_iter().map(|item| item.content).collect()
    };
    assert_eq!(contents("alpha").await, ["alpha", "!?"]);
    assert_eq!(contents("!?").await, ["!?", "alpha"]);
}

#[tokio::test]
async fn texts_are_embedded_in_batches_as_large_as_models_take() {
    let store: Arc<dyn Store> = Arc::new(OddStore::failing_after(0));
    let tenant = Tenant::of("acme");
    let model = Arc::new(Numbers::new(|_| vec![1.0]));
    let index = EmbeddedVectors::new(opening(&store), "default", "c", model.clone());
    let many = chunks(2 * EMBEDDED_TEXTS_MAX + 1);
    let whole = whole("op", "f");
    index
        .keep(many, &whole, &tenant.call())
        .await
        .expect("kept");
    let expected = [EMBEDDED_TEXTS_MAX, EMBEDDED_TEXTS_MAX, 1];
    assert_eq!(*model.batches.lock().expect("no panic"), expected);
}

#[tokio::test]
async fn a_store_without_vectors_says_so_and_what_to_do() {
    let store: Arc<dyn Store> = Arc::new(MinimalStore::default());
    let embedder = Arc::new(Numbers::new(|_| vec![1.0]));
    let source = VectorSource::embedded("kb", opening(&store), "default", "c", embedder.clone());
    let tenant = Tenant::of("acme");
    let query = tenant
        .query(&source, "text", 5)
        .await
        .expect_err("an error");
    let items = [item("text", json!({}))];
    let write = tenant
        .write(&source, &items, "op")
        .await
        .expect_err("an error");
    for error in [query, write] {
        assert!(matches!(error, SourceError::Unsupported(_)));
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @r#"the store, of kind `minimal`, keeps no vectors; name another store, or say index = "in_memory""#);
        }
    }
    // Nothing was paid for.
    assert_eq!(*embedder.batches.lock().expect("no panic"), [0; 0]);
}
