//! Workers that end by themselves at a limit, under a supervisor that starts them anew.

use std::{cell::Cell, collections::HashSet, time::Duration};

use notekeeper_contract::{WriteMemory, WriteMemoryInput};
use serde_json::json;
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{
    ActivityCloseTimeouts, ActivityOptions, WorkflowContext, WorkflowResult, join_all,
};

use crate::support::{
    Bed, Generation, Hosted, Way, Worker, WorkerOptions, activities, eventually, history, run, say,
    supervised,
};

/// Lines that [`ManyWrites`] writes: so many at once, and so many times.
const AT_ONCE: usize = 50;
const ROUNDS: usize = 30;

/// Notes that they go into.
const NOTES: usize = 50;

/// Writes many lines by activities on a queue.
#[workflow]
#[derive(Default)]
struct ManyWrites;

#[workflow_methods]
impl ManyWrites {
    /// Says how many of them were answered from a receipt.
    #[run(name = "ManyWrites")]
    async fn run(ctx: &mut WorkflowContext<Self>, task_queue: String) -> WorkflowResult<usize> {
        let mut replayed = 0;
        for round in 0..ROUNDS {
            let writes = (0..AT_ONCE).map(|n| {
                let line = round * AT_ONCE + n;
                let input: WriteMemoryInput = serde_json::from_value(json!({
                    "scope": {"namespace": "acme"},
                    "file": format!("note{}", line % NOTES),
                    "content": format!("line {line}"),
                }))
                .expect("an input");
                ctx.execute_activity(WriteMemory, input, on_queue(&task_queue))
            });
            for written in join_all(writes.collect::<Vec<_>>()).await {
                let written = serde_json::to_value(written?).expect("JSON");
                replayed += usize::from(written["replayed"] == true);
            }
        }
        Ok(replayed)
    }
}

/// An attempt that gets lost costs three seconds.
fn on_queue(task_queue: &str) -> ActivityOptions {
    let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
        schedule_to_close: Duration::from_secs(120),
        start_to_close: Duration::from_secs(3),
    };
    ActivityOptions::with_close_timeouts(timeouts)
        .task_queue(task_queue.to_owned())
        .build()
}

/// The figure after `key=` in a line of a log.
fn figure(line: &str, key: &str) -> u64 {
    let mut fields = line.split_whitespace();
    let value = fields.find_map(|field| field.strip_prefix(key)?.strip_prefix('='));
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("no `{key}` in `{line}`"))
}

/// Checks that all ended well, all but the last of them at this limit; gives how many did.
fn all_ended_at(limit: &str, generations: &[Generation]) -> usize {
    let (last, before) = generations.split_last().expect("a worker");
    assert_eq!(last.code, Some(0), "{last:?}");
    for generation in before {
        assert_eq!(generation.code, Some(0), "{generation:?}");
        let line = generation.limit_reached().expect("a limit");
        assert!(line.contains(&format!("limit=\"{limit}\"")), "{line}");
        assert!(figure(line, "resident_mb") > 0, "{line}");
    }
    before.len()
}

#[tokio::test]
async fn activities_through_workers_that_end_after_some_hundred_are_each_done_once() {
    let bed = Bed::new().await;
    let mut options = temporalio_sdk::WorkerOptions::new(bed.workflow_task_queue.as_str()).build();
    options
        .register_workflow::<ManyWrites>()
        .expect("a new type");
    let hosted = Hosted::start(bed.client.clone(), options).await;
    let worker = || WorkerOptions {
        queues: Some("memory"),
        environment: vec![("NOTEKEEPER_EXIT_AFTER_ACTIVITIES", "300".to_owned())],
        ..WorkerOptions::default()
    };
    let work = async {
        let start = WorkflowStartOptions::new(&bed.workflow_task_queue, &bed.schema).build();
        let queue = bed.task_queue.clone();
        let started = bed
            .client
            .start_workflow(ManyWrites::run, queue, start)
            .await;
        let run = started.expect("start the workflow");
        run.get_result(WorkflowGetResultOptions::default())
            .await
            .expect("a result")
    };

    let (replayed, generations) = supervised(&bed, worker, work).await;

    let ended = all_ended_at("exit_after_activities", &generations);
    assert!(ended >= 4, "{ended} generations");
    for generation in &generations[..ended] {
        let line = generation.limit_reached().expect("a limit");
        // What is under way when the limit is reached is still done.
        let activities = figure(line, "activities");
        assert!((300..400).contains(&activities), "{line}");
    }
    let mut lines = Vec::new();
    for note in 0..NOTES {
        let note = bed.note("acme/main", &format!("note{note}.md")).await;
        lines.extend(note.expect("a note").lines().map(str::to_owned));
    }
    let distinct: HashSet<_> = lines.iter().collect();
    assert_eq!(
        (lines.len(), distinct.len()),
        (ROUNDS * AT_ONCE, lines.len())
    );
    assert_eq!(bed.receipts("acme/main").await.len(), ROUNDS * AT_ONCE);
    println!("{ended} workers ended, {replayed} writes answered from a receipt");
    hosted.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn hundreds_of_local_activities_through_workers_that_end_are_each_done_once() {
    let bed = Bed::new().await;
    let calls: Vec<_> = (0..50)
        .map(|n| {
            json!({"id": format!("call_{n}"), "name": "write_memory", "arguments": {"content": "line"}})
        })
        .collect();
    let script = bed.script(&json!([{"prompt": "go", "responses": [
        {"tool_calls": calls}, {"text": "done"},
    ]}]));
    let worker = || WorkerOptions {
        script: Some(script.clone()),
        queues: Some("workflows"),
        environment: vec![("NOTEKEEPER_EXIT_AFTER_ACTIVITIES", "150".to_owned())],
        ..WorkerOptions::default()
    };
    let tenants = ["acme", "umbrella"];
    let talk = async |tenant: &str| {
        let input = bed.input_by(Way::Local, tenant);
        let agent = bed.start(input).await;
        for _ in 0..8 {
            say(&agent, "go").await.expect("a reply");
        }
        history(&agent).await
    };
    let work = futures::future::join_all(tenants.map(&talk));

    let (histories, generations) = supervised(&bed, worker, work).await;

    for history in &histories {
        // One description, and one look at the transcript; in each of 8 turns 50 writes, 2 loads, 2
        // exchanges that are stored, and 2 model requests, which alone would end no worker.
        let activities = activities(history);
        let local = activities.iter().filter(|activity| activity.is_local);
        assert_eq!((activities.len(), local.count()), (2 + 8 * 56, 2 + 8 * 54));
    }
    let ended = all_ended_at("exit_after_activities", &generations);
    assert!(ended >= 4, "{ended} generations");
    for tenant in tenants {
        let scope = format!("{tenant}/main");
        let note = bed.note(&scope, "MEMORY.md").await;
        assert_eq!(note, Some("line\n".repeat(8 * 50)), "{tenant}");
        assert_eq!(bed.receipts(&scope).await.len(), 8 * 50, "{tenant}");
    }
    bed.finish().await;
}

/// Resident memory of a worker, in megabytes of 1,000,000 bytes.
fn resident_mb(worker: &Worker) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", worker.id()));
    let status = status.expect("the status of the worker");
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.expect("a figure") * 1_024 / 1_000_000
}

