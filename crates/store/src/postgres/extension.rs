//! The extension pgvector: where it lies, and making it.
//!
//! Nothing depends on it but the search for what is near. It may lie in any schema, so statements name
//! that schema and need no `search_path`.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use sqlx::{Executor as _, PgConnection};

use super::fault::{Fault, described};
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

/// Where the extension was found.
#[derive(Debug, sqlx::FromRow)]
struct Whereabouts {
    /// Its schema, quoted where it must be.
    schema: Option<String>,
    /// Whether this role may use that schema.
    usable: Option<bool>,
    /// Whether there is a table that would need the extension.
    migrated: bool,
}

/// The schema in which the extension lies.
pub(super) async fn find_extension(connection: &mut PgConnection) -> Result<String, Fault> {
    let found = look_for_extension(connection).await?;
    if !found.migrated {
        return Err(Fault::Missing);
    }
    let obstacle = match found.schema {
        Some(schema) if found.usable == Some(true) => return Ok(schema),
        Some(schema) => format!(
            "this role may not use the schema `{schema}`, in which the extension pgvector lies; have \
             an administrator run `grant usage on schema {schema} to` it"
        ),
        None => "the database lacks the extension pgvector, without which it compares no vectors; \
             run `notekeeper migrate`, or have an administrator run `create extension vector`"
            .to_owned(),
    };
    Err(Fault::Lasting(StoreError::Unusable(obstacle)))
}

/// Whether a search failed in a way that its extension explains, if it was moved, dropped or denied
/// since it was looked for.
pub(super) fn may_have_moved(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code == Fault::DENIED || Fault::is_of_missing(&code))
}

/// A failure of a search.
pub(super) fn fault_of_search(error: sqlx::Error) -> Fault {
    let code = error.as_database_error().and_then(|error| error.code());
    if code.as_deref() != Some(Fault::NO_FILE) {
        return error.into();
    }
    Fault::Lasting(StoreError::Unusable(
        "the database has the extension pgvector, but the server lacks its library; install pgvector \
         there again, for its version of PostgreSQL"
            .to_owned(),
    ))
}

async fn look_for_extension(connection: &mut PgConnection) -> Result<Whereabouts, Fault> {
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
    if look_for_extension(connection).await?.schema.is_some() {
        return Ok(None);
    }
    let (available, public): (bool, bool) = sqlx::query_as(
        "select exists (select from pg_catalog.pg_available_extensions where name = 'vector'), \
             exists (select from pg_catalog.pg_namespace where nspname = 'public')",
    )
    .fetch_one(&mut *connection)
    .await?;
    let obstacle: Cow<'static, str> = if !available {
        "the server lacks the extension pgvector; install it there, then run `notekeeper migrate` again"
            .into()
    } else if !public {
        "the database has no schema `public` for the extension pgvector; have an administrator run \
         `create extension vector schema …` with the name of another"
            .into()
    } else {
        match create_extension(connection).await? {
            Some(obstacle) => obstacle,
            None => return Ok(None),
        }
    };
    Ok(Some(format!(
        "vectors can't be searched: {obstacle}; all else works without it"
    )))
}

/// Creates the extension, or says why it can't be.
async fn create_extension(
    connection: &mut PgConnection,
) -> Result<Option<Cow<'static, str>>, Fault> {
    let created = connection
        .execute("create extension vector schema public")
        .await;
    let code = match created {
        Ok(_) => return Ok(None),
        // Of its report the code alone: its words may quote anything.
        Err(sqlx::Error::Database(error)) => error.code().unwrap_or_default().into_owned(),
        Err(error) => return Err(error.into()),
    };
    // Somebody else may have made it at the same time.
    if look_for_extension(connection).await?.schema.is_some() {
        return Ok(None);
    }
    Ok(Some(if code == Fault::DENIED {
        "this role can't create the extension pgvector; have an administrator run \
         `create extension vector`"
            .into()
    } else {
        format!(
            "the extension pgvector couldn't be created ({}); the server's log says why; then run \
             `notekeeper migrate` again",
            described(&code)
        )
        .into()
    }))
}
