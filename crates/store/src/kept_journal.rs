//! The journal as rows of a database hold it.

use crate::{Changes, JournalEntry, ReceiptStatus, counts::token};

/// A row of the journal: scope, operation, kind, note, status, version, time.
pub(crate) type JournalRow = (String, String, String, String, String, Option<i64>, String);

/// The changes of rows, of which there is one more than `limit` where there are more. Odd ones, which a
/// person made with a console, are passed over.
pub(crate) fn changes_of(mut rows: Vec<JournalRow>, limit: usize) -> Changes {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let rows_count = rows.len();
    let changes: Vec<_> = rows.into_iter().filter_map(entry_of).collect();
    let skipped = rows_count - changes.len();
    if skipped > 0 {
        tracing::warn!(skipped, "the store holds receipts that no operation made");
    }
    Changes { changes, more }
}

fn entry_of(
    (scope, operation_id, kind, note, status, version, at): JournalRow,
) -> Option<JournalEntry> {
    Some(JournalEntry {
        scope,
        operation_id,
        kind,
        note,
        status: ReceiptStatus::from_code(&status)?,
        version: version.map(token),
        at,
    })
}
