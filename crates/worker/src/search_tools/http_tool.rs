//! A search tool behind an HTTP endpoint.

use std::{fmt, net::IpAddr, time::Duration};

use async_trait::async_trait;
use notekeeper_models::retry_after;
use notekeeper_recall::{SearchTool, SourceCall, ToolCallError};
use reqwest::{
    Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde_json::{Map, Value};

use crate::http_client::{cause, http_client};

/// Most bytes that are read of an answer: four times what a query may return.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A tool that is called by `POST` with its arguments as a JSON object, and answers with JSON or with
/// plain text.
///
/// One call is one request: nothing is retried here, and no redirect is followed. No message says
/// anything of address, headers, arguments or answer.
pub(super) struct HttpTool {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    scope_arg: Option<String>,
    timeout: Duration,
}

impl fmt::Debug for HttpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpTool")
    }
}

impl HttpTool {
    /// Prepares the client. Nothing is connected yet.
    pub(super) fn new(url: &str, headers: HeaderMap, timeout: Duration) -> Result<Self, String> {
        let url = parsed(url)?;
        let client = http_client(&url, timeout).map_err(|error| format!("{error:#}"))?;
        Ok(Self {
            client,
            url,
            headers,
            scope_arg: None,
            timeout,
        })
    }

    /// The same, which gets the path of each call's scope as this argument.
    pub(super) fn with_scope_arg(mut self, scope_arg: Option<String>) -> Self {
        self.scope_arg = scope_arg;
        self
    }

    /// Whether what is sent leaves the machine without TLS.
    pub(super) fn goes_in_clear(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<IpAddr>();
        let is_local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        self.url.scheme() == "http" && !is_local
    }

    async fn answer(&self, arguments: &Map<String, Value>) -> Result<Value, ToolCallError> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .json(arguments);
        let answered = request.send().await;
        let mut response = answered.map_err(|error| self.of_http(error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(of_status(status, response.headers()));
        }
        let charset = charset_of_text(&response);
        let body = self.read(&mut response).await?;
        if let Some(charset) = charset {
            return text(&body, &charset).map(Value::String);
        }
        serde_json::from_slice(&body).map_err(|_| {
            refused("its answer is neither JSON nor plain text; check the address".to_owned())
        })
    }

    async fn read(&self, response: &mut Response) -> Result<Vec<u8>, ToolCallError> {
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.of_http(error))?
        {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(refused(format!(
                    "its answer has more than {ANSWER_BYTES_MAX} bytes; let it answer less"
                )));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn of_http(&self, error: reqwest::Error) -> ToolCallError {
        let error = error.without_url();
        if error.is_builder() {
            return refused("the request can't be sent".to_owned());
        }
        ToolCallError::unavailable(match (error.is_timeout(), error.is_connect()) {
            (true, true) => "it can't be reached in time".to_owned(),
            (true, false) => format!("no whole answer within {:?}", self.timeout),
            (false, true) => format!("it can't be reached: {}", cause(&error)),
            (false, false) => "the connection broke".to_owned(),
        })
    }
}

#[async_trait]
impl SearchTool for HttpTool {
    async fn call(
        &self,
        mut arguments: Map<String, Value>,
        call: &SourceCall<'_>,
    ) -> Result<Value, ToolCallError> {
        if let Some(name) = &self.scope_arg {
            // Last: a condition of the query is no scope.
            arguments.insert(name.clone(), Value::from(call.scope.as_str()));
        }
        self.answer(&arguments).await
    }
}

/// An address that can be used. A wrong one isn't quoted: it may hold a password.
fn parsed(given: &str) -> Result<Url, String> {
    let Ok(url) = Url::parse(given.trim()) else {
        return Err("`url` is no URL; it looks like `https://search.internal/query`".to_owned());
    };
    if !["http", "https"].contains(&url.scheme()) {
        return Err("`url` must begin with `http://` or `https://`".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "`url` holds a user name or password; remove it, and send a header that `headers_env` names"
                .to_owned(),
        );
    }
    if url.fragment().is_some() {
        return Err("`url` holds `#`; give what stands before".to_owned());
    }
    Ok(url)
}

/// The charset of an answer of plain text, in lower case, empty where it names none; `None` where it is
/// no plain text.
fn charset_of_text(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?;
    let kind = kind.to_str().ok()?.to_ascii_lowercase();
    let mut parts = kind.split(';').map(str::trim);
    let is_text = ["text/plain", "text/markdown"].contains(&parts.next()?);
    let charset = parts.find_map(|part| {
        let (name, charset) = part.split_once('=')?;
        (name.trim() == "charset").then(|| charset.trim().trim_matches('"').to_owned())
    });
    is_text.then(|| charset.unwrap_or_default())
}

/// The text of an answer. One that is in another charset than it is read in would be another text.
fn text(body: &[u8], charset: &str) -> Result<String, ToolCallError> {
    match charset {
        "" | "utf-8" | "utf8" | "us-ascii" | "ascii" => {
            Ok(String::from_utf8_lossy(body).into_owned())
        }
        // Its bytes are the first 256 characters.
        "iso-8859-1" | "iso8859-1" | "latin1" => Ok(body.iter().copied().map(char::from).collect()),
        _ => Err(refused(
            "its answer is plain text in a charset that can't be read here; let it answer in UTF-8"
                .to_owned(),
        )),
    }
}

/// An answer whose status tells of a failure.
fn of_status(status: StatusCode, headers: &HeaderMap) -> ToolCallError {
    let code = status.as_u16();
    match code {
        408 | 425 | 429 | 500.. => ToolCallError::Unavailable {
            message: format!("it answers {code}"),
            retry_after: retry_after(headers),
        },
        300..=399 => refused(format!(
            "it answers {code}; give the address that it redirects to as `url`"
        )),
        401 | 403 => refused(format!("it answers {code}; check `headers_env`")),
        404 | 405 => refused(format!("it answers {code}; check `url`")),
        _ => refused(format!("it answers {code}; its own log may say why")),
    }
}

fn refused(why: String) -> ToolCallError {
    ToolCallError::Refused(why)
}
