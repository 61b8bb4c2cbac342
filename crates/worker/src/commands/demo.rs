//! `notekeeper demo`.

use std::{path::Path, process::ExitCode};

use crate::cli::DemoArgs;

pub(crate) fn run(_config: Option<&Path>, _args: DemoArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not here yet")
}
