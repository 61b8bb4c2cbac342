//! Fetching a history from a server.

use std::time::Duration;

use temporalio_client::{
    Client, NamespacedClient as _, UntypedWorkflow, WorkflowDescribeOptions, WorkflowExecutionInfo,
    WorkflowFetchHistoryOptions, WorkflowHandle, errors::WorkflowInteractionError,
};
use temporalio_common::protos::temporal::api::history::v1::History;

use crate::connection::is_denied;

/// Longest time for all pages of one history. The longest that Temporal allows, 50 MB, takes
/// seconds.
const FETCH_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a history can't be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error(
        "there is no such {what} in Temporal namespace `{namespace}`, or it was removed after the \
         namespace's retention; `temporal workflow list` says which there are"
    )]
    Unknown {
        what: &'static str,
        namespace: String,
    },
    #[error(
        "Temporal refuses to show it in Temporal namespace `{namespace}`: {message}; the API key or \
         certificate needs the permission to read there"
    )]
    NotPermitted { namespace: String, message: String },
    #[error("Temporal didn't send it within {FETCH_TIMEOUT:?}")]
    Silent,
    #[error("Temporal can't send it: {0}")]
    Other(String),
}

/// A history and the run that it is of.
pub(crate) struct Fetched {
    pub(crate) run_id: String,
    pub(crate) history: History,
}

/// Fetches the history of a run, all pages; of the newest run where none is named.
pub(crate) async fn fetch_history(
    client: &Client,
    workflow_id: &str,
    run_id: Option<&str>,
) -> Result<Fetched, FetchError> {
    let explain = |error| explain(error, run_id.is_some(), client.namespace());
    let fetching = async {
        // The newest run may end while its pages are fetched, and be another one then.
        let run_id = match run_id {
            Some(run_id) => run_id.to_owned(),
            None => handle(client, workflow_id, None)
                .describe(WorkflowDescribeOptions::default())
                .await?
                .run_id()
                .to_owned(),
        };
        let events = handle(client, workflow_id, Some(&run_id))
            .fetch_history(WorkflowFetchHistoryOptions::default())
            .into_events()
            .await?;
        let history = History { events };
        Ok(Fetched { run_id, history })
    };
    match tokio::time::timeout(FETCH_TIMEOUT, fetching).await {
        Ok(fetched) => fetched.map_err(explain),
        Err(_) => Err(FetchError::Silent),
    }
}

fn handle(
    client: &Client,
    workflow_id: &str,
    run_id: Option<&str>,
) -> WorkflowHandle<Client, UntypedWorkflow> {
    WorkflowExecutionInfo::builder()
        .namespace(client.namespace())
        .workflow_id(workflow_id)
        .maybe_run_id(run_id.map(str::to_owned))
        .build()
        .bind_untyped(client.clone())
}

fn explain(error: WorkflowInteractionError, names_run: bool, namespace: String) -> FetchError {
    match error {
        WorkflowInteractionError::NotFound(_) => FetchError::Unknown {
            what: if names_run { "run" } else { "workflow" },
            namespace,
        },
        WorkflowInteractionError::Rpc(status) if is_denied(&status) => FetchError::NotPermitted {
            namespace,
            message: status.message().to_owned(),
        },
        WorkflowInteractionError::Rpc(status) => FetchError::Other(status.message().to_owned()),
        other => FetchError::Other(other.to_string()),
    }
}
