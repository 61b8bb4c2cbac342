//! Search: candidates are found in the database, scored here.

use futures::TryStreamExt;
use notekeeper_domain::{Scan, Scope, SearchAnswer, SearchLimits, SearchQuery};
use sqlx::{PgConnection, Row};

use super::fault::Fault;
use crate::{
    StoreError,
    counts::{bounded, limit},
    scoring::score,
};

const SEARCH_NOTES: &str = include_str!("sql/search_notes.sql");

/// One round trip. Notes are scored one at a time, as they arrive.
pub(super) async fn search(
    connection: &mut PgConnection,
    scope: &Scope,
    query: &SearchQuery,
    limits: &SearchLimits,
) -> Result<SearchAnswer, Fault> {
    let mut rows = sqlx::query(SEARCH_NOTES)
        .bind(scope.as_str())
        // The statement adds one to it.
        .bind(limit(limits.files_max).min(i64::MAX - 1))
        .bind(bounded(limits.note_chars_max))
        .bind(query.lowered_terms())
        .fetch(connection);
    let mut scan = Scan::new(query, *limits);
    let mut summary: Option<(i64, bool)> = None;
    while let Some(row) = rows.try_next().await? {
        summary = Some((row.try_get("scanned")?, row.try_get("incomplete")?));
        if let Some(name) = row.try_get::<Option<&str>, _>("name")? {
            score(&mut scan, name, row.try_get("content")?).await;
        }
    }
    let (scanned, incomplete) = summary.ok_or_else(|| {
        Fault::Lasting(StoreError::Unexpected(
            "a search came without a summary".to_owned(),
        ))
    })?;
    Ok(scan.finish(usize::try_from(scanned).unwrap_or(0), incomplete))
}
