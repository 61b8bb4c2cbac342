//! Whether anybody works.

use std::time::{Duration, SystemTime};

use temporalio_client::{
    Client, NamespacedClient as _, grpc::WorkflowService, tonic::IntoRequest as _,
};
use temporalio_common::protos::temporal::api::{
    enums::v1::TaskQueueType,
    taskqueue::v1::{PollerInfo, TaskQueue},
    workflowservice::v1::DescribeTaskQueueRequest,
};

/// Longest time for one look.
pub(super) const LOOK_TIMEOUT: Duration = Duration::from_secs(2);

/// How long ago a worker that is there asked for work at most: it asks again each minute.
const POLL_AGE_MAX: Duration = Duration::from_secs(70);

/// Whether a worker serves a queue; `None` where Temporal can't say.
pub(super) async fn is_served(client: &Client, queue: &str, kind: TaskQueueType) -> Option<bool> {
    let mut client = client.clone();
    let request = DescribeTaskQueueRequest {
        namespace: client.namespace(),
        task_queue: Some(TaskQueue {
            name: queue.to_owned(),
            ..TaskQueue::default()
        }),
        task_queue_type: kind.into(),
        ..DescribeTaskQueueRequest::default()
    };
    let described = WorkflowService::describe_task_queue(&mut client, request.into_request());
    let described = tokio::time::timeout(LOOK_TIMEOUT, described)
        .await
        .ok()?
        .ok()?;
    Some(described.into_inner().pollers.iter().any(is_there))
}

/// Whether a worker that once asked for work is still there. The server remembers it for minutes.
fn is_there(poller: &PollerInfo) -> bool {
    let asked = poller
        .last_access_time
        .and_then(|time| SystemTime::try_from(time).ok());
    // A clock that differs from the server's must not hide a worker.
    asked.is_none_or(|asked| {
        asked.elapsed().is_ok_and(|age| age <= POLL_AGE_MAX) || asked > SystemTime::now()
    })
}
