//! How hybrid search keeps its embeddings up to date, and what it leaves alone.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures::future::join_all;
use notekeeper_models::{EmbeddingModel, HashingEmbedder, ModelError};
use notekeeper_recall::{
    CompositeOptions, CompositeSource, FactsSource, HybridLeg, HybridSource, Source, SourceCall,
    SourceError, SourceQuery, VectorSource,
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    fixture::{Tenant, item},
    notes::{made, put, put_numbered, remember},
    stores::Kept,
};

/// What no test waits longer for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A model that counts what it is asked, and can be told to wait, to refuse, or to answer otherwise.
#[derive(Debug)]
struct Model {
    id: String,
    inner: Mutex<HashingEmbedder>,
    asked: Mutex<Vec<Vec<String>>>,
    /// Requests with passages wait for one of these.
    turns: Semaphore,
    /// A request with a text that holds this is refused.
    refuses: Option<&'static str>,
    /// Whether the numbers are all zero.
    empty: bool,
}

impl Model {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            inner: Mutex::default(),
            asked: Mutex::default(),
            turns: Semaphore::new(Semaphore::MAX_PERMITS),
            refuses: None,
            empty: false,
        }
    }

    /// Whether it was asked for a passage. The text of one has its title on a line before.
    fn has_passages(&self) -> bool {
        let asked = self.asked.lock().expect("no panic");
        asked.iter().flatten().any(|text| text.contains('\n'))
    }

    /// Texts of passages that it was asked for since the last time, with how often.
    fn passages(&self) -> BTreeMap<String, usize> {
        let asked = std::mem::take(&mut *self.asked.lock().expect("no panic"));
        let mut counts = BTreeMap::new();
        for text in asked.into_iter().flatten().filter(|it| it.contains('\n')) {
            *counts.entry(text).or_default() += 1;
        }
        counts
    }
}

#[async_trait]
impl EmbeddingModel for Model {
    fn id(&self) -> &str {
        &self.id
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.asked.lock().expect("no panic").push(texts.to_vec());
        if texts.iter().any(|text| text.contains('\n')) {
            self.turns.acquire().await.expect("open").forget();
        }
        if let Some(refused) = self.refuses
            && texts.iter().any(|text| text.contains(refused))
        {
            return Err(ModelError::Refused("too long for the model".to_owned()));
        }
        let inner = self.inner.lock().expect("no panic").clone();
        let mut made = inner.embed(texts).await?;
        if self.empty {
            made.iter_mut().flatten().for_each(|number| *number = 0.0);
        }
        Ok(made)
    }
}

fn source(kept: &Kept, model: &Arc<Model>) -> HybridSource {
    made(kept.stores(), model.clone())
}

async fn kept_chunks(kept: &Kept, tenant: &Tenant, source: &HybridSource) -> usize {
    let vectors = kept.store.vectors().expect("vectors");
    let collection = source.collection();
    let marks = vectors.chunk_marks(&tenant.scope, &collection);
    marks.await.expect("marks").len()
}

/// Which legs found it, as each item of the source says.
fn found_by(item: &notekeeper_domain::Item) -> Vec<String> {
    let legs = item.metadata.get("found_by").expect("legs");
    serde_json::from_value(legs.clone()).expect("a list of texts")
}

fn by_vectors(items: &[notekeeper_domain::Item]) -> Vec<String> {
    let found = items
        .iter()
        .filter(|item| found_by(item).contains(&"vectors".to_owned()));
    found
        .map(|item| item.id.clone().unwrap_or_default())
        .collect()
}

