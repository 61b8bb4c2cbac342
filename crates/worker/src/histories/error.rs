//! Why something is no history that can be replayed.

/// What to run instead, where a file is something else.
const REMEDY: &str = "write a history with `temporal workflow show --workflow-id ID --output json`, \
                      or fetch and replay it with `notekeeper replay --workflow-id ID`";

/// Why a file is no history that can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file can't be read.
    #[error("can't be read: {0}")]
    Io(#[from] std::io::Error),
    /// The file is larger than any history, or has no end.
    #[error("has more than {} MiB, the most that is read of a history", .limit / (1024 * 1024))]
    TooLarge {
        /// What is read at most, in bytes.
        limit: u64,
    },
    /// There is nothing in the file.
    #[error("is empty")]
    Empty,
    /// The text isn't JSON, or not all of it.
    #[error("is not JSON: {0}")]
    Json(String),
    /// The text looks like the SDK's JSON of a history and isn't.
    #[error("is not the JSON that Temporal's Rust SDK writes of a history: {0}")]
    SdkJson(String),
    /// The text is JSON of something else; says of what.
    #[error("is {0}; {REMEDY}")]
    NoHistory(String),
    /// One event can't be read.
    #[error("event {number} {why}")]
    Event {
        /// Which one, counted from 1.
        number: usize,
        /// What is wrong with it, and where in it.
        why: String,
    },
    /// The bytes aren't a history's protobuf.
    #[error("is neither JSON nor the protobuf binary of a history: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// The events don't make a history.
    #[error("is no whole history: {0}")]
    Events(String),
}
