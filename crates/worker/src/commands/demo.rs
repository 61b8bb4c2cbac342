//! `notekeeper demo`: several conversations, a worker killed at the worst moment, and what is
//! left of it afterwards.

mod conversations;
mod history_bytes;
mod notes;
mod plan;
mod report;
mod stage;
mod tally;

use std::{
    io::{Write as _, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{
    arguments::TemporalArgs, config::File, database_url::DatabaseUrl, exit::Exit,
    shutdown::Shutdown,
};

use self::{notes::Notes, report::Report, stage::Stage};

#[derive(Debug, Args)]
#[command(after_help = "\
It kills a worker at a fault point, which release builds don't have: `make demo` builds one that has \
them, and provides what it needs. The exit code is 1 where something isn't as it should be.

Examples:
  make demo NOTES=~/notes
  make demo STORE=postgres
  notekeeper demo --store postgres --database-url postgres://localhost/app")]
pub(crate) struct DemoArgs {
    /// What keeps the notes.
    #[arg(long, value_enum, value_name = "KIND", default_value_t = StoreKind::Sqlite)]
    pub(crate) store: StoreKind,

    /// With `--store postgres`: URL of the database, in which the demonstration makes a schema of its
    /// own and drops it afterwards.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: Option<DatabaseUrl>,

    /// With `--store sqlite`: the Temporal command line, which brings the server [default: `temporal`
    /// on PATH].
    #[arg(long, env = "TEMPORAL_CLI", value_name = "FILE")]
    pub(crate) temporal_cli: Option<PathBuf>,

    /// Directory of Markdown notes to begin with; ours where none is given.
    #[arg(long, env = "NOTES", value_name = "DIR")]
    pub(crate) notes: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) temporal: TemporalArgs,
}

/// What keeps the notes of a demonstration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StoreKind {
    /// A file, with a Temporal server of the demonstration's own.
    Sqlite,
    /// A database that is there, and the Temporal server that is there.
    Postgres,
}

/// Tenants that talk at the same time, each with a notebook of its own.
const TENANTS: [&str; 3] = ["ada", "lin", "sam"];

pub(crate) fn run(config: Option<&Path>, args: DemoArgs) -> anyhow::Result<ExitCode> {
    if !cfg!(feature = "fault-points") {
        bail!(
            "the demonstration kills a worker at a fault point, which this build doesn't have; \
             run `make demo`, or build with `--features fault-points`"
        );
    }
    let file = File::read(config)?;
    let notes = Notes::read(args.notes.as_deref())?;
    super::block_on(async {
        let shutdown = Shutdown::on_signals()?;
        let stage = tokio::select! {
            stage = Stage::set(&file, &args) => stage?,
            () = shutdown.asked() => return Ok(Exit::Interrupted.into()),
        };
        let (outcome, stage) = on(stage, &notes, &shutdown).await;
        let went_wrong = match &outcome {
            Ok(Some(report)) => !report.holds(),
            Ok(None) => false,
            Err(_) => true,
        };
        stage.clear(went_wrong).await;
        let Some(report) = outcome? else {
            return Ok(Exit::Interrupted.into());
        };
        write!(stdout(), "{report}").context("can't write the report")?;
        Ok(if report.holds() {
            Exit::Done.into()
        } else {
            Exit::Failed.into()
        })
    })
}

/// Performs on a stage that is given back in any case, to be cleared. `None` where it was
/// interrupted.
async fn on(
    mut stage: Stage,
    notes: &Notes,
    shutdown: &Shutdown,
) -> (anyhow::Result<Option<Report>>, Stage) {
    // Not interrupted: a schema that is made while it is dropped would remain.
    let prepared = stage.prepare().await;
    let outcome = match prepared {
        Ok(()) => tokio::select! {
            outcome = perform(&mut stage, notes) => outcome.map(Some),
            () = shutdown.asked() => Ok(None),
        },
        Err(error) => Err(error),
    };
    (outcome, stage)
}

async fn perform(stage: &mut Stage, notes: &Notes) -> anyhow::Result<Report> {
    println!("{}", stage.describe());
    println!(
        "Notes: {} from {}, a copy for each of {} tenants.",
        notes.len(),
        notes.origin(),
        TENANTS.len()
    );
    for tenant in TENANTS {
        stage.fill(tenant, notes).await?;
    }
    let agents = conversations::hold(stage).await?;
    let mut report = Report::default();
    let mut histories = Vec::new();
    for agent in &agents {
        let history = agent.history().await?;
        report.add(tally::count(stage, agent.tenant(), notes, &history).await?);
        histories.push(history);
    }
    report.replayed = Some(stage.replay_without_database(&histories).await?);
    Ok(report)
}
