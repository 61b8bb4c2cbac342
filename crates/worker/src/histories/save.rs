//! Saving a history as a file.
//!
//! In proto3 JSON, as `temporal workflow show --output json` prints it: of the forms that
//! [`load_history`](super::load_history) reads it is the one that Temporal's tools and other SDKs read
//! too, and that a person can look into. Protobuf binary is a third of the size and neither; the JSON
//! of the Rust SDK is read by nothing else.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use temporalio_common::protos::temporal::api::history::v1::History;

use super::proto_json;

/// Longest part of a file name that is made of the workflow id. File systems allow 255 bytes in
/// all; the run id, the extension and that of the file while it is written take 50 of them.
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
    let unfinished = path.with_extension("json.part");
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&unfinished, json))
        .and_then(|()| std::fs::rename(&unfinished, &path))
        .with_context(|| format!("can't save `{}`", path.display()))?;
    Ok(path)
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
    use super::*;

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
