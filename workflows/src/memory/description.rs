//! How memories are kept: asked once a run, for workflow code can't see it.

use std::future::Future;

use notekeeper_contract::{
    DescribeMemory, DescribeMemoryInput, DescribeMemoryOutput, FailureType, MemoryDescription,
    MemoryPlace,
};
use temporalio_workflow::{WorkflowContext, join_all};

use super::Memory;
use crate::{
    CallFailure,
    activity_call::{CallOptions, call},
};

impl Memory {
    /// How the memory is kept; `None` before [`Session::describe`](crate::Session::describe).
    pub fn description(&self) -> Option<MemoryDescription> {
        self.inner.description.borrow().clone()
    }

    /// From now on it is known to be kept so.
    pub(crate) fn adopt(&self, description: MemoryDescription) {
        self.inner.description.replace(Some(description));
    }

    fn place(&self) -> MemoryPlace {
        MemoryPlace {
            store: self.settings().store.clone(),
            workspace: self.workspace(),
        }
    }
}

/// Asks how these memories are kept: one activity for each way in which they run their activities.
/// Nothing is known of any before all are known.
pub(crate) fn describe<'c, W>(
    memories: &'c [Memory],
    ctx: &'c WorkflowContext<W>,
) -> impl Future<Output = Result<(), CallFailure>> + 'c {
    let mut groups: Vec<(CallOptions, Vec<&Memory>)> = Vec::new();
    for memory in memories {
        let queue = |memory: &Memory| memory.settings().activities.queue.clone();
        let same = |(_, members): &&mut (CallOptions, Vec<&Memory>)| {
            members.first().map(|first| queue(first)) == Some(queue(memory))
        };
        match groups.iter_mut().find(same) {
            Some((_, members)) => members.push(memory),
            None => {
                let id = memory.inner.session.next_activity_id();
                groups.push((memory.settings().activities.options(id), vec![memory]));
            }
        }
    }
    let calls: Vec<_> = groups
        .into_iter()
        .map(|(options, members)| {
            let memories = members.iter().map(|memory| memory.place()).collect();
            let call = call(
                ctx,
                DescribeMemory,
                DescribeMemoryInput { memories },
                options,
            );
            async move { (members, call.await) }
        })
        .collect();
    async move {
        let mut described = Vec::with_capacity(memories.len());
        for (members, answer) in join_all(calls).await {
            let answers = answers(members.len(), answer)?;
            described.extend(members.into_iter().zip(answers));
        }
        for (memory, description) in &described {
            check_metadata(memory, description)?;
        }
        for (memory, description) in described {
            memory.adopt(description);
        }
        Ok(())
    }
}

/// Refuses a memory whose writes are to record what its store wouldn't keep.
fn check_metadata(memory: &Memory, description: &MemoryDescription) -> Result<(), CallFailure> {
    if description.keeps_metadata || !memory.settings().records_metadata() {
        return Ok(());
    }
    Err(CallFailure::new(
        FailureType::Unsupported,
        format!(
            "a memory has `write_metadata`, and its store, of kind `{}`, keeps none; leave it out, \
             or name another store",
            description.kind
        ),
    ))
}

fn answers(
    count: usize,
    answer: Result<DescribeMemoryOutput, CallFailure>,
) -> Result<Vec<MemoryDescription>, CallFailure> {
    let DescribeMemoryOutput { memories } = answer?;
    if memories.len() != count {
        return Err(CallFailure::new(
            FailureType::Unsupported,
            format!("{} answers came for {count} memories", memories.len()),
        ));
    }
    Ok(memories)
}
