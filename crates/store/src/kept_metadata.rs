//! Write metadata as databases keep it: JSON text.

use notekeeper_domain::WriteMetadata;

/// The metadata of a row.
///
/// Nothing but this program writes it, but a person with a console can, and what they wrote mustn't
/// take the note with it. So what is no object of texts, or one that no write could have brought,
/// counts as none.
pub(crate) fn kept_metadata(json: Option<&str>) -> Option<WriteMetadata> {
    let json = json?;
    WriteMetadata::from_json(json).unwrap_or_else(|error| {
        tracing::warn!("a note's write metadata is passed over: {error}");
        None
    })
}
