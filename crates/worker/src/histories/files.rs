//! Files of histories.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The files of the given paths; of a directory its history files (`.json`, `.pb`, `.bin`,
/// `.binpb`), sorted by name, and those of its directories.
///
/// # Errors
///
/// A path that doesn't exist or can't be listed, and a directory without a history file: a check
/// that checks nothing must not pass.
pub fn find_histories(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let data = std::fs::metadata(path)
            .with_context(|| format!("`{}` can't be opened", path.display()))?;
        if data.is_dir() {
            let before = files.len();
            list(path, &mut files)?;
            if files.len() == before {
                bail!(
                    "there are no history files (`.json`, `.pb`, `.bin`, `.binpb`) in `{}`",
                    path.display()
                );
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("`{}` can't be listed", directory.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str());
        // A link to a directory is not followed: it may lead back to where it stands.
        if path.is_dir() && !path.is_symlink() {
            list(&path, files)?;
        } else if matches!(extension, Some("json" | "pb" | "bin" | "binpb")) {
            files.push(path);
        }
    }
    Ok(())
}