#[tokio::test]
async fn each_item_says_which_legs_found_it_also_where_one_did() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put(&*kept.store, &tenant, "tea.md", "Ada drinks green tea.").await;
    let all = [HybridLeg::Words, HybridLeg::Similar, HybridLeg::Vectors];
    let cases: [(&[HybridLeg], &str, &[&str]); 5] = [
        (&all[..1], "green tea", &["words"]),
        (&all[1..2], "green tea", &["similar"]),
        (&all[2..], "green tea", &["vectors"]),
        (&all[..2], "gren", &["similar"]),
        (&all, "green tea", &["words", "similar", "vectors"]),
    ];
    for (legs, query, expected) in cases {
        let source = source(&kept, &Arc::new(Model::new("m"))).with_legs(legs);
        let found = tenant.found(&source, query, 3).await;
        assert_eq!(found.len(), 1, "{query}");
        assert_eq!(found_by(&found[0]), expected, "{query}");
        assert_eq!(found[0].source, "hybrid");
        assert_eq!(found[0].metadata, found[0].metadata.unstamped(), "{query}");
    }
}

#[tokio::test]
async fn outside_it_is_one_source_whose_legs_agree_with_nobody() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    remember(&*kept.store, &tenant, "tea", "Ada drinks green tea.").await;
    remember(
        &*kept.store,
        &tenant,
        "coffee",
        "Grace drinks coffee, never green.",
    )
    .await;
    let facts = FactsSource::new("facts", kept.stores(), "default");
    let hybrid = source(&kept, &Arc::new(Model::new("m")));
    let legs: Vec<Arc<dyn Source>> = vec![Arc::new(facts), Arc::new(hybrid)];
    let options = CompositeOptions {
        leg_timeout: Duration::from_secs(60),
        ..CompositeOptions::default()
    };
    let both = CompositeSource::new("both", legs, options).expect("valid");
    let found = tenant.found(&both, "green tea", 5).await;
    assert_eq!(found.len(), 2, "{found:?}");
    for item in found {
        let stamp = |key| item.metadata.get(key).cloned();
        let sources = serde_json::json!(["facts", "hybrid"]);
        assert_eq!(stamp("dedupe_sources"), Some(sources), "{item:?}");
        assert_eq!(
            stamp("dedupe_count"),
            Some(serde_json::json!(2)),
            "{item:?}"
        );
    }
}

#[tokio::test]
async fn a_source_with_a_name_as_long_as_they_may_be_tells_its_legs_apart() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put(&*kept.store, &tenant, "tea.md", "Ada drinks green tea.").await;
    let name = "n".repeat(100);
    let mut model = Model::new("m");
    model.refuses = Some("tea");
    let named = |model| {
        let timeout = Duration::from_secs(60);
        HybridSource::new(&name, kept.stores(), "default", model).with_leg_timeout(timeout)
    };
    let answer = tenant.query(&named(Arc::new(model)), "green tea", 3).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.items[0].source, name);
    assert_eq!(found_by(&answer.items[0]), ["words", "similar"]);
    assert_eq!(answer.failed.len(), 1);
    assert_eq!(answer.failed[0].source, format!("{name}.vectors"));
    let mut model = Model::new("m");
    model.refuses = Some("tea");
    let alone = named(Arc::new(model)).with_legs(&[HybridLeg::Vectors]);
    let told = tenant.query(&alone, "green tea", 3).await;
    let Err(SourceError::NoAnswer {
        source_name,
        answer,
    }) = told
    else {
        panic!("its only leg failed: {told:?}");
    };
    assert_eq!(source_name, name);
    assert_eq!(answer.failed[0].source, format!("{name}.vectors"));
}

#[tokio::test]
async fn facts_beyond_those_that_are_looked_through_are_found_by_words_and_never_embedded() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    for index in 0..2_100 {
        let value = format!("value number{index:04}");
        remember(&*kept.store, &tenant, &format!("k{index:04}"), &value).await;
    }
    let model = Arc::new(Model::new("m"));
    let source = source(&kept, &model);
    let mut embedded: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..20 {
        tenant.found(&source, "value number0001", 5).await;
        let made = model.passages();
        if made.is_empty() {
            break;
        }
        for (text, count) in made {
            *embedded.entry(text).or_default() += count;
        }
    }
    assert_eq!(embedded.len(), 2_000);
    assert!(embedded.values().all(|count| *count == 1), "{embedded:?}");
    for query in ["number2050", "number2099", "number0007", "number2050"] {
        let found = tenant.found(&source, query, 3).await;
        let key = query.replace("number", "k");
        assert_eq!(found[0].id, Some(format!("fact:default/{key}")));
        assert_eq!(model.passages(), BTreeMap::new(), "{query}");
    }
    assert_eq!(kept_chunks(&kept, &tenant, &source).await, 2_000);
}

