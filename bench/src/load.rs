//! The workflow that calls activities and says how long each took, and the activity that does
//! nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use notekeeper_contract::{
    LoadSnapshot, LoadSnapshotInput, OperationRef, Outcome, ReadMemory, ReadMemoryInput, ScopeRef,
    WriteMemory, WriteMemoryInput,
};
use notekeeper_domain::{MAIN_NOTE, NOTE_CHARS_MAX_DEFAULT};
use serde::{Deserialize, Serialize};
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_workflow::{
    ActivityExecutionError, ActivityOptions, LocalActivityOptions, RetryPolicy, WorkflowContext,
    WorkflowResult, join_all,
};

use crate::note::Counted;

/// What is called again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Call {
    /// The activity that does nothing, without an argument.
    Noop,
    /// `load_snapshot` of no memory: nothing, on a worker that knows no other such activity.
    EmptySnapshot,
    /// `write_memory`: replaces a line of a note of about 1,000 characters.
    Write,
    /// `read_memory` of that note.
    Read,
}

/// Input of the workflow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) call: Call,
    /// Queue of the activities; local ones where there is none.
    pub(crate) queue: Option<String>,
    /// Calls one after the other; each waits for the one before.
    pub(crate) calls: u32,
    /// Rows of such calls side by side.
    pub(crate) rows: u32,
    /// Namespace of the notes, of which row `n` has its own below.
    pub(crate) namespace: String,
    /// Identity of this run, for operations.
    pub(crate) run: String,
}

/// Times of all calls as workflow code sees them, in microseconds.
pub(crate) type Times = Vec<u64>;

#[workflow]
#[derive(Default)]
pub(crate) struct LoadWorkflow;

#[workflow_methods]
impl LoadWorkflow {
    #[run(name = "BenchLoad")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, load: Load) -> WorkflowResult<Times> {
        let rows = (0..load.rows).map(|row| row_of_calls(ctx, &load, row));
        let mut times = Times::new();
        for row in join_all(rows).await {
            times.extend(row.map_err(failed)?);
        }
        Ok(times)
    }
}

/// Reads the clock, which workflow code mustn't do: nothing that is scheduled depends on it.
async fn row_of_calls<W>(
    ctx: &WorkflowContext<W>,
    load: &Load,
    row: u32,
) -> Result<Times, ActivityExecutionError> {
    let mut note = Counted::default();
    let mut times = Times::new();
    for number in 0..load.calls {
        let started = Instant::now();
        match load.call {
            Call::Noop => call(ctx, load, Noop::noop, ()).await?,
            Call::EmptySnapshot => {
                let memories = Vec::new();
                call(ctx, load, LoadSnapshot, LoadSnapshotInput { memories })
                    .await
                    .map(drop)?;
            }
            Call::Read => {
                let input = read(load, row);
                call(ctx, load, ReadMemory, input).await.map(drop)?;
            }
            Call::Write => {
                let input = write(load, row, number, &mut note);
                let outcome = call(ctx, load, WriteMemory, input).await?;
                if let Outcome::Refused(refused) = outcome {
                    ctx.force_task_fail(format!("a write was refused: {}", refused.message));
                }
            }
        }
        times.push(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    Ok(times)
}

async fn call<W, A: temporalio_common::ActivityDefinition>(
    ctx: &WorkflowContext<W>,
    load: &Load,
    activity: A,
    input: impl Into<A::Input>,
) -> Result<A::Output, ActivityExecutionError>
where
    A::Output: temporalio_common::data_converters::TemporalDeserializable,
{
    match &load.queue {
        Some(queue) => {
            let options = ActivityOptions::with_start_to_close_timeout(Duration::from_secs(30))
                .task_queue(queue.clone())
                .retry_policy(retry_policy())
                .build();
            ctx.execute_activity(activity, input, options).await
        }
        None => {
            let options = LocalActivityOptions::builder()
                .start_to_close_timeout(Duration::from_secs(10))
                .retry_policy(retry_policy())
                .build();
            ctx.execute_local_activity(activity, input, options).await
        }
    }
}

fn retry_policy() -> RetryPolicy {
    RetryPolicy::builder()
        .initial_interval(Duration::from_millis(200))
        .maximum_interval(Duration::from_secs(1))
        .maximum_attempts(100)
        .build()
}

fn failed(error: ActivityExecutionError) -> ApplicationFailure {
    ApplicationFailure::builder(error)
        .type_name("BenchFailed".to_owned())
        .non_retryable(true)
        .build()
}

/// Whose notes a row of calls works on.
pub(crate) fn row_scope(namespace: &str, row: u32) -> ScopeRef {
    ScopeRef {
        namespace: format!("{namespace}/{row}"),
        agent_name: notekeeper_domain::AGENT_NAME_DEFAULT.to_owned(),
    }
}

fn write(load: &Load, row: u32, number: u32, note: &mut Counted) -> WriteMemoryInput {
    let (old_text, content) = note.count();
    WriteMemoryInput {
        store: notekeeper_contract::DEFAULT_STORE.to_owned(),
        workspace: None,
        scope: row_scope(&load.namespace, row),
        operation: Some(OperationRef {
            id: format!("{}/{row}/{number}", load.run),
        }),
        content,
        file: MAIN_NOTE.to_owned(),
        old_text: Some(old_text),
        expected_version: None,
        max_memory_size: NOTE_CHARS_MAX_DEFAULT,
        write_metadata: None,
    }
}

fn read(load: &Load, row: u32) -> ReadMemoryInput {
    ReadMemoryInput {
        store: notekeeper_contract::DEFAULT_STORE.to_owned(),
        workspace: None,
        scope: row_scope(&load.namespace, row),
        file: MAIN_NOTE.to_owned(),
        max_memory_size: NOTE_CHARS_MAX_DEFAULT,
        include_write_metadata: false,
    }
}

/// The activity that does nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noop;

#[activities]
impl Noop {
    /// Nothing.
    #[activity(name = "noop")]
    pub(crate) async fn noop(self: Arc<Self>, _: ActivityContext) -> Result<(), ActivityError> {
        Ok(())
    }
}
