//! What a memory write costs through Temporal, beside an activity that does nothing.

use std::{sync::Arc, time::Instant};

use notekeeper_domain::NoteName;
use notekeeper_store::{Expected, Store, WriteRequest};
use serde::{Deserialize, Serialize};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};

use crate::{
    drive::Length,
    load::{Call, Load, LoadWorkflow, Times, row_scope},
    note::Counted,
    process::Watched,
    product::Product,
    sample::Sample,
    stage::{BinaryWorker, Stage},
    work::{Cell, Contender as _, Series, Work},
};

/// Calls one after the other in one run.
const CALLS: u32 = 60;
/// The same for local activities, which are quick.
const LOCAL_CALLS: u32 = 200;
/// Rows of calls side by side where processor time is measured.
const BUSY_ROWS: u32 = 16;
/// Calls of each of them.
const BUSY_CALLS: u32 = 20;

/// Names in results.
pub(crate) const NOOP: &str = "no-op";
pub(crate) const WRITE: &str = "write_memory";
pub(crate) const BINARY_EMPTY: &str = "load_snapshot of nothing, release binary";
pub(crate) const BINARY_WRITE: &str = "write_memory, release binary";
pub(crate) const LOCAL_NOOP: &str = "no-op, local";
pub(crate) const LOCAL_WRITE: &str = "write_memory, local";
pub(crate) const RAW_STORE: &str = "the store alone";

/// The rounds of all that takes turns here.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ThroughTemporal {
    /// Times as workflow code sees them.
    pub(crate) series: Vec<Series>,
    /// Milliseconds of the worker's processor time for one activity, in each round.
    pub(crate) cpu_ms: Vec<CpuSeries>,
}

/// Processor times in all rounds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CpuSeries {
    pub(crate) contender: String,
    pub(crate) rounds: Vec<f64>,
}

/// One way of calling.
struct Way {
    name: &'static str,
    call: Call,
    queue: Option<String>,
}

/// The ways within a workflow task.
const LOCALS: [Way; 2] = [
    Way {
        name: LOCAL_NOOP,
        call: Call::Noop,
        queue: None,
    },
    Way {
        name: LOCAL_WRITE,
        call: Call::Write,
        queue: None,
    },
];

/// Measures all ways in turns. The first round warms up and doesn't count.
pub(crate) async fn measure(stage: &Stage, rounds: usize) -> anyhow::Result<ThroughTemporal> {
    let (workflows, hosted, binary) = (
        stage.queue("workflows"),
        stage.queue("hosted"),
        stage.queue("binary"),
    );
    let _workflows = stage.host(&workflows, true).await?;
    let hosted_worker = stage.host(&hosted, false).await?;
    let worker = BinaryWorker {
        queue: &binary,
        ..BinaryWorker::default()
    };
    let binary_worker = stage.binary(worker).await?;
    let remote = |name, call, queue: &String| Way {
        name,
        call,
        queue: Some(queue.clone()),
    };
    let remotes = [
        (remote(NOOP, Call::Noop, &hosted), &hosted_worker),
        (remote(WRITE, Call::Write, &hosted), &hosted_worker),
        (
            remote(BINARY_EMPTY, Call::EmptySnapshot, &binary),
            &binary_worker,
        ),
        (remote(BINARY_WRITE, Call::Write, &binary), &binary_worker),
    ];
    let mut raw = Product::postgres(stage.options());
    let raw_cell = Cell {
        work: Work::Write,
        clients: 1,
        length: Length::Operations(LOCAL_CALLS),
    };
    raw.prepare(raw_cell).await?;

    let mut measured = ThroughTemporal::default();
    for round in 0..=rounds {
        let counts = round > 0;
        for turn in 0..remotes.len() {
            let (way, worker) = &remotes[(round + turn) % remotes.len()];
            let sample = run(stage, &workflows, way, 1, CALLS).await?;
            let cpu = busy(stage, &workflows, way, worker).await?;
            if counts {
                measured.keep(way.name, sample);
                measured.keep_cpu(way.name, cpu);
            }
        }
        for turn in 0..LOCALS.len() {
            let way = &LOCALS[(round + turn) % LOCALS.len()];
            let sample = run(stage, &workflows, way, 1, LOCAL_CALLS).await?;
            if counts {
                measured.keep(way.name, sample);
            }
        }
        let sample = raw.run(raw_cell).await?;
        if counts {
            measured.keep(RAW_STORE, sample);
        }
    }
    Ok(measured)
}

