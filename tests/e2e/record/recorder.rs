//! Writing a history as a file of the replay tests.

use std::path::{Path, PathBuf};

use notekeeper::{ReplayOutcome, checks_identity, load_history, replay_history};
use prost::Message as _;
use serde_json::Value;
use temporalio_common::protos::temporal::api::{enums::v1::TaskQueueKind, history::v1::History};

/// Set by `make record`. Without it, what is recorded goes to a directory that is removed.
const RECORD_VARIABLE: &str = "NOTEKEEPER_RECORD";

/// Stands where a recorded history named the process that did something.
const IDENTITY: &str = "recorder";

/// The form that a history is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The SDK's JSON.
    Json,
    /// Protobuf binary.
    Binary,
}

/// Writes histories into one directory: the replay tests' own under `make record`.
pub(super) struct Recorder {
    directory: PathBuf,
    _removed_at_the_end: Option<tempfile::TempDir>,
}

impl Recorder {
    /// Writes histories of one workflow type. `workflow` is the directory's name.
    pub(super) fn of(workflow: &str) -> Self {
        if std::env::var_os(RECORD_VARIABLE).is_none_or(|set| set != "1") {
            return Self::discarding();
        }
        let histories = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/replay/histories");
        let directory = histories.join(workflow);
        std::fs::create_dir_all(&directory).expect("make the directory of histories");
        Self {
            directory,
            _removed_at_the_end: None,
        }
    }

    /// Writes histories that are removed when the test ends.
    pub(super) fn discarding() -> Self {
        let temporary = tempfile::tempdir().expect("temporary directory");
        Self {
            directory: temporary.path().to_owned(),
            _removed_at_the_end: Some(temporary),
        }
    }

    /// Writes a history, reads it back, and says what was read.
    pub(super) fn write(&self, what_happened: &str, form: Form, history: &History) -> History {
        let history = without_identities(history);
        assert!(
            checks_identity(&history),
            "{what_happened}: the SDK did not record that it compares ids and types of activities"
        );
        let (extension, bytes) = match form {
            Form::Json => ("json", serde_json::to_vec(&history).expect("JSON")),
            Form::Binary => ("binpb", history.encode_to_vec()),
        };
        for extension in ["json", "binpb"] {
            // A history that is now written in the other form would be there twice.
            let _ = std::fs::remove_file(self.path(what_happened, extension));
        }
        let path = self.path(what_happened, extension);
        std::fs::write(&path, bytes).expect("write the history");
        println!("recorded {}", path.display());
        let read = load_history(&path).expect("what was written can be read");
        assert_eq!(read, history, "{what_happened}: reads as it was written");
        read
    }

    /// Writes a history of `AgentWorkflow`, which must replay at once.
    pub(super) async fn write_agent(&self, what_happened: &str, form: Form, history: &History) {
        let history = self.write(what_happened, form, history);
        let outcome = replay_history(history).await;
        assert_eq!(outcome, ReplayOutcome::Replayed, "{what_happened}");
    }

    /// Writes what another tool shows of a history of `AgentWorkflow`, which must replay at once;
    /// says what was read of it.
    pub(super) async fn write_shown(&self, what_happened: &str, shown: &Value) -> History {
        let mut shown = shown.clone();
        scrub(&mut shown);
        let path = self.path(what_happened, "json");
        let text = serde_json::to_string_pretty(&shown).expect("JSON");
        std::fs::write(&path, text).expect("write the history");
        println!("recorded {}", path.display());
        let read = load_history(&path).expect("what was written can be read");
        let outcome = replay_history(read.clone()).await;
        assert_eq!(outcome, ReplayOutcome::Replayed, "{what_happened}");
        read
    }

    fn path(&self, what_happened: &str, extension: &str) -> PathBuf {
        self.directory.join(format!("{what_happened}.{extension}"))
    }
}

/// A history that doesn't say which processes on which machine made it.
pub(super) fn without_identities(history: &History) -> History {
    let mut json = serde_json::to_value(history).expect("JSON");
    scrub(&mut json);
    serde_json::from_value(json).expect("still a history")
}

fn scrub(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(identity) = map.get_mut("identity").filter(|held| held.is_string()) {
                *identity = IDENTITY.into();
            }
            // The queue of one worker process is named after it.
            let sticky = TaskQueueKind::Sticky;
            if map
                .get("kind")
                .is_some_and(|kind| *kind == sticky as i32 || *kind == sticky.as_str_name())
            {
                map.insert("name".to_owned(), IDENTITY.into());
            }
            map.values_mut().for_each(scrub);
        }
        Value::Array(items) => items.iter_mut().for_each(scrub),
        _ => {}
    }
}
