//! Many notes: names, and the view for snapshots.

use notekeeper_domain::{MAIN_NOTE, MainNote, MainPart, Notebook, Scope};
use sqlx::Row as _;

use super::{fault::Fault, store::SqliteStore};
use crate::{
    Listing, Names, NotebookBounds,
    counts::{bounded, limit},
};

const LIST_NAMES: &str = include_str!("sql/list_names.sql");
const LIST_NOTES: &str = include_str!("sql/list_notes.sql");
const READ_NOTEBOOK: &str = include_str!("sql/read_notebook.sql");

pub(super) async fn names(
    store: &SqliteStore,
    scope: &Scope,
    names_max: usize,
) -> Result<Names, Fault> {
    let names = sqlx::query_scalar(LIST_NAMES)
        .bind(scope.as_str())
        .bind(limit(names_max.saturating_add(1)))
        .fetch_all(&mut *store.reader().await?)
        .await?;
    Ok(Names::of_listed(names, names_max))
}

pub(super) async fn list(
    store: &SqliteStore,
    scope: &Scope,
    notes_max: usize,
) -> Result<Listing, Fault> {
    let rows = sqlx::query_as(LIST_NOTES)
        .bind(scope.as_str())
        .bind(limit(notes_max.saturating_add(1)))
        .fetch_all(&mut *store.reader().await?)
        .await?;
    Ok(Listing::of_rows(rows, notes_max))
}

pub(super) async fn notebook(
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
