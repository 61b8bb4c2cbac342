//! The HTTP client that sends spans to a collector.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use reqwest::redirect;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::runtime::Handle;

use crate::config::CollectorConfig;

/// Longest time until a connection stands, name resolution and TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Most bytes that are read of an answer. A collector's has some ten.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Sends what the exporter's thread hands over, in the runtime of the worker. Says once that a
/// collector can't be reached, and once that it can again.
#[derive(Debug)]
pub(super) struct Collector {
    client: reqwest::Client,
    runtime: Handle,
    url: String,
    is_away: AtomicBool,
}

impl Collector {
    /// A client in the runtime that this is called in. Nothing is sent.
    pub(super) fn new(config: &CollectorConfig) -> anyhow::Result<Self> {
        let mut client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT.min(config.timeout))
            .timeout(config.timeout)
            // A redirected request would take its headers, keys among them, to another host.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("notekeeper/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls(config.url.scheme() == "https")?);
        if is_local(config) {
            client = client.no_proxy();
        }
        Ok(Self {
            client: client
                .build()
                .map_err(reqwest::Error::without_url)
                .context("no HTTP client can be made")?,
            runtime: Handle::try_current()?,
            url: config.url.to_string(),
            is_away: AtomicBool::new(false),
        })
    }

    fn report(&self, sent: &Result<(), String>) {
        let was_away = self.is_away.swap(sent.is_err(), Ordering::Relaxed);
        match sent {
            Err(why) if !was_away => tracing::warn!(
                "spans can't be sent to {} ({why}); work goes on, and they are lost until they can",
                self.url
            ),
            Ok(()) if was_away => tracing::info!("spans are sent to {} again", self.url),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sending = self.runtime.spawn(send(self.client.clone(), request));
        // The runtime has ended: so has the worker, and nobody listens.
        let sent = sending.await?;
        self.report(&sent);
        sent?;
        Ok(Response::new(Bytes::new()))
    }
}

/// Sends a request and reads the answer, so that the connection can be used again.
async fn send(client: reqwest::Client, request: Request<Bytes>) -> Result<(), String> {
    let request = reqwest::Request::try_from(request).map_err(|error| cause(&error))?;
    let mut answer = client
        .execute(request)
        .await
        .map_err(|error| cause(&error))?;
    let mut bytes = 0;
    while bytes < ANSWER_BYTES_MAX
        && let Some(part) = answer.chunk().await.map_err(|error| cause(&error))?
    {
        bytes += part.len();
    }
    match answer.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("it answers {status}")),
    }
}

/// What an error comes from in the end: those around it say that a request failed.
fn cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Whether the collector is on this machine, where no proxy leads to.
fn is_local(config: &CollectorConfig) -> bool {
    let host = config.url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// TLS with a provider of its own: the process may have none by default, or another one.
fn tls(is_needed: bool) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if is_needed {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            bail!(
                "this machine has no usable root certificates, which a collector behind `https` \
                 needs; install them, or name them in SSL_CERT_FILE"
            );
        }
    }
    Ok(
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth(),
    )
}
