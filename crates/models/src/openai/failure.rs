//! Failures, told apart. Every text is ours: the endpoint's may quote the request or the key.

use std::{
    error::Error,
    io,
    time::{Duration, SystemTime},
};

use async_openai::error::OpenAIError;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::ModelError;

/// What an endpoint is asked for: failures say it in their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A chat completion.
    Completion,
    /// Embeddings.
    Embeddings,
}

impl Asked {
    /// Largest answer that is read, in bytes. A result of an activity may have one MiB; what is said
    /// around a completion, and how it is escaped, is given as much again several times. 256
    /// embeddings of 4,096 numbers have a million of those, each of up to some 24 characters.
    pub(super) fn answer_bytes_max(self) -> usize {
        match self {
            Self::Completion => 8 * 1024 * 1024,
            Self::Embeddings => 32 * 1024 * 1024,
        }
    }

    /// An answer with a good status that isn't what was asked for.
    pub(super) fn unreadable(self) -> ModelError {
        refused(match self {
            Self::Completion => "the endpoint's answer is no chat completion; check the base URL",
            Self::Embeddings => "the endpoint's answer holds no embeddings; check the base URL",
        })
    }

    /// An answer that isn't read to its end.
    pub(super) fn too_large(self) -> ModelError {
        let bytes_max = self.answer_bytes_max();
        ModelError::Refused(match self {
            Self::Completion => format!(
                "the answer has more than {bytes_max} bytes; ask for less at once, or set \
                 `max_completion_tokens`"
            ),
            Self::Embeddings => {
                format!("the answer has more than {bytes_max} bytes; check the base URL")
            }
        })
    }

    fn too_long(self) -> &'static str {
        match self {
            Self::Completion => "the conversation is too long for the model; begin a new one",
            Self::Embeddings => "a text is too long for the model; give shorter ones",
        }
    }

    fn too_large_for_endpoint(self) -> &'static str {
        match self {
            Self::Completion => "the conversation is too long for it",
            Self::Embeddings => "the texts are too long for it",
        }
    }
}

/// Longest wait that is passed on. An endpoint may ask for hours; a person waits for the answer.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// Codes that endpoints give with an error, and that say more than the status. Others aren't
/// repeated: they may hold anything.
const KNOWN_CODES: [&str; 13] = [
    "billing_hard_limit_reached",
    "content_filter",
    "content_policy_violation",
    "context_length_exceeded",
    "insufficient_quota",
    "invalid_api_key",
    "invalid_request_error",
    "model_not_found",
    "overloaded_error",
    "rate_limit_exceeded",
    "string_above_max_length",
    "unsupported_parameter",
    "unsupported_value",
];

/// Codes of a 429 that no wait helps against.
const QUOTA_CODES: [&str; 2] = ["insufficient_quota", "billing_hard_limit_reached"];

/// What async-openai ends with. Our transport's failures come back through it.
pub(super) fn of_client(error: OpenAIError, asked: Asked) -> ModelError {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<ModelError>() {
            Ok(error) => *error,
            Err(_) => refused("the request can't be sent"),
        },
        OpenAIError::JSONDeserialize(..) => asked.unreadable(),
        _ => refused("the request can't be sent"),
    }
}

/// A request that got no whole answer.
pub(super) fn of_http(error: &reqwest::Error, timeout: Duration) -> ModelError {
    if error.is_builder() {
        return refused("the request can't be sent");
    }
    ModelError::unavailable(match (error.is_timeout(), error.is_connect()) {
        (true, true) => "the endpoint can't be reached in time".to_owned(),
        (true, false) => format!("no whole answer within {timeout:?}"),
        (false, true) => format!("the endpoint can't be reached: {}", why(error)),
        (false, false) => format!("the connection broke: {}", why(error)),
    })
}

/// What the innermost cause is, in words that hold nothing of the request.
fn why(error: &reqwest::Error) -> String {
    let mut found = None;
    for cause in std::iter::successors(error.source(), |cause| cause_of(*cause)) {
        if cause.is::<rustls::Error>() {
            return "TLS failed; check the endpoint's certificate, and that it speaks TLS"
                .to_owned();
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            found = Some(error.kind())
                .filter(|kind| *kind != io::ErrorKind::Other)
                .or(found);
        }
    }
    found.map_or_else(
        || "the host can't be found, or hung up".to_owned(),
        |kind| kind.to_string(),
    )
}

