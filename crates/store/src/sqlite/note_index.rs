//! Many notes: names, the view for snapshots, texts.

use futures::TryStreamExt as _;
use notekeeper_domain::{MAIN_NOTE, MainNote, MainPart, NoteName, Notebook, Scope};
use sqlx::Row as _;

use super::{fault::Fault, store::SqliteStore};
use crate::{
    Listing, Names, NoteTexts, NotebookBounds, TextBounds,
    counts::{bounded, limit},
    kept_texts::TextsOfRows,
};

const LIST_NAMES: &str = include_str!("sql/list_names.sql");
const LIST_NOTES: &str = include_str!("sql/list_notes.sql");
const READ_NOTEBOOK: &str = include_str!("sql/read_notebook.sql");
const READ_TEXTS: &str = include_str!("sql/read_texts.sql");

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

pub(super) async fn texts(
    store: &SqliteStore,
    scope: &Scope,
    after: Option<&NoteName>,
    bounds: TextBounds,
) -> Result<NoteTexts, Fault> {
    let mut after = after.map_or("", NoteName::as_str).to_owned();
    loop {
        match texts_after(store, scope, &after, bounds).await?.finish() {
            Ok(texts) => return Ok(texts),
            // Nothing but odd names was met.
            Err(odd) => after = odd,
        }
    }
}

async fn texts_after(
    store: &SqliteStore,
    scope: &Scope,
    after: &str,
    bounds: TextBounds,
) -> Result<TextsOfRows, Fault> {
    let mut connection = store.reader().await?;
    let mut rows = sqlx::query_as(READ_TEXTS)
        .bind(scope.as_str())
        .bind(after)
        // The statement adds one to it.
        .bind(limit(bounds.notes_max).min(i64::MAX - 1))
        .bind(bounded(bounds.chars_max))
        .fetch(&mut *connection);
    let mut texts = TextsOfRows::new(bounds);
    while let Some(row) = rows.try_next().await? {
        if !texts.take(row) {
            break;
        }
    }
    Ok(texts)
}
