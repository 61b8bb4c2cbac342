//! PostgreSQL's own benchmark program, running the product's statements from a script.

use std::{path::PathBuf, process::Stdio};

use anyhow::{Context as _, anyhow, bail};
use async_trait::async_trait;
use notekeeper_domain::{MAIN_NOTE, NOTE_CHARS_MAX_DEFAULT};
use sqlx::{Connection as _, PgConnection};
use tokio::process::Command;

use crate::{
    bare::{connect_options, names_asked, put, settings},
    dataset,
    drive::Length,
    note::{self, Counted},
    sample::Sample,
    statements::{
        FIND_RECEIPT, LIST_NAMES, LOCK_NOTE, LOOK_UP, READ_NOTE, READ_NOTEBOOK, UPDATE_NOTE,
        for_pgbench,
    },
    work::{Cell, Contender, Work},
};

/// First of the scopes that clients write to.
const FIRST_SCOPE: u32 = 700_000;

/// The scope of the contended note.
const HOT_SCOPE: &str = "710000";

/// The name in results.
pub(crate) const PGBENCH: &str = "pgbench";

/// Threads of pgbench: as many as the load of the others has.
const THREADS: u32 = 2;

/// The contender.
pub(crate) struct Pgbench {
    program: PathBuf,
    url: String,
    schema: String,
    directory: PathBuf,
}

impl Pgbench {
    /// The program, and a directory for its scripts.
    pub(crate) fn new(program: PathBuf, url: &str, schema: &str, directory: PathBuf) -> Self {
        Self {
            program,
            url: url.to_owned(),
            schema: schema.to_owned(),
            directory,
        }
    }

    fn script(&self, work: Work) -> PathBuf {
        self.directory.join(format!("{}.pgbench", work.name()))
    }

