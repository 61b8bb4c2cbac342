//! The product's statements in a loop over bare sqlx connections: no pool, no retries, no checks.

use std::str::FromStr as _;

use async_trait::async_trait;
use notekeeper_domain::{MAIN_NOTE, NOTE_CHARS_MAX_DEFAULT};
use sqlx::{Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};

use crate::{
    dataset,
    drive::{Client, drive},
    note::{self, Counted},
    product::render_settings,
    sample::Sample,
    statements::{LIST_NAMES, LOOK_UP, READ_NOTE, READ_NOTEBOOK, UPDATE_NOTE},
    work::{Cell, Contender, Work},
};

/// First of the scopes that clients write to.
const FIRST_SCOPE: u32 = 900_000;

/// The name in results.
pub(crate) const BARE: &str = "bare sqlx loop";

/// A fingerprint's length; what it says makes no difference.
const FINGERPRINT: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The contender.
pub(crate) struct Bare {
    options: PgConnectOptions,
    clients: Vec<Box<dyn Client>>,
}

impl Bare {
    /// Connections to a schema of the product's, with the settings that the product gives them.
    pub(crate) fn new(url: &str, schema: &str) -> anyhow::Result<Self> {
        Ok(Self {
            options: connect_options(url, schema)?,
            clients: Vec::new(),
        })
    }
}

/// How the product connects.
pub(crate) fn connect_options(url: &str, schema: &str) -> anyhow::Result<PgConnectOptions> {
    let options = PgConnectOptions::from_str(url)?.application_name("notekeeper-bench");
    Ok(options.options(settings(schema)))
}

/// The settings of the product's connections.
pub(crate) fn settings(schema: &str) -> [(&'static str, String); 4] {
    [
        ("search_path", format!("\"{schema}\"")),
        ("statement_timeout", "8000ms".to_owned()),
        ("default_transaction_isolation", "read committed".to_owned()),
        ("plan_cache_mode", "force_generic_plan".to_owned()),
    ]
}

#[async_trait]
impl Contender for Bare {
    fn name(&self) -> &'static str {
        BARE
    }

    fn takes(&self, work: Work) -> bool {
        matches!(work, Work::Write | Work::Read | Work::Snapshot | Work::List)
    }

    async fn prepare(&mut self, cell: Cell) -> anyhow::Result<()> {
        self.clients.clear();
        for number in 0..cell.clients {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            let client: Box<dyn Client> = match cell.work {
                Work::Write => {
                    let scope = (FIRST_SCOPE + number).to_string();
                    let note = Counted::default();
                    put(&mut connection, &scope, &note.text()).await?;
                    Box::new(Writer {
                        connection,
                        scope,
                        note,
                    })
                }
                work => Box::new(Reader {
                    connection,
                    work,
                    turn: number,
                }),
            };
            self.clients.push(client);
        }
        Ok(())
    }

    async fn run(&mut self, cell: Cell) -> anyhow::Result<Sample> {
        drive(&mut self.clients, cell.length).await
    }
}

/// Puts a main note into a scope, whatever was there.
pub(crate) async fn put(
    connection: &mut PgConnection,
    scope: &str,
    text: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into notes (scope, name, content, chars, version)
         values ($1, $2, $3, $4, nextval('note_versions'))
         on conflict (scope, name) do update set content = excluded.content, chars = excluded.chars",
    )
    .bind(scope)
    .bind(MAIN_NOTE)
    .bind(text)
    .bind(bounded(text.len()))
    .execute(connection)
    .await?;
    Ok(())
}

fn bounded(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

struct Writer {
    connection: PgConnection,
    scope: String,
    note: Counted,
}

#[async_trait]
impl Client for Writer {
    async fn operate(&mut self) -> anyhow::Result<()> {
        let id = note::operation_id();
        let row = sqlx::query(LOOK_UP)
            .bind(&self.scope)
            .bind(&id)
            .bind(MAIN_NOTE)
            .bind(bounded(NOTE_CHARS_MAX_DEFAULT + 1))
            .fetch_one(&mut self.connection)
            .await?;
        let version: i64 = row.try_get("note_version")?;
        let content: &str = row.try_get("content")?;
        let (old, new) = self.note.count();
        let text = content.replacen(&old, &new, 1);
        let written = sqlx::query(UPDATE_NOTE)
            .bind(&self.scope)
            .bind(&id)
            .bind(MAIN_NOTE)
            .bind(&text)
            .bind(None::<&str>)
            .bind(bounded(text.len()))
            .bind(FINGERPRINT)
            .bind("edit")
            .bind("updated")
            .bind(version)
            .bind(true)
            .fetch_optional(&mut self.connection)
            .await?;
        anyhow::ensure!(written.is_some(), "a note that nobody else writes changed");
        Ok(())
    }
}

struct Reader {
    connection: PgConnection,
    work: Work,
    turn: u32,
}

#[async_trait]
impl Client for Reader {
    async fn operate(&mut self) -> anyhow::Result<()> {
        self.turn += 1;
        let scope = dataset::scope(self.turn);
        let connection = &mut self.connection;
        match self.work {
            Work::Snapshot => {
                let row = sqlx::query(READ_NOTEBOOK)
                    .bind(scope)
                    .bind(MAIN_NOTE)
                    .bind(bounded(NOTE_CHARS_MAX_DEFAULT))
                    .bind(names_asked())
                    .fetch_one(connection)
                    .await?;
                let content: String = row.try_get("content")?;
                let names: Vec<String> = row.try_get("names")?;
                anyhow::ensure!(content.len() == dataset::NOTE_CHARS);
                anyhow::ensure!(names.len() == dataset::NOTES - 1);
            }
            Work::List => {
                let names: Vec<String> = sqlx::query_scalar(LIST_NAMES)
                    .bind(scope)
                    .bind(note::NAMES_MAX as i64 + 1)
                    .fetch_all(connection)
                    .await?;
                anyhow::ensure!(names.len() == dataset::NOTES);
            }
            _ => {
                let row = sqlx::query(READ_NOTE)
                    .bind(scope)
                    .bind(MAIN_NOTE)
                    .bind(bounded(NOTE_CHARS_MAX_DEFAULT))
                    .fetch_one(connection)
                    .await?;
                let content: String = row.try_get("content")?;
                anyhow::ensure!(content.len() == dataset::NOTE_CHARS);
            }
        }
        Ok(())
    }
}

/// Names that a snapshot asks for: those that fit, and one that tells whether there are more.
pub(crate) fn names_asked() -> i64 {
    render_settings().names_max() as i64 + 1
}
