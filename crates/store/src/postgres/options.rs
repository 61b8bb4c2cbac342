//! How to connect.

use std::{fmt, str::FromStr, time::Duration};

use sqlx::postgres::PgConnectOptions;

use crate::StoreError;

/// Schema that holds the tables where no other is named.
pub(crate) const SCHEMA_DEFAULT: &str = "notekeeper";

/// Longest name that PostgreSQL keeps whole, in bytes.
const IDENTIFIER_BYTES_MAX: usize = 63;

/// How to connect to PostgreSQL, and what to wait for how long.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database`, with the parameters that libpq knows. Where
    /// `application_name` isn't one of them, it is `notekeeper`.
    pub url: String,
    /// Schema that holds the tables: lower-case ASCII letters, digits and `_`, at most 63
    /// characters, not starting with a digit.
    pub schema: String,
    /// Most connections that are open at a time; at least 1.
    pub connections_max: u32,
    /// Longest wait for a connection. An operation starts no further attempt once it has taken
    /// this long.
    pub acquire_timeout: Duration,
    /// Longest that the database works on one statement, waiting for locks included; 1 ms to
    /// 24 days, in whole milliseconds. A transaction in which no statement comes for half as
    /// long is given up by the database.
    pub statement_timeout: Duration,
}

impl PostgresOptions {
    /// Options with defaults: schema `notekeeper`, 10 connections, 5 s for a connection, 8 s for
    /// a statement.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: SCHEMA_DEFAULT.to_owned(),
            connections_max: 10,
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(8),
        }
    }

    /// Checks the options and turns them into the driver's.
    pub(crate) fn connect_options(&self) -> Result<PgConnectOptions, StoreError> {
        check_schema(&self.schema)?;
        if self.connections_max == 0 {
            return Err(invalid("connections_max", "at least 1 is needed"));
        }
        let timeout_ms = self.statement_timeout.as_millis();
        // To PostgreSQL, 0 means no end.
        if timeout_ms == 0 || i32::try_from(timeout_ms).is_err() {
            return Err(invalid("statement_timeout", "use 1 ms to 24 days"));
        }
        // The driver takes any scheme, and its own message can quote parts of the URL, which
        // holds a password.
        let options = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| self.url.starts_with(scheme))
            .then(|| PgConnectOptions::from_str(&self.url).ok())
            .flatten()
            .ok_or_else(|| {
                invalid(
                    "url",
                    "it is no URL of the form `postgres://user@host:port/database`",
                )
            })?;
        for parameter in unknown_parameters(&self.url) {
            tracing::warn!(
                parameter,
                "the database's URL has a parameter without effect"
            );
        }
        let named = options.get_application_name().is_some();
        let options = if named {
            options
        } else {
            options.application_name("notekeeper")
        };
        Ok(options.options([
            // Quoted, because a valid schema name can be a word of the language.
            ("search_path", format!("\"{}\"", self.schema)),
            ("statement_timeout", format!("{timeout_ms}ms")),
            // A worker that vanishes inside of a transaction leaves a locked note behind, for as
            // long as TCP takes to notice. Half of what a statement may take: whoever waits for
            // the lock still gets it. A worker that lives needs milliseconds. 0 means no end.
            (
                "idle_in_transaction_session_timeout",
                format!("{}ms", (timeout_ms / 2).max(1)),
            ),
            // The statements rely on seeing what was committed before each of them.
            ("default_transaction_isolation", "read committed".to_owned()),
            // Every statement is meant to run by one plan: a range of an index, whatever the
            // values are. Plans for single values would be made anew each time.
            ("plan_cache_mode", "force_generic_plan".to_owned()),
        ]))
    }
}

impl fmt::Debug for PostgresOptions {
    /// Leaves out the URL, which holds a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("connections_max", &self.connections_max)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .finish_non_exhaustive()
    }
}

/// Parameters of a URL that the driver doesn't know, without their values, which may be a
/// misspelt password.
fn unknown_parameters(url: &str) -> impl Iterator<Item = &str> {
    const KNOWN: [&str; 18] = [
        "sslmode",
        "ssl-mode",
        "sslrootcert",
        "ssl-root-cert",
        "ssl-ca",
        "sslcert",
        "ssl-cert",
        "sslkey",
        "ssl-key",
        "statement-cache-capacity",
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "password",
        "application_name",
        "options",
    ];
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let parameters = query.split('&').filter_map(|part| part.split('=').next());
    parameters.filter(|key| {
        !key.is_empty() && !KNOWN.contains(key) && !key.to_lowercase().starts_with("options")
    })
}

fn check_schema(schema: &str) -> Result<(), StoreError> {
    let starts_well = schema
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_lowercase() || b == b'_');
    let holds_well = schema
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if starts_well && holds_well && schema.len() <= IDENTIFIER_BYTES_MAX {
        Ok(())
    } else {
        Err(invalid(
            "schema",
            "use lower-case letters, digits and `_`, at most 63 characters, no digit first",
        ))
    }
}

fn invalid(field: &'static str, reason: &str) -> StoreError {
    StoreError::InvalidValue {
        field,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_without_effect_are_told_by_name_and_never_by_value() {
        let url =
            "postgres://a:b@h/d?sslmode=require&pasword=hunter2&options%5Bx%5D=y&connect_timeout=3";
        let unknown: Vec<_> = unknown_parameters(url).collect();
        assert_eq!(unknown, ["pasword", "connect_timeout"]);
        assert_eq!(unknown_parameters("postgres://a:b@h/d").count(), 0);
    }
}
