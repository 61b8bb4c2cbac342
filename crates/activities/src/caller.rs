//! Where a call comes from.

use std::time::SystemTime;

use notekeeper_domain::OperationId;
use temporalio_sdk::activities::ActivityInfo;

/// Where a call comes from: the identity of an activity, which stays the same when Temporal retries
/// it.
///
/// Mutations without an operation of their own take their id from it. A workflow reset, a
/// continued run or a workflow retry is another caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Temporal namespace.
    pub temporal_namespace: String,
    /// Workflow that called, or none for a standalone activity.
    pub workflow_id: Option<String>,
    /// Run of the workflow; of a standalone activity the time when its run was scheduled, in
    /// nanoseconds since 1970.
    pub run_id: String,
    /// Id of the activity, unique among the open activities of the run.
    pub activity_id: String,
    /// Type of the activity.
    pub activity_type: String,
    /// Whether it is a local activity: those number their ids apart from the others.
    pub is_local: bool,
}

impl Caller {
    /// The operation id of a mutation that brings none.
    pub(crate) fn operation_id(&self) -> OperationId {
        // Ids of workflows are never empty, so an empty one can stand for none.
        OperationId::from_parts(&[
            &self.temporal_namespace,
            self.workflow_id.as_deref().unwrap_or_default(),
            &self.run_id,
            &self.activity_id,
            &self.activity_type,
            if self.is_local { "local" } else { "remote" },
        ])
    }
}

impl From<&ActivityInfo> for Caller {
    fn from(info: &ActivityInfo) -> Self {
        // A standalone activity comes with a workflow whose id is empty.
        let workflow_id = info.workflow_id.clone().filter(|id| !id.is_empty());
        let run_id = match workflow_id {
            Some(_) => info.workflow_run_id.clone().unwrap_or_default(),
            None => run_of_standalone(info.scheduled_time),
        };
        Self {
            temporal_namespace: info.namespace.clone(),
            workflow_id,
            run_id,
            activity_id: info.activity_id.clone(),
            activity_type: info.activity_type.clone(),
            is_local: info.is_local,
        }
    }
}

/// Tells the runs of one activity id apart. SDK 1.1.1 loses a standalone activity's run id; the time
/// when the run was scheduled stays the same over its attempts as well. It goes on being used where a
/// later SDK gives the run id: attempts of one activity may reach workers of both.
fn run_of_standalone(scheduled: Option<SystemTime>) -> String {
    scheduled
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
        .map_or_else(String::new, |since| since.as_nanos().to_string())
}
