//! The journal: how it is opened, and what becomes of one that can't be read.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, renameat, statat},
    io::Errno,
};
use sqlx::{
    Connection as _, Sqlite, SqliteConnection, SqlitePool,
    pool::PoolConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{
    fault::Fault,
    names::JOURNAL,
    place::sync_directory,
    root::{FileId, Lock, Root},
    warnings::Warnings,
};
use crate::StoreError;

const SCHEMA: &str = include_str!("sql/journal.sql");
const CHECK_JOURNAL: &str = include_str!("sql/check_journal.sql");

/// Stands in the header of the file; the schema puts it there.
const APPLICATION_ID: i64 = 0x4e74_6b66;

/// The form of the journal that this program knows.
const SCHEMA_VERSION: i64 = 1;

/// What SQLite keeps beside a database, by the ends of their names.
const COMPANIONS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Largest journal that is read as a whole when it is opened, in bytes. Of a larger one damage shows
/// when it is met.
const CHECKED_BYTES_MAX: i64 = 16 * 1024 * 1024;

/// Connections at a time: one mutation, and reads beside it.
const CONNECTIONS_MAX: u32 = 5;

/// An open journal.
#[derive(Debug)]
pub(super) struct Journal {
    /// Which root it is in, and which file there.
    pub(super) root: FileId,
    file: FileId,
    path: PathBuf,
    pool: SqlitePool,
    /// Whether the file system takes `a` and `A` for one name.
    pub(super) folds_case: bool,
}

/// How a journal is opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening<'o> {
    /// Path of the root: SQLite opens files by their paths.
    pub(super) path: &'o Path,
    pub(super) busy_timeout: Duration,
    /// What tests say of the file system.
    pub(super) folds_case: Option<bool>,
    /// Whether something was wrong with it already.
    pub(super) suspect: bool,
    pub(super) warnings: &'o Warnings,
}

impl Journal {
    /// Opens the journal of a root. What can't be one is set aside, and a new one made.
    ///
    /// Only who has the lock makes, sets aside and checks journals.
    pub(super) async fn open(
        root: &Root,
        _lock: &Lock,
        opening: Opening<'_>,
    ) -> Result<Self, Fault> {
        match Self::open_once(root, opening).await {
            Err(Fault::Corrupt) => {
                set_aside(&root.directory)?;
                tracing::warn!(
                    "a file store's journal can't be read: it was set aside, and a new one is \
                     made; which operations were done before is forgotten, so one that is repeated \
                     is applied again. Restore a backup of the journal if that matters"
                );
                Self::open_once(root, opening).await
            }
            other => other,
        }
    }

    /// Opens the journal of a root in which nothing may be changed; `None` where there is none that
    /// can be read.
    pub(super) async fn open_to_read(
        root: &Root,
        opening: Opening<'_>,
    ) -> Result<Option<Self>, Fault> {
        if !are_files(&root.directory)? {
            opening.warnings.of_journal();
            return Ok(None);
        }
        let Some(file) = FileId::of(&root.directory, JOURNAL)? else {
            return Ok(None);
        };
        let options = connect_options(opening).read_only(true);
        let journal = Self {
            root: root.id,
            file,
            path: opening.path.join(JOURNAL),
            pool: pool(opening).connect_lazy_with(options),
            folds_case: folds_case(&root.directory, opening)?,
        };
        match journal.check(opening.suspect).await {
            Ok(Found::Usable) => Ok(Some(journal)),
            Err(fault @ Fault::Lasting(StoreError::TooNew { .. })) => Err(fault),
            Ok(Found::Empty) | Err(_) => {
                journal.close().await;
                opening.warnings.of_journal();
                Ok(None)
            }
        }
    }

    async fn open_once(root: &Root, opening: Opening<'_>) -> Result<Self, Fault> {
        let file = make_where_missing(&root.directory)?;
        let journal = Self {
            root: root.id,
            file,
            path: opening.path.join(JOURNAL),
            pool: pool(opening).connect_lazy_with(connect_options(opening)),
            folds_case: folds_case(&root.directory, opening)?,
        };
        match journal.prepared(opening.suspect).await {
            Ok(()) => Ok(journal),
            Err(fault) => {
                journal.close().await;
                Err(fault)
            }
        }
    }

