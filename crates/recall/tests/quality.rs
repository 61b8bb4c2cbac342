//! Hybrid search finds no less than each of its legs alone: over a small corpus, with hashing and with a real model.

#[path = "../../../tests/recall_quality/measure.rs"]
mod measure;
#[path = "../../../tests/recall_quality/model.rs"]
mod model;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use anyhow::Context as _;
use notekeeper_models::{EmbeddingModel, HashingEmbedder};

use measure::{Library, Question, Searched, questions};
use model::ModelServer;

const NOTES: &str = include_str!("../../../tests/recall_quality/notes.json");
const QUERIES: &str = include_str!("../../../tests/recall_quality/queries.json");

/// Names and texts.
type Notes = Vec<(String, String)>;

fn corpus() -> anyhow::Result<(Notes, Vec<Question>)> {
    let notes: BTreeMap<String, String> = serde_json::from_str(NOTES)?;
    let notes: Notes = notes.into_iter().collect();
    let questions = questions(QUERIES, &notes)?;
    Ok((notes, questions))
}

async fn searched(embedder: Arc<dyn EmbeddingModel>) -> anyhow::Result<Vec<Searched>> {
    let (notes, questions) = corpus()?;
    Library::of(&notes)
        .await?
        .search(&questions, &embedder)
        .await
}

/// Recall of one way for one kind of question.
fn recall(searched: &[Searched], way: &str, kind: &str) -> f64 {
    let way = searched.iter().find(|it| it.way == way).expect("that way");
    way.found[kind].recall()
}

fn no_leg_is_ahead(searched: &[Searched]) {
    let hybrid = recall(searched, "hybrid", "all");
    for way in searched {
        assert!(
            way.recall() <= hybrid,
            "{} alone finds {} and all together {hybrid}; missed: {:?}",
            way.way,
            way.recall(),
            searched.last().map(|it| &it.missed)
        );
    }
}

#[tokio::test]
async fn all_together_find_no_less_than_each_leg_alone() -> anyhow::Result<()> {
    let searched = searched(Arc::new(HashingEmbedder::default())).await?;
    no_leg_is_ahead(&searched);
    for kind in ["words", "prefix", "typo"] {
        assert_eq!(recall(&searched, "hybrid", kind), 1.0, "{kind}");
    }
    assert_eq!(recall(&searched, "words", "words"), 1.0);
    assert!(recall(&searched, "words", "typo") < recall(&searched, "similar", "typo"));
    Ok(())
}

/// `make test-embeddings` says where its packages are.
#[expect(
    clippy::disallowed_methods,
    reason = "a test is told where its model is"
)]
async fn real_model() -> anyhow::Result<ModelServer> {
    let packages = std::env::var("NOTEKEEPER_EMBEDDING_PACKAGES")
        .context("NOTEKEEPER_EMBEDDING_PACKAGES isn't set: `make test-embeddings` sets it")?;
    let python = std::env::var("NOTEKEEPER_EMBEDDING_PYTHON").unwrap_or("python3".to_owned());
    ModelServer::start(&python, Path::new(&packages)).await
}

fn similarity(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The three numbers are those that the model's publisher shows for these sentences.
#[tokio::test]
#[ignore = "needs a model, 105 MB to fetch; `make test-embeddings` fetches it and runs this"]
async fn a_real_model_answers_over_the_protocol_in_order_and_with_its_own_numbers()
-> anyhow::Result<()> {
    let model = real_model().await?;
    let embedder = model.embedder()?;
    assert_eq!(embedder.id(), model::NAME);
    let texts = [
        "That is a happy person",
        "That is a happy dog",
        "That is a very happy person",
        "Today is a sunny day",
    ];
    let found = embedder.embed(&texts.map(str::to_owned)).await?;
    assert!(found.iter().all(|embedding| embedding.len() == 384));
    for (other, expected) in [(1, 0.695), (2, 0.943), (3, 0.257)] {
        let near = similarity(&found[0], &found[other]);
        assert!((near - expected).abs() < 0.002, "{} {near}", texts[other]);
    }
    let many: Vec<String> = (0..70).map(|n| format!("sentence number {n}")).collect();
    let together = embedder.embed(&many).await?;
    for at in [0, 31, 32, 69] {
        let alone = embedder.embed(&many[at..=at]).await?;
        assert!(similarity(&together[at], &alone[0]) > 0.999, "{at}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs a model, 105 MB to fetch; `make test-embeddings` fetches it and runs this"]
async fn a_real_model_finds_what_is_said_in_other_words_and_all_together_no_less()
-> anyhow::Result<()> {
    let model = real_model().await?;
    let searched = searched(Arc::new(model.embedder()?)).await?;
    no_leg_is_ahead(&searched);
    let by_meaning = recall(&searched, "vectors", "paraphrase");
    assert!(by_meaning > recall(&searched, "similar", "paraphrase"));
    assert!(by_meaning > recall(&searched, "words", "paraphrase"));
    Ok(())
}
