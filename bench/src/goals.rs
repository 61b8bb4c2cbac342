//! The numbers to reach, and which of them were reached.

use crate::{
    bare::BARE,
    history::{BYTES_WARNED, EVENTS_WARNED, Histories, HistoryBytes},
    memory::WorkerMemory,
    peer::PEER,
    pgbench::PGBENCH,
    product::POSTGRES,
    results::Quick,
    sample::{Sample, Spread},
    soak::Soak,
    through_temporal::{LOCAL_NOOP, LOCAL_WRITE, NOOP, RAW_STORE, ThroughTemporal, WRITE},
    work::{Measured, Work},
};

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Goal {
    pub(crate) what: &'static str,
    pub(crate) goal: String,
    pub(crate) measured: String,
    /// `None` where it wasn't measured.
    pub(crate) reached: Option<bool>,
}

/// All of them, in the order of the table.
pub(crate) fn all(quick: &Quick, histories: Option<&Histories>, _soak: Option<&Soak>) -> Vec<Goal> {
    let mut goals = Vec::new();
    let write = [1, 8, 32].map(|clients| (Work::Write, clients));
    for (against, least) in [(BARE, 0.9), (PGBENCH, 0.6), (PEER, 4.0)] {
        let what = "write (look-up, compare-and-swap, receipt); 1, 8, 32 clients";
        goals.push(at_least(quick, what, &write, against, least));
    }
    goals.push(no_give_ups(quick));
    for (against, least) in [(PGBENCH, 0.8), (PEER, 5.0)] {
        let what = "32 writers appending to one note";
        goals.push(at_least(quick, what, &[(Work::Append, 32)], against, least));
    }
    for (work, what) in [
        (Work::Read, "read of 4 KiB; 16 clients"),
        (Work::Snapshot, "snapshot of 20 notes; 16 clients"),
    ] {
        for (against, least) in [(BARE, 0.9), (PGBENCH, 0.6), (PEER, 4.0)] {
            goals.push(at_least(quick, what, &[(work, 16)], against, least));
        }
    }
    for (work, what) in [
        (
            Work::SearchRare,
            "search of 1,000 × 4 KiB, a word in 20 notes",
        ),
        (
            Work::SearchCommon,
            "search of 1,000 × 4 KiB, a word in every note",
        ),
    ] {
        goals.push(at_least(quick, what, &[(work, 1)], PEER, 10.0));
    }
    goals.extend(remote(&quick.temporal));
    goals.push(local(&quick.temporal));
    goals.extend(memory(&quick.memory));
    goals.extend(history(histories));
    goals.extend(later());
    goals
}

fn at_least(
    quick: &Quick,
    what: &'static str,
    cells: &[(Work, u32)],
    against: &str,
    least: f64,
) -> Goal {
    let goal = format!("≥ {least} × {against}");
    let ratios: Option<Vec<Spread>> = cells
        .iter()
        .map(|(work, clients)| ratio(find(quick, *work, *clients)?, POSTGRES, against))
        .collect();
    let Some(ratios) = ratios else {
        return Goal {
            what,
            goal,
            measured: "not measured".to_owned(),
            reached: None,
        };
    };
    let medians: Vec<String> = ratios
        .iter()
        .map(|ratio| format!("{} ×", figure(ratio.median)))
        .collect();
    Goal {
        what,
        goal,
        measured: medians.join(", "),
        reached: Some(ratios.iter().all(|ratio| ratio.median >= least)),
    }
}

/// The cell's rounds, if it was measured.
pub(crate) fn find(quick: &Quick, work: Work, clients: u32) -> Option<&Measured> {
    let mut cells = quick.store.iter();
    cells.find(|cell| cell.work == work && cell.clients == clients)
}

/// How many times as fast one is as the other, compared within each round.
pub(crate) fn ratio(measured: &Measured, one: &str, other: &str) -> Option<Spread> {
    let rounds = measured.of(one)?.iter().zip(measured.of(other)?);
    Spread::of(rounds.map(|(one, other)| one.rate() / other.rate()))
}

fn no_give_ups(quick: &Quick) -> Goal {
    let rounds = find(quick, Work::Append, 32).and_then(|cell| cell.of(POSTGRES));
    let given_up = rounds.map(|rounds| rounds.iter().map(|round| round.give_ups).sum::<u64>());
    Goal {
        what: "32 writers appending to one note",
        goal: "0 given up".to_owned(),
        measured: given_up.map_or_else(|| "not measured".to_owned(), |n| n.to_string()),
        reached: given_up.map(|given_up| given_up == 0),
    }
}

/// The median times of two series, round by round.
fn paired<'a>(
    temporal: &'a ThroughTemporal,
    names: [&str; 3],
) -> impl Iterator<Item = [f64; 3]> + 'a {
    let [one, two, three] = names.map(|name| temporal.of(name));
    let p50 = |sample: &Sample| sample.p50_us.unwrap_or(f64::NAN);
    one.iter()
        .zip(two)
        .zip(three)
        .map(move |((one, two), three)| [p50(one), p50(two), p50(three)])
}

