//! The machine, the versions and the settings that figures belong to.

use std::{
    io::Write as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use sqlx::{Connection as _, PgConnection};

use crate::{repository, sample::Sample, stage::Stage};

/// The machine and the servers on it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gb: f64,
    pub(crate) kernel: String,
    /// Median time until 8 KiB are safe on the disk of temporary files, in microseconds.
    pub(crate) sync_us: f64,
    /// Load of the last minute when the run began: what others did at the same time.
    pub(crate) load_before: String,
    pub(crate) postgres: String,
    /// Settings of the database that matter.
    pub(crate) postgres_settings: String,
    pub(crate) temporal: String,
}

/// What was measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Built {
    /// When the run began, in UTC.
    pub(crate) when: String,
    pub(crate) commit: String,
    pub(crate) rustc: String,
    /// `release`, or the warning that it wasn't.
    pub(crate) profile: String,
}

impl Built {
    /// Asks git and rustc; what they can't tell is `unknown`.
    pub(crate) fn describe() -> Self {
        let changed = said("git", &["status", "--porcelain", "--untracked-files=no"]);
        let commit = said("git", &["rev-parse", "--short=12", "HEAD"]);
        let profile = if cfg!(debug_assertions) {
            "debug: these figures say nothing"
        } else {
            "release"
        };
        Self {
            when: said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            commit: match changed.as_str() {
                "" => commit,
                _ => format!("{commit} with changes"),
            },
            rustc: said("rustc", &["--version"]),
            profile: profile.to_owned(),
        }
    }
}

impl Machine {
    /// Looks at the machine and asks the servers.
    pub(crate) async fn describe(stage: &Stage) -> anyhow::Result<Self> {
        let cpuinfo = read("/proc/cpuinfo");
        let processor = cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .map_or("unknown", |rest| rest.trim_start_matches([' ', '\t', ':']));
        let meminfo = read("/proc/meminfo");
        let kilobytes: f64 = meminfo
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"))
            .and_then(|number| number.parse().ok())
            .unwrap_or_default();
        let (postgres, postgres_settings) = postgres(&stage.servers.database_url).await?;
        let cli = stage.servers.temporal_cli.as_deref();
        Ok(Self {
            processor: processor.to_owned(),
            cores: std::thread::available_parallelism()?.get(),
            memory_gb: kilobytes / 1e6,
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            sync_us: sync_us(&stage.directory)?,
            load_before: read("/proc/loadavg")
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned(),
            postgres,
            postgres_settings,
            temporal: cli.map_or_else(
                || "a server that was given".to_owned(),
                |cli| said(&cli.to_string_lossy(), &["--version"]),
            ),
        })
    }
}

async fn postgres(url: &str) -> anyhow::Result<(String, String)> {
    let mut connection = PgConnection::connect(url).await?;
    let mut settings = Vec::new();
    for name in [
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "shared_buffers",
    ] {
        let value: String = sqlx::query_scalar("select current_setting($1)")
            .bind(name)
            .fetch_one(&mut connection)
            .await?;
        settings.push(format!("{name} {value}"));
    }
    let version: String = sqlx::query_scalar("select current_setting('server_version')")
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    Ok((format!("PostgreSQL {version}"), settings.join(", ")))
}

/// The disk's share of a commit.
fn sync_us(directory: &Path) -> anyhow::Result<f64> {
    let mut file = std::fs::File::create(directory.join("sync"))?;
    let block = [b'x'; 8_192];
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < 200 && begin.elapsed() < Duration::from_secs(2) {
        let started = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        times.push(started.elapsed());
    }
    Ok(Sample::of(times, begin.elapsed(), 0)
        .p50_us
        .unwrap_or_default())
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(repository())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".to_owned(),
    }
}
