//! `notekeeper migrate`: bring the PostgreSQL schema up to date.

use std::{collections::BTreeMap, path::Path, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;
use notekeeper_store::PostgresOptions;
use serde::Serialize;

use crate::{
    arguments::{DatabaseArgs, OutputArgs},
    config::{File, StoreConfig},
    exit::Exit,
    output::{print, print_json},
    wiring::database,
};

#[derive(Debug, Args)]
#[command(after_help = "\
Stores are migrated one after the other; workers of the release before may go on meanwhile. A schema \
is made where it is missing, and the extension pgvector where the server has it and the role may; where \
it can't be made, standard output says what to do. SQLite files need none of this: they are migrated when they are opened. \
Where a store fails, the ones before it stay migrated, and standard output says so.

Examples:
  notekeeper migrate --database-url postgres://localhost/app
  notekeeper migrate --config notekeeper.toml --json")]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What became of all stores that are databases.
#[derive(Serialize)]
struct Migrated {
    stores: Vec<MigratedStore>,
}

/// What became of one store.
#[derive(Serialize)]
struct MigratedStore {
    store: String,
    kind: &'static str,
    /// Newest migration that the database had; null of an SQLite file, which nobody looked into.
    before: Option<i64>,
    applied: Vec<AppliedMigration>,
    /// What couldn't be done, and what to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
}

#[derive(Serialize)]
struct AppliedMigration {
    number: i64,
    name: String,
}

pub(crate) fn run(config: Option<&Path>, args: MigrateArgs) -> anyhow::Result<ExitCode> {
    let configs = File::read(config)?.stores(&args.database)?;
    super::block_on(async {
        let mut stores = Vec::new();
        let ended = each(&configs, args.output.json, &mut stores).await;
        let none = stores.is_empty();
        // What was done stands, also where a later store failed.
        if args.output.json && !none {
            print_json(&Migrated { stores })?;
        }
        ended?;
        if none {
            bail!("no configured store is a database; there is nothing to migrate");
        }
        Ok(Exit::Done.into())
    })
}

/// Migrates one store after the other, until one fails.
async fn each(
    configs: &BTreeMap<String, StoreConfig>,
    quiet: bool,
    done: &mut Vec<MigratedStore>,
) -> anyhow::Result<()> {
    for (name, config) in configs {
        let migrated = match config {
            StoreConfig::Postgres(options) => migrate(name, options).await?,
            StoreConfig::Sqlite(_) => MigratedStore {
                store: name.clone(),
                kind: "sqlite",
                before: None,
                applied: Vec::new(),
                notices: Vec::new(),
            },
            StoreConfig::File(_) | StoreConfig::WorkspaceFiles(_) | StoreConfig::InMemory => {
                continue;
            }
        };
        // At once: a later store may fail.
        if !quiet {
            print(&said(&migrated))?;
        }
        done.push(migrated);
    }
    Ok(())
}

async fn migrate(name: &str, options: &PostgresOptions) -> anyhow::Result<MigratedStore> {
    let database = database(name, options)?;
    let report = database
        .migrate()
        .await
        .with_context(|| format!("store `{name}`"))?;
    database.close().await;
    let applied = report.applied.into_iter();
    Ok(MigratedStore {
        store: name.to_owned(),
        kind: "postgres",
        before: Some(report.before),
        applied: applied
            .map(|(number, name)| AppliedMigration { number, name })
            .collect(),
        notices: report.notices,
    })
}

fn said(migrated: &MigratedStore) -> String {
    let store = &migrated.store;
    let notices = migrated.notices.iter();
    let notices = notices.map(|notice| format!("store `{store}`: {notice}\n"));
    applied(migrated) + &notices.collect::<String>()
}

fn applied(migrated: &MigratedStore) -> String {
    let store = &migrated.store;
    match migrated.before {
        None => format!(
            "store `{store}`: nothing to do; an SQLite file is migrated whenever it is opened\n"
        ),
        Some(before) if migrated.applied.is_empty() => {
            format!("store `{store}`: up to date at migration {before}\n")
        }
        Some(_) => {
            let lines = migrated.applied.iter().map(|migration| {
                format!(
                    "store `{store}`: applied {} {}\n",
                    migration.number, migration.name
                )
            });
            lines.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_done_is_said_after_what_was() {
        let migrated = |applied: &[(i64, &str)], notices: &[&str]| MigratedStore {
            store: "default".to_owned(),
            kind: "postgres",
            before: Some(3),
            applied: applied
                .iter()
                .map(|(number, name)| AppliedMigration {
                    number: *number,
                    name: (*name).to_owned(),
                })
                .collect(),
            notices: notices.iter().map(|&notice| notice.to_owned()).collect(),
        };
        let some = migrated(&[(4, "vectors and journal")], &["no vectors; do something"]);
        assert_eq!(
            said(&some),
            "store `default`: applied 4 vectors and journal\n\
             store `default`: no vectors; do something\n"
        );
        let none = migrated(&[], &[]);
        assert_eq!(said(&none), "store `default`: up to date at migration 3\n");
        let json = serde_json::to_value(&none).expect("JSON");
        assert_eq!(
            json.get("notices"),
            None,
            "what was there before stays as it was"
        );
    }
}