    /// Its settings for the server, as libpq takes them: spaces inside of a value are escaped.
    fn server_options(&self) -> String {
        settings(&self.schema)
            .iter()
            .map(|(name, value)| format!("-c {name}={}", value.replace(' ', "\\ ")))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

#[async_trait]
impl Contender for Pgbench {
    fn name(&self) -> &'static str {
        PGBENCH
    }

    fn takes(&self, work: Work) -> bool {
        !matches!(work, Work::SearchRare | Work::SearchCommon)
    }

    async fn prepare(&mut self, cell: Cell) -> anyhow::Result<()> {
        std::fs::write(self.script(cell.work), script(cell.work)?)?;
        let options = connect_options(&self.url, &self.schema)?;
        let mut connection = PgConnection::connect_with(&options).await?;
        match cell.work {
            Work::Write => {
                for number in 0..cell.clients {
                    let scope = (FIRST_SCOPE + number).to_string();
                    put(&mut connection, &scope, &Counted::default().text()).await?;
                }
            }
            Work::Append => put(&mut connection, HOT_SCOPE, &half(cell)).await?,
            _ => {}
        }
        connection.close().await?;
        Ok(())
    }

    async fn run(&mut self, cell: Cell) -> anyhow::Result<Sample> {
        let length = match cell.length {
            Length::Time(time) => ["--time".to_owned(), time.as_secs().max(1).to_string()],
            Length::Operations(number) => ["--transactions".to_owned(), number.to_string()],
        };
        let content = match cell.work {
            Work::Append => half(cell),
            _ => Counted::default().text(),
        };
        let output = Command::new(&self.program)
            .args(["--no-vacuum", "--protocol", "prepared"])
            .args(["--client", &cell.clients.to_string()])
            .args(["--jobs", &THREADS.min(cell.clients).to_string()])
            .args(length)
            .arg("--file")
            .arg(self.script(cell.work))
            .args(["--define", &format!("chars={}", content.len())])
            .args(["--define", &format!("content={content}")])
            .arg(&self.url)
            .env("PGOPTIONS", self.server_options())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .with_context(|| format!("can't run `{}`", self.program.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("pgbench failed ({}): {errors}", output.status);
        }
        sample(&said).ok_or_else(|| anyhow!("pgbench said something else than expected: {said}"))
    }
}

fn half(cell: Cell) -> String {
    let appends = match cell.length {
        Length::Operations(each) => cell.clients * each,
        Length::Time(_) => 0,
    };
    note::half_appended(appends)
}

/// What pgbench says of its transactions. The rate leaves out the time for connecting.
fn sample(said: &str) -> Option<Sample> {
    let number = |label: &str| -> Option<f64> {
        let rest = said.lines().find_map(|line| line.strip_prefix(label))?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        rest[..end.unwrap_or(rest.len())].parse().ok()
    };
    let done = number("number of transactions actually processed: ")?;
    let rate = number("tps = ")?;
    (number("number of failed transactions: ")? == 0.0).then_some(Sample {
        operations: done as u64,
        seconds: done / rate,
        ..Sample::default()
    })
}

/// The script for a kind of operation. What has no variable of its own is a literal: null, because
/// no variable of pgbench can be that.
fn script(work: Work) -> anyhow::Result<String> {
    let (first, last) = dataset::scope_range();
    let any_scope = format!("\\set scope random({first}, {last})\n");
    let main = format!("'{MAIN_NOTE}'");
    let operation = format!(
        "\\set operation random(1000000000000000000, {})\n",
        i64::MAX
    );
    let note_chars = NOTE_CHARS_MAX_DEFAULT.to_string();
    let edit_chars = (NOTE_CHARS_MAX_DEFAULT + 1).to_string();
    let fingerprint = format!("'{}'", "0123456789abcdef".repeat(4));
    let update = |version: &str| {
        let parameters = [
            ":scope",
            ":operation",
            &main,
            ":content",
            "null",
            ":chars",
            &fingerprint,
            "'edit'",
            "'updated'",
            version,
            "true",
        ];
        for_pgbench(UPDATE_NOTE, &parameters)
    };
    Ok(match work {
        Work::Write => {
            let look_up = for_pgbench(LOOK_UP, &[":scope", ":operation", &main, &edit_chars]);
            format!(
                "{operation}\\set scope {FIRST_SCOPE} + :client_id\n{look_up} \\gset found_\n{};\n",
                update(":found_note_version")
            )
        }
        Work::Append => {
            let lock = for_pgbench(LOCK_NOTE, &[":scope", &main, &edit_chars]);
            let receipt = for_pgbench(FIND_RECEIPT, &[":scope", ":operation"]);
            format!(
                "{operation}\\set scope {HOT_SCOPE}\nbegin isolation level read committed;\n\
                 {lock} \\gset locked_\n{receipt};\n{};\ncommit;\n",
                update(":locked_note_version")
            )
        }
        Work::Read => {
            let read = for_pgbench(READ_NOTE, &[":scope", &main, &note_chars]);
            format!("{any_scope}{read};\n")
        }
        Work::Snapshot => {
            let asked = names_asked().to_string();
            let read = for_pgbench(READ_NOTEBOOK, &[":scope", &main, &note_chars, &asked]);
            format!("{any_scope}{read};\n")
        }
        Work::List => {
            let asked = (note::NAMES_MAX + 1).to_string();
            let list = for_pgbench(LIST_NAMES, &[":scope", &asked]);
            format!("{any_scope}{list};\n")
        }
        Work::SearchRare | Work::SearchCommon => bail!("pgbench doesn't search"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pgbench_says_becomes_a_sample() {
        let said = "scaling factor: 1\nnumber of transactions actually processed: 1500\n\
                    number of failed transactions: 0 (0.000%)\nlatency average = 0.5 ms\n\
                    initial connection time = 3.2 ms\ntps = 3000.5 (without initial connection time)\n";
        let sample = sample(said).expect("a sample");
        assert_eq!(sample.operations, 1500);
        assert!((sample.rate() - 3000.5).abs() < 1e-6);
    }

    #[test]
    fn failed_transactions_are_no_sample() {
        let said = "number of transactions actually processed: 9\n\
                    number of failed transactions: 1 (0.1%)\ntps = 3000.5 (…)\n";
        assert_eq!(sample(said), None);
    }
}
