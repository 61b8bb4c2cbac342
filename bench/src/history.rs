//! How much history long conversations write, and whether what is promised of them holds: bounded
//! runs, a whole transcript, histories that replay.

mod bytes;
mod checks;
mod inlined;
mod talk;

use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};

pub(crate) use bytes::HistoryBytes;
pub(crate) use checks::{BYTES_WARNED, EVENTS_WARNED};

use crate::{
    machine::{Built, Machine},
    report, results,
    stage::{Servers, Stage},
};

/// What `history` takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Messages of the user in each conversation. With another number than 1,000 nothing is written.
    #[arg(long, default_value_t = TURNS)]
    pub(crate) turns: u32,
}

/// Messages of the user in each conversation.
const TURNS: u32 = 1_000;

/// What `history` found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Histories {
    pub(crate) built: Built,
    pub(crate) machine: Machine,
    /// A conversation without tools.
    pub(crate) plain: HistoryBytes,
    /// The same with local memory activities.
    pub(crate) local: HistoryBytes,
    /// One with as many tool calls in each turn as make ten messages of it.
    pub(crate) with_tools: HistoryBytes,
}

impl Histories {
    /// All conversations.
    pub(crate) fn all(&self) -> [&HistoryBytes; 3] {
        [&self.plain, &self.local, &self.with_tools]
    }
}

/// A conversation that is held and measured.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Part of its names.
    name: &'static str,
    turns: u32,
    /// Tool calls in each turn, one after the other.
    calls: u32,
    /// Whether activities of memory, transcript and facts are local ones.
    local: bool,
}

impl Plan {
    /// Messages that the transcript has in the end: prompt and answer, and two for each call.
    fn messages(self) -> u64 {
        u64::from(self.turns) * u64::from(2 + 2 * self.calls)
    }
}

/// Holds the conversations, checks them, and writes what came of it.
pub(crate) async fn run(args: HistoryArgs) -> anyhow::Result<()> {
    let stage = Stage::set(args.servers.clone()).await?;
    let (built, machine) = (Built::describe(), Machine::describe(&stage).await?);
    let plan = |name, calls, local| Plan {
        name,
        turns: args.turns,
        calls,
        local,
    };
    let plain = measure(&stage, plan("plain", 0, false)).await?;
    let local = measure(&stage, plan("local", 0, true)).await?;
    let with_tools = measure(&stage, plan("tools", 4, false)).await?;
    stage.clear().await?;
    if args.turns == TURNS {
        let histories = Histories {
            built,
            machine,
            plain,
            local,
            with_tools,
        };
        results::write("history.json", &histories)?;
        report::write()?;
    }
    Ok(())
}

async fn measure(stage: &Stage, plan: Plan) -> anyhow::Result<HistoryBytes> {
    let started = Instant::now();
    println!(
        "{}: {} turns with {} tool calls each",
        plan.name, plan.turns, plan.calls
    );
    let held = talk::hold(stage, plan).await?;
    let seconds = started.elapsed().as_secs_f64();
    let messages = checks::transcript(stage, &held, plan).await?;
    let mut bytes = HistoryBytes {
        turns: plan.turns,
        messages,
        seconds,
        ..HistoryBytes::default()
    };
    bytes.take_in(stage, &held).await?;
    checks::bounds(&bytes)?;
    bytes.replayed = checks::replay(stage, &held)?;
    print!("{}", report::history(&bytes)?);
    Ok(bytes)
}
