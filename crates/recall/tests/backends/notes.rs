//! Notes by full text, and notes and facts by all means.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use notekeeper_domain::{Fact, FactKey, Item, NoteName, SOURCE_QUERY_CHARS_MAX};
use notekeeper_models::{EmbeddingModel, HashingEmbedder, ModelError};
use notekeeper_recall::{Answer, HybridSource, NotesSource, OpenStores, Source, SourceError};
use notekeeper_store::{Expected, Store, WriteRequest};
use serde_json::json;

use crate::{
    fixture::{Tenant, opening},
    odd_store::OddStore,
    stores::{Kept, on_each_store},
};

on_each_store!(
    passages_of_notes_are_found_by_words_and_their_beginnings,
    the_hybrid_finds_words_slips_and_facts_and_says_which_legs_did,
    a_note_that_is_deleted_or_changed_is_found_no_more_by_what_it_said,
    conditions_hold_for_every_leg,
    tenants_are_apart,
    names_that_tools_cannot_address_are_not_searched,
);

pub(crate) async fn put(store: &dyn Store, tenant: &Tenant, name: &str, text: &str) {
    let name = NoteName::parse(name).expect("a valid name");
    let request = WriteRequest::new(text, &Expected::Any);
    store
        .write(&tenant.scope, &name, &request, None)
        .await
        .expect("write");
}

/// Puts so many short notes, all of which have the words `note number`.
pub(crate) async fn put_numbered(store: &dyn Store, tenant: &Tenant, count: usize) {
    for index in 0..count {
        let (name, text) = (format!("n{index:03}.md"), format!("note number {index}"));
        put(store, tenant, &name, &text).await;
    }
}

pub(crate) async fn remember(store: &dyn Store, tenant: &Tenant, key: &str, value: &str) {
    if let Some(facts) = store.facts() {
        let fact = Fact::new(key, value).expect("a valid fact");
        facts
            .remember(&tenant.scope, &fact, None)
            .await
            .expect("remember");
    }
}

async fn delete(store: &dyn Store, tenant: &Tenant, name: &str) {
    let name = NoteName::parse(name).expect("a valid name");
    store
        .delete(&tenant.scope, &name, &Expected::Any, None)
        .await
        .expect("delete");
}

fn ids(items: &[Item]) -> Vec<&str> {
    items
        .iter()
        .map(|item| item.id.as_deref().unwrap_or_default())
        .collect()
}

fn notes(kept: &Kept) -> NotesSource {
    NotesSource::new("notes", kept.stores(), "default")
}

/// A leg may take a minute: a busy machine is no fault.
pub(crate) fn made(stores: Arc<dyn OpenStores>, embedder: Arc<dyn EmbeddingModel>) -> HybridSource {
    HybridSource::new("hybrid", stores, "default", embedder)
        .with_leg_timeout(Duration::from_secs(60))
}

fn hybrid(kept: &Kept) -> HybridSource {
    made(kept.stores(), Arc::new(HashingEmbedder::default()))
}

/// Notes of a small team.
async fn filled(kept: &Kept) -> Tenant {
    let tenant = Tenant::of("acme");
    let store = &*kept.store;
    let travel = format!(
        "# Travel\n\n{}\n\n## Trains\n\nBook the train to Lyon a week before.",
        "Flights are booked by the office. ".repeat(20)
    );
    put(store, &tenant, "travel.md", &travel).await;
    put(
        store,
        &tenant,
        "database.md",
        "PostgreSQL: run the migration before a deploy.",
    )
    .await;
    put(store, &tenant, "tea.md", "Ada drinks green tea.").await;
    remember(store, &tenant, "invoice_address", "12 Main Street, Lyon").await;
    tenant
}

