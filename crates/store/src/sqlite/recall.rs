//! Recall: candidates are found in the database, ranked here. One transaction reads them all, so they
//! are of one moment.

use notekeeper_domain::{Recall, RecallQuery, RecalledFact, Scope};
use sqlx::{Connection as _, Sqlite, SqliteConnection, query::QueryAs, sqlite::SqliteArguments};

use super::{fault::Fault, json_array::json_array, store::SqliteStore};
use crate::{
    counts,
    kept_facts::{FactRow, NewestOfRows, offer_rows, term_ranges},
};

const NEWEST_FACTS: &str = include_str!("sql/newest_facts.sql");
const FIND_FACTS: &str = include_str!("sql/find_facts.sql");
const SCAN_FACTS: &str = include_str!("sql/scan_facts.sql");
const READ_FACTS: &str = include_str!("sql/read_facts.sql");

pub(super) async fn recall(
    store: &SqliteStore,
    scope: &Scope,
    query: &RecallQuery,
    limit: usize,
) -> Result<Vec<RecalledFact>, Fault> {
    let mut connection = store.reader().await?;
    if query.is_empty() {
        return newest(&mut connection, scope, limit).await;
    }
    let mut moment = connection.begin().await?;
    let mut recall = Recall::new(query, limit);
    offer(&mut moment, of_index(scope, query), &mut recall).await?;
    if recall.needs_scan() {
        offer(&mut moment, of_scan(scope, query), &mut recall).await?;
    }
    loop {
        let keys = recall.unread();
        if keys.is_empty() {
            break;
        }
        offer(&mut moment, of_keys(scope, &keys), &mut recall).await?;
    }
    moment.rollback().await?;
    Ok(recall.finish())
}

async fn newest(
    connection: &mut SqliteConnection,
    scope: &Scope,
    limit: usize,
) -> Result<Vec<RecalledFact>, Fault> {
    let mut newest = NewestOfRows::new(limit);
    loop {
        let rows = sqlx::query_as(NEWEST_FACTS)
            .bind(scope.as_str())
            .bind(counts::limit(newest.rows_max()))
            .fetch_all(&mut *connection)
            .await?;
        if let Some(found) = newest.take(rows) {
            return Ok(found);
        }
    }
}

type Rows<'q> = QueryAs<'q, Sqlite, FactRow, SqliteArguments>;

fn of_index<'q>(scope: &'q Scope, query: &RecallQuery) -> Rows<'q> {
    let (first, after) = term_ranges(query);
    sqlx::query_as(FIND_FACTS)
        .bind(scope.as_str())
        .bind(array(query.exact()))
        .bind(array(first))
        .bind(array(&after))
}

fn of_scan<'q>(scope: &'q Scope, query: &RecallQuery) -> Rows<'q> {
    let texts = array(&query.fewest_substrings());
    sqlx::query_as(SCAN_FACTS).bind(scope.as_str()).bind(texts)
}

fn of_keys<'q>(scope: &'q Scope, keys: &[String]) -> Rows<'q> {
    sqlx::query_as(READ_FACTS)
        .bind(scope.as_str())
        .bind(array(keys))
}

fn array(texts: &[String]) -> String {
    json_array(texts.iter().map(String::as_str))
}

/// Offers what the database finds, as it arrives.
async fn offer(
    connection: &mut SqliteConnection,
    rows: Rows<'_>,
    recall: &mut Recall<'_>,
) -> Result<(), Fault> {
    Ok(offer_rows(rows.fetch(connection), recall).await?)
}
