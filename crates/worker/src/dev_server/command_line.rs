//! Finding the Temporal command line.

use std::{
    env,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

/// Its name on `PATH`.
const NAME: &str = "temporal";

/// The Temporal command line: the file that is given, else the one on `PATH`.
pub(crate) fn find_command_line(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        if !can_be_run(given) {
            bail!(
                "--temporal-cli (TEMPORAL_CLI) names `{}`, which {}; correct it, or leave it out for \
                 the `{NAME}` on PATH",
                given.display(),
                if given.exists() {
                    "can't be run"
                } else {
                    "doesn't exist"
                }
            );
        }
        return std::path::absolute(given).context("can't find the current directory");
    }
    let directories = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&directories)
        .map(|directory| directory.join(NAME))
        .find(|file| can_be_run(file))
        .context(
            "the Temporal command line is missing, which brings the server: there is no `temporal` on \
             PATH; install it (https://docs.temporal.io/cli), or give its file with --temporal-cli \
             (TEMPORAL_CLI)",
        )
}

fn can_be_run(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
