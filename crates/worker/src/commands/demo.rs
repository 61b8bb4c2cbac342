//! `notekeeper demo`: several conversations, a worker killed at the worst moment, and what is
//! left of it afterwards.

mod conversations;
mod history_bytes;
mod notes;
mod plan;
mod report;
mod stage;
mod tally;

use std::{path::Path, process::ExitCode};

use anyhow::bail;

use crate::{cli::DemoArgs, config::File, shutdown::Shutdown};

use self::{notes::Notes, report::Report, stage::Stage};

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
        let mut stage = Stage::set(&file, &args).await?;
        let outcome = tokio::select! {
            outcome = perform(&mut stage, &notes) => outcome.map(Some),
            () = shutdown.asked() => Ok(None),
        };
        stage
            .clear(
                outcome
                    .as_ref()
                    .is_ok_and(|report| report.as_ref().is_some_and(Report::holds)),
            )
            .await;
        match outcome? {
            Some(report) => {
                print!("{report}");
                Ok(if report.holds() {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::FAILURE
                })
            }
            None => Ok(ExitCode::from(130)),
        }
    })
}

async fn perform(stage: &mut Stage, notes: &Notes) -> anyhow::Result<Report> {
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
    report.replayed = Some(stage.replay_without_database(&histories)?);
    Ok(report)
}
