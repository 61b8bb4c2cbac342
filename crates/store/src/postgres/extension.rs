//! The extension pgvector: where it lies, and making it.
//!
//! Nothing depends on it but the search for what is near. It may lie in any schema, so statements name
//! that schema and need no `search_path`.

use std::sync::{Arc, Mutex, PoisonError};

use sqlx::{Executor as _, PgConnection};

use super::fault::Fault;
use crate::StoreError;

const FIND_EXTENSION: &str = include_str!("sql/find_extension.sql");

/// What stands in a statement in the place of the schema.
pub(super) const PLACEHOLDER: &str = "public.";

/// The schema in which the extension lay when it was looked for last, as statements name it.
#[derive(Debug, Clone, Default)]
pub(super) struct ExtensionSchema(Arc<Mutex<Option<Arc<str>>>>);

impl ExtensionSchema {
    pub(super) fn get(&self) -> Option<Arc<str>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    pub(super) fn set(&self, schema: Option<&str>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = schema.map(Arc::from);
    }
}

/// The schema in which the extension lies.
pub(super) async fn find_extension(connection: &mut PgConnection) -> Result<String, Fault> {
    let (schema, migrated) = look_for_extension(connection).await?;
    if !migrated {
        return Err(Fault::Missing);
    }
    schema.ok_or_else(|| {
        Fault::Lasting(StoreError::Unusable(
            "the database lacks the extension pgvector, without which it compares no vectors; run \
             `notekeeper migrate`, or have an administrator run `create extension vector`"
                .to_owned(),
        ))
    })
}

/// The schema, and whether there is a table that would need it.
async fn look_for_extension(
    connection: &mut PgConnection,
) -> Result<(Option<String>, bool), Fault> {
    let found = sqlx::query_as(FIND_EXTENSION);
    Ok(found.fetch_one(connection).await?)
}

/// Makes the extension where it is missing and can be made; says what stands in the way where it can't.
///
/// In the schema `public`, never in that of the tables: it belongs to the database, and would go with
/// the tables of one application where others use it as well.
pub(super) async fn provide_extension(
    connection: &mut PgConnection,
) -> Result<Option<String>, Fault> {
    if look_for_extension(connection).await?.0.is_some() {
        return Ok(None);
    }
    let (available, public): (bool, bool) = sqlx::query_as(
        "select exists (select from pg_catalog.pg_available_extensions where name = 'vector'), \
             exists (select from pg_catalog.pg_namespace where nspname = 'public')",
    )
    .fetch_one(&mut *connection)
    .await?;
    let obstacle = if !available {
        "the server lacks the extension pgvector; install it there, then run `notekeeper migrate` again"
    } else if !public {
        "the database has no schema `public` for the extension pgvector; have an administrator run \
         `create extension vector schema …` with the name of another"
    } else {
        match connection
            .execute("create extension vector schema public")
            .await
        {
            Ok(_) => return Ok(None),
            // Its report may quote anything; what to do is the same whatever it says.
            Err(sqlx::Error::Database(_)) => {
                "this role can't create the extension pgvector; have an administrator run \
                 `create extension vector`"
            }
            Err(error) => return Err(error.into()),
        }
    };
    Ok(Some(format!(
        "vectors can't be searched: {obstacle}; all else works without it"
    )))
}
