// A small real model of embeddings behind an endpoint of this machine.

use std::{path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, bail};
use notekeeper_models::{OpenAiEmbedder, OpenAiEmbedderOptions};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdin, Command},
};

/// What the endpoint calls it.
pub(crate) const NAME: &str = "all-MiniLM-L6-v2";

/// Longest time in which it has to be loaded: a busy machine is no fault.
const START_TIMEOUT: Duration = Duration::from_secs(300);

/// The endpoint; it ends with this value.
#[derive(Debug)]
pub(crate) struct ModelServer {
    base_url: String,
    _process: Child,
    // It serves until this is closed.
    _input: ChildStdin,
}

impl ModelServer {
    /// Starts it with this Python and the packages of this directory.
    pub(crate) async fn start(python: &str, packages: &Path) -> anyhow::Result<Self> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let script = "tests/embedding_model/serve.py";
        let script = tests
            .map(|directory| directory.join(script))
            .find(|path| path.is_file());
        let mut process = Command::new(python)
            .arg("-B")
            .arg(script.context("the script that serves the model isn't there")?)
            .env("PYTHONPATH", packages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("can't start `{python}`"))?;
        let input = process.stdin.take().context("a pipe to it")?;
        let output = process.stdout.take().context("a pipe from it")?;
        let mut lines = BufReader::new(output).lines();
        let line = tokio::time::timeout(START_TIMEOUT, lines.next_line()).await;
        let Some(base_url) = line.context("the model isn't loaded in time")?? else {
            bail!("the model can't be served; what it said stands above");
        };
        Ok(Self {
            base_url,
            _process: process,
            _input: input,
        })
    }

    pub(crate) fn embedder(&self) -> anyhow::Result<OpenAiEmbedder> {
        let options = OpenAiEmbedderOptions {
            base_url: self.base_url.clone(),
            timeout: START_TIMEOUT,
            ..OpenAiEmbedderOptions::new(NAME)
        };
        Ok(OpenAiEmbedder::new(options)?)
    }
}
