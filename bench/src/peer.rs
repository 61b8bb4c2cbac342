//! The Python peer, in a process of its own.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::{
    bench_directory, dataset,
    drive::Length,
    note::Counted,
    sample::Sample,
    work::{Cell, Contender, Work},
};

/// The name in results.
pub(crate) const PEER: &str = "Python peer";

/// Longest wait for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Longest time that fetching its packages may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(300);

/// The contender.
pub(crate) struct Peer {
    // Ends the process when it is dropped.
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Version of its Python.
    pub(crate) python: String,
}

impl Peer {
    /// Fetches its packages, if this is the first time, starts it, and gives it the notes.
    ///
    /// # Errors
    ///
    /// Why it can't be measured: no network, a Python that is too old.
    pub(crate) async fn start(
        url: &str,
        schema: &str,
        notes: &[dataset::Note],
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let packages = fetch().await?;
        let mut process = Command::new("python3")
            .arg(bench_directory().join("peer.py"))
            .args([url, schema])
            .env("PYTHONPATH", packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("can't start python3")?;
        let input = process.stdin.take().context("its input is missing")?;
        let output = process.stdout.take().context("its output is missing")?;
        let mut peer = Self {
            _process: process,
            input,
            output: BufReader::new(output).lines(),
            python: String::new(),
        };
        let path = directory.join("notes.json");
        std::fs::write(&path, filling(notes).to_string())?;
        let answer = peer.ask(&json!({"verb": "fill", "path": path})).await?;
        peer.python = answer["python"].as_str().unwrap_or_default().to_owned();
        Ok(peer)
    }

    /// What it finds for a word: name, snippet and score of each match, as JSON.
    pub(crate) async fn matches(&mut self, word: &str) -> anyhow::Result<Value> {
        self.ask(&json!({"verb": "search", "word": word})).await
    }

    async fn ask(&mut self, question: &Value) -> anyhow::Result<Value> {
        self.input
            .write_all(format!("{question}\n").as_bytes())
            .await?;
        self.input.flush().await?;
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, self.output.next_line())
            .await
            .context("the Python peer doesn't answer")??;
        let answer = answer.context("the Python peer ended; its errors stand above")?;
        Ok(serde_json::from_str(&answer)?)
    }
}

fn filling(notes: &[dataset::Note]) -> Value {
    let text = Counted::default().text();
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    json!({
        "rest": rest,
        "notes": notes,
        "searched_scope": dataset::searched_scope(),
        "first_scope": dataset::scope_range().0,
        "scopes": dataset::SCOPES,
        "words": {"search_rare": dataset::RARE_WORD, "search_common": dataset::COMMON_WORD},
    })
}

#[async_trait]
impl Contender for Peer {
    fn name(&self) -> &'static str {
        PEER
    }

    fn takes(&self, _: Work) -> bool {
        true
    }

    async fn prepare(&mut self, cell: Cell) -> anyhow::Result<()> {
        let question =
            json!({"verb": "prepare", "work": cell.work.name(), "clients": cell.clients});
        self.ask(&question).await.map(drop)
    }

    async fn run(&mut self, cell: Cell) -> anyhow::Result<Sample> {
        let (seconds, each) = match cell.length {
            Length::Time(time) => (Some(time.as_secs_f64()), None),
            Length::Operations(number) => (None, Some(number)),
        };
        let question = json!({
            "verb": "run",
            "work": cell.work.name(),
            "clients": cell.clients,
            "seconds": seconds,
            "each": each,
        });
        let answer = self.ask(&question).await?;
        let times = answer["times_us"].as_array().context("no times")?;
        let times = times
            .iter()
            .filter_map(Value::as_u64)
            .map(Duration::from_micros)
            .collect();
        let elapsed = answer["elapsed"].as_f64().context("no duration")?;
        let given_up = answer["given_up"]
            .as_u64()
            .context("no number of give-ups")?;
        Ok(Sample::of(
            times,
            Duration::from_secs_f64(elapsed),
            given_up,
        ))
    }
}

/// Installs the peer's packages into the toolbox, once; gives their directory.
async fn fetch() -> anyhow::Result<PathBuf> {
    let fetching = Command::new("python3")
        .arg(bench_directory().join("fetch_peer.py"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(FETCH_TIMEOUT, fetching)
        .await
        .context("its packages weren't there within five minutes")?
        .context("can't run python3")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{}",
            said.trim().lines().last().unwrap_or("fetching failed")
        );
    }
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}
