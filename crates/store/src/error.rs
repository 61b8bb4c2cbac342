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
    /// What is there under the note's name is none that the store reads or changes.
    #[error("note can't be used: {0}")]
    OddNote(OddNote),
    /// The scope can't be a directory here.
    #[error("scope can't be used: {0}")]
    OddScope(OddScope),
    /// The system refuses access.
    #[error("store refuses access: {0}")]
    Denied(Denial),
}

/// Why something is no note that a store of files reads or changes. It stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OddNote {
    /// A link leads out of the store's directory, or in circles.
    #[error("it is a link that leads out of the store, or in circles")]
    LeadsOut,
    /// A pipe, a device, a socket.
    #[error("it is neither a file nor a directory")]
    NoFile,
    /// A directory has the note's name.
    #[error("a directory has its name")]
    InTheWay,
    /// Not UTF-8, or with U+0000 in it.
    #[error("it is no text in UTF-8 without NUL characters")]
    NoText,
    /// Larger than any note may be.
    #[error("it is larger than any note may be")]
    TooLarge,
    /// The file system takes the name for another's that differs by its case alone.
    #[error("its name differs from another's in upper and lower case alone, which is one here")]
    OtherCase,
    /// The store keeps names that begin like this one for itself.
    #[error("the store keeps names like its for itself")]
    Reserved,
    /// The file system has no room for such a name.
    #[error("its name is too long for the file system")]
    NameTooLong,
}

/// Why a scope has no directory in a store of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OddScope {
    /// The file system takes a segment for another scope's that differs by its case alone.
    #[error(
        "one of its segments differs from another scope's in upper and lower case alone, which is \
         one on this file system; bring identities into one case before they become namespaces"
    )]
    OtherCase,
    /// The store keeps names that begin like one of its segments for itself.
    #[error("the store keeps names like one of its segments for itself")]
    Reserved,
    /// A note has the name of one of its directories.
    #[error("a file has the name of one of its directories")]
    InTheWay,
}

/// Why a store of files can't be changed, or not be read, until a person does something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// This user lacks a permission.
    #[error("this user lacks the permission")]
    Permission,
    /// The file system can't be written to.
    #[error("its file system is read-only")]
    ReadOnlyFileSystem,
    /// The disk, or this user's part of it, is full.
    #[error("there is no space left on its disk")]
    NoSpace,
}

impl Denial {
    /// What kind of error of the file system is a denial; `None` for those that are none.
    pub fn of_error(kind: std::io::ErrorKind) -> Option<Self> {
        use std::io::ErrorKind as Kind;
        match kind {
            Kind::PermissionDenied => Some(Self::Permission),
            Kind::ReadOnlyFilesystem => Some(Self::ReadOnlyFileSystem),
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Some(Self::NoSpace),
            _ => None,
        }
    }
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
    /// The store was opened to be read alone.
    #[error("store is read-only")]
    ReadOnly,
    /// The edit can't be done on the note as it is.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