async fn passages_of_notes_are_found_by_words_and_their_beginnings(kept: Kept) {
    let tenant = filled(&kept).await;
    let source = notes(&kept);
    let found = tenant.found(&source, "train lyon", 5).await;
    assert_eq!(ids(&found), ["note:default/travel.md#2"]);
    assert_eq!(
        found[0].content,
        "## Trains\n\nBook the train to Lyon a week before."
    );
    assert_eq!(found[0].source, "notes");
    assert_eq!(found[0].metadata.get("path"), Some(&json!("travel.md")));
    assert!(found[0].metadata.get("version").is_some());
    assert!(
        found[0]
            .score()
            .is_some_and(|score| score > 0.0 && score <= 1.0)
    );

    assert_eq!(
        ids(&tenant.found(&source, "migrat", 5).await),
        ["note:default/database.md#1"]
    );
    assert_eq!(ids(&tenant.found(&source, "postgers", 5).await), [""; 0]);
    assert_eq!(ids(&tenant.found(&source, " \n", 5).await), [""; 0]);
    assert_eq!(ids(&tenant.found(&source, "tea", 0).await), [""; 0]);
    assert!(!source.accepts_writes());
    let items = [Item::new("x", "s")];
    let written = tenant
        .write(&source, &items, "op")
        .await
        .expect("an answer");
    assert_eq!(written.refused, ["notes"]);
    let written = tenant.write(&source, &[], "op").await.expect("an answer");
    assert_eq!(written, notekeeper_recall::Written::default());
}

async fn the_hybrid_finds_words_slips_and_facts_and_says_which_legs_did(kept: Kept) {
    let tenant = filled(&kept).await;
    let source = hybrid(&kept);
    let found = tenant.found(&source, "migration", 3).await;
    assert_eq!(found[0].id.as_deref(), Some("note:default/database.md#1"));
    assert_eq!(found[0].source, "hybrid");
    let mut legs = vec!["words", "similar"];
    if kept.store.vectors().is_some() {
        legs.push("vectors");
    }
    assert_eq!(found[0].metadata.get("found_by"), Some(&json!(legs)));
    for (query, first) in [
        ("postgers", "note:default/database.md#1"),
        ("trian", "note:default/travel.md#2"),
    ] {
        let found = tenant.found(&source, query, 3).await;
        assert_eq!(found[0].id.as_deref(), Some(first), "{query}");
    }
    if kept.store.facts().is_some() {
        let found = tenant.found(&source, "invoices", 3).await;
        assert_eq!(found[0].id.as_deref(), Some("fact:default/invoice_address"));
        assert_eq!(found[0].content, "invoice_address: 12 Main Street, Lyon");
        assert_eq!(
            found[0].metadata.get("key"),
            Some(&json!("invoice_address"))
        );
    }
    assert!(!source.accepts_writes());
    assert_eq!(ids(&tenant.found(&source, "", 3).await), [""; 0]);
    let long = "migration ".repeat(SOURCE_QUERY_CHARS_MAX);
    assert_eq!(
        tenant.found(&source, &long, 1).await[0].id.as_deref(),
        Some("note:default/database.md#1")
    );
}

async fn a_note_that_is_deleted_or_changed_is_found_no_more_by_what_it_said(kept: Kept) {
    let tenant = filled(&kept).await;
    let source = hybrid(&kept);
    for query in ["green tea", "gren teea"] {
        let found = tenant.found(&source, query, 3).await;
        assert_eq!(
            found[0].id.as_deref(),
            Some("note:default/tea.md#1"),
            "{query}"
        );
    }
    put(&*kept.store, &tenant, "tea.md", "Ada drinks coffee.").await;
    for query in ["green tea", "coffee"] {
        for item in tenant.found(&source, query, 10).await {
            assert!(!item.content.contains("green"), "{query}: {item:?}");
        }
    }
    delete(&*kept.store, &tenant, "tea.md").await;
    for query in ["coffee", "Ada drinks coffee", "green tea"] {
        let found = tenant.found(&source, query, 10).await;
        assert!(!ids(&found).contains(&"note:default/tea.md#1"), "{query}");
    }
    if let Some(facts) = kept.store.facts() {
        let key = FactKey::parse("invoice_address").expect("a valid key");
        facts
            .forget(&tenant.scope, &key, None)
            .await
            .expect("forget");
        let found = tenant
            .found(&source, "invoice address main street", 10)
            .await;
        assert!(!ids(&found).contains(&"fact:default/invoice_address"));
    }
    // What is kept of them is gone as well.
    if let Some(vectors) = kept.store.vectors() {
        let collection = source.collection();
        let marks = vectors.chunk_marks(&tenant.scope, &collection);
        assert_eq!(marks.await.expect("marks").len(), 3);
    }
}

