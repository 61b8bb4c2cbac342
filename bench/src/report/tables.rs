//! The figures behind the goals.

use std::fmt::{Error, Write as _};

use crate::{
    goals::{figure, ratio},
    history::{Histories, HistoryBytes},
    memory::WorkerMemory,
    product::POSTGRES,
    results::Quick,
    sample::{Sample, Spread},
    soak::{Growth, Soak},
    through_temporal::ThroughTemporal,
    work::{Measured, Work},
};

/// What is measured on stores.
pub(super) fn store(quick: &Quick) -> Result<String, Error> {
    let mut text = String::from(
        "\n## Stores\n\nOperations a second and the time of one: medians of the rounds, and in brackets the least and the \
         most of them. The contenders take turns within each round, and another one begins each time.\n",
    );
    for measured in &quick.store {
        text.push_str(&cell(measured)?);
    }
    match quick.same_hits {
        Some(true) => text.push_str(
            "\nBoth searches find the same notes as the peer's, with the same scores and snippets; that is compared before anything is timed.\n",
        ),
        Some(false) => text.push_str("\n**The searches find something else than the peer's.**\n"),
        None => {}
    }
    Ok(text)
}

/// All rounds of all contenders at one kind of operation.
pub(crate) fn cell(cell: &Measured) -> Result<String, Error> {
    let mut text = format!("\n**{}**\n\n", title(cell));
    text.push_str(
        "| | per second | p50 | p95 | given up | Notekeeper ÷ it |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for series in &cell.series {
        let rounds = &series.rounds;
        let quotient = match series.contender.as_str() {
            POSTGRES => None,
            other => ratio(cell, POSTGRES, other),
        };
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            series.contender,
            spread(Spread::of(rounds.iter().map(Sample::rate)), ""),
            milliseconds(rounds, |sample| sample.p50_us),
            milliseconds(rounds, |sample| sample.p95_us),
            rounds.iter().map(|round| round.give_ups).sum::<u64>(),
            spread(quotient, " ×"),
        )?;
    }
    Ok(text)
}

fn title(cell: &Measured) -> String {
    let what = match cell.work {
        Work::Write => "Write: each client replaces a line of its own note of 1,000 characters",
        Work::Read => "Read a note of 4 KiB",
        Work::Snapshot => "Snapshot of a notebook with 20 notes: read and render",
        Work::List => "List the names of 20 notes",
        Work::SearchRare => "Search 1,000 notes of 4 KiB for a word that 20 of them have",
        Work::SearchCommon => "Search 1,000 notes of 4 KiB for a word that each of them has",
        Work::Append => "Contention: all clients append lines to one note, 30 each",
    };
    let clients = match cell.clients {
        1 => "1 client".to_owned(),
        clients => format!("{clients} clients"),
    };
    format!("{what}; {clients}")
}

/// What goes through Temporal.
pub(crate) fn temporal(temporal: &ThroughTemporal) -> Result<String, Error> {
    let mut text = String::from(
        "\n## Through Temporal\n\nTime from the call in workflow code to its result there, of calls one after the other; and \
         the processor time that the activity's worker takes for one of them while it has sixteen rows of calls.\n\n\
         | | p50 | p95 | worker's processor time |\n| --- | ---: | ---: | ---: |\n",
    );
    for series in &temporal.series {
        let cpu = temporal.cpu_of(&series.contender).iter().copied();
        writeln!(
            text,
            "| {} | {} | {} | {} |",
            series.contender,
            milliseconds(&series.rounds, |sample| sample.p50_us),
            milliseconds(&series.rounds, |sample| sample.p95_us),
            spread(Spread::of(cpu), " ms"),
        )?;
    }
    Ok(text)
}

/// What conversations write.
pub(super) fn histories(histories: Option<&Histories>) -> Result<String, Error> {
    let mut text = String::from("\n## History\n");
    let Some(histories) = histories else {
        text.push_str(
            "\n`make bench-history`, which tells what conversations write, was not run yet.\n",
        );
        return Ok(text);
    };
    writeln!(
        text,
        "\nThree `AgentWorkflow`s with the scripted model, short messages, a notebook of 20 notes and a block that never changes; a \
         policy has the model summarise what is older than some sixty messages (`make bench-history`, {}, commit {}, load \
         average {}{}). Of each, the transcript in the store was compared message by message, and the history of each run was \
         replayed in a process of its own. Inlined means: the recorded histories, with the block's text put into every snapshot \
         result and model input, encoded again.",
        histories.built.when,
        histories.built.commit,
        histories.machine.load_before,
        match histories.built.profile.as_str() {
            "release" => "",
            _ => "; a debug build, whose times say nothing and whose bytes are the same",
        },
    )?;
    for (title, bytes) in [
        ("Prompt and answer", &histories.plain),
        (
            "Prompt and answer, memory and transcript by local activities",
            &histories.local,
        ),
        (
            "Four calls of fact tools in each turn, one after the other",
            &histories.with_tools,
        ),
    ] {
        write!(text, "\n**{title}**: ")?;
        text.push_str(&history(bytes)?);
    }
    Ok(text)
}