fn remote(temporal: &ThroughTemporal) -> [Goal; 2] {
    let shares = paired(temporal, [WRITE, NOOP, RAW_STORE]);
    let share = Spread::of(shares.map(|[write, noop, raw]| (write - noop) / raw));
    let cpu = temporal.cpu_of(WRITE).iter().zip(temporal.cpu_of(NOOP));
    let cpu = Spread::of(cpu.map(|(write, noop)| write - noop));
    [
        at_most(
            "memory write as a remote activity: latency",
            "≤ no-op + 1.2 × the store alone",
            share.map(|share| {
                (
                    share.median,
                    1.2,
                    format!("no-op + {} ×", figure(share.median)),
                )
            }),
        ),
        at_most(
            "memory write as a remote activity: the worker's processor time",
            "≤ no-op + 0.5 ms",
            cpu.map(|cpu| (cpu.median, 0.5, format!("no-op + {:.2} ms", cpu.median))),
        ),
    ]
}

fn local(temporal: &ThroughTemporal) -> Goal {
    let ratios = paired(temporal, [LOCAL_WRITE, LOCAL_NOOP, RAW_STORE]);
    let ratio = Spread::of(ratios.map(|[write, noop, raw]| write / (noop + raw)));
    at_most(
        "memory write as a local activity: latency",
        "≤ 1.4 × (no-op + the store alone)",
        ratio.map(|ratio| (ratio.median, 1.4, format!("{} ×", figure(ratio.median)))),
    )
}

fn memory(memory: &WorkerMemory) -> [Goal; 2] {
    let line = |bytes: u64, most: f64, suffix: String| {
        let megabytes = bytes as f64 / 1e6;
        Some((megabytes, most, format!("{megabytes:.0} MB{suffix}")))
    };
    let held = format!(" with {}", memory.operations);
    [
        at_most(
            "worker's memory, idle",
            "≤ 60 MB",
            line(memory.idle, 60.0, String::new()),
        ),
        at_most(
            "worker's memory, 1,000 operations in flight",
            "≤ 200 MB",
            line(memory.in_flight, 200.0, held),
        ),
    ]
}

fn history(histories: Option<&Histories>) -> [Goal; 4] {
    let share = |part: fn(&HistoryBytes) -> (usize, usize), most: f64| {
        let Histories { plain, local, .. } = histories?;
        let [remote, local] = [plain, local].map(|bytes| {
            let (part, whole) = part(bytes);
            part as f64 / whole as f64 * 100.0
        });
        let measured = format!(
            "{} %; by local activities {} %",
            figure(remote),
            figure(local)
        );
        Some((remote, most, measured))
    };
    [
        at_most(
            "1,000 turns, memory unchanged: snapshot results",
            "≤ 5 % of the bytes with the block in each",
            share(|bytes| (bytes.results_recorded, bytes.results_inlined), 5.0),
        ),
        at_most(
            "1,000 turns, memory unchanged: whole history",
            "≤ 25 % of the bytes with the block in each result and model input",
            share(|bytes| (bytes.recorded, bytes.inlined), 25.0),
        ),
        longest_run(histories),
        replays(histories),
    ]
}

fn longest_run(histories: Option<&Histories>) -> Goal {
    let most = histories.map(|histories| {
        let all = histories.all();
        let events = all.map(|bytes| bytes.most_events).into_iter().max();
        let bytes = all.map(|bytes| bytes.most_bytes).into_iter().max();
        (events.unwrap_or_default(), bytes.unwrap_or_default())
    });
    Goal {
        what: "1,000 turns, and 1,000 turns of 10 messages: the longest run's history",
        goal: format!(
            "< {EVENTS_WARNED} events and {} MiB",
            BYTES_WARNED / 1024 / 1024
        ),
        measured: most.map_or_else(
            || "not measured".to_owned(),
            |(events, bytes)| format!("{events} events, {:.2} MiB", bytes as f64 / 1024.0 / 1024.0),
        ),
        reached: most.map(|(events, bytes)| events < EVENTS_WARNED && bytes < BYTES_WARNED),
    }
}

fn replays(histories: Option<&Histories>) -> Goal {
    let all = histories.map(Histories::all);
    Goal {
        what: "the same: messages found in the store, in order; runs whose history replays",
        goal: "all".to_owned(),
        measured: all.map_or_else(
            || "not measured".to_owned(),
            |all| {
                let each = all.map(|bytes| {
                    format!(
                        "{} messages, {} of {} runs",
                        bytes.messages, bytes.replayed, bytes.runs
                    )
                });
                each.join("; ")
            },
        ),
        reached: all.map(|all| all.iter().all(|bytes| bytes.replayed == bytes.runs)),
    }
}

fn at_most(what: &'static str, goal: &str, found: Option<(f64, f64, String)>) -> Goal {
    let (measured, reached) = match found {
        Some((value, most, measured)) => (measured, Some(value <= most)),
        None => ("not measured".to_owned(), None),
    };
    Goal {
        what,
        goal: goal.to_owned(),
        measured,
        reached,
    }
}

/// What nothing measures yet.
fn later() -> [Goal; 3] {
    let goal = |what, goal: &str, why: &str| Goal {
        what,
        goal: goal.to_owned(),
        measured: format!("not yet: {why}"),
        reached: None,
    };
    [
        goal(
            "any operation at 1,000,000 notes in 100,000 scopes, against itself at 1,000 notes",
            "p50 ≤ 1.3 ×, buffers ≤ + 3",
            "filling the tables takes longer than all of this",
        ),
        goal(
            "erase of a scope with 10,000 notes",
            "< 1 s, nothing of another scope changed",
            "there is no erase",
        ),
        goal(
            "100 kills of worker, database and Temporal under load",
            "0 lost, 0 doubled, 0 divergent",
            "single kills are tests, the campaign isn't there",
        ),
    ]
}

/// A number with as many digits as it deserves.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
