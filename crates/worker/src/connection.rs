//! Connecting, patiently.

use std::{future::Future, time::Duration};

use anyhow::{anyhow, bail};
use serde_json::{Value, json};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, NamespacedClient as _, Url,
    errors::ClientConnectError,
    grpc::WorkflowService,
    tonic::{Code, IntoRequest as _, Status},
};
use temporalio_common::{
    envconfig::{LoadClientConfigProfileOptions, load_client_config_profile},
    protos::temporal::api::workflowservice::v1::DescribeNamespaceRequest,
};

use crate::{
    config::TemporalConfig, failure_converter::data_converter, output::CodedError, random,
    shutdown::Shutdown,
};

/// Longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Longest time of one attempt to reach the server, its first answer included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The address that is meant where none is given.
const ADDRESS_DEFAULT: &str = "http://localhost:7233/";

/// Port of Temporal's front end, at which every client looks for it.
pub(crate) const PORT: u16 = 7233;

/// Of calls that never came to a server.
const NO_TEMPORAL: &str = "NoTemporal";

/// How to reach Temporal: the settings of Temporal's own tools, overridden by ours.
#[derive(Clone)]
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
        if let Some(address) = &mut profile.address {
            *address = with_port(address)?;
        }
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
        if !matches!(connection.target.scheme(), "http" | "https") {
            bail!(
                "the Temporal address `{}` can't be used; give `host:port`, or a URL with http:// or \
                 https://",
                connection.target
            );
        }
        connection.connect_timeout.get_or_insert(CONNECT_TIMEOUT);
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        Ok(Self::new(connection, &namespace))
    }

    /// A server of ours on this machine, whatever the settings of Temporal's own tools.
    pub(crate) fn local(port: u16, namespace: &str) -> anyhow::Result<Self> {
        let url = Url::parse(&format!("http://127.0.0.1:{port}"))?;
        let connection = ConnectionOptions::new(url)
            .connect_timeout(CONNECT_TIMEOUT)
            .build();
        Ok(Self::new(connection, namespace))
    }

    fn new(mut connection: ConnectionOptions, namespace: &str) -> Self {
        connection.identity = identity();
        let client = ClientOptions::new(namespace)
            .data_converter(data_converter())
            .build();
        Self { connection, client }
    }

    /// The server's address, for messages.
    pub(crate) fn address(&self) -> &Url {
        &self.connection.target
    }

    /// The Temporal namespace.
    pub(crate) fn namespace(&self) -> &str {
        &self.client.namespace
    }

    /// What can be told of it, by keys as in the configuration file, each with whether it is as it
    /// would be without any setting.
    pub(crate) fn settings(&self) -> Vec<(&'static str, Value, bool)> {
        let address = self.connection.target.as_str();
        let tls = self.connection.tls_options.is_some();
        let mut settings = vec![
            (
                "temporal.address",
                json!(address),
                address == ADDRESS_DEFAULT,
            ),
            (
                "temporal.namespace",
                json!(self.namespace()),
                self.namespace() == "default",
            ),
            ("temporal.tls", json!(tls), !tls),
        ];
        if self.connection.api_key.is_some() {
            settings.push(("temporal.api_key", json!("set"), false));
        }
        settings
    }

    /// Connects once, for somebody who waits, and sees that the Temporal namespace is there. Fails with
    /// what to do, under the code [`NO_TEMPORAL`].
    pub(crate) async fn reach(&self) -> anyhow::Result<Client> {
        let client = self.connect().await.map_err(|error| {
            let address = self.address();
            let message = match error.downcast_ref::<ClientConnectError>() {
                Some(ClientConnectError::SystemInfoCallError(status)) if is_denied(status) => {
                    format!(
                        "Temporal at {address} doesn't admit this client ({}); set \
                         TEMPORAL_API_KEY, or TEMPORAL_TLS_… to its certificate",
                        status.message()
                    )
                }
                _ => format!(
                    "Temporal at {address} can't be reached ({}); run `notekeeper dev`, or set \
                     TEMPORAL_ADDRESS or --temporal-address to where it is",
                    error.root_cause()
                ),
            };
            let code = NO_TEMPORAL.to_owned();
            CodedError { code, message }
        })?;
        check_namespace(&client).await?;
        Ok(client)
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

/// The address with Temporal's port where it has none: the port that belongs to its scheme, which
/// would be taken otherwise, is never that of a Temporal server.
fn with_port(address: &str) -> anyhow::Result<String> {
    let host = address.find("://").map_or(0, |at| at + "://".len());
    let end = address[host..]
        .find(['/', '?', '#'])
        .map_or(address.len(), |at| host + at);
    let (front, path) = address.split_at(end);
    // What comes after the host's name; the colons of an IPv6 address stand in brackets.
    let after_name = match front[host..].rfind([']', '@']) {
        Some(at) => &front[host + at + 1..],
        None => &front[host..],
    };
    if front.len() == host {
        bail!("Temporal at `{address}` can't be used: that names no host; give `host:port`");
    }
    Ok(match after_name.rsplit_once(':') {
        None => format!("{front}:{PORT}{path}"),
        Some((_, "")) => format!("{front}{PORT}{path}"),
        Some(_) => address.to_owned(),
    })
}

/// Whether the server says that this client may not do what it asked for.
pub(crate) fn is_denied(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::PermissionDenied | Code::Unauthenticated
    )
}

