//! Many notes: names, and the view for snapshots.

use async_trait::async_trait;
use notekeeper_domain::{
    MAIN_NOTE, MainNote, MainPart, Notebook, Scope, SearchAnswer, SearchLimits, SearchQuery,
};
use sqlx::Row as _;

use super::{attempts::attempted, fault::Fault, search::search, store::SqliteStore};
use crate::{
    Listing, Names, NoteIndex, NotebookBounds, StoreError,
    counts::{bounded, limit},
};

const LIST_NAMES: &str = include_str!("sql/list_names.sql");
const LIST_NOTES: &str = include_str!("sql/list_notes.sql");
const READ_NOTEBOOK: &str = include_str!("sql/read_notebook.sql");

#[async_trait]
impl NoteIndex for SqliteStore {
    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        attempted(self, |_| names(self, scope, names_max)).await
    }

    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError> {
        attempted(self, |_| list(self, scope, notes_max)).await
    }

    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, StoreError> {
        attempted(self, |_| notebook(self, scope, bounds)).await
    }

    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        attempted(self, |_| search(self, scope, query, limits)).await
    }
}

async fn names(store: &SqliteStore, scope: &Scope, names_max: usize) -> Result<Names, Fault> {
    let names = sqlx::query_scalar(LIST_NAMES)
        .bind(scope.as_str())
        .bind(limit(names_max.saturating_add(1)))
        .fetch_all(&mut *store.reader().await?)
        .await?;
    Ok(Names::of_listed(names, names_max))
}

async fn list(store: &SqliteStore, scope: &Scope, notes_max: usize) -> Result<Listing, Fault> {
    let rows = sqlx::query_as(LIST_NOTES)
        .bind(scope.as_str())
        .bind(limit(notes_max.saturating_add(1)))
        .fetch_all(&mut *store.reader().await?)
        .await?;
    Ok(Listing::of_rows(rows, notes_max))
}

async fn notebook(
    store: &SqliteStore,
    scope: &Scope,
    bounds: NotebookBounds,
) -> Result<Notebook, Fault> {
    let rows = sqlx::query(READ_NOTEBOOK)
        .bind(scope.as_str())
        .bind(MAIN_NOTE)
        .bind(bounded(bounds.main_chars_max))
        .bind(limit(bounds.names_max.saturating_add(1)))
        .fetch_all(&mut *store.reader().await?)
        .await?;
    let mut main = None;
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        match row.try_get("name")? {
            Some(name) => listed.push(name),
            None => {
                let part = if row.try_get("truncated")? {
                    MainPart::Tail
                } else {
                    MainPart::Whole
                };
                let content = row.try_get("content")?;
                main = Some(MainNote { content, part });
            }
        }
    }
    let Names { names, more } = Names::of_listed(listed, bounds.names_max);
    Ok(Notebook {
        main,
        names: names.iter().map(|name| name.as_str().to_owned()).collect(),
        more_names: more,
    })
}
