//! Errors, grouped by what the caller may do.

use notekeeper_domain::Refusal;

/// Why a store can't answer. The text names no note, scope or content.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store can't be reached or is overloaded; the same call may succeed later.
    #[error("store is unavailable: {0}")]
    Unavailable(String),
    /// The database was never migrated, or is older than this program: run `notekeeper migrate`.
    #[error(
        "database is at migration {found}, this program needs {needed}; run `notekeeper migrate`"
    )]
    Unmigrated {
        /// Newest migration that the database has; 0 where it has none.
        found: i64,
        /// Newest migration that this program knows.
        needed: i64,
    },
    /// The database was migrated by a newer program than this one: run that one.
    #[error(
        "database is at migration {found}, this program knows none after {known}; run a newer version of it"
    )]
    TooNew {
        /// Newest migration that the database has.
        found: i64,
        /// Newest migration that this program knows.
        known: i64,
    },
    /// What a setting names can't be a store, and won't be until somebody changes the one or the
    /// other: a file of another program, a directory that isn't there or that this user may not
    /// write to.
    #[error("store can't be used: {0}")]
    Unusable(String),
    /// The store holds or answered something that this program doesn't understand; trying again
    /// won't help.
    #[error("store answered something unexpected: {0}")]
    Unexpected(String),
    /// A text is larger than the store keeps.
    #[error("store refuses `{field}`: it has {bytes} bytes, {bytes_max} are allowed")]
    TooLarge {
        /// Which argument.
        field: &'static str,
        /// How long it is, in bytes of UTF-8.
        bytes: usize,
        /// How long it may be, in bytes of UTF-8.
        bytes_max: usize,
    },
    /// The store refuses values that its caller should have checked, such as U+0000.
    #[error("store refuses the value of `{field}`: {reason}")]
    InvalidValue {
        /// Which argument.
        field: &'static str,
        /// What is wrong with it, without the value.
        reason: String,
    },
}

/// Why a mutation has no effect.
#[derive(Debug, thiserror::Error)]
pub enum MutationError {
    /// The operation id was used before with other arguments.
    #[error("operation id was already used with other arguments; use a new id")]
    OperationConflict,
    /// The note isn't at the version that the caller expects.
    #[error("note is not at the expected version; read it again and decide anew")]
    VersionConflict,
    /// The edit can't be done on the note as it is.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
