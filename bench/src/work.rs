//! What is measured on stores, and who can be measured at it.

use anyhow::bail;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{drive::Length, sample::Sample};

/// One kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Work {
    /// Each client replaces a line of a note of its own: look-up, compare-and-swap, receipt.
    Write,
    /// Notes of 4 KiB.
    Read,
    /// The block of a notebook with 20 notes: store read and rendering.
    Snapshot,
    /// The names of a notebook with 20 notes.
    List,
    /// A word that 20 of 1,000 notes of 4 KiB have.
    SearchRare,
    /// A word that each of 1,000 notes of 4 KiB has.
    SearchCommon,
    /// All clients append a line to one note.
    Append,
}

impl Work {
    /// As protocol and results name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Snapshot => "snapshot",
            Self::List => "list",
            Self::SearchRare => "search_rare",
            Self::SearchCommon => "search_common",
            Self::Append => "append",
        }
    }
}

/// A kind of operation at a number of clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) work: Work,
    pub(crate) clients: u32,
    pub(crate) length: Length,
}

/// Somebody who is measured.
#[async_trait]
pub(crate) trait Contender: Send {
    /// As results name it.
    fn name(&self) -> &'static str;

    /// Whether it can do this at all.
    fn takes(&self, work: Work) -> bool;

    /// Connects its clients and puts its notes where the runs begin. Not timed.
    async fn prepare(&mut self, cell: Cell) -> anyhow::Result<()>;

    /// One timed run.
    async fn run(&mut self, cell: Cell) -> anyhow::Result<Sample>;
}

/// All rounds of one contender.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) contender: String,
    pub(crate) rounds: Vec<Sample>,
}

/// All rounds of all contenders at one cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) work: Work,
    pub(crate) clients: u32,
    pub(crate) series: Vec<Series>,
}

impl Measured {
    /// The rounds of a contender, if it took part.
    pub(crate) fn of(&self, contender: &str) -> Option<&[Sample]> {
        let mut series = self.series.iter();
        series
            .find(|series| series.contender == contender)
            .map(|series| series.rounds.as_slice())
    }
}

/// Lets the contenders take turns: each round all of them once, begun by another one each time.
/// The first round warms up and doesn't count.
pub(crate) async fn measure(
    contenders: &mut [Box<dyn Contender>],
    cell: Cell,
    rounds: usize,
) -> anyhow::Result<Measured> {
    let mut taking: Vec<_> = contenders
        .iter_mut()
        .filter(|contender| contender.takes(cell.work))
        .collect();
    if taking.is_empty() {
        bail!("nobody can be measured at `{}`", cell.work.name());
    }
    let mut series: Vec<Series> = taking
        .iter()
        .map(|contender| Series {
            contender: contender.name().to_owned(),
            rounds: Vec::with_capacity(rounds),
        })
        .collect();
    for contender in &mut taking {
        contender.prepare(cell).await?;
    }
    for round in 0..=rounds {
        for turn in 0..taking.len() {
            let index = (round + turn) % taking.len();
            let sample = taking[index].run(cell).await?;
            if round > 0 {
                series[index].rounds.push(sample);
            }
        }
    }
    Ok(Measured {
        work: cell.work,
        clients: cell.clients,
        series,
    })
}
