//! A small workflow that holds its memories itself, and the same with changed code.
//!
//! It has no model: its input says what to note. The team's notebook and the member's own are two
//! memories on two scopes, and their blocks come inline.

use notekeeper_contract::{ChatToolCall, Delivery, MemoryBlock};
use notekeeper_workflows::{ActivityQueue, Memory, MemorySettings, Session, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult, WorkflowTermination};

/// Whose notes, and what to note.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Minutes {
    pub(crate) team: String,
    pub(crate) member: String,
    pub(crate) decided: String,
    pub(crate) to_do: String,
    /// Where memory activities run; they are local where there is none.
    pub(crate) task_queue: Option<String>,
}

/// The blocks before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Noted {
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
}

/// How the code differs from the code that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Nothing,
    /// The namespace resolver answers with other names.
    Resolver,
    /// One of the memories has another id.
    Id,
    /// One of the memories has another agent name.
    AgentName,
    /// The first note is written before any block is loaded.
    Reordered,
    /// The blocks are not loaded again at the end.
    Dropped,
    /// Something else is noted, and the member's block is loaded before the team's.
    Arguments,
}

macro_rules! note_taker {
    ($(#[$attribute:meta])* $name:ident, $change:expr) => {
        $(#[$attribute])*
        #[workflow]
        #[derive(Default)]
        pub(crate) struct $name;

        #[workflow_methods]
        impl $name {
            #[run(name = "NoteTaker")]
            pub(crate) async fn run(
                ctx: &mut WorkflowContext<Self>,
                minutes: Minutes,
            ) -> WorkflowResult<Noted> {
                take_notes(ctx, minutes, $change).await
            }
        }
    };
}

note_taker!(
    /// What is recorded.
    NoteTaker,
    Change::Nothing
);
note_taker!(
    /// With another resolver.
    MovedNoteTaker,
    Change::Resolver
);
note_taker!(
    /// With another id.
    RenamedNoteTaker,
    Change::Id
);
note_taker!(
    /// With another agent name.
    OtherAgentNoteTaker,
    Change::AgentName
);
note_taker!(
    /// With two steps in the other order.
    ReorderedNoteTaker,
    Change::Reordered
);
note_taker!(
    /// Without the last step.
    HastyNoteTaker,
    Change::Dropped
);
note_taker!(
    /// With other arguments.
    OtherwiseNoteTaker,
    Change::Arguments
);

async fn take_notes<W>(
    ctx: &WorkflowContext<W>,
    mut minutes: Minutes,
    change: Change,
) -> WorkflowResult<Noted> {
    let session = Session::new();
    let teams = if change == Change::Resolver {
        "groups"
    } else {
        "teams"
    };
    let mut of_team = settings(&minutes, "team");
    match change {
        Change::Id => of_team.id = "group".to_owned(),
        Change::AgentName => of_team.agent_name = "minutes".to_owned(),
        _ => {}
    }
    let team = session.open(of_team, &minutes, |minutes| {
        format!("{teams}/{}", minutes.team)
    })?;
    let own = session.open(settings(&minutes, "own"), &minutes, |minutes| {
        format!("{teams}/{}/{}", minutes.team, minutes.member)
    })?;
    if change == Change::Arguments {
        minutes.decided.push_str(", or so");
    }
    let mut noted = Noted::default();

    let step = session.next_step(ctx);
    let calls = step.calls(&[
        call("team_write_memory", &minutes.decided),
        call("own_write_memory", &minutes.to_do),
    ]);
    if change == Change::Reordered {
        team.call_tool(ctx, &calls[0]).await?;
        noted.before = blocks(ctx, &team, &own).await?;
    } else if change == Change::Arguments {
        noted.before = blocks(ctx, &own, &team).await?;
        team.call_tool(ctx, &calls[0]).await?;
    } else {
        noted.before = blocks(ctx, &team, &own).await?;
        team.call_tool(ctx, &calls[0]).await?;
    }
    own.call_tool(ctx, &calls[1]).await?;
    if change != Change::Dropped {
        noted.after = blocks(ctx, &team, &own).await?;
    }
    Ok(noted)
}

fn settings(minutes: &Minutes, id: &str) -> MemorySettings {
    let mut settings = MemorySettings {
        id: id.to_owned(),
        prefix: id.to_owned(),
        delivery: Some(Delivery::Inline),
        ..MemorySettings::default()
    };
    settings.activities.queue = match &minutes.task_queue {
        Some(name) => ActivityQueue::Named(name.clone()),
        None => ActivityQueue::Local,
    };
    settings
}

/// Both calls have the same id, as models like to give them.
fn call(tool: &str, content: &str) -> ChatToolCall {
    ChatToolCall {
        id: "call_0".to_owned(),
        name: tool.to_owned(),
        arguments: json!({"content": format!("- {content}")}),
    }
}

/// Loads both blocks at once.
async fn blocks<W>(
    ctx: &WorkflowContext<W>,
    one: &Memory,
    other: &Memory,
) -> Result<Vec<String>, WorkflowTermination> {
    let (one, other) = temporalio_workflow::join!(one.snapshot(ctx), other.snapshot(ctx));
    Ok([one?, other?].into_iter().map(text).collect())
}

fn text(snapshot: Snapshot) -> String {
    match snapshot {
        Snapshot::Block(MemoryBlock::Inline { text, .. }) => text,
        Snapshot::Block(MemoryBlock::Reference { digest, .. }) => digest,
        Snapshot::Block(MemoryBlock::Absent { .. }) | Snapshot::Empty => String::new(),
        Snapshot::Skipped { error_type } => error_type,
    }
}
