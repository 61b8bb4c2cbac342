//! Saving a history as a file.
//!
//! In proto3 JSON, as `temporal workflow show --output json` prints it: of the forms that
//! [`load_history`](super::load_history) reads it is the one that Temporal's tools and other SDKs read
//! too, and that a person can look into. Protobuf binary is a third of the size and neither; the JSON
//! of the Rust SDK is read by nothing else.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use temporalio_common::protos::temporal::api::history::v1::History;

use super::proto_json;

/// Longest part of a file name that is made of the workflow id. File systems allow 255 bytes in
/// all; the run id and the extension take 42 of them.
const ID_PART_MAX: usize = 150;

/// Saves the history of a run in a directory, which is made if it isn't there, and says in which
/// file. What was saved of the same run before is replaced, in one step.
pub(crate) fn save_history(
    directory: &Path,
    workflow_id: &str,
    run_id: &str,
    history: &History,
) -> anyhow::Result<PathBuf> {
    let json = proto_json::write(history).context("the history can't be written as JSON")?;
    let path = directory.join(format!("{}.json", file_stem(workflow_id, run_id)));
    write_whole(directory, &path, &json)
        .with_context(|| format!("can't save `{}`", path.display()))?;
    Ok(path)
}

/// Writes a file that is this user's alone, since a history holds messages and notes, and gives it
/// its name once it is whole.
fn write_whole(directory: &Path, path: &Path, json: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut unfinished = tempfile::Builder::new()
        .prefix(".notekeeper-")
        .suffix(".part")
        .tempfile_in(directory)?;
    unfinished.write_all(json)?;
    unfinished.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A name that no other run has, from which a person knows the workflow. A workflow id may be any
/// text.
fn file_stem(workflow_id: &str, run_id: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    let id: String = workflow_id
        .chars()
        .map(|letter| if plain(letter) { letter } else { '_' })
        .take(ID_PART_MAX)
        .collect();
    // A name that begins with a dot is hidden.
    format!(
        "{}_{run_id}",
        id.replacen('.', "_", usize::from(id.starts_with('.')))
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_saved_history_is_this_user_s_alone_also_where_it_takes_the_place_of_one_that_was_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let before = directory.path().join("w_r.json");
        std::fs::write(&before, "{}").expect("write");
        std::fs::set_permissions(&before, std::fs::Permissions::from_mode(0o644)).expect("mode");
        let saved = save_history(directory.path(), "w", "r", &History::default()).expect("saved");
        assert_eq!(saved, before);
        let mode = saved.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let entries = std::fs::read_dir(directory.path()).expect("read");
        assert_eq!(entries.count(), 1);
    }

    #[test]
    fn a_workflow_id_of_any_text_makes_a_plain_file_name() {
        for (id, stem) in [
            ("agent-7", "agent-7_r"),
            ("customers/acme: ä", "customers_acme____r"),
            ("../../etc/passwd", "_._.._etc_passwd_r"),
            ("", "_r"),
        ] {
            assert_eq!(file_stem(id, "r"), stem, "{id}");
        }
        assert_eq!(file_stem(&"w".repeat(1_000), "r").len(), ID_PART_MAX + 2);
    }
}