#[tokio::test]
async fn two_models_under_one_name_leave_each_others_embeddings_alone() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put(&*kept.store, &tenant, "tea.md", "Ada drinks green tea.").await;
    let models = ["one", "other"].map(|id| Arc::new(Model::new(id)));
    for round in 0..3 {
        for model in &models {
            tenant.found(&source(&kept, model), "tea", 3).await;
            let expected = usize::from(round == 0);
            assert_eq!(model.passages().len(), expected, "{} {round}", model.id);
        }
    }
}

#[tokio::test]
async fn a_model_that_gives_other_numbers_under_its_name_embeds_all_anew() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put(&*kept.store, &tenant, "tea.md", "Ada drinks green tea.").await;
    let model = Arc::new(Model::new("m"));
    let source = source(&kept, &model);
    for dimensions in [256, 64] {
        *model.inner.lock().expect("no panic") = HashingEmbedder::new(dimensions).expect("valid");
        let found = tenant.found(&source, "green tea", 3).await;
        assert_eq!(model.passages().len(), 1, "{dimensions}");
        assert_eq!(by_vectors(&found), ["note:default/tea.md#1"]);
    }
}

#[tokio::test]
async fn queries_at_once_embed_each_passage_once() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put_numbered(&*kept.store, &tenant, 40).await;
    let model = Arc::new(Model::new("m"));
    let source = source(&kept, &model);
    let found = join_all((0..8).map(|_| tenant.found(&source, "number", 50))).await;
    for items in found {
        assert_eq!(items.len(), 40);
    }
    let passages = model.passages();
    assert_eq!(passages.len(), 40);
    assert!(passages.values().all(|count| *count == 1), "{passages:?}");
}

#[tokio::test]
async fn a_batch_that_takes_longer_than_the_query_is_kept_for_the_next() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put_numbered(&*kept.store, &tenant, 5).await;
    let mut model = Model::new("m");
    model.turns = Semaphore::new(0);
    let model = Arc::new(model);
    let source = source(&kept, &model);
    let begun = async {
        while !model.has_passages() {
            tokio::task::yield_now().await;
        }
    };
    // The query is dropped when the batch is under way, as one is whose caller waits no longer.
    tokio::select! {
        answer = tenant.query(&source, "number", 9) => panic!("it waits for the batch: {answer:?}"),
        () = begun => {}
    }
    assert_eq!(kept_chunks(&kept, &tenant, &source).await, 0);
    model.turns.add_permits(1);
    let all_kept = async {
        while kept_chunks(&kept, &tenant, &source).await < 5 {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, all_kept).await;
    in_time.expect("what was begun is kept");
    assert_eq!(model.passages().len(), 5);
    let found = tenant.found(&source, "number", 9).await;
    assert_eq!(by_vectors(&found).len(), 5);
    assert_eq!(model.passages(), BTreeMap::new());
}

#[tokio::test]
async fn a_passage_that_the_model_refuses_keeps_no_other_from_its_embedding_and_is_asked_for_once()
{
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    for index in 0..20 {
        let name = format!("n{index:02}.md");
        let odd = if index % 7 == 3 {
            "unbearable"
        } else {
            "plain"
        };
        put(
            &*kept.store,
            &tenant,
            &name,
            &format!("note number {index} {odd}"),
        )
        .await;
    }
    let mut model = Model::new("m");
    model.refuses = Some("unbearable");
    let model = Arc::new(model);
    let source = source(&kept, &model);
    let found = tenant.found(&source, "note number", 50).await;
    assert_eq!(found.len(), 20, "the other legs find all");
    assert_eq!(by_vectors(&found).len(), 17);
    assert_eq!(model.passages().len(), 20);
    tenant.found(&source, "note number", 50).await;
    assert_eq!(model.passages(), BTreeMap::new());
}

