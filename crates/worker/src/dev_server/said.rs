//! What a server says, kept for the case that it ends.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    task::JoinHandle,
};

/// Lines that are kept.
const LINES_MAX: usize = 20;

/// How long the last lines of a server that has ended may be under way.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);

/// The last lines of a server's output.
pub(super) struct Said {
    lines: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Said {
    /// Reads both outputs until they end.
    pub(super) fn listen(
        stdout: Option<impl AsyncRead + Send + Unpin + 'static>,
        stderr: Option<impl AsyncRead + Send + Unpin + 'static>,
    ) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::with_capacity(LINES_MAX)));
        let mut readers = Vec::new();
        if let Some(stdout) = stdout {
            readers.push(tokio::spawn(read(stdout, Arc::clone(&lines))));
        }
        if let Some(stderr) = stderr {
            readers.push(tokio::spawn(read(stderr, Arc::clone(&lines))));
        }
        Self { lines, readers }
    }

    /// Whether one of the last lines is such a one.
    pub(super) fn has_line(&self, wanted: impl Fn(&str) -> bool) -> bool {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().any(|line| wanted(line))
    }

    /// The last lines; of a server that has ended, up to its end.
    pub(super) async fn last_lines(&mut self) -> Vec<String> {
        for reader in self.readers.drain(..) {
            // A process that the server left behind may keep the output open.
            let _ = tokio::time::timeout(LAST_LINES_TIMEOUT, reader).await;
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

async fn read(output: impl AsyncRead + Unpin, lines: Arc<Mutex<VecDeque<String>>>) {
    let mut output = BufReader::new(output).split(b'\n');
    while let Ok(Some(line)) = output.next_segment().await {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if line.is_empty() {
            continue;
        }
        tracing::debug!("Temporal server: {line}");
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Shows a server's last lines to whoever reads the error that follows.
pub(super) fn show(lines: &[String]) {
    for line in lines {
        eprintln!("  Temporal server | {line}");
    }
}
