//! Many notes: names, the view for snapshots, texts.

use futures::TryStreamExt as _;
use notekeeper_domain::{MAIN_NOTE, MainNote, MainPart, NoteName, Notebook, Scope};
use sqlx::{PgConnection, Row};

use super::fault::Fault;
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

pub(super) async fn list(
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

pub(super) async fn notebook(
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

/// One round trip, unless nothing but odd names is met.
pub(super) async fn texts(
    connection: &mut PgConnection,
    scope: &Scope,
    after: Option<&NoteName>,
    bounds: TextBounds,
) -> Result<NoteTexts, Fault> {
    let mut after = after.map_or("", NoteName::as_str).to_owned();
    loop {
        match texts_after(connection, scope, &after, bounds)
            .await?
            .finish()
        {
            Ok(texts) => return Ok(texts),
            Err(odd) => after = odd,
        }
    }
}

async fn texts_after(
    connection: &mut PgConnection,
    scope: &Scope,
    after: &str,
    bounds: TextBounds,
) -> Result<TextsOfRows, Fault> {
    let mut rows = sqlx::query(READ_TEXTS)
        .bind(scope.as_str())
        .bind(after)
        // The statement adds one to it.
        .bind(limit(bounds.notes_max).min(i64::MAX - 1))
        .bind(bounded(bounds.chars_max))
        .bind(limit(bounds.bytes_max))
        .fetch(connection);
    let mut texts = TextsOfRows::new(bounds);
    while let Some(row) = rows.try_next().await? {
        if row.try_get("more")? {
            texts.has_more();
        }
        if let Some(name) = row.try_get("name")? {
            let scope = row.try_get("scope")?;
            texts.take((
                scope,
                name,
                row.try_get("version")?,
                row.try_get("content")?,
            ));
        }
    }
    Ok(texts)
}
