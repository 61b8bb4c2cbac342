//! Bounds of stored values, checked before any store sees them, so that all stores refuse the
//! same.

use notekeeper_domain::{Edit, Operation};

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

pub(crate) fn check_content(field: &'static str, text: &str) -> Result<(), StoreError> {
    check(field, text, CONTENT_BYTES_MAX)
}

pub(crate) fn check_digest(field: &'static str, digest: &str) -> Result<(), StoreError> {
    check(field, digest, DIGEST_BYTES_MAX)
}

/// The id was checked when it was made; fingerprints can hold anything.
pub(crate) fn check_operation(operation: &Operation) -> Result<(), StoreError> {
    check_digest("fingerprint", operation.fingerprint.as_str())
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

fn check(field: &'static str, text: &str, bytes_max: usize) -> Result<(), StoreError> {
    let reason = if text.len() > bytes_max {
        format!("it has {} bytes, {bytes_max} are allowed", text.len())
    } else if text.contains('\0') {
        "it contains a NUL character (U+0000)".to_owned()
    } else {
        return Ok(());
    };
    Err(StoreError::InvalidValue { field, reason })
}
