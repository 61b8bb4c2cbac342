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

use super::failure::{self, Asked};
use crate::ModelError;

/// Largest part of an error's text that is read, in bytes: its code stands near the beginning.
const ERROR_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone)]
pub(super) struct Transport {
    client: Client,
    timeout: Duration,
    asked: Asked,
}

impl Transport {
    /// `timeout` is the client's own, for messages.
    pub(super) fn new(client: Client, timeout: Duration, asked: Asked) -> Self {
        Self {
            client,
            timeout,
            asked,
        }
    }

    async fn exchange(self, request: HttpRequestFactory) -> Result<Response, ModelError> {
        let request = request.build().await;
        let request = request.map_err(|error| failure::of_client(error, self.asked))?;
        let answered = self.client.execute(request).await;
        let mut response = answered.map_err(|error| failure::of_http(&error, self.timeout))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.failed(response).await);
        }
        let body = read(&mut response, self.asked.answer_bytes_max())
            .await
            .map_err(|error| failure::of_http(&error, self.timeout))?
            .ok_or_else(|| self.asked.too_large())?;
        // async-openai would log an answer that it can't read.
        serde_json::from_slice::<Value>(&body).map_err(|_| self.asked.unreadable())?;
        Ok(http::Response::new(body).into())
    }

    async fn failed(&self, mut response: Response) -> ModelError {
        let status = response.status();
        let retry_after = failure::retry_after(response.headers());
        // Without a readable text the status alone has to do.
        let body = match status {
            StatusCode::NOT_MODIFIED => None,
            _ => read(&mut response, ERROR_BYTES_MAX).await.ok().flatten(),
        };
        let error = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
        failure::of_status(status.as_u16(), error.as_ref(), retry_after, self.asked)
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
