//! Where a call comes from.

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
    /// Run of the workflow, or of the standalone activity.
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
        let run_id = info
            .workflow_run_id
            .as_ref()
            .or(info.activity_run_id.as_ref());
        Self {
            temporal_namespace: info.namespace.clone(),
            workflow_id: info.workflow_id.clone(),
            run_id: run_id.cloned().unwrap_or_default(),
            activity_id: info.activity_id.clone(),
            activity_type: info.activity_type.clone(),
            is_local: info.is_local,
        }
    }
}