async fn names_that_tools_cannot_address_are_not_searched(kept: Kept) {
    let tenant = filled(&kept).await;
    for name in ["data.json", "_hidden.md", ".hidden.md"] {
        put(&*kept.store, &tenant, name, "Ada drinks green tea.").await;
    }
    for source in [&hybrid(&kept) as &dyn Source, &notes(&kept)] {
        let found = tenant.found(source, "green tea", 10).await;
        let holding: Vec<&Item> = found
            .iter()
            .filter(|it| it.content.contains("tea"))
            .collect();
        assert_eq!(holding.len(), 1, "{found:?}");
        assert_eq!(holding[0].id.as_deref(), Some("note:default/tea.md#1"));
    }
}

async fn conditions_hold_for_every_leg(kept: Kept) {
    let tenant = filled(&kept).await;
    let source = hybrid(&kept);
    let only = |conditions| tenant.found_where(&source, "lyon train tea", 10, conditions);
    let found = only(json!({"path": "travel.md"})).await;
    assert_eq!(found[0].id.as_deref(), Some("note:default/travel.md#2"));
    for item in &found {
        assert_eq!(item.metadata.get("path"), Some(&json!("travel.md")));
    }
    assert!(only(json!({"path": "travel.%"})).await.is_empty());
    assert!(only(json!({"owner": "ada"})).await.is_empty());
    let facts = only(json!({"key": "invoice_address"})).await;
    assert_eq!(facts.len(), usize::from(kept.store.facts().is_some()));
    // What isn't wanted now is still there for the next.
    let found = tenant.found(&source, "green tea", 10).await;
    assert_eq!(found[0].id.as_deref(), Some("note:default/tea.md#1"));
}

async fn tenants_are_apart(kept: Kept) {
    let tenant = filled(&kept).await;
    let other = Tenant::of("acme/eu");
    put(&*kept.store, &other, "tea.md", "The others' green tea.").await;
    for source in [&hybrid(&kept) as &dyn Source, &notes(&kept)] {
        for query in ["green tea", "migration", "lyon"] {
            for item in other.found(source, query, 10).await {
                assert_eq!(item.content, "The others' green tea.", "{query}");
            }
            for item in tenant.found(source, query, 10).await {
                assert!(!item.content.contains("others"), "{query}");
            }
        }
    }
}

/// Counts what it embeds, and fails or hangs where it is told to.
#[derive(Debug, Default)]
struct Watched {
    inner: HashingEmbedder,
    texts: Mutex<Vec<String>>,
    calls: AtomicUsize,
    does: Mutex<Does>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Does {
    #[default]
    Works,
    Fails,
    Hangs,
}

impl Watched {
    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.texts.lock().expect("no panic"))
    }
}

#[async_trait]
impl EmbeddingModel for Watched {
    fn id(&self) -> &str {
        self.inner.id()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.texts
            .lock()
            .expect("no panic")
            .extend_from_slice(texts);
        let does = *self.does.lock().expect("no panic");
        match does {
            Does::Works => self.inner.embed(texts).await,
            Does::Fails => Err(ModelError::unavailable("the endpoint answered 503")),
            Does::Hangs => std::future::pending().await,
        }
    }
}