/// Resident size of a worker that has begun and does nothing, once it doesn't grow any more.
async fn at_rest_mb(worker: &Worker) -> u64 {
    let seen = Cell::new((0, 0));
    eventually("a worker's memory is at rest", || async {
        let now = resident_mb(worker);
        let (before, times) = seen.get();
        let times = if now == before { times + 1 } else { 0 };
        seen.set((now, times));
        (times >= 50).then_some(now)
    })
    .await
}

#[tokio::test]
async fn a_worker_whose_memory_grows_above_the_limit_ends_and_the_next_one_goes_on() {
    let bed = Bed::new().await;
    let memory = |environment| WorkerOptions {
        queues: Some("memory"),
        environment,
        ..WorkerOptions::default()
    };
    let content = "x".repeat(60_000);
    let write = async |tenant: String| {
        let input = json!({"scope": {"namespace": tenant}, "content": content});
        bed.call("write_memory", &input).await.result();
    };
    // A limit between what an idle worker has, once it is at rest, and a busy one.
    let plain = Worker::start(&bed, memory(vec![])).await;
    let idle = at_rest_mb(&plain).await;
    for n in 0..40 {
        write(format!("before{n}")).await;
    }
    let busy = resident_mb(&plain);
    drop(plain);
    assert!(busy >= idle + 2, "{busy} MB when busy, {idle} MB when idle");
    let limit = busy - 1;

    let started = Cell::new(0_usize);
    let worker = || {
        started.set(started.get() + 1);
        memory(vec![(
            "NOTEKEEPER_EXIT_ABOVE_RESIDENT_MB",
            limit.to_string(),
        )])
    };
    let work = async {
        let mut written = 0;
        while started.get() < 3 {
            write(format!("tenant{written}")).await;
            written += 1;
            assert!(written < 10_000, "no worker ended");
        }
        written
    };
    let (written, generations) = supervised(&bed, worker, work).await;

    let count = all_ended_at("exit_above_resident_mb", &generations);
    assert!(count >= 2, "{generations:?}");
    for generation in &generations[..count] {
        let line = generation.limit_reached().expect("a limit");
        assert!(figure(line, "resident_mb") > limit, "{line}");
        assert!(figure(line, "activities") > 0, "{line}");
    }
    for n in 0..written {
        let note = bed.note(&format!("tenant{n}/main"), "MEMORY.md").await;
        assert_eq!(note.map(|note| note.len()), Some(60_001), "{n}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_limit_of_memory_that_an_idle_worker_exceeds_is_refused_and_not_started_for_ever() {
    let bed = Bed::new().await;
    let arguments = ["worker", "--exit-above-resident-mb", "1"];
    let refused = run(&bed, &arguments, &[]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let told = "`exit_above_resident_mb` is 1, but the worker has";
    assert!(refused.stderr.contains(told), "{refused:?}");
    bed.finish().await;
}

#[tokio::test]
async fn limits_that_make_no_sense_are_refused() {
    let bed = Bed::new().await;
    for (arguments, variables) in [
        (&["--exit-after-activities", "0"][..], vec![]),
        (&["--exit-above-resident-mb", "much"][..], vec![]),
        (&[][..], vec![("NOTEKEEPER_EXIT_AFTER_ACTIVITIES", "-1")]),
    ] {
        let refused = run(&bed, &[&["worker"], arguments].concat(), &variables).await;
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let told = "give a whole number of at least 1";
        assert!(refused.stderr.contains(told), "{refused:?}");
    }
    for key in ["exit_after_activities", "exit_above_resident_mb"] {
        let config = bed.config(&format!("[worker]\n{key} = 0\n"));
        let refused = run(&bed, &["worker"], &[("NOTEKEEPER_CONFIG", &config)]).await;
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let told = format!("line 2, `worker.{key}`: invalid value: integer `0`");
        assert!(refused.stderr.contains(&told), "{refused:?}");
    }
    bed.finish().await;
}
