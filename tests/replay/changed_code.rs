//! Replaying with the code that was recorded, and with changed code.

use std::{cell::Cell, sync::Arc, time::Duration};

use notekeeper::data_converter;
use notekeeper_contract::{
    AddMessagesOutput, CallModelOutput, DeletedMemory, DescribeMemoryOutput, Forgotten,
    GetMessagesOutput, LoadSnapshotOutput, MemoryContent, MemoryMatches, Outcome, RecallOutput,
    Refused, Remembered, SnapshotAnswer, SummarizeMessagesOutput, WrittenMemory,
};
use notekeeper_workflows::{AgentInput, AgentWorkflow, MemorySettings, agent_workflow};
use serde::de::DeserializeOwned;
use temporalio_client::WorkflowHistory;
use temporalio_common::{
    data_converters::RawValue,
    protos::temporal::api::{common::v1::Payload, history::v1::History},
};
use temporalio_sdk::workflow_replayer::{
    WorkflowReplayFailure, WorkflowReplayer, WorkflowReplayerOptions,
};
use temporalio_workflow::workflow_interceptors::{
    CancellableWorkflowOutboundFuture, ScheduleActivityInput, ScheduleActivityResult,
    ScheduleLocalActivityInput, WorkflowCancellationHandle, WorkflowInterceptor,
    WorkflowInterceptorConstructor, WorkflowInterceptorContext, WorkflowNext,
    WorkflowOutboundValue,
};

use crate::{
    note_taker::{
        HastyNoteTaker, MovedNoteTaker, NoteTaker, OtherAgentNoteTaker, OtherwiseNoteTaker,
        RenamedNoteTaker, ReorderedNoteTaker,
    },
    recorded::RecordedActivity,
};

/// Longest time of one replay: a hang is a failure, not a wait.
const PATIENCE: Duration = Duration::from_secs(20);

agent_workflow! {
    /// `AgentWorkflow` after somebody changed its resolver.
    pub(crate) struct MovedAgent = "AgentWorkflow", namespaces: |input: &AgentInput, memory: &MemorySettings| {
        let own = memory.namespace.clone();
        own.unwrap_or_else(|| format!("tenants/{}", input.namespace))
    };
}

/// Which code a history is replayed with.
#[derive(Debug, Clone)]
pub(crate) enum Code {
    /// What was recorded.
    AsRecorded,
    /// Workflow types whose resolvers answer with other namespaces.
    Moved,
    /// [`RenamedNoteTaker`].
    RenamedNoteTaker,
    /// [`OtherAgentNoteTaker`].
    OtherAgentNoteTaker,
    /// [`ReorderedNoteTaker`].
    ReorderedNoteTaker,
    /// [`HastyNoteTaker`].
    HastyNoteTaker,
    /// [`OtherwiseNoteTaker`].
    OtherwiseNoteTaker,
    /// What was recorded, with one change to its activities.
    Edited(Edit),
}

/// A change to what a workflow schedules, at a place of the recorded activities.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) kind: EditKind,
    /// Index of the activity.
    pub(crate) place: usize,
    pub(crate) recorded: Arc<[RecordedActivity]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditKind {
    /// It has another type.
    Renamed,
    /// It changes places with the next one. Ids follow the order of calls, so code that makes two
    /// calls in the other order sends their types in the other order, under the same ids.
    Reordered,
    /// It isn't scheduled any more, and the code goes on with what it came to. Those after it
    /// move up by one id.
    Dropped,
}

/// Replays a history.
pub(crate) async fn replay(history: &History, code: &Code) -> Option<WorkflowReplayFailure> {
    replay_all([history], code).await.remove(0)
}

/// Replays several histories in one replayer, in this order.
pub(crate) async fn replay_all<'h>(
    histories: impl IntoIterator<Item = &'h History>,
    code: &Code,
) -> Vec<Option<WorkflowReplayFailure>> {
    let replayer = WorkflowReplayer::new(options(code)).expect("a replayer");
    let histories: Vec<_> = histories
        .into_iter()
        .cloned()
        .map(WorkflowHistory::from)
        .collect();
    let results = tokio::time::timeout(PATIENCE, replayer.replay_workflows(histories))
        .await
        .unwrap_or_else(|_| panic!("a replay with {code:?} hangs"))
        .expect("the replayer works");
    results
        .into_iter()
        .map(|result| result.replay_failure)
        .collect()
}

