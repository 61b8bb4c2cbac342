//! What the operations on sources have in common.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_contract::{FailedSource, FailureType};
use notekeeper_domain::{ITEM_METADATA_BYTES_MAX, ITEM_METADATA_LEVELS_MAX, InvalidItem};
use notekeeper_recall::{FailedLeg, OpenStores, SourceCall, SourceError};
use notekeeper_store::Store;

use crate::{Failure, Stores};

#[async_trait]
impl OpenStores for Stores {
    async fn open(
        &self,
        store: &str,
        call: &SourceCall<'_>,
    ) -> Result<Arc<dyn Store>, SourceError> {
        let at = self.get(store, call.workspace);
        let at = at.map_err(|failure| match failure.kind {
            // Another worker serves the workspace.
            FailureType::Unavailable => SourceError::Unavailable(failure.message),
            _ => SourceError::Invalid(failure.message),
        })?;
        Ok(at.open().await?)
    }
}

/// A failure among several sources, as results tell it.
pub(crate) fn failed_source(leg: FailedLeg) -> FailedSource {
    let failure = Failure::of_source(&leg.error);
    FailedSource {
        source: leg.source,
        kind: failure.kind.as_str().to_owned(),
        message: failure.message,
    }
}

/// What is wrong with JSON values under a field of a payload, which have the bounds of an item's
/// metadata.
pub(crate) fn invalid_values(field: &str, error: &InvalidItem) -> Failure {
    match error {
        // The path is left out: keys that a query names may be anything.
        InvalidItem::Nul { .. } => Failure::invalid(format!(
            "`{field}` contains a NUL character (U+0000); leave it out"
        )),
        InvalidItem::MetadataTooLarge { bytes } => Failure::new(
            FailureType::TooLarge,
            format!(
                "`{field}` has {bytes} bytes as JSON, {ITEM_METADATA_BYTES_MAX} are allowed; ask for less"
            ),
        ),
        InvalidItem::TooDeep => Failure::invalid(format!(
            "`{field}` has more than {ITEM_METADATA_LEVELS_MAX} levels; make it flatter"
        )),
        other => Failure::invalid(format!("`{field}` {other}")),
    }
}
