//! `notekeeper migrate`: bring the PostgreSQL schema up to date.

use std::{io::Write as _, path::Path, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{arguments::DatabaseArgs, config::File, wiring::open_stores};

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

pub(crate) fn run(config: Option<&Path>, args: MigrateArgs) -> anyhow::Result<ExitCode> {
    let stores = File::read(config)?.stores(&args.database)?;
    super::block_on(async {
        let databases = open_stores(&stores)?.databases;
        if databases.is_empty() {
            bail!("no configured store is a PostgreSQL database; there is nothing to migrate");
        }
        let mut out = std::io::stdout();
        for (name, database) in databases {
            let report = database
                .migrate()
                .await
                .with_context(|| format!("store `{name}`"))?;
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
        }
        Ok(ExitCode::SUCCESS)
    })
}