/// Fails where the server is sure that the client's Temporal namespace doesn't exist. Workers would
/// say so as well, after they said that they are up. Anything else is left to them.
pub(crate) async fn check_namespace(client: &Client) -> anyhow::Result<()> {
    match describe_namespace(client).await {
        Err(NamespaceError::Missing(error)) => Err(error),
        Ok(()) | Err(NamespaceError::Unknown(_)) => Ok(()),
    }
}

/// Why a Temporal namespace can't be described.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NamespaceError {
    /// The server is sure that there is none.
    #[error(transparent)]
    Missing(anyhow::Error),
    /// The server doesn't say.
    #[error(transparent)]
    Unknown(anyhow::Error),
}

/// Asks the server about the client's Temporal namespace.
pub(crate) async fn describe_namespace(client: &Client) -> Result<(), NamespaceError> {
    let namespace = client.namespace();
    let request = DescribeNamespaceRequest {
        namespace: namespace.clone(),
        ..DescribeNamespaceRequest::default()
    };
    let mut client = client.clone();
    let described = WorkflowService::describe_namespace(&mut client, request.into_request());
    match tokio::time::timeout(CONNECT_TIMEOUT, described).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(status)) if status.code() == Code::NotFound => {
            Err(NamespaceError::Missing(anyhow!(
                "Temporal has no namespace `{namespace}`; set TEMPORAL_NAMESPACE, or create it with \
                 `temporal operator namespace create`"
            )))
        }
        Ok(Err(status)) => Err(NamespaceError::Unknown(anyhow!(
            "the Temporal namespace `{namespace}` can't be looked at: {}",
            status.message()
        ))),
        Err(_) => Err(NamespaceError::Unknown(anyhow!(
            "no answer about the Temporal namespace within {CONNECT_TIMEOUT:?}"
        ))),
    }
}

/// Under which name this process appears in histories and on task queues: `process@host`, as with
/// Temporal's SDKs, and a part that another start doesn't have, since in a container every process
/// has the same number and a restarted one also the same host.
fn identity() -> String {
    let start = random::number();
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
    fn an_address_without_a_port_gets_that_of_temporal() {
        let addresses = [
            ("temporal", "http://temporal:7233"),
            ("temporal:", "http://temporal:7233"),
            ("temporal:7000", "http://temporal:7000"),
            ("127.0.0.1", "http://127.0.0.1:7233"),
            ("[::1]", "http://[::1]:7233"),
            ("[::1]:7000", "http://[::1]:7000"),
            ("http://temporal", "http://temporal:7233"),
            ("http://temporal/", "http://temporal:7233"),
            ("https://temporal", "https://temporal:7233"),
            ("https://temporal:7000/", "https://temporal:7000"),
            // Those of the schemes, where somebody means them.
            ("http://temporal:80", "http://temporal"),
            ("https://temporal:443", "https://temporal"),
        ];
        for (given, meant) in addresses {
            let config = TemporalConfig {
                address: Some(given.to_owned()),
                namespace: None,
            };
            let target = TemporalTarget::resolve(&config).expect("a usable address");
            let meant = Url::parse(meant).expect("a URL");
            assert_eq!(*target.address(), meant, "{given}");
        }
    }

    #[test]
    fn an_address_that_names_no_server_is_refused_with_what_it_says() {
        for address in [
            "",
            "http://",
            "::1",
            "temporal:port",
            "ftp://temporal:7233",
            "a b",
        ] {
            let config = TemporalConfig {
                address: Some(address.to_owned()),
                namespace: None,
            };
            let refused = TemporalTarget::resolve(&config).err().expect("refused");
            let said = format!("{refused:#}");
            assert!(
                said.contains("Temporal") && said.contains(address),
                "{said}"
            );
            assert!(said.contains("can't be used"), "{said}");
        }
    }

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
