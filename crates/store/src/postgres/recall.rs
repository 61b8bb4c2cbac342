//! Recall: candidates are found in the database, ranked here.
//!
//! All that goes into an answer is of one moment: it comes from one statement, or, where values had
//! to be let go, from one transaction that sees one moment.

use notekeeper_domain::{Recall, RecallQuery, RecalledFact, Scope};
use sqlx::{Connection as _, PgConnection, Postgres, postgres::PgArguments, query::QueryAs};

use super::fault::Fault;
use crate::{
    counts,
    kept_facts::{FactRow, NewestOfRows, offer_rows, term_ranges},
};

const NEWEST_FACTS: &str = include_str!("sql/newest_facts.sql");
const FIND_FACTS: &str = include_str!("sql/find_facts.sql");
const SCAN_FACTS: &str = include_str!("sql/scan_facts.sql");
const READ_FACTS: &str = include_str!("sql/read_facts.sql");

const BEGIN: &str = "begin isolation level repeatable read read only";

/// One round trip; two where the index finds fewer than are wanted.
pub(super) async fn recall(
    connection: &mut PgConnection,
    scope: &Scope,
    query: &RecallQuery,
    limit: usize,
) -> Result<Vec<RecalledFact>, Fault> {
    if query.is_empty() {
        return newest(connection, scope, limit).await;
    }
    let wanted = Wanted { scope, query };
    let mut recall = Recall::new(query, limit);
    let mut source = Source::Index;
    offer(connection, wanted.ask(source), &mut recall).await?;
    if recall.needs_scan() {
        source = Source::All;
        recall = Recall::new(query, limit);
        offer(connection, wanted.ask(source), &mut recall).await?;
    }
    if recall.unread().is_empty() {
        return Ok(recall.finish());
    }
    let mut transaction = connection.begin_with(BEGIN).await?;
    let mut recall = Recall::new(query, limit);
    offer(&mut transaction, wanted.ask(source), &mut recall).await?;
    if matches!(source, Source::Index) && recall.needs_scan() {
        // At this moment there are fewer than there were at the one before.
        offer(&mut transaction, wanted.ask(Source::All), &mut recall).await?;
    }
    loop {
        let keys = recall.unread();
        if keys.is_empty() {
            break;
        }
        offer(&mut transaction, read(scope, &keys), &mut recall).await?;
    }
    transaction.rollback().await?;
    Ok(recall.finish())
}

async fn newest(
    connection: &mut PgConnection,
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

/// Where facts are looked for.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// What the index finds.
    Index,
    /// That, and what stands anywhere in a fact.
    All,
}

type Rows<'q> = QueryAs<'q, Postgres, FactRow, PgArguments>;

#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    scope: &'a Scope,
    query: &'a RecallQuery,
}

impl<'a> Wanted<'a> {
    fn ask(self, source: Source) -> Rows<'a> {
        let (first, after) = term_ranges(self.query);
        let statement = match source {
            Source::Index => FIND_FACTS,
            Source::All => SCAN_FACTS,
        };
        let rows = sqlx::query_as(statement)
            .bind(self.scope.as_str())
            .bind(self.query.exact())
            .bind(first)
            .bind(after);
        match source {
            Source::Index => rows,
            Source::All => rows.bind(self.query.fewest_substrings()),
        }
    }
}

fn read<'a>(scope: &'a Scope, keys: &'a [String]) -> Rows<'a> {
    sqlx::query_as(READ_FACTS).bind(scope.as_str()).bind(keys)
}

/// Offers what the database finds, as it arrives.
async fn offer(
    connection: &mut PgConnection,
    rows: Rows<'_>,
    recall: &mut Recall<'_>,
) -> Result<(), Fault> {
    Ok(offer_rows(rows.fetch(connection), recall).await?)
}