fn options(code: &Code) -> WorkflowReplayerOptions {
    let new = || WorkflowReplayerOptions::new().data_converter(data_converter());
    let agent = || {
        new()
            .register_workflow::<AgentWorkflow>()
            .expect("a new type")
    };
    match code {
        Code::AsRecorded => agent().register_workflow::<NoteTaker>(),
        Code::Moved => new()
            .register_workflow::<MovedAgent>()
            .and_then(|options| options.register_workflow::<MovedNoteTaker>()),
        Code::RenamedNoteTaker => agent().register_workflow::<RenamedNoteTaker>(),
        Code::OtherAgentNoteTaker => agent().register_workflow::<OtherAgentNoteTaker>(),
        Code::ReorderedNoteTaker => agent().register_workflow::<ReorderedNoteTaker>(),
        Code::HastyNoteTaker => agent().register_workflow::<HastyNoteTaker>(),
        Code::OtherwiseNoteTaker => agent().register_workflow::<OtherwiseNoteTaker>(),
        Code::Edited(edit) => {
            let edit = edit.clone();
            let interceptor = WorkflowInterceptorConstructor::new(move |_| Editor {
                edit: edit.clone(),
                calls: Cell::new(0),
            });
            agent()
                .workflow_interceptor(interceptor)
                .register_workflow::<NoteTaker>()
        }
    }
    .expect("new types")
    .build()
}

/// Changes what the workflow around it schedules: it is workflow code like any other.
struct Editor {
    edit: Edit,
    calls: Cell<usize>,
}

type Scheduling = CancellableWorkflowOutboundFuture<ScheduleActivityResult>;

/// What becomes of a call.
enum Edited {
    /// It is scheduled with this type instead.
    As(String),
    /// It isn't scheduled; the code goes on with what it came to.
    Dropped(RecordedActivity),
    /// It takes the number before its own, because another one was dropped.
    MovedUp,
    Unchanged,
}

impl Editor {
    /// Decides about the next call.
    fn edit(&self, activity_type: &str) -> Edited {
        let Edit {
            kind,
            place,
            recorded,
        } = &self.edit;
        let call = self.calls.get();
        self.calls.set(call + 1);
        match kind {
            EditKind::Renamed if call == *place => Edited::As(format!("{activity_type}_v2")),
            EditKind::Reordered if call == *place => Edited::As(recorded[place + 1].kind.clone()),
            EditKind::Reordered if call == place + 1 => Edited::As(recorded[*place].kind.clone()),
            EditKind::Dropped if call == *place => Edited::Dropped(recorded[*place].clone()),
            EditKind::Dropped if call > *place => Edited::MovedUp,
            _ => Edited::Unchanged,
        }
    }
}

impl WorkflowInterceptor for Editor {
    fn schedule_activity(
        &self,
        _: WorkflowInterceptorContext,
        mut input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, Scheduling>,
    ) -> Scheduling {
        match self.edit(input.activity_type()) {
            Edited::As(other) => *input.activity_type_mut() = other,
            Edited::Dropped(activity) => return ready(came_to(&activity)),
            Edited::MovedUp => move_up(&mut input.options_mut().activity_id),
            Edited::Unchanged => {}
        }
        next.run(input)
    }

    fn schedule_local_activity(
        &self,
        _: WorkflowInterceptorContext,
        mut input: ScheduleLocalActivityInput,
        next: WorkflowNext<'static, ScheduleLocalActivityInput, Scheduling>,
    ) -> Scheduling {
        match self.edit(input.activity_type()) {
            Edited::As(other) => *input.activity_type_mut() = other,
            Edited::Dropped(activity) => return ready(came_to(&activity)),
            Edited::MovedUp => move_up(&mut input.options_mut().activity_id),
            Edited::Unchanged => {}
        }
        next.run(input)
    }
}

