//! Snapshots: the block for the next model request.

use std::future::Future;

use notekeeper_contract::{
    Delivery, LoadSnapshot, LoadSnapshotInput, LoadSnapshotOutput, MemoryBlock, RenderOptions,
    SnapshotAnswer, SnapshotRequest,
};
use notekeeper_domain::{self as domain, VisibleFiles};
use temporalio_common_wasm::ActivityDefinition as _;
use temporalio_workflow::{ActivityExecutionError, WorkflowContext, join_all};

use super::{Held, Memory, files::Shown};
use crate::{
    CallFailure,
    activity_call::{CallOptions, check_payload, json_bytes, schedule},
};

/// What a snapshot load came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Snapshot {
    /// A block to place in the next model request, and in no other.
    Block(MemoryBlock),
    /// Nothing to show: injection is off, nothing is stored, or the guidance fills the budget.
    Empty,
    /// The store failed and the settings ignore that.
    Skipped {
        /// Type of the failure.
        error_type: String,
    },
}

impl Memory {
    /// Loads the block for the next model request.
    ///
    /// A block that is still the one held costs a digest in the history, not its text.
    ///
    /// # Errors
    ///
    /// The activity's failure: always where it is about the call itself, such as an invalid
    /// scope; of the store only under [`InjectionErrors::Raise`](crate::InjectionErrors::Raise).
    pub fn snapshot<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
    ) -> impl Future<Output = Result<Snapshot, CallFailure>> + 'c {
        let loads = load_snapshots(std::slice::from_ref(self), ctx);
        async move { Ok(loads.await?.pop().unwrap_or(Snapshot::Empty)) }
    }

    /// What `load_snapshot` is asked for this memory: for callers who schedule the activity themselves.
    pub fn snapshot_request(&self) -> SnapshotRequest {
        let settings = self.settings();
        let files = self.visible_files();
        SnapshotRequest {
            store: settings.store.clone(),
            workspace: self.workspace(),
            scope: self.scope_ref(),
            held_digest: self
                .inner
                .held
                .borrow()
                .as_ref()
                .map(|held| held.digest.clone()),
            delivery: self.delivery(),
            render: RenderOptions {
                max_tokens: settings.max_tokens,
                guidance_chars: self.guidance_chars(),
                max_lines: settings.max_lines,
                max_memory_size: settings.max_memory_size,
                heading: settings.heading.clone(),
                reader: settings.tool_name(domain::READ_MEMORY),
                searcher: settings.tool_name(domain::SEARCH_MEMORY),
                location: files.as_ref().map(VisibleFiles::location),
                file_reader: files.as_ref().map(VisibleFiles::main_note_call),
            },
        }
    }

    /// Longest time of a load with all retries, in milliseconds.
    fn snapshot_patience_ms(&self) -> u64 {
        let activities = &self.settings().activities;
        match self.settings().injection_errors {
            crate::InjectionErrors::Ignore => activities.snapshot_give_up_ms,
            crate::InjectionErrors::Raise => activities.schedule_to_close_ms,
        }
    }

    fn delivery(&self) -> Delivery {
        match self.inner.inline.get() {
            true => Delivery::Inline,
            false => self.settings().delivery.unwrap_or_default(),
        }
    }

    fn hold(&self, held: Option<Held>) {
        self.inner.shown.set(match &held {
            None => Shown::NoNotes,
            Some(held) if held.located => Shown::Located,
            Some(_) => Shown::Unlocated,
        });
        self.inner.held.replace(held);
    }

    /// Takes in an answer. `Err` says what makes it impossible.
    pub(super) fn accept(
        &self,
        answer: SnapshotAnswer,
    ) -> Result<Result<Snapshot, CallFailure>, String> {
        match answer {
            SnapshotAnswer::Block {
                digest,
                text,
                stats,
            } => {
                let held = Held {
                    digest,
                    text,
                    located: stats.located,
                };
                let block = self.block(&held)?;
                self.hold(Some(held));
                Ok(Ok(Snapshot::Block(block)))
            }
            SnapshotAnswer::Unchanged { digest } => {
                let held = self.inner.held.borrow().clone();
                match held {
                    Some(held) if held.digest == digest => {
                        let block = self.block(&held)?;
                        self.hold(Some(held));
                        Ok(Ok(Snapshot::Block(block)))
                    }
                    _ => Err("snapshot is `unchanged` from a block that is not held".to_owned()),
                }
            }
            SnapshotAnswer::Empty { budget_exhausted } => {
                self.hold(None);
                if budget_exhausted {
                    self.inner.shown.set(Shown::Unlocated);
                }
                Ok(Ok(Snapshot::Empty))
            }
            SnapshotAnswer::Error {
                error_type,
                message,
            } => Ok(self.settle(CallFailure::named(error_type, message))),
        }
    }

    fn block(&self, held: &Held) -> Result<MemoryBlock, String> {
        match (&held.text, self.delivery()) {
            // Also where a reference was asked for: not every store keeps texts.
            (Some(text), _) => Ok(MemoryBlock::Inline {
                scope: self.scope_ref(),
                text: text.clone(),
            }),
            (None, Delivery::Inline) => {
                Err("snapshot asked for inline came without its text".to_owned())
            }
            (None, Delivery::Reference) => Ok(MemoryBlock::Reference {
                store: self.settings().store.clone(),
                workspace: self.workspace(),
                scope: self.scope_ref(),
                digest: held.digest.clone(),
            }),
        }
    }

    /// A failure as this memory's settings want it.
    pub(crate) fn settle(&self, failure: CallFailure) -> Result<Snapshot, CallFailure> {
        self.inner.shown.set(Shown::Unlocated);
        if self.skips(&failure) {
            Ok(Snapshot::Skipped {
                error_type: failure.type_name().to_owned(),
            })
        } else {
            Err(failure)
        }
    }
}

