//! One HTTP exchange: what async-openai sends with, in the place of its own transport, which
//! retries, reads answers of any size, and logs those that it can't read.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use async_openai::{error::OpenAIError, middleware::HttpRequestFactory};
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use tower_service::Service;

use super::failure;
use crate::ModelError;

/// Largest answer that is read, in bytes. A result of an activity may have one MiB; what is said
/// around it, and how it is escaped, is given as much again several times.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Largest part of an error's text that is read, in bytes: its code stands near the beginning.
const ERROR_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone)]
pub(super) struct Transport {
    client: Client,
    timeout: Duration,
}

impl Transport {
    /// `timeout` is the client's own, for messages.
    pub(super) fn new(client: Client, timeout: Duration) -> Self {
        Self { client, timeout }
    }

    async fn exchange(self, request: HttpRequestFactory) -> Result<Response, ModelError> {
        let request = request.build().await.map_err(failure::of_client)?;
        let answered = self.client.execute(request).await;
        let mut response = answered.map_err(|error| failure::of_http(&error, self.timeout))?;
        let status = response.status();
        if !status.is_success() {
            return Err(Self::failed(response).await);
        }
        let body = read(&mut response, ANSWER_BYTES_MAX)
            .await
            .map_err(|error| failure::of_http(&error, self.timeout))?
            .ok_or_else(|| failure::too_large(ANSWER_BYTES_MAX))?;
        // async-openai would log an answer that it can't read.
        serde_json::from_slice::<Value>(&body).map_err(|_| failure::no_completion())?;
        Ok(http::Response::new(body).into())
    }

    async fn failed(mut response: Response) -> ModelError {
        let status = response.status();
        let retry_after = failure::retry_after(response.headers());
        // Without a readable text the status alone has to do.
        let body = match status {
            StatusCode::NOT_MODIFIED => None,
            _ => read(&mut response, ERROR_BYTES_MAX).await.ok().flatten(),
        };
        let error = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
        failure::of_status(status.as_u16(), error.as_ref(), retry_after)
    }
}

impl Service<HttpRequestFactory> for Transport {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        let exchange = self.clone().exchange(request);
        Box::pin(async {
            exchange
                .await
                .map_err(|error| OpenAIError::Boxed(error.into()))
        })
    }
}

/// The whole body; `None` where it is larger than that.
async fn read(response: &mut Response, bytes_max: usize) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > bytes_max {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