fn ready(value: Box<dyn WorkflowOutboundValue>) -> Scheduling {
    let nothing_to_cancel = WorkflowCancellationHandle::new(|_| {});
    CancellableWorkflowOutboundFuture::new(std::future::ready(Ok(value)), nothing_to_cancel)
}

/// What the code goes on with where it doesn't schedule this activity any more: what is recorded.
/// Of an activity that failed it is what comes nearest to the failure.
fn came_to(activity: &RecordedActivity) -> Box<dyn WorkflowOutboundValue> {
    let unavailable = SnapshotAnswer::Error {
        error_type: "Unavailable".to_owned(),
        message: "dropped".to_owned(),
    };
    let refused = || Refused {
        reason: "not_found".to_owned(),
        message: "dropped".to_owned(),
    };
    match activity.kind.as_str() {
        "describe_memory" => recorded_or(
            activity,
            DescribeMemoryOutput {
                memories: Vec::new(),
            },
        ),
        "load_snapshot" => recorded_or(
            activity,
            LoadSnapshotOutput {
                snapshots: vec![unavailable],
            },
        ),
        "call_model" => recorded_or(activity, CallModelOutput::default()),
        "write_memory" => recorded_or(activity, Outcome::<WrittenMemory>::Refused(refused())),
        "read_memory" => recorded_or(activity, Outcome::<MemoryContent>::Refused(refused())),
        "delete_memory" => recorded_or(activity, Outcome::<DeletedMemory>::Refused(refused())),
        "search_memory" => recorded_or(activity, Outcome::<MemoryMatches>::Refused(refused())),
        "get_messages" | "add_messages" | "remember" | "forget" | "recall"
        | "summarize_messages" => conversation_came_to(activity),
        _ => Box::new(RawValue::new(activity.result.clone().unwrap_or_else(
            || {
                vec![Payload {
                    metadata: [("encoding".to_owned(), b"json/plain".to_vec())].into(),
                    data: b"null".to_vec(),
                    ..Payload::default()
                }]
            },
        ))),
    }
}

/// As [`came_to`], for what keeps transcripts and facts.
fn conversation_came_to(activity: &RecordedActivity) -> Box<dyn WorkflowOutboundValue> {
    let refused = Refused {
        reason: "not_found".to_owned(),
        message: "dropped".to_owned(),
    };
    match activity.kind.as_str() {
        "get_messages" => recorded_or(
            activity,
            GetMessagesOutput {
                messages: Vec::new(),
                outlines: Vec::new(),
                first: 0,
                next: 0,
                oldest: 0,
                cursor: None,
            },
        ),
        "add_messages" => recorded_or(
            activity,
            AddMessagesOutput {
                first: 0,
                next: 2,
                replayed: false,
            },
        ),
        "remember" => recorded_or(activity, Outcome::<Remembered>::Refused(refused)),
        "forget" => recorded_or(activity, Outcome::<Forgotten>::Refused(refused)),
        "recall" => recorded_or(
            activity,
            RecallOutput {
                values: Vec::new(),
                facts: Vec::new(),
                truncated: false,
            },
        ),
        "summarize_messages" => recorded_or(
            activity,
            SummarizeMessagesOutput {
                text: "dropped".to_owned(),
                digest: String::new(),
                kept: false,
            },
        ),
        other => panic!("`{other}` keeps neither"),
    }
}

fn recorded_or<T: DeserializeOwned + 'static>(
    activity: &RecordedActivity,
    failed: T,
) -> Box<dyn WorkflowOutboundValue> {
    match &activity.result {
        Some(_) => Box::new(serde_json::from_value::<T>(activity.answer()).expect("its output")),
        None => Box::new(failed),
    }
}

/// Gives the call the id before its own: the dropped one took no number.
fn move_up(activity_id: &mut Option<String>) {
    let id = activity_id.take().expect("an id of its own");
    let (stem, number) = id.rsplit_once('.').expect("`nk.hash.n`");
    let number: u64 = number.parse().expect("a number");
    *activity_id = Some(format!("{stem}.{}", number - 1));
}
