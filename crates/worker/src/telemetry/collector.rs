//! The HTTP client that sends spans to a collector.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

use crate::{
    config::CollectorConfig,
    http_client::{cause, http_client},
};

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
        Ok(Self {
            client: http_client(&config.url, config.timeout)?,
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
