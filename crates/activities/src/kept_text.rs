//! Texts that a store keeps by their digests: snapshots, preambles, summaries.

use notekeeper_contract::FailureType;
use notekeeper_domain::{Scope, snapshot_digest};
use notekeeper_store::StoreError;

use crate::{Failure, StoreAt};

/// Characters of a digest: SHA-256 in hexadecimal.
const DIGEST_CHARS: usize = 64;

/// The text under a digest, or why there is none to have, as the end of a sentence.
///
/// Whether to wait for a store that is away isn't for a model request to decide: whoever refers to a
/// text can send it again.
pub(crate) async fn kept_text(
    at: &StoreAt<'_>,
    scope: &Scope,
    digest: &str,
) -> Result<Result<String, &'static str>, Failure> {
    let kept = async {
        match at.open().await?.snapshots() {
            None => Ok(Err("is in a store that keeps none")),
            Some(texts) => texts.snapshot(scope, digest).await.map(Ok),
        }
    };
    match kept.await {
        Ok(Err(none_kept)) => Ok(Err(none_kept)),
        Ok(Ok(Some(text))) if snapshot_digest(&text) == digest => Ok(Ok(text)),
        Ok(Ok(Some(_))) => Ok(Err("is kept with another text")),
        Ok(Ok(None)) => Ok(Err("is not kept any more")),
        Err(StoreError::Unavailable(_)) => Ok(Err("can't be fetched: its store is unavailable")),
        Err(error) => Err(error.into()),
    }
}

/// Keeps a text under its digest, if that can be done. Answers whether it is kept.
pub(crate) async fn keep_text(at: &StoreAt<'_>, scope: &Scope, digest: &str, text: &str) -> bool {
    let keep = async {
        match at.open().await?.snapshots() {
            None => Ok(false),
            Some(texts) => {
                texts.keep_snapshot(scope, digest, text).await?;
                Ok(true)
            }
        }
    };
    keep.await.unwrap_or_else(|error: StoreError| {
        // The call succeeds, so nothing else tells.
        tracing::warn!("a text can't be kept and is sent again with the next request: {error}");
        false
    })
}

/// Checks the form of a digest; `source` is what gave it.
pub(crate) fn check_digest(field: &str, digest: &str, source: &str) -> Result<(), Failure> {
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if digest.len() == DIGEST_CHARS && digest.bytes().all(is_hex) {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "`{field}` must be {DIGEST_CHARS} lower-case hexadecimal digits, as {source} gave it"
    )))
}

/// A text that a request refers to isn't there; `remedy` says what to send.
pub(crate) fn missing(what: &str, why: &str, remedy: &str) -> Failure {
    Failure::new(
        FailureType::SnapshotMissing,
        format!("{what} {why}; {remedy}"),
    )
}