/// What one conversation writes.
pub(crate) fn history(bytes: &HistoryBytes) -> Result<String, Error> {
    let mut text = String::new();
    writeln!(
        text,
        "{} turns, {} messages, {} runs, {} events, {:.0} s. The longest run has {} events and {} kB. A turn takes {} bytes of \
         history, a model request beside all else {} bytes of arguments. The block has {} characters.\n",
        bytes.turns,
        bytes.messages,
        bytes.runs,
        bytes.events,
        bytes.seconds,
        bytes.most_events,
        kilobytes(bytes.most_bytes),
        bytes.recorded / bytes.turns as usize,
        bytes
            .activities
            .get("call_model")
            .map_or(0, |model| model.arguments / model.calls.max(1)),
        bytes.block_chars,
    )?;
    text.push_str("| | recorded | inlined | |\n| --- | ---: | ---: | ---: |\n");
    for (what, recorded, inlined) in [
        ("whole histories", bytes.recorded, bytes.inlined),
        (
            "snapshot results",
            bytes.results_recorded,
            bytes.results_inlined,
        ),
    ] {
        writeln!(
            text,
            "| {what} | {} kB | {} kB | {} % |",
            kilobytes(recorded),
            kilobytes(inlined),
            figure(recorded as f64 / inlined as f64 * 100.0),
        )?;
    }
    text.push_str(
        "\n| of the recorded bytes | times | arguments | results |\n| --- | ---: | ---: | ---: |\n",
    );
    let mut payloads = bytes.handed_over + bytes.said;
    for (name, activity) in &bytes.activities {
        payloads += activity.arguments + activity.results;
        let (arguments, results) = (kilobytes(activity.arguments), kilobytes(activity.results));
        writeln!(
            text,
            "| `{name}` | {} | {arguments} kB | {results} kB |",
            activity.calls
        )?;
    }
    writeln!(
        text,
        "| updates: messages and replies | {} | {} kB | |",
        bytes.turns,
        kilobytes(bytes.said)
    )?;
    writeln!(
        text,
        "| inputs of runs | {} | {} kB | |",
        bytes.runs,
        kilobytes(bytes.handed_over)
    )?;
    let events = kilobytes(bytes.recorded.saturating_sub(payloads));
    writeln!(
        text,
        "| events without what they carry | {} | {events} kB | |",
        bytes.events
    )?;
    Ok(text)
}

/// What workers hold.
pub(super) fn memory(memory: &WorkerMemory, soak: Option<&Soak>) -> Result<String, Error> {
    let mut text = String::from("\n## A worker's memory\n\n");
    writeln!(
        text,
        "Resident memory of the release binary: {:.0} MB at rest, serving both queues with default settings; {:.0} MB at most \
         while writes wait for a locked table, {} of them at one time by Temporal's count.",
        memory.idle as f64 / 1e6,
        memory.in_flight as f64 / 1e6,
        memory.operations,
    )?;
    let Some(soak) = soak else {
        text.push_str("\n`make bench-soak`, which tells how it grows, was not run yet.\n");
        return Ok(text);
    };
    writeln!(
        text,
        "\nOver many activities, half of them writes and half reads (`make bench-soak`, {}, commit {}, load average {}):\n",
        soak.built.when, soak.built.commit, soak.machine.load_before,
    )?;
    for (what, growth) in [
        ("local, in the workflow's own worker", &soak.local),
        ("remote, in the release binary", &soak.remote),
    ] {
        growth_table(&mut text, what, growth)?;
    }
    Ok(text)
}

fn growth_table(text: &mut String, what: &str, growth: &Growth) -> Result<(), Error> {
    let done = growth.looks.last().map_or(0, |look| look.0);
    if done == 0 {
        // Nothing grew, and that says nothing.
        return writeln!(
            text,
            "**{what}: not measured**: none ended within {:.0} s.\n",
            growth.seconds
        );
    }
    writeln!(text, "**{done} {what}; {:.0} s**\n", growth.seconds)?;
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let looks = &growth.looks;
    text.push_str(&row(std::iter::once("activities".to_owned())
        .chain(looks.iter().map(|look| look.0.to_string()))
        .collect()));
    text.push_str(&row(vec!["---:".to_owned(); looks.len() + 1]));
    text.push_str(&row(std::iter::once("MB".to_owned())
        .chain(
            looks
                .iter()
                .map(|look| format!("{:.1}", look.1 as f64 / 1e6)),
        )
        .collect()));
    if let Some(bytes) = growth.bytes_per_activity() {
        writeln!(
            text,
            "\n{bytes:.0} bytes for each activity beyond the first third.\n"
        )?;
    }
    Ok(())
}

fn milliseconds(rounds: &[Sample], time: impl Fn(&Sample) -> Option<f64>) -> String {
    let times: Option<Vec<f64>> = rounds.iter().map(time).collect();
    let spread = times.and_then(Spread::of);
    spread.map_or_else(
        || "–".to_owned(),
        |time| format!("{} ms", figure(time.median / 1e3)),
    )
}

fn spread(spread: Option<Spread>, unit: &str) -> String {
    let Some(Spread { min, median, max }) = spread else {
        return String::new();
    };
    format!("{}{unit} ({}–{})", figure(median), figure(min), figure(max))
}

fn kilobytes(bytes: usize) -> String {
    format!("{:.0}", bytes as f64 / 1e3)
}
