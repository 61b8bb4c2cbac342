//! Bounds of stored values, checked before any store sees them, so that all stores refuse the
//! same.

use notekeeper_domain::{Edit, MESSAGES_ADDED_MAX, Operation, StoredMessage};

use crate::StoreError;

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
    if digest.len() > DIGEST_BYTES_MAX {
        return Err(StoreError::InvalidValue {
            field,
            reason: format!(
                "it has {} bytes, {DIGEST_BYTES_MAX} are allowed",
                digest.len()
            ),
        });
    }
    check_nul(field, digest)
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
            reason: "it contains a NUL character (U+0000)".to_owned(),
        });
    }
    Ok(())
}