impl ThroughTemporal {
    /// The rounds of one way.
    pub(crate) fn of(&self, name: &str) -> &[Sample] {
        let series = self.series.iter().find(|series| series.contender == name);
        series.map_or(&[], |series| &series.rounds)
    }

    /// Its processor times.
    pub(crate) fn cpu_of(&self, name: &str) -> &[f64] {
        let series = self.cpu_ms.iter().find(|series| series.contender == name);
        series.map_or(&[], |series| &series.rounds)
    }

    fn keep(&mut self, name: &str, sample: Sample) {
        match self
            .series
            .iter_mut()
            .find(|series| series.contender == name)
        {
            Some(series) => series.rounds.push(sample),
            None => self.series.push(Series {
                contender: name.to_owned(),
                rounds: vec![sample],
            }),
        }
    }

    fn keep_cpu(&mut self, name: &str, cpu: f64) {
        match self
            .cpu_ms
            .iter_mut()
            .find(|series| series.contender == name)
        {
            Some(series) => series.rounds.push(cpu),
            None => self.cpu_ms.push(CpuSeries {
                contender: name.to_owned(),
                rounds: vec![cpu],
            }),
        }
    }
}

/// Milliseconds of processor time that the worker takes for one activity while it has many.
async fn busy(stage: &Stage, workflows: &str, way: &Way, worker: &Watched) -> anyhow::Result<f64> {
    let before = worker.cpu_seconds()?;
    let sample = run(stage, workflows, way, BUSY_ROWS, BUSY_CALLS).await?;
    let used = worker.cpu_seconds()? - before;
    Ok(used * 1e3 / sample.operations as f64)
}

async fn run(
    stage: &Stage,
    workflows: &str,
    way: &Way,
    rows: u32,
    calls: u32,
) -> anyhow::Result<Sample> {
    let load = Load {
        call: way.call,
        queue: way.queue.clone(),
        calls,
        rows,
        namespace: "temporal".to_owned(),
        run: format!("{:016x}", rand::random::<u64>()),
    };
    if load.call == Call::Write {
        let store: Arc<dyn Store> = stage.store.clone();
        reset(store.as_ref(), &load).await?;
    }
    let started = Instant::now();
    let times = start(stage, workflows, load).await?;
    let elapsed = started.elapsed();
    let durations = times.iter().map(|us| std::time::Duration::from_micros(*us));
    Ok(Sample::of(durations.collect(), elapsed, 0))
}

/// Puts the notes of a load where its first call expects them.
pub(crate) async fn reset(store: &dyn Store, load: &Load) -> anyhow::Result<()> {
    for row in 0..load.rows {
        let scope = row_scope(&load.namespace, row).resolve()?;
        let text = Counted::default().text();
        store
            .write(
                &scope,
                &NoteName::main(),
                &WriteRequest::new(&text, &Expected::Any),
                None,
            )
            .await?;
    }
    Ok(())
}

/// Runs a load to its end.
pub(crate) async fn start(stage: &Stage, workflows: &str, load: Load) -> anyhow::Result<Times> {
    let options = WorkflowStartOptions::new(workflows, format!("bench-{}", load.run)).build();
    let handle = stage
        .client
        .start_workflow(LoadWorkflow::run, load, options)
        .await?;
    Ok(handle
        .get_result(WorkflowGetResultOptions::default())
        .await?)
}
