//! `notekeeper migrate`: bring the PostgreSQL schema up to date.

use std::{io::Write as _, path::Path, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;
use notekeeper_store::PostgresOptions;

use crate::{
    arguments::DatabaseArgs,
    config::{File, StoreConfig},
    wiring::database,
};

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

pub(crate) fn run(config: Option<&Path>, args: MigrateArgs) -> anyhow::Result<ExitCode> {
    let stores = File::read(config)?.stores(&args.database)?;
    super::block_on(async {
        let mut kept = 0;
        for (name, config) in &stores {
            match config {
                StoreConfig::Postgres(options) => migrate(name, options).await?,
                StoreConfig::Sqlite(_) => writeln!(
                    std::io::stdout(),
                    "store `{name}`: nothing to do; an SQLite file is migrated whenever it is opened"
                )?,
                StoreConfig::InMemory => continue,
            }
            kept += 1;
        }
        if kept == 0 {
            bail!("no configured store is a database; there is nothing to migrate");
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn migrate(name: &str, options: &PostgresOptions) -> anyhow::Result<()> {
    let database = database(name, options)?;
    let report = database
        .migrate()
        .await
        .with_context(|| format!("store `{name}`"))?;
    let mut out = std::io::stdout();
    if report.applied.is_empty() {
        writeln!(
            out,
            "store `{name}`: up to date at migration {}",
            report.before
        )?;
    }
    for (number, migration) in report.applied {
        writeln!(out, "store `{name}`: applied {number} {migration}")?;
    }
    database.close().await;
    Ok(())
}