#[tokio::test]
async fn who_only_looks_has_nothing_embedded_and_nothing_removed() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put(&*kept.store, &tenant, "tea.md", "Ada drinks green tea.").await;
    let model = Arc::new(Model::new("m"));
    let source = source(&kept, &model);
    let looking = SourceCall {
        upkeep: false,
        ..tenant.call()
    };
    let query = SourceQuery::new("green tea", 3);
    for expected in [0, 1] {
        let answer = source.query(&query, &looking).await.expect("an answer");
        assert_eq!(answer.items.len(), 1);
        assert!(answer.is_whole());
        assert_eq!(model.passages(), BTreeMap::new());
        assert_eq!(kept_chunks(&kept, &tenant, &source).await, expected);
        tenant.found(&source, "green tea", 3).await;
        model.passages();
        put(
            &*kept.store,
            &tenant,
            "tea.md",
            "Ada drinks mint and green tea.",
        )
        .await;
    }
}

#[tokio::test]
async fn an_embedding_of_zeros_is_the_fault_of_a_model_that_knows_more_than_letters() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    put(&*kept.store, &tenant, "tea.md", "Ada drinks green tea.").await;
    let mut model = Model::new("m");
    model.empty = true;
    let model = Arc::new(model);
    let answer = tenant.query(&source(&kept, &model), "green tea", 3).await;
    let answer = answer.expect("the other legs answer");
    assert_eq!(answer.items.len(), 1);
    let refused = |error: &SourceError| matches!(error, SourceError::Model(ModelError::Refused(_)));
    assert_eq!(answer.failed.len(), 1);
    assert!(refused(&answer.failed[0].error), "{:?}", answer.failed);
    let vectors = VectorSource::embedded("v", kept.stores(), "default", "c", model);
    let items = [item("green tea", serde_json::json!({}))];
    let error = tenant.write(&vectors, &items, "op").await;
    let error = error.expect_err("nobody would find it");
    assert!(refused(&error), "{error}");
    let error = tenant.query(&vectors, "green tea", 3).await;
    assert!(refused(&error.expect_err("it would find nothing")));
}

#[tokio::test]
async fn a_fact_with_a_long_value_is_one_item_and_shows_what_fits() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    let value = format!(
        "{}\n\nThe courier rings at the blue gate.\n\n{}",
        "Deliveries are made on weekdays. ".repeat(60),
        "Invoices are sent by post. ".repeat(60)
    );
    remember(&*kept.store, &tenant, "delivery", &value).await;
    let model = Arc::new(Model::new("m"));
    let source = source(&kept, &model);
    let found = tenant.found(&source, "blue gate courier", 10).await;
    let made = model.passages().len();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].id.as_deref(), Some("fact:default/delivery"));
    assert!(found[0].content.contains("blue gate"));
    assert!(found[0].content.chars().count() < 1_100);
    assert_eq!(found[0].metadata.get("truncated"), Some(&json!(true)));

    // So it doesn't take the place of the whole fact.
    let facts = FactsSource::new("facts", kept.stores(), "default");
    let written = tenant.write(&facts, &found, "back").await;
    let told = written.expect_err("a part").to_string();
    assert!(told.starts_with("`items[0]` is only a part of"), "{told}");
    let all = tenant.found(&facts, "blue gate courier", 1).await;
    assert_eq!(all[0].content, format!("delivery: {value}"));
    // A short one is all there.
    remember(&*kept.store, &tenant, "gate", "The gate is blue.").await;
    let short = tenant.found(&source, "gate is blue", 1).await;
    assert_eq!(short[0].id.as_deref(), Some("fact:default/gate"));
    assert_eq!(short[0].metadata.get("truncated"), None);
    tenant
        .write(&facts, &short, "again")
        .await
        .expect("written");
    let found = tenant.found(&source, "gate is blue", 1).await;
    assert_eq!(found[0].content, "gate: The gate is blue.");
    assert!(made > 2);
}