fn watched(kept: &Kept) -> (Arc<Watched>, HybridSource) {
    let embedder = Arc::new(Watched::default());
    let source = made(kept.stores(), embedder.clone());
    (embedder, source)
}

#[tokio::test]
async fn only_what_changed_gets_a_new_embedding() {
    let kept = Kept::in_memory().await;
    let tenant = filled(&kept).await;
    let (embedder, source) = watched(&kept);
    tenant.found(&source, "tea", 3).await;
    assert_eq!(embedder.taken().len(), 5 + 1, "five passages and the query");
    tenant.found(&source, "tea", 3).await;
    assert_eq!(embedder.taken(), ["tea"], "the query alone");
    put(&*kept.store, &tenant, "tea.md", "Ada drinks mint tea.").await;
    tenant.found(&source, "tea", 3).await;
    assert_eq!(embedder.taken(), ["tea", "tea\nAda drinks mint tea."]);
}

#[tokio::test]
async fn a_query_embeds_so_many_passages_and_the_next_ones_the_others() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put_numbered(&*kept.store, &tenant, 600).await;
    let (embedder, source) = watched(&kept);
    let mut embedded = Vec::new();
    for _ in 0..100 {
        let found = tenant.found(&source, "number", 5).await;
        assert_eq!(found.len(), 5, "the other legs find them all the while");
        let passages = embedder.taken().len() - 1;
        assert!(passages <= 512, "{passages}");
        embedded.push(passages);
        if passages == 0 {
            break;
        }
    }
    assert_eq!(embedded.iter().sum::<usize>(), 600, "{embedded:?}");
    assert_eq!(embedded.last(), Some(&0), "{embedded:?}");
}

#[tokio::test]
async fn an_embedder_that_fails_or_hangs_takes_nothing_but_its_own_leg() {
    let kept = Kept::in_memory().await;
    let tenant = filled(&kept).await;
    let (embedder, _) = watched(&kept);
    for does in [Does::Fails, Does::Hangs, Does::Works] {
        *embedder.does.lock().expect("no panic") = does;
        let source = match does {
            Does::Hangs => HybridSource::new("hybrid", kept.stores(), "default", embedder.clone())
                .with_leg_timeout(Duration::from_millis(20)),
            _ => made(kept.stores(), embedder.clone()),
        };
        let answer: Answer = tenant
            .query(&source, "postgers", 3)
            .await
            .expect("an answer");
        assert_eq!(
            answer.items[0].id.as_deref(),
            Some("note:default/database.md#1")
        );
        let late: &[String] = match does {
            Does::Hangs => &["hybrid.vectors".to_owned()],
            _ => &[],
        };
        assert_eq!(answer.timed_out, late);
        let failed: Vec<&str> = answer
            .failed
            .iter()
            .map(|leg| leg.source.as_str())
            .collect();
        match does {
            Does::Fails => assert_eq!(failed, ["hybrid.vectors"]),
            _ => assert_eq!(failed, [""; 0]),
        }
    }
}

#[tokio::test]
async fn a_store_without_vectors_and_facts_is_searched_without_them() {
    let kept = Kept::files().await;
    let tenant = filled(&kept).await;
    let (embedder, source) = watched(&kept);
    let found = tenant.found(&source, "postgers", 3).await;
    assert_eq!(ids(&found), ["note:default/database.md#1"]);
    assert_eq!(embedder.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn rows_of_another_tenant_are_caught() {
    let store: Arc<dyn Store> = Arc::new(OddStore::failing_after(usize::MAX));
    let tenant = Tenant::of("acme");
    put(&*store, &tenant, "tea.md", "green tea").await;
    let embedder = Arc::new(HashingEmbedder::default());
    let source = made(opening(&store), embedder);
    let error = tenant
        .query(&source, "tea", 3)
        .await
        .expect_err("a refusal");
    assert!(matches!(error, SourceError::ForeignScope { .. }), "{error}");
}
