//! Bounds of stored values, checked before any store sees them, so that all stores refuse the
//! same.

use notekeeper_domain::{
    Edit, InvalidItem, MESSAGES_ADDED_MAX, Operation, StoredMessage, check_item_id,
};

use crate::{
    CHUNKS_KEPT_MAX, COLLECTION_BYTES_MAX, Chunk, EMBEDDING_DIMENSIONS_MAX, MARK_BYTES_MAX,
    MODEL_BYTES_MAX, StoreError, VectorCollection,
};

/// Longest text of a note or snapshot, in bytes of UTF-8.
///
/// Tools stop at 65,536 characters, which are 256 KiB at most. 16 MiB leaves room for notes that
/// people import, and stays far below the gigabyte where PostgreSQL refuses a value.
pub const CONTENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest fingerprint or snapshot digest, in bytes. Derived ones have 64.
///
/// A digest is a part of an index key: 2,000 bytes of scope and 200 of digest stay below the
/// 2,704 bytes that PostgreSQL allows.
pub const DIGEST_BYTES_MAX: usize = 200;

/// Receipts that a store keeps of one scope where it drops old ones by itself; older ones make room. A
/// busy tenant can't push out another's.
pub(crate) const RECEIPTS_PER_SCOPE_MAX: u16 = 1_024;

const NUL: &str = "it contains a NUL character (U+0000)";

/// Why a connection of a caller's pool can't be used, though another may be, and this one later.
pub(crate) const IN_TRANSACTION: &str = "a connection of the caller's pool has a transaction open; \
     end it before the connection goes back to the pool";

/// What every store refuses of a text, before it looks at anything else. `field` is what the caller
/// calls it: `content`.
///
/// # Errors
///
/// [`StoreError::TooLarge`] over [`CONTENT_BYTES_MAX`], [`StoreError::InvalidValue`] for U+0000.
pub fn check_content(field: &'static str, text: &str) -> Result<(), StoreError> {
    if text.len() > CONTENT_BYTES_MAX {
        return Err(StoreError::TooLarge {
            field,
            bytes: text.len(),
            bytes_max: CONTENT_BYTES_MAX,
        });
    }
    check_nul(field, text)
}

pub(crate) fn check_digest(field: &'static str, digest: &str) -> Result<(), StoreError> {
    check_short(field, digest, 0, DIGEST_BYTES_MAX)
}

fn check_short(
    field: &'static str,
    text: &str,
    bytes_min: usize,
    bytes_max: usize,
) -> Result<(), StoreError> {
    let bytes = text.len();
    if !(bytes_min..=bytes_max).contains(&bytes) {
        let allowed = match bytes_min {
            0 => format!("{bytes_max}"),
            bytes_min => format!("{bytes_min} to {bytes_max}"),
        };
        return Err(StoreError::InvalidValue {
            field,
            reason: format!("it has {bytes} bytes, {allowed} are allowed"),
        });
    }
    check_nul(field, text)
}

/// What every store refuses of an operation, before it looks at anything else. The id was checked
/// when it was made; fingerprints can hold anything.
///
/// # Errors
///
/// [`StoreError::InvalidValue`] for a fingerprint over [`DIGEST_BYTES_MAX`] or with U+0000.
pub fn check_operation(operation: &Operation) -> Result<(), StoreError> {
    check_digest("fingerprint", operation.fingerprint.as_str())
}

/// What every store refuses of messages that are to be added, before it looks at anything else. Each of
/// them was checked when it was made.
///
/// # Errors
///
/// [`StoreError::InvalidValue`] where there are none or more than [`MESSAGES_ADDED_MAX`],
/// [`StoreError::TooLarge`] where they have more than [`CONTENT_BYTES_MAX`] bytes of JSON together.
pub fn check_messages(messages: &[StoredMessage]) -> Result<(), StoreError> {
    let field = "messages";
    if !(1..=MESSAGES_ADDED_MAX).contains(&messages.len()) {
        return Err(StoreError::InvalidValue {
            field,
            reason: format!(
                "there are {}, 1 to {MESSAGES_ADDED_MAX} can be added at once",
                messages.len()
            ),
        });
    }
    let bytes = messages.iter().map(|message| message.as_json().len()).sum();
    if bytes > CONTENT_BYTES_MAX {
        return Err(StoreError::TooLarge {
            field,
            bytes,
            bytes_max: CONTENT_BYTES_MAX,
        });
    }
    Ok(())
}