/// The next cause. The source of an I/O error is that of the error within, which it passes over.
fn cause_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(within) => Some(within),
        None => error.source(),
    }
}

/// An answer whose status tells of a failure. `body` is its JSON, if it has one.
pub(super) fn of_status(
    status: u16,
    body: Option<&Value>,
    retry_after: Option<Duration>,
    asked: Asked,
) -> ModelError {
    let code = body.and_then(known_code);
    let is_quota = code.is_some_and(|code| QUOTA_CODES.contains(&code));
    let told = match code {
        Some(code) => format!("the endpoint answered {status} `{code}`"),
        None => format!("the endpoint answered {status}"),
    };
    let remedy = match status {
        _ if is_quota => "the account's quota is used up",
        408 | 409 | 425 | 429 | 500.. => {
            return ModelError::Unavailable {
                message: told,
                retry_after,
            };
        }
        200 => "its answer tells of an error; its own log may say more",
        300..=399 => "give the address that it redirects to as the base URL",
        401 | 403 => "check the API key",
        404 | 405 => "check the base URL and the name of the model",
        413 => asked.too_large_for_endpoint(),
        _ if code == Some("context_length_exceeded") => asked.too_long(),
        _ => "it doesn't take this request; its own log may say why",
    };
    ModelError::Refused(format!("{told}; {remedy}"))
}

/// How long an endpoint asks by these headers to wait: seconds or a date, at most a minute. Milliseconds go first,
/// where an endpoint gives both, being more exact.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok();
        number.filter(|number| (0.0..1e12).contains(number))
    };
    let millis = text("retry-after-ms").and_then(number);
    let asked = match (millis, text(RETRY_AFTER.as_str())) {
        (Some(millis), _) => Duration::from_secs_f64(millis / 1_000.0),
        (None, Some(after)) => match number(after) {
            Some(seconds) => Duration::from_secs_f64(seconds),
            None => {
                let date = httpdate::parse_http_date(after).ok()?;
                date.duration_since(SystemTime::now()).unwrap_or_default()
            }
        },
        (None, None) => return None,
    };
    // "At once" leaves the next attempt to the retry policy, which grows.
    Some(asked.min(RETRY_AFTER_MAX)).filter(|asked| !asked.is_zero())
}

/// The code of an error, or its type, as far as it is a known one.
fn known_code(body: &Value) -> Option<&'static str> {
    let error = body.get("error").unwrap_or(body);
    let given = ["code", "type"].map(|key| error.get(key).and_then(Value::as_str));
    let known = |given: &str| KNOWN_CODES.into_iter().find(|known| *known == given);
    given.into_iter().flatten().find_map(known)
}

fn refused(why: &str) -> ModelError {
    ModelError::Refused(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &'static str, value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        retry_after(&headers)
    }

    #[test]
    fn the_wait_that_an_endpoint_asks_for_is_read_in_all_its_forms_and_bounded() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(asked("retry-after", "7"), seconds(7));
        assert_eq!(
            asked("retry-after", "1.5"),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(
            asked("retry-after-ms", "250"),
            Some(Duration::from_millis(250))
        );
        assert_eq!(asked("retry-after", "86400"), seconds(60));
        for nothing in ["", "0", "-1", "soon", "NaN", "inf", "1e300"] {
            assert_eq!(asked("retry-after", nothing), None, "{nothing}");
        }
        let date = |from_now: i64| {
            let seconds = Duration::from_secs(from_now.unsigned_abs());
            let date = match from_now {
                0.. => SystemTime::now() + seconds,
                _ => SystemTime::now() - seconds,
            };
            asked("retry-after", &httpdate::fmt_http_date(date))
        };
        let soon = date(30).expect("a date in the future");
        assert!((28..=30).contains(&soon.as_secs()), "{soon:?}");
        assert_eq!(date(3_600), seconds(60));
        assert_eq!(date(-3_600), None);
    }
}
