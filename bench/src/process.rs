//! Processes that are measured: started, watched through /proc, and ended.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};

/// Longest wait for a process to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// A process that is killed when this is dropped.
pub(crate) struct Watched {
    child: Child,
}

impl Watched {
    /// Starts a program and waits until a line of what it says contains `ready` so many times.
    pub(crate) async fn start(
        mut command: Command,
        ready: &'static str,
        times: usize,
    ) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("can't start {command:?}"))?;
        let stdout = child.stdout.take().context("no standard output")?;
        let stderr = child.stderr.take().context("no standard error")?;
        let (said, mut saying) = tokio::sync::mpsc::unbounded_channel();
        for output in [
            Box::new(stdout) as Box<dyn std::io::Read + Send>,
            Box::new(stderr),
        ] {
            let said = said.clone();
            std::thread::spawn(move || {
                for line in std::io::BufRead::lines(std::io::BufReader::new(output)) {
                    let Ok(line) = line else { break };
                    if line.contains(ready) {
                        // Nobody listens any more once it was ready.
                        let _ = said.send(());
                    } else if line.contains("ERROR") || line.contains("panicked") {
                        eprintln!("  {line}");
                    }
                }
            });
        }
        let watched = Self { child };
        let up = async {
            for _ in 0..times {
                saying.recv().await?;
            }
            Some(())
        };
        match tokio::time::timeout(READY_TIMEOUT, up).await {
            Ok(Some(())) => Ok(watched),
            _ => bail!("a worker didn't say `{ready}` within {READY_TIMEOUT:?}"),
        }
    }

    /// Seconds of processor time that it has used so far, in all its threads.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = std::fs::read_to_string(self.proc("stat"))?;
        // The name may contain anything, so what counts begins after its bracket.
        let (_, rest) = stat.rsplit_once(')').context("/proc has another form")?;
        let mut fields = rest.split_whitespace().skip(11);
        let mut ticks = || -> Option<f64> { fields.next()?.parse().ok() };
        let (user, system) = (ticks(), ticks());
        let ticks = user.zip(system).context("/proc has another form")?;
        Ok((ticks.0 + ticks.1) / TICKS_PER_SECOND)
    }

    /// Memory that it holds now, in bytes.
    pub(crate) fn resident_bytes(&self) -> anyhow::Result<u64> {
        self.status("VmRSS:")
    }

    fn status(&self, label: &str) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(self.proc("status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(label));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        let kilobytes: u64 = kilobytes.context("/proc has another form")?.parse()?;
        Ok(kilobytes * 1024)
    }

    fn proc(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.child.id()))
    }
}

/// The kernel tells processor times in these, on every machine that Linux runs on today.
const TICKS_PER_SECOND: f64 = 100.0;

impl Drop for Watched {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
