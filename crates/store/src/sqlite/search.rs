//! Search: notes are read one after the other, and scored as they come.

use futures::TryStreamExt as _;
use notekeeper_domain::{Scan, Scope, SearchAnswer, SearchLimits, SearchQuery};
use sqlx::Row as _;

use super::{fault::Fault, store::SqliteStore};
use crate::{
    counts::{bounded, limit},
    scoring::score,
};

const SEARCH_NOTES: &str = include_str!("sql/search_notes.sql");

pub(super) async fn search(
    store: &SqliteStore,
    scope: &Scope,
    query: &SearchQuery,
    limits: &SearchLimits,
) -> Result<SearchAnswer, Fault> {
    let mut connection = store.reader().await?;
    let mut rows = sqlx::query(SEARCH_NOTES)
        .bind(scope.as_str())
        // The statement adds one to it.
        .bind(limit(limits.files_max).min(i64::MAX - 1))
        .bind(bounded(limits.note_chars_max))
        .fetch(&mut *connection);
    let mut scan = Scan::new(query, *limits);
    let (mut scanned, mut incomplete) = (0, false);
    while let Some(row) = rows.try_next().await? {
        if scanned == limits.files_max {
            incomplete = true;
            break;
        }
        scanned += 1;
        incomplete |= row.try_get::<bool, _>("truncated")?;
        score(&mut scan, row.try_get("name")?, row.try_get("content")?).await;
    }
    Ok(scan.finish(scanned, incomplete))
}
