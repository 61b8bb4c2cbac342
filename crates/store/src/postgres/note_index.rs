//! Many notes: names, and the view for snapshots.

use async_trait::async_trait;
use notekeeper_domain::{
    MAIN_NOTE, MainNote, MainPart, Notebook, Scope, SearchAnswer, SearchLimits, SearchQuery,
};
use sqlx::{PgConnection, Row};

use super::{
    attempts::{Repeatable, attempted},
    fault::Fault,
    search::search,
    store::PostgresStore,
};
use crate::{
    Listing, Names, NoteIndex, NotebookBounds, StoreError,
    counts::{bounded, limit},
};

const LIST_NAMES: &str = include_str!("sql/list_names.sql");
const LIST_NOTES: &str = include_str!("sql/list_notes.sql");
const READ_NOTEBOOK: &str = include_str!("sql/read_notebook.sql");

#[async_trait]
impl NoteIndex for PostgresStore {
    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        attempted!(self, Repeatable::Always, |connection| names(
            connection, scope, names_max
        ))
    }

    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError> {
        attempted!(self, Repeatable::Always, |connection| list(
            connection, scope, notes_max
        ))
    }

    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, StoreError> {
        attempted!(self, Repeatable::Always, |connection| notebook(
            connection, scope, bounds
        ))
    }

    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        attempted!(self, Repeatable::Always, |connection| search(
            connection, scope, query, limits
        ))
    }
}

async fn names(
    connection: &mut PgConnection,
    scope: &Scope,
    names_max: usize,
) -> Result<Names, Fault> {
    let names = sqlx::query_scalar(LIST_NAMES)
        .bind(scope.as_str())
        .bind(limit(names_max.saturating_add(1)))
        .fetch_all(connection)
        .await?;
    Ok(Names::of_listed(names, names_max))
}

async fn list(
    connection: &mut PgConnection,
    scope: &Scope,
    notes_max: usize,
) -> Result<Listing, Fault> {
    let rows = sqlx::query_as(LIST_NOTES)
        .bind(scope.as_str())
        .bind(limit(notes_max.saturating_add(1)))
        .fetch_all(connection)
        .await?;
    Ok(Listing::of_rows(rows, notes_max))
}

async fn notebook(
    connection: &mut PgConnection,
    scope: &Scope,
    bounds: NotebookBounds,
) -> Result<Notebook, Fault> {
    let row = sqlx::query(READ_NOTEBOOK)
        .bind(scope.as_str())
        .bind(MAIN_NOTE)
        .bind(bounded(bounds.main_chars_max))
        .bind(limit(bounds.names_max.saturating_add(1)))
        .fetch_one(connection)
        .await?;
    let main = match row.try_get::<Option<String>, _>("content")? {
        Some(content) => {
            let truncated = row.try_get("truncated")?;
            let part = if truncated {
                MainPart::Tail
            } else {
                MainPart::Whole
            };
            Some(MainNote { content, part })
        }
        None => None,
    };
    let Names { names, more } = Names::of_listed(row.try_get("names")?, bounds.names_max);
    Ok(Notebook {
        main,
        names: names.iter().map(|name| name.as_str().to_owned()).collect(),
        more_names: more,
    })
}
