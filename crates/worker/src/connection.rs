//! Connecting, patiently.

use std::{future::Future, time::Duration};

use anyhow::anyhow;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, Url,
    envconfig::LoadClientConfigProfileOptions,
};

use crate::{config::TemporalConfig, failure_converter::data_converter, shutdown::Shutdown};

/// Longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Longest time of one attempt to reach the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How to reach Temporal: the settings of Temporal's own tools, overridden by ours.
pub(crate) struct TemporalTarget {
    connection: ConnectionOptions,
    client: ClientOptions,
}

impl TemporalTarget {
    /// Reads the settings. Nothing is connected yet.
    pub(crate) fn resolve(config: &TemporalConfig) -> anyhow::Result<Self> {
        let (mut connection, loaded) =
            ClientOptions::load_from_config(LoadClientConfigProfileOptions::default())
                .map_err(|error| anyhow!("Temporal settings can't be used: {error}"))?;
        if let Some(address) = &config.address {
            let tls = connection.tls_options.is_some() || connection.api_key.is_some();
            connection.target = parse_address(address, tls)?;
        }
        connection.identity = format!("notekeeper@{}", std::process::id());
        connection.connect_timeout.get_or_insert(CONNECT_TIMEOUT);
        let namespace = config.namespace.clone().unwrap_or(loaded.namespace);
        let client = ClientOptions::new(namespace)
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
        let connection = Connection::connect(self.connection.clone()).await?;
        Ok(Client::new(connection, self.client.clone())?)
    }
}

/// Reads `host:port` or a URL.
fn parse_address(address: &str, tls: bool) -> anyhow::Result<Url> {
    if let Ok(url) = Url::parse(address)
        && url.has_host()
    {
        return Ok(url);
    }
    let scheme = if tls { "https" } else { "http" };
    Url::parse(&format!("{scheme}://{address}"))
        .map_err(|error| anyhow!("Temporal address `{address}` can't be used: {error}"))
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
