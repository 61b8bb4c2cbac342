//! A worker's memory over many activities.

use std::time::{Duration, Instant};

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::{
    load::{Call, Load},
    machine::{Built, Machine},
    process::Watched,
    report, results,
    stage::{BinaryWorker, Servers, Stage},
    through_temporal,
};

/// What `soak` takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct SoakArgs {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Local activities.
    #[arg(long, default_value_t = 500_000)]
    pub(crate) local: u64,
    /// Longest time for them, in seconds.
    #[arg(long, default_value_t = 420)]
    pub(crate) local_seconds: u64,
    /// Remote activities.
    #[arg(long, default_value_t = 50_000)]
    pub(crate) remote: u64,
    /// Longest time for them, in seconds.
    #[arg(long, default_value_t = 240)]
    pub(crate) remote_seconds: u64,
}

/// Between two looks at the memory, in local activities.
const LOCAL_LOOK_EVERY: u64 = 50_000;

/// The same for remote ones, of which there are fewer.
const REMOTE_LOOK_EVERY: u64 = 5_000;

/// Workflows at a time.
const WORKFLOWS: u32 = 8;

/// Rows of calls in each of them.
const ROWS: u32 = 10;

/// Calls of each row.
const CALLS: u32 = 50;

/// What `soak` found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Soak {
    pub(crate) built: Built,
    pub(crate) machine: Machine,
    pub(crate) local: Growth,
    pub(crate) remote: Growth,
}

/// Memory after so many activities.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Growth {
    /// Activities done, and the bytes that the worker held then.
    pub(crate) looks: Vec<(u64, u64)>,
    pub(crate) seconds: f64,
}

impl Growth {
    /// Bytes for each activity beyond the first third, in which buffers and caches fill.
    pub(crate) fn bytes_per_activity(&self) -> Option<f64> {
        let (last, rest) = self.looks.split_last()?;
        let first = rest.iter().find(|look| look.0 >= last.0 / 3)?;
        let activities = (last.0 - first.0) as f64;
        Some((last.1 as f64 - first.1 as f64) / activities)
    }
}

/// Runs both and writes what came of it.
pub(crate) async fn run(args: SoakArgs) -> anyhow::Result<()> {
    let stage = Stage::set(args.servers.clone()).await?;
    // Before it begins: meanwhile both may change.
    let (built, machine) = (Built::describe(), Machine::describe(&stage).await?);
    println!("local activities");
    let local = local(&stage, &args).await?;
    println!("remote activities");
    let remote = remote(&stage, &args).await?;
    let soak = Soak {
        built,
        machine,
        local,
        remote,
    };
    results::write("soak.json", &soak)?;
    stage.clear().await?;
    report::write()
}

/// Local activities run in the worker of their workflow.
async fn local(stage: &Stage, args: &SoakArgs) -> anyhow::Result<Growth> {
    let workflows = stage.queue("soak-local");
    let worker = stage.host(&workflows, true).await?;
    let plan = Plan {
        queue: None,
        activities: args.local,
        longest: Duration::from_secs(args.local_seconds),
        look_every: LOCAL_LOOK_EVERY,
    };
    soak(stage, &workflows, &worker, plan).await
}

/// Remote ones run in the release binary, whose workflows are elsewhere.
async fn remote(stage: &Stage, args: &SoakArgs) -> anyhow::Result<Growth> {
    let (workflows, queue) = (stage.queue("soak-workflows"), stage.queue("soak-remote"));
    let _workflows = stage.host(&workflows, true).await?;
    let worker = BinaryWorker {
        queue: &queue,
        ..BinaryWorker::default()
    };
    let worker = stage.binary(worker).await?;
    let plan = Plan {
        queue: Some(queue.clone()),
        activities: args.remote,
        longest: Duration::from_secs(args.remote_seconds),
        look_every: REMOTE_LOOK_EVERY,
    };
    soak(stage, &workflows, &worker, plan).await
}

struct Plan {
    queue: Option<String>,
    activities: u64,
    longest: Duration,
    look_every: u64,
}

async fn soak(
    stage: &Stage,
    workflows: &str,
    worker: &Watched,
    plan: Plan,
) -> anyhow::Result<Growth> {
    let started = Instant::now();
    let mut growth = Growth::default();
    growth.looks.push((0, worker.resident_bytes()?));
    let (mut done, mut next_look) = (0, plan.look_every);
    while done < plan.activities && started.elapsed() < plan.longest {
        let loads = (0..WORKFLOWS).map(|number| load(&plan, number));
        let loads = loads.map(|load| async {
            through_temporal::reset(stage.store.as_ref(), &load).await?;
            through_temporal::start(stage, workflows, load).await
        });
        for times in futures::future::try_join_all(loads).await? {
            done += times.len() as u64;
        }
        if done >= next_look {
            let bytes = worker.resident_bytes()?;
            growth.looks.push((done, bytes));
            println!(
                "  {done} after {:.0} s: {:.1} MB",
                started.elapsed().as_secs_f64(),
                bytes as f64 / 1e6
            );
            next_look = (done / plan.look_every + 1) * plan.look_every;
        }
    }
    growth.seconds = started.elapsed().as_secs_f64();
    Ok(growth)
}

/// Half of the workflows write, the others read.
fn load(plan: &Plan, number: u32) -> Load {
    Load {
        call: if number.is_multiple_of(2) {
            Call::Write
        } else {
            Call::Read
        },
        queue: plan.queue.clone(),
        calls: CALLS,
        rows: ROWS,
        namespace: format!("soak/{number}"),
        run: format!("{:016x}", rand::random::<u64>()),
    }
}