/// Loads the blocks of several memories, in their order: one activity for each store and queue, all at
/// once.
pub(crate) fn load_snapshots<'c, W>(
    memories: &'c [Memory],
    ctx: &'c WorkflowContext<W>,
) -> impl Future<Output = Result<Vec<Snapshot>, CallFailure>> + 'c {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, memory) in memories.iter().enumerate() {
        if !memory.settings().inject_memory {
            continue;
        }
        match groups
            .iter_mut()
            .find(|group| shares_activity(&memories[group[0]], memory))
        {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    let calls: Vec<_> = groups
        .into_iter()
        .map(|members| {
            let group: Vec<&Memory> = members.iter().map(|&index| &memories[index]).collect();
            let requests = group
                .iter()
                .map(|memory| memory.snapshot_request())
                .collect();
            let input = LoadSnapshotInput { memories: requests };
            let options = options(&group);
            let scheduled = check_payload(LoadSnapshot.name(), &input, "shorten `heading`")
                .map(|_| schedule(ctx, LoadSnapshot, input, options));
            async move {
                let result = match scheduled {
                    Ok(scheduled) => Ok(scheduled.await),
                    Err(too_large) => Err(too_large),
                };
                (members, result)
            }
        })
        .collect();
    async move {
        let mut snapshots = vec![Snapshot::Empty; memories.len()];
        // Not that of `futures`: of more than 30 it wakes itself, which the SDK takes for
        // nondeterminism.
        for (members, result) in join_all(calls).await {
            for (index, snapshot) in settle_group(memories, members, result?, ctx).await? {
                snapshots[index] = snapshot;
            }
        }
        Ok(snapshots)
    }
}

fn shares_activity(one: &Memory, other: &Memory) -> bool {
    one.own_queue() == other.own_queue()
        && one.settings().store == other.settings().store
        && one.settings().activities.queue == other.settings().activities.queue
}

/// Each memory waits as long as its settings say; together they wait as long as the most patient. Where
/// a failure is ignored by one and raised by another the request can't go out before either is known.
fn options(group: &[&Memory]) -> CallOptions {
    let longest = |time: fn(&Memory) -> u64| {
        let times = group.iter().map(|memory| time(memory));
        times.max().unwrap_or_default()
    };
    let activities = crate::ActivitySettings {
        start_to_close_ms: longest(|memory| memory.settings().activities.start_to_close_ms),
        ..group[0].settings().activities.clone()
    };
    let id = group[0].inner.session.next_activity_id();
    activities.options_at(
        group[0].own_queue(),
        id,
        longest(Memory::snapshot_patience_ms),
    )
}

async fn settle_group<W>(
    memories: &[Memory],
    members: Vec<usize>,
    result: Result<LoadSnapshotOutput, ActivityExecutionError>,
    ctx: &WorkflowContext<W>,
) -> Result<Vec<(usize, Snapshot)>, CallFailure> {
    let output = match result {
        Ok(output) if output.snapshots.len() == members.len() => output,
        Ok(_) => return fail_task(ctx, "snapshot answers don't match the requests").await,
        // A result that can't be read is a bug on one side or the other: no turn may go on
        // without the memory that was there.
        Err(error @ ActivityExecutionError::Serialization(_)) => {
            return fail_task(ctx, &error.to_string()).await;
        }
        Err(error) => {
            let failure = CallFailure::from(error);
            return members
                .into_iter()
                .map(|index| Ok((index, memories[index].settle(failure.clone())?)))
                .collect();
        }
    };
    if let Some(first) = memories.first() {
        first.inner.session.count_heard(json_bytes(&output));
    }
    let mut settled = Vec::with_capacity(members.len());
    for (index, answer) in members.into_iter().zip(output.snapshots) {
        match memories[index].accept(answer) {
            Ok(snapshot) => settled.push((index, snapshot?)),
            Err(bug) => return fail_task(ctx, &bug).await,
        }
    }
    Ok(settled)
}

/// Fails the workflow task: a bug that a fixed worker may replay past, never an empty block.
async fn fail_task<W, T>(ctx: &WorkflowContext<W>, bug: &str) -> T {
    ctx.force_task_fail(bug.to_owned());
    std::future::pending().await
}
