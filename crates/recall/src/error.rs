//! Errors, grouped by what the caller may do. Their texts end up in histories and logs: they hold no
//! content, no query, no id and no namespace. Names of sources are settings, and may stand there.

use std::{sync::Arc, time::Duration};

use notekeeper_models::ModelError;
use notekeeper_store::{MutationError, StoreError};

use crate::{Answer, ToolCallError, Written};

/// Why a source gives no answer, or keeps nothing.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A policy doesn't let the call's scope at the source. Nothing was asked of it.
    #[error("source `{source_name}` refuses the scope: {reason}")]
    ScopeRefused {
        /// Which source.
        source_name: String,
        /// Which policy, in words that name no tenant.
        reason: String,
    },
    /// What is behind the source answered with something of another scope. None of it is passed on.
    #[error(
        "source `{source_name}` got something of another scope from its backend, and passes nothing on; see \
         what wrote it there"
    )]
    ForeignScope {
        /// Which source.
        source_name: String,
    },
    /// The source may not be written to.
    #[error(
        "source `{source_name}` is read-only and refuses {items} items; write to another, or say \
         on_write = \"ignore\" where a write may be dropped"
    )]
    WriteRefused {
        /// Which source.
        source_name: String,
        /// How many items it was given.
        items: usize,
    },
    /// Of several sources some failed; others may have kept the items.
    #[error("{}", partial(.0))]
    PartialWrite(Box<Written>),
    /// Of several sources none answered.
    #[error("{}", unheard(.source_name, .answer))]
    NoAnswer {
        /// Which composition.
        source_name: String,
        /// Who was late, and who failed; without items.
        answer: Box<Answer>,
    },
    /// What was asked or given makes no sense to the source; the text says what to change.
    #[error("{0}")]
    Invalid(String),
    /// Something is larger than the source takes.
    #[error("{0}")]
    TooLarge(String),
    /// The source can't do this, whatever the arguments.
    #[error("{0}")]
    Unsupported(String),
    /// What is behind the source can't be reached now, or didn't answer in time; the same call may
    /// succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A store didn't take a change.
    #[error(transparent)]
    Mutation(#[from] MutationError),
    /// A model of embeddings failed, or one that compacts.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A search tool failed.
    #[error(transparent)]
    Tool(#[from] ToolCallError),
}

/// A source that failed where others did not.
#[derive(Debug, Clone)]
pub struct FailedLeg {
    /// Its name.
    pub source: String,
    /// Why.
    pub error: Arc<SourceError>,
}

impl PartialEq for FailedLeg {
    /// By what is said of it.
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.error.to_string() == other.error.to_string()
    }
}

impl SourceError {
    /// Whether the same call may succeed later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unavailable(_)
            | Self::Store(StoreError::Unavailable(_) | StoreError::TooNew { .. })
            | Self::Mutation(MutationError::Store(
                StoreError::Unavailable(_) | StoreError::TooNew { .. },
            ))
            | Self::Model(ModelError::Unavailable { .. })
            | Self::Tool(ToolCallError::Unavailable { .. }) => true,
            Self::PartialWrite(_) => self.leading().is_some_and(Self::is_passing),
            Self::NoAnswer { .. } => self.leading().is_none_or(Self::is_passing),
            _ => false,
        }
    }

    /// Whether it tells of a boundary between tenants. Such an error ends the whole query or write,
    /// whatever other sources have to say.
    pub fn is_of_scope(&self) -> bool {
        match self {
            Self::ScopeRefused { .. } | Self::ForeignScope { .. } => true,
            Self::PartialWrite(_) => self.leading().is_some_and(Self::is_of_scope),
            _ => false,
        }
    }

    /// Whether the operation was used for another write before. Such an error ends the whole write: whoever
    /// repeats it with these items comes to nothing, and others have kept what was written then.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Mutation(MutationError::OperationConflict) => true,
            Self::PartialWrite(_) => self.leading().is_some_and(Self::is_conflict),
            _ => false,
        }
    }

    /// Where several sources failed, the failure by which it is decided what the caller may do: the first that
    /// tells of a boundary between tenants, else the first that tells of [another
    /// write](Self::is_conflict) under the operation, else the first that may pass, else, where none was late,
    /// the first. `None` where a single source failed.
    pub fn leading(&self) -> Option<&Self> {
        let (failed, is_late) = match self {
            Self::PartialWrite(written) => (&written.failed, false),
            Self::NoAnswer { answer, .. } => (&answer.failed, !answer.timed_out.is_empty()),
            _ => return None,
        };
        let errors = || failed.iter().map(|failed| failed.error.as_ref());
        let of_scope = errors().find(|error| error.is_of_scope());
        of_scope
            .or_else(|| errors().find(|error| error.is_conflict()))
            .or_else(|| errors().find(|error| error.is_passing()))
            .or_else(|| errors().next().filter(|_| !is_late))
    }

    /// How long what is behind the source asks to wait before the same call, if it asks.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Model(ModelError::Unavailable { retry_after, .. })
            | Self::Tool(ToolCallError::Unavailable { retry_after, .. }) => *retry_after,
            _ => self.leading().and_then(Self::retry_after),
        }
    }
}

/// Who of a composition was late, and who failed how.
fn unheard(name: &str, answer: &Answer) -> String {
    let mut said = format!("no member of source `{name}` answered");
    if !answer.timed_out.is_empty() {
        said += &format!("; late: {}", answer.timed_out.join(", "));
    }
    if !answer.failed.is_empty() {
        said += &format!("; failed: {}", failures(&answer.failed));
    }
    said
}

fn failures(failed: &[FailedLeg]) -> String {
    let failed: Vec<String> = failed
        .iter()
        .map(|failed| format!("{}: {}", failed.source, failed.error))
        .collect();
    failed.join("; ")
}

/// What each source did.
fn partial(written: &Written) -> String {
    let names = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let reached = match written.accepted.as_slice() {
        [] => "no source kept the write".to_owned(),
        accepted => format!(
            "the write reached some sources and not others; accepted: {}",
            names(accepted)
        ),
    };
    format!(
        "{reached}; refused (read-only): {}; failed: {}",
        names(&written.refused),
        failures(&written.failed),
    )
}
