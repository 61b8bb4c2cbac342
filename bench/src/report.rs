//! docs/performance.md.

mod tables;

pub(crate) use tables::{cell, history, temporal};

use std::fmt::Write as _;

use anyhow::Context as _;

use crate::{
    bench_directory, goals,
    history::Histories,
    repository,
    results::{self, Quick},
    soak::Soak,
};

/// What was found out about figures that aren't reached; written by hand.
const FINDINGS: &str = "findings.md";

/// Writes it from the results.
pub(crate) fn write() -> anyhow::Result<()> {
    let quick: Quick =
        results::read("quick.json")?.context("there are no results yet; run `make bench-quick`")?;
    let histories: Option<Histories> = results::read("history.json")?;
    let soak: Option<Soak> = results::read("soak.json")?;
    let findings = std::fs::read_to_string(bench_directory().join(FINDINGS))?;
    let text = page(&quick, histories.as_ref(), soak.as_ref(), &findings)?;
    std::fs::write(repository().join("docs").join("performance.md"), text)?;
    Ok(())
}

fn page(
    quick: &Quick,
    histories: Option<&Histories>,
    soak: Option<&Soak>,
    findings: &str,
) -> Result<String, std::fmt::Error> {
    let mut page = String::from(INTRODUCTION);
    goals_table(&mut page, quick, histories, soak)?;
    page.push_str(HOW_TO_RUN);
    machine(&mut page, quick)?;
    page.push_str(&tables::store(quick)?);
    page.push_str(&tables::temporal(&quick.temporal)?);
    page.push_str(&tables::histories(histories)?);
    page.push_str(&tables::memory(&quick.memory, soak)?);
    page.push_str(WHAT_IS_NOT_EQUAL);
    page.push_str("\n## What was found out\n\n");
    page.push_str(findings.trim());
    page.push('\n');
    Ok(page)
}

const INTRODUCTION: &str = "\
# Performance

`make bench-quick` writes this page, except for its last section. It measures Notekeeper beside what it has to be compared
to, on the same servers and in the same minutes: PostgreSQL's own pgbench and a bare loop, both running the same
statements; the memory of a Python agent library with the same promises (\"the peer\"); and, through Temporal, an activity
that does nothing. Ratios hold on other machines better than the figures themselves do.

## Goals

A ratio is taken within each round, and the median of the rounds is given; more than 1 × means that Notekeeper is faster.

";

const HOW_TO_RUN: &str = "
## Run it

```sh
make bench-quick    # builds the release binaries, then measures for less than ten minutes
make bench-soak     # a worker's memory over half a million activities, another ten minutes
make bench-history  # conversations of 1,000 turns, three quarters of an hour
make bench-report   # writes this page anew from bench/results/*.json
```

Nothing has to be installed or set: servers are fetched and started as for the tests, the peer's packages go into a directory
of their own in `.toolbox`. What can't be fetched is reported as not measured. Leave the machine alone meanwhile. With
`DATABASE_URL` or `TEMPORAL_ADDRESS` set, those servers are measured.

";

const WHAT_IS_NOT_EQUAL: &str = "
## What is not equal

- **All load comes from the machine that the servers run on**, so a client that needs less processor time leaves more to the
  database. That is pgbench's advantage, which is written in C and does nothing with what it gets, and the peer's
  disadvantage. The peer is one process, as one event loop is; everybody else may use both cores.
- **Bare loop and pgbench** run the product's own files of SQL, prepared, over as many TCP connections as there are clients,
  without a pool. They check nothing, keep no time-outs and would fail where the product tries again. pgbench can't edit a text:
  it writes one of the same length, and takes constants where the product passes values that don't change. Of a snapshot they
  read what it is rendered from; the product and the peer render it, and the product takes its digest.
- **The peer** is measured at its store, called in the order in which its own tool calls it (look up the receipt, read,
  write in a transaction, up to 16 attempts), without the tool around it; the product's store does all that in one call. Its
  pool resets a connection each time it is given back. It keeps no scope apart from a path, so its listing and search read
  whole tables; to its advantage, the tables it lists and searches hold nothing but what is listed and searched.
- **The contended note** grows from nothing to 960 lines in each run, for the product and the peer. pgbench runs what the
  product does once it has met a conflict, lock and all, and only that: it writes a text of half that length, always the same.
- **The store alone**, beside which writes through Temporal are put, is one client of the product's store in another process.
- **The activity that does nothing** takes no argument and gives no result; a memory write has both, of some hundred bytes. The release
  binary has no such activity, so a worker of the benchmark's own hosts it beside the product's activities, with the same
  options. For the binary itself `load_snapshot` of no memory stands in.
";

fn goals_table(
    page: &mut String,
    quick: &Quick,
    histories: Option<&Histories>,
    soak: Option<&Soak>,
) -> std::fmt::Result {
    page.push_str("| what | goal | measured | |\n| --- | --- | --- | --- |\n");
    for goal in goals::all(quick, histories, soak) {
        let mark = match goal.reached {
            Some(true) => "reached",
            Some(false) => "**not reached**",
            None => "–",
        };
        writeln!(
            page,
            "| {} | {} | {} | {mark} |",
            goal.what, goal.goal, goal.measured
        )?;
    }
    for missing in &quick.not_measured {
        writeln!(
            page,
            "\n{} was not measured: {}.",
            missing.what, missing.why
        )?;
    }
    Ok(())
}

fn machine(page: &mut String, quick: &Quick) -> std::fmt::Result {
    let (built, machine) = (&quick.built, &quick.machine);
    let peer = quick.python.as_ref().map_or_else(String::new, |python| {
        format!("; the peer is pydantic-ai-harness 0.62.0 with asyncpg 0.32.0 on Python {python}")
    });
    writeln!(
        page,
        "Measured on {}, at commit {} ({}, {} build), in {:.0} s, on {} with {} cores and {:.0} GB, {}. The load average was {} \
         when it began. 8 KiB are safe on the disk after {:.0} µs. {} ({}), over TCP; {}{peer}.",
        built.when,
        built.commit,
        built.rustc,
        built.profile,
        quick.took_seconds,
        machine.processor,
        machine.cores,
        machine.memory_gb,
        machine.kernel,
        machine.load_before,
        machine.sync_us,
        machine.postgres,
        machine.postgres_settings,
        machine.temporal,
    )
}