    async fn prepared(&self, suspect: bool) -> Result<(), Fault> {
        if let Found::Empty = self.check(suspect).await? {
            let mut connection = self.connection().await?;
            let mut transaction = connection.begin_with("begin immediate").await?;
            sqlx::raw_sql(SCHEMA).execute(&mut *transaction).await?;
            transaction.commit().await?;
        }
        Ok(())
    }

    async fn check(&self, suspect: bool) -> Result<Found, Fault> {
        let mut connection = self.connection().await?;
        let (id, version, objects): (i64, i64, i64) = sqlx::query_as(
            "select application_id, user_version, (select count(*) from sqlite_schema) \
             from pragma_application_id, pragma_user_version",
        )
        .fetch_one(&mut *connection)
        .await?;
        match (id, objects) {
            (0, 0) => return Ok(Found::Empty),
            (APPLICATION_ID, _) if version > SCHEMA_VERSION => {
                return Err(Fault::Lasting(StoreError::TooNew {
                    found: version,
                    known: SCHEMA_VERSION,
                }));
            }
            (APPLICATION_ID, 1..) if version == SCHEMA_VERSION => {}
            _ => return Err(Fault::Corrupt),
        }
        // Whoever can write here can put more than tables in it, such as a view without an end.
        let others: i64 = sqlx::query_scalar(
            "select count(*) from sqlite_schema \
             where type not in ('table', 'index') or sql like 'create virtual%'",
        )
        .fetch_one(&mut *connection)
        .await?;
        if others > 0 {
            return Err(Fault::Corrupt);
        }
        let checked = sqlx::query(CHECK_JOURNAL).fetch_all(&mut *connection);
        checked.await.map_err(|error| match error.into() {
            // Here it says one thing: that the schema is another.
            Fault::Misfit => Fault::Corrupt,
            fault => fault,
        })?;
        if suspect || bytes(&mut connection).await? <= CHECKED_BYTES_MAX {
            let sound: String = sqlx::query_scalar("pragma quick_check(1)")
                .fetch_one(&mut *connection)
                .await?;
            if sound != "ok" {
                return Err(Fault::Corrupt);
            }
        }
        Ok(Found::Usable)
    }

    /// Whether this is still the journal of that root.
    pub(super) fn is_of(&self, root: &Root) -> Result<bool, Fault> {
        let file = FileId::of(&root.directory, JOURNAL)?;
        Ok(self.root == root.id && file == Some(self.file))
    }

