//! Many notes: names, and the view for snapshots.

use async_trait::async_trait;
use notekeeper_domain::{
    MAIN_NOTE, MainNote, MainPart, NoteName, Notebook, Scope, SearchAnswer, SearchLimits,
    SearchQuery,
};
use sqlx::Row;

use super::{
    attempts::{Attempts, Repeatable},
    fault::Fault,
    put::bounded,
    store::PostgresStore,
};
use crate::{Names, NoteIndex, NotebookBounds, StoreError};

const LIST_NAMES: &str = include_str!("sql/list_names.sql");
const READ_NOTEBOOK: &str = include_str!("sql/read_notebook.sql");

impl PostgresStore {
    async fn try_names(
        &self,
        attempts: &Attempts<'_>,
        scope: &Scope,
        names_max: usize,
    ) -> Result<Names, Fault> {
        let mut connection = attempts.connection().await?;
        let mut names: Vec<String> = sqlx::query_scalar(LIST_NAMES)
            .bind(scope.as_str())
            .bind(limit(names_max.saturating_add(1)))
            .fetch_all(&mut *connection)
            .await?;
        let more = names.len() > names_max;
        names.truncate(names_max);
        let listed = names.len();
        // Nothing but this program writes names, but a person with a console can. One odd name
        // mustn't take the others with it.
        let names: Vec<_> = names
            .iter()
            .filter_map(|name| NoteName::parse(name).ok())
            .collect();
        if names.len() < listed {
            tracing::warn!(
                skipped = listed - names.len(),
                "store holds names that aren't valid"
            );
        }
        Ok(Names { names, more })
    }

    async fn try_notebook(
        &self,
        attempts: &Attempts<'_>,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, Fault> {
        let mut connection = attempts.connection().await?;
        let row = sqlx::query(READ_NOTEBOOK)
            .bind(scope.as_str())
            .bind(MAIN_NOTE)
            .bind(bounded(bounds.main_chars_max))
            .bind(limit(bounds.names_max.saturating_add(1)))
            .fetch_one(&mut *connection)
            .await?;
        let mut names: Vec<String> = row.try_get("names")?;
        let more_names = names.len() > bounds.names_max;
        names.truncate(bounds.names_max);
        let main = match row.try_get::<Option<String>, _>("content")? {
            Some(content) => {
                let part = if row.try_get("truncated")? {
                    MainPart::Tail
                } else {
                    MainPart::Whole
                };
                Some(MainNote { content, part })
            }
            None => None,
        };
        Ok(Notebook {
            main,
            names,
            more_names,
        })
    }
}

#[async_trait]
impl NoteIndex for PostgresStore {
    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        let mut attempts = Attempts::new(self, Repeatable::Always);
        loop {
            match self.try_names(&attempts, scope, names_max).await {
                Ok(names) => return Ok(names),
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }

    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, StoreError> {
        let mut attempts = Attempts::new(self, Repeatable::Always);
        loop {
            match self.try_notebook(&attempts, scope, bounds).await {
                Ok(notebook) => return Ok(notebook),
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }

    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        let mut attempts = Attempts::new(self, Repeatable::Always);
        loop {
            match self.try_search(&attempts, scope, query, limits).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }
}

/// A count as the database's `bigint`.
pub(super) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
