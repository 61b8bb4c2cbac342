//! The journal as rows of a database hold it.

use crate::{JournalEntry, ReceiptStatus, counts::token};

/// A row of the journal: operation, kind, note, status, version, time.
pub(crate) type JournalRow = (String, String, String, String, Option<i64>, String);

/// The entries of rows. Odd ones, which a person made with a console, are passed over.
pub(crate) fn entries_of(rows: Vec<JournalRow>) -> Vec<JournalEntry> {
    let rows_count = rows.len();
    let entries = rows.into_iter().filter_map(entry_of);
    let entries: Vec<_> = entries.collect();
    let skipped = rows_count - entries.len();
    if skipped > 0 {
        tracing::warn!(skipped, "the store holds receipts that no operation made");
    }
    entries
}

fn entry_of((operation_id, kind, note, status, version, at): JournalRow) -> Option<JournalEntry> {
    Some(JournalEntry {
        operation_id,
        kind,
        note,
        status: ReceiptStatus::from_code(&status)?,
        version: version.map(token),
        at,
    })
}
