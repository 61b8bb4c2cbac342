//! Raw results, as JSON beside this package.

use std::path::PathBuf;

use anyhow::Context as _;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    bench_directory,
    machine::{Built, Machine},
    memory::WorkerMemory,
    through_temporal::ThroughTemporal,
    work::Measured,
};

/// What `quick` found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Quick {
    pub(crate) built: Built,
    pub(crate) machine: Machine,
    /// Version of the Python that ran the peer; missing where the peer wasn't measured.
    pub(crate) python: Option<String>,
    pub(crate) took_seconds: f64,
    /// What could not be measured, and why.
    pub(crate) not_measured: Vec<NotMeasured>,
    pub(crate) store: Vec<Measured>,
    /// Whether the peer found the same as we did, with the same scores and snippets.
    pub(crate) same_hits: Option<bool>,
    pub(crate) temporal: ThroughTemporal,
    pub(crate) memory: WorkerMemory,
}

/// Somebody or something that took no part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotMeasured {
    pub(crate) what: String,
    pub(crate) why: String,
}

/// Writes results.
pub(crate) fn write(name: &str, results: &impl Serialize) -> anyhow::Result<()> {
    let path = path(name);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let json = serde_json::to_string_pretty(results)?;
    std::fs::write(&path, json + "\n").with_context(|| format!("can't write {}", path.display()))
}

/// Reads results; `None` where there are none yet.
pub(crate) fn read<T: DeserializeOwned>(name: &str) -> anyhow::Result<Option<T>> {
    let path = path(name);
    if !path.is_file() {
        return Ok(None);
    }
    let json = std::fs::read_to_string(&path)?;
    let results = serde_json::from_str(&json);
    results
        .map(Some)
        .with_context(|| format!("{} has another form; measure anew", path.display()))
}

fn path(name: &str) -> PathBuf {
    bench_directory().join("results").join(name)
}
