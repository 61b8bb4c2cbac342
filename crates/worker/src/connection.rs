//! Connecting, patiently.

use std::{
    collections::hash_map::RandomState,
    future::Future,
    hash::{BuildHasher as _, Hasher as _},
    time::Duration,
};

use anyhow::{anyhow, bail};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, NamespacedClient as _, Url,
    grpc::WorkflowService,
    tonic::{Code, IntoRequest as _},
};
use temporalio_common::{
    envconfig::{LoadClientConfigProfileOptions, load_client_config_profile},
    protos::temporal::api::workflowservice::v1::DescribeNamespaceRequest,
};

use crate::{config::TemporalConfig, failure_converter::data_converter, shutdown::Shutdown};

/// Longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Longest time of one attempt to reach the server, its first answer included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How to reach Temporal: the settings of Temporal's own tools, overridden by ours.
pub(crate) struct TemporalTarget {
    connection: ConnectionOptions,
    client: ClientOptions,
}

impl TemporalTarget {
    /// Reads the settings. Nothing is connected yet.
    pub(crate) fn resolve(config: &TemporalConfig) -> anyhow::Result<Self> {
        let mut profile =
            load_client_config_profile(LoadClientConfigProfileOptions::default(), None)
                .map_err(|error| anyhow!("Temporal settings can't be used: {error}"))?;
        // Before anything is made of them: a setting of ours goes before a broken one of theirs.
        if config.address.is_some() {
            profile.address.clone_from(&config.address);
        }
        if config.namespace.is_some() {
            profile.namespace.clone_from(&config.namespace);
        }
        let address = profile.address.clone();
        let namespace = profile.namespace.clone();
        let mut connection = ConnectionOptions::try_from(profile).map_err(|error| {
            let address = address.map_or_else(String::new, |address| format!(" at `{address}`"));
            anyhow!("Temporal{address} can't be used: {error}")
        })?;
        if !connection.target.username().is_empty() || connection.target.password().is_some() {
            bail!(
                "the Temporal address holds a user name or password, which Temporal doesn't take; \
                 remove it, and give an API key in TEMPORAL_API_KEY"
            );
        }
        connection.identity = identity();
        connection.connect_timeout.get_or_insert(CONNECT_TIMEOUT);
        let client = ClientOptions::new(namespace.unwrap_or_else(|| "default".to_owned()))
            .data_converter(data_converter())
            .build();
        Ok(Self { connection, client })
    }

    /// The server's address, for messages.
    pub(crate) fn address(&self) -> &Url {
        &self.connection.target
    }

    /// Connects once.
    pub(crate) async fn connect(&self) -> anyhow::Result<Client> {
        // The time-out of the connection doesn't cover the server's first answer.
        let connecting = Connection::connect(self.connection.clone());
        let connection = tokio::time::timeout(CONNECT_TIMEOUT, connecting)
            .await
            .map_err(|_| anyhow!("no answer within {CONNECT_TIMEOUT:?}"))??;
        Ok(Client::new(connection, self.client.clone())?)
    }
}

/// Fails where the server is sure that the client's Temporal namespace doesn't exist. Workers would
/// say so as well, after they said that they are up. Anything else is left to them.
pub(crate) async fn check_namespace(client: &Client) -> anyhow::Result<()> {
    let namespace = client.namespace();
    let request = DescribeNamespaceRequest {
        namespace: namespace.clone(),
        ..DescribeNamespaceRequest::default()
    };
    let mut client = client.clone();
    let described = WorkflowService::describe_namespace(&mut client, request.into_request());
    match tokio::time::timeout(CONNECT_TIMEOUT, described).await {
        Ok(Err(status)) if status.code() == Code::NotFound => bail!(
            "Temporal has no namespace `{namespace}`; set TEMPORAL_NAMESPACE, or create it with \
             `temporal operator namespace create`"
        ),
        _ => Ok(()),
    }
}

/// Under which name this process appears in histories and on task queues: `process@host`, as with
/// Temporal's SDKs, and a part that another start doesn't have, since in a container every process
/// has the same number and a restarted one also the same host.
fn identity() -> String {
    // The one source of randomness in the standard library.
    let start = RandomState::new().build_hasher().finish();
    let host = gethostname::gethostname();
    let host = host.to_string_lossy();
    format!("{}@{host}@{:08x}", std::process::id(), start >> 32)
}

/// Tries until it succeeds or a stop is asked for (`None`). Each failed attempt is said once.
pub(crate) async fn patiently<T, E, F>(
    what: &str,
    shutdown: &Shutdown,
    mut attempt: impl FnMut() -> F,
) -> Option<T>
where
    E: std::fmt::Display,
    F: Future<Output = Result<T, E>>,
{
    let mut backoff = Duration::from_millis(500);
    loop {
        let result = tokio::select! {
            result = attempt() => result,
            () = shutdown.asked() => return None,
        };
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        tracing::warn!("{what} can't be reached, trying again in {backoff:?}: {error:#}");
        tokio::select! {
            () = tokio::time::sleep(backoff) => {}
            () = shutdown.asked() => return None,
        }
        backoff = (backoff * 2).min(BACKOFF_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_of_a_worker_has_an_identity_of_its_own_with_process_and_host() {
        let (one, other) = (identity(), identity());
        assert_ne!(one, other);
        let parts: Vec<&str> = one.split('@').collect();
        let [process, host, start] = parts.as_slice() else {
            panic!("{one}");
        };
        assert_eq!(*process, std::process::id().to_string());
        assert_eq!(*host, gethostname::gethostname().to_string_lossy());
        assert_eq!(start.len(), 8, "{one}");
    }
}