    /// A connection to this very file. SQLite opens by the path, where another file may be by now.
    pub(super) async fn connection(&self) -> Result<PoolConnection<Sqlite>, Fault> {
        let mut connection = self.pool.acquire().await?;
        if FileId::at(&self.path)? != Some(self.file) {
            connection.close_on_drop();
            return Err(Fault::unavailable(
                "another file has the place of its journal by now",
            ));
        }
        Ok(connection)
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

enum Found {
    Usable,
    Empty,
}

async fn bytes(connection: &mut SqliteConnection) -> Result<i64, Fault> {
    let bytes = sqlx::query_scalar(
        "select page_count * page_size from pragma_page_count, pragma_page_size",
    );
    Ok(bytes.fetch_one(connection).await?)
}

fn connect_options(opening: Opening<'_>) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(opening.path.join(JOURNAL))
        .create_if_missing(false)
        // One file that is complete whenever nobody writes: it is copied with the notes, and can be
        // read where nothing may be written.
        .journal_mode(SqliteJournalMode::Truncate)
        // What was answered is on the disk, as with the SQLite store.
        .synchronous(SqliteSynchronous::Full)
        .pragma("fullfsync", "on")
        // Nothing that the file itself brings along is carried out.
        .pragma("trusted_schema", "off")
        // Writers come one at a time; who reads keeps them up for moments only.
        .busy_timeout(opening.busy_timeout)
        .thread_name(|id| format!("notekeeper-file-{id}"))
}

fn pool(opening: Opening<'_>) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(CONNECTIONS_MAX)
        .acquire_timeout(opening.busy_timeout)
        .test_before_acquire(false)
        .max_lifetime(None)
        .idle_timeout(None)
}

/// Whether the journal and what SQLite keeps beside it are files, where they are there. What has
/// their names and is none is no journal: SQLite would follow a link out of the root, and wait for
/// the other end of a pipe.
fn are_files(root: &OwnedFd) -> Result<bool, Fault> {
    for end in ["", COMPANIONS[0], COMPANIONS[1], COMPANIONS[2]] {
        let found = stat_of(root, end)?;
        let kind = found.map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind.is_some_and(|kind| kind != FileType::RegularFile) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn stat_of(root: &OwnedFd, end: &str) -> Result<Option<rustix::fs::Stat>, Fault> {
    match statat(root, format!("{JOURNAL}{end}"), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes an empty file for this user alone where there is none.
fn make_where_missing(root: &OwnedFd) -> Result<FileId, Fault> {
    if !are_files(root)? {
        return Err(Fault::Corrupt);
    }
    if let Some(file) = FileId::of(root, JOURNAL)? {
        return Ok(file);
    }
    for end in COMPANIONS {
        if stat_of(root, end)?.is_some_and(|stat| stat.st_size > 0) {
            // They would be taken for the new file's own.
            return Err(Fault::Corrupt);
        }
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    drop(openat(root, JOURNAL, flags, Mode::RUSR | Mode::WUSR)?);
    sync_directory(root)?;
    FileId::of(root, JOURNAL)?.ok_or(Fault::Corrupt)
}

/// Renames the journal and what belongs to it, the file itself first: it never stands there without
/// what SQLite would have to undo in it. Where this is interrupted, the next to come finds what is
/// left over, and sets that aside too.
fn set_aside(root: &OwnedFd) -> Result<(), Fault> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let aside = format!(
        "{JOURNAL}.set-aside-{}-{:08x}",
        now.as_secs(),
        rand::random::<u32>()
    );
    for end in ["", COMPANIONS[0], COMPANIONS[1], COMPANIONS[2]] {
        match renameat(
            root,
            format!("{JOURNAL}{end}"),
            root,
            format!("{aside}{end}"),
        ) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    sync_directory(root)
}

/// Asks the file system for the journal under another spelling of its name.
fn folds_case(root: &OwnedFd, opening: Opening<'_>) -> Result<bool, Fault> {
    if let Some(folds_case) = opening.folds_case {
        return Ok(folds_case);
    }
    let other = FileId::of(root, &JOURNAL.to_ascii_uppercase())?;
    Ok(other.is_some() && other == FileId::of(root, JOURNAL)?)
}

/// Whether a file system that may not be written to may take `a` and `A` for one name: any entry
/// with a letter can be asked for under another spelling. Where there is none, nobody knows.
pub(super) fn may_fold_case(root: &OwnedFd) -> Result<bool, Fault> {
    for entry in Dir::read_from(root)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().ok() else {
            continue;
        };
        let other = flipped(name);
        if other == name {
            continue;
        }
        let Some(id) = FileId::of(root, name)? else {
            continue;
        };
        return Ok(FileId::of(root, &other)? == Some(id));
    }
    Ok(true)
}

/// The name with upper for lower and lower for upper case.
fn flipped(name: &str) -> String {
    let flip = |letter: char| match letter.is_ascii_lowercase() {
        true => letter.to_ascii_uppercase(),
        false => letter.to_ascii_lowercase(),
    };
    name.chars().map(flip).collect()
}

/// The path of a root, from the file system's own.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    let invalid = |reason: &str| StoreError::InvalidValue {
        field: "directory",
        reason: reason.to_owned(),
    };
    let path = std::path::absolute(path).map_err(|_| invalid("it is empty; name a directory"))?;
    if path.to_str().is_none_or(|path| path.contains('\0')) {
        return Err(invalid("it isn't UTF-8 without NUL, which SQLite needs"));
    }
    Ok(path)
}