/// What every store refuses of a collection of vectors, before it looks at anything else.
///
/// # Errors
///
/// [`StoreError::InvalidValue`] for a name of none or more than [`COLLECTION_BYTES_MAX`] bytes, a model
/// of none or more than [`MODEL_BYTES_MAX`], and for U+0000.
pub fn check_collection(collection: &VectorCollection) -> Result<(), StoreError> {
    check_short("collection", &collection.name, 1, COLLECTION_BYTES_MAX)?;
    check_short("model", &collection.model, 1, MODEL_BYTES_MAX)
}

/// What every store refuses of an embedding.
///
/// # Errors
///
/// [`StoreError::InvalidValue`] where it has none or more than [`EMBEDDING_DIMENSIONS_MAX`] numbers, or
/// one that isn't finite.
pub fn check_embedding(embedding: &[f32]) -> Result<(), StoreError> {
    let field = "embedding";
    let numbers = embedding.len();
    if !(1..=EMBEDDING_DIMENSIONS_MAX).contains(&numbers) {
        return Err(StoreError::InvalidValue {
            field,
            reason: format!(
                "it has {numbers} numbers, 1 to {EMBEDDING_DIMENSIONS_MAX} are allowed"
            ),
        });
    }
    if !embedding.iter().all(|number| number.is_finite()) {
        return Err(StoreError::InvalidValue {
            field,
            reason: "one of its numbers isn't finite".to_owned(),
        });
    }
    Ok(())
}

/// What every store refuses of chunks that are to be kept, before it looks at anything else.
///
/// # Errors
///
/// [`StoreError::InvalidValue`] where there are more than [`CHUNKS_KEPT_MAX`], or one of them has an id,
/// metadata, an embedding or a mark that can't be kept, or as many numbers as another hasn't;
/// [`StoreError::TooLarge`] where they have more than [`CONTENT_BYTES_MAX`] bytes of text together.
pub fn check_chunks(chunks: &[Chunk]) -> Result<(), StoreError> {
    if chunks.len() > CHUNKS_KEPT_MAX {
        return Err(StoreError::InvalidValue {
            field: "chunks",
            reason: format!(
                "there are {}, at most {CHUNKS_KEPT_MAX} can be kept at once",
                chunks.len()
            ),
        });
    }
    for chunk in chunks {
        check_chunk(chunk)?;
    }
    if chunks
        .windows(2)
        .any(|two| two[0].embedding.len() != two[1].embedding.len())
    {
        return Err(StoreError::InvalidValue {
            field: "embedding",
            reason: "those of one call have different numbers of dimensions".to_owned(),
        });
    }
    let bytes = chunks.iter().map(|chunk| chunk.content.len()).sum();
    if bytes > CONTENT_BYTES_MAX {
        return Err(StoreError::TooLarge {
            field: "content",
            bytes,
            bytes_max: CONTENT_BYTES_MAX,
        });
    }
    Ok(())
}

fn check_chunk(chunk: &Chunk) -> Result<(), StoreError> {
    let invalid = |field, invalid: InvalidItem| StoreError::InvalidValue {
        field,
        reason: match invalid {
            // Its own words name a key, and keys are the caller's.
            InvalidItem::Nul { .. } => NUL.to_owned(),
            other => format!("it {other}"),
        },
    };
    check_item_id(&chunk.id).map_err(|error| invalid("id", error))?;
    check_content("content", &chunk.content)?;
    let metadata = chunk.metadata.check();
    metadata.map_err(|error| invalid("metadata", error))?;
    if let Some(mark) = &chunk.mark {
        check_short("mark", mark, 0, MARK_BYTES_MAX)?;
    }
    check_embedding(&chunk.embedding)
}

/// Edits have public fields, so they needn't come from [`Edit::new`].
pub(crate) fn check_edit(edit: &Edit) -> Result<(), StoreError> {
    match edit {
        Edit::Append { content } => check_content("content", content),
        Edit::Replace { old_text, content } => {
            check_content("old_text", old_text)?;
            check_content("content", content)
        }
    }
}

fn check_nul(field: &'static str, text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        return Err(StoreError::InvalidValue {
            field,
            reason: NUL.to_owned(),
        });
    }
    Ok(())
}
