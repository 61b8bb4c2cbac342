//! Effects in the database, and locks that hold them up.

use std::str::FromStr as _;

use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, postgres::PgConnectOptions,
};

use super::Bed;

/// A row of the receipts.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Receipt {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) status: String,
}

/// While it is held, no note can be changed; notes can be read.
pub(crate) struct TableLock {
    connection: PgConnection,
    watcher: PgConnection,
}

impl Bed {
    /// A connection of the test's own that sees the bed's tables.
    pub(crate) async fn database(&self) -> PgConnection {
        let options = PgConnectOptions::from_str(&self.database_url).expect("usable DATABASE_URL");
        let options = options.options([("search_path", self.schema.as_str())]);
        PgConnection::connect_with(&options)
            .await
            .expect("connect to the database")
    }

    /// The receipts of a scope's notes and facts (its path form), oldest first.
    pub(crate) async fn receipts(&self, scope: &str) -> Vec<Receipt> {
        sqlx::query_as(
            "select id, kind, name, status from receipts where scope = $1 and kind not like '%_messages' order by created_at, version",
        )
        .bind(scope)
        .fetch_all(&mut self.database().await)
        .await
        .expect("read the receipts")
    }

    /// Runs a statement as an operator would.
    pub(crate) async fn execute(&self, sql: &str) {
        let mut connection = self.database().await;
        connection
            .execute(AssertSqlSafe(sql.to_owned()))
            .await
            .expect("run the statement");
    }

    /// Holds up all changes of notes.
    pub(crate) async fn lock_notes(&self) -> TableLock {
        let mut connection = self.database().await;
        connection
            .execute("begin; lock table notes in share mode")
            .await
            .expect("lock the notes");
        TableLock {
            connection,
            watcher: self.database().await,
        }
    }
}

impl TableLock {
    /// Waits until so many changes wait for the lock.
    pub(crate) async fn held_up(&mut self, changes: i64) {
        let deadline = tokio::time::Instant::now() + super::PATIENCE;
        loop {
            let waiting: i64 = sqlx::query_scalar(
                "select count(*) from pg_locks where not granted and relation = 'notes'::regclass",
            )
            .fetch_one(&mut self.watcher)
            .await
            .expect("count the waiting changes");
            if waiting >= changes {
                return;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{waiting} of {changes} changes wait for the lock"
            );
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Lets the changes go on.
    pub(crate) async fn release(self) {
        self.connection.close().await.expect("end the transaction");
    }
}
