//! Types of failures, as they stand in Temporal's application failures.

use std::fmt;

/// Type of a failure that Notekeeper's activities and workflows end with.
///
/// Except for [`Unavailable`](Self::Unavailable) all are non-retryable: the same call would fail
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub enum FailureType {
    /// A payload can't be read, or a value is out of bounds.
    InvalidArgument,
    /// Namespace and agent name make no scope.
    InvalidScope,
    /// A continued run resolves another scope than the run before it.
    ScopeChanged,
    /// The store has no place for the scope: on a file system that takes `Alice` and `alice` for one
    /// name, for one.
    ScopeRefused,
    /// An operation id was used before with other arguments.
    OperationConflict,
    /// The note isn't at the version that the caller expects.
    VersionConflict,
    /// The store is read-only. A tool call is refused instead.
    ReadOnly,
    /// The place where the store keeps files refuses access, or has no room left. A tool call is
    /// refused instead.
    AccessDenied,
    /// Something exceeds a limit; the message names limit, size and remedy.
    TooLarge,
    /// The store or model can't do what is asked.
    Unsupported,
    /// A referenced snapshot can't be fetched: it is not kept any more, or its store is away. Load
    /// it afresh.
    SnapshotMissing,
    /// The database was never migrated or is older than the worker; run `notekeeper migrate`.
    Unmigrated,
    /// The model answered something that can't be used, or refused the request.
    ModelRefused,
    /// The worker's resolver of write metadata refused the write, or answered what can't be kept.
    MetadataRefused,
    /// The store, the model or what a resolver needs can't be reached. Retryable.
    Unavailable,
}

impl FailureType {
    /// Every type.
    pub const ALL: [Self; 15] = [
        Self::InvalidArgument,
        Self::InvalidScope,
        Self::ScopeChanged,
        Self::ScopeRefused,
        Self::OperationConflict,
        Self::VersionConflict,
        Self::ReadOnly,
        Self::AccessDenied,
        Self::TooLarge,
        Self::Unsupported,
        Self::SnapshotMissing,
        Self::Unmigrated,
        Self::ModelRefused,
        Self::MetadataRefused,
        Self::Unavailable,
    ];

    /// The type as Temporal's failure carries it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "InvalidArgument",
            Self::InvalidScope => "InvalidScope",
            Self::ScopeChanged => "ScopeChanged",
            Self::ScopeRefused => "ScopeRefused",
            Self::OperationConflict => "OperationConflict",
            Self::VersionConflict => "VersionConflict",
            Self::ReadOnly => "ReadOnly",
            Self::AccessDenied => "AccessDenied",
            Self::TooLarge => "TooLarge",
            Self::Unsupported => "Unsupported",
            Self::SnapshotMissing => "SnapshotMissing",
            Self::Unmigrated => "Unmigrated",
            Self::ModelRefused => "ModelRefused",
            Self::MetadataRefused => "MetadataRefused",
            Self::Unavailable => "Unavailable",
        }
    }

    /// The type with this name, if it is one of ours.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(self) -> bool {
        self == Self::Unavailable
    }
}

impl fmt::Display for FailureType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
