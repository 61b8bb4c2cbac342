//! Notes as files: what is on the disk before and after.
//!
//! What a case plants of the peer's bookkeeping is planted in ours: receipts become rows of the
//! journal, an operation that the peer was about to do becomes one that this store was about to do,
//! and what can't be read as receipts becomes a journal that can't be read.

use std::{
    collections::BTreeSet,
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use notekeeper_domain::{NoteName, Scope, Version, snapshot_digest};
use notekeeper_store::{
    Expected, FileOptions, FileStore, NoteStore as _, OddNote, OddScope, StoreError, WriteRequest,
};
use serde_json::{Value, json};
use sqlx::{Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};

use super::steps::Run;
use crate::{
    bench::{Bench, CHARS_MAX, JOURNAL, address, directory_in_memory},
    case::{Answer, Case, Fields, Stop},
    strings::is_unencodable,
};

/// Where the peer keeps its receipts.
const PEER_RECEIPTS: &str = ".memory-operations.json";

/// What stands for a directory outside of the store.
const OUTSIDE: &str = "OUT";

/// A place on the disk for one case.
struct Disk {
    root: PathBuf,
    outside: PathBuf,
}

/// `file_store`: steps, and what is on the disk after them.
pub(crate) async fn run(case: &Case) -> Answer {
    let given = case.fields()?;
    let (setup, steps) = (given.list("setup")?, given.list("steps")?);
    given.done()?;
    let directory = directory_in_memory()?;
    let disk = Disk {
        root: directory.path().join("store"),
        outside: directory.path().join("outside"),
    };
    std::fs::create_dir(&disk.root)?;
    std::fs::create_dir(&disk.outside)?;
    let mut peer = None;
    for (index, action) in setup.iter().enumerate() {
        let action = Fields::of(&format!("given.setup[{index}]"), action)?;
        if let Some(bytes) = disk.act(action)? {
            peer = Some(bytes);
        }
    }
    let planted = match peer {
        Some(bytes) => disk.plant(&bytes).await?,
        None => Vec::new(),
    };
    let bench = Bench::new(Arc::new(
        FileStore::open(FileOptions::new(&disk.root)).await?,
    ));
    let paths = steps.iter().filter_map(|step| step["path"].as_str());
    let paths = paths.chain(
        planted
            .iter()
            .filter_map(|receipt| receipt["path"].as_str()),
    );
    let results = Run::over(&bench, paths).all(steps).await?;
    Ok(json!({
        "steps": results,
        "disk_after": disk.files()?,
        "receipts_after": disk.receipts().await?,
    }))
}

impl Disk {
    fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix(OUTSIDE) {
            Some("") => self.outside.clone(),
            Some(inside) if inside.starts_with('/') => self.outside.join(&inside[1..]),
            _ => self.root.join(path),
        }
    }

    /// Does what a case does before the store is opened. Returns the peer's receipts, which aren't
    /// written.
    fn act(&self, action: Fields<'_>) -> Result<Option<Vec<u8>>, Stop> {
        let made = if let Some(path) = action.get("write") {
            let path = path.as_str().context("a path")?;
            let bytes = match action.get("text").and_then(Value::as_str) {
                Some(text) => text.as_bytes().to_vec(),
                None => hex(action.text("bytes_hex")?)?,
            };
            if path == PEER_RECEIPTS {
                action.done()?;
                return Ok(Some(bytes));
            }
            let path = self.parent_of(path)?;
            std::fs::write(path, bytes)
        } else if let Some(path) = action.get("symlink") {
            let path = self.parent_of(path.as_str().context("a path")?)?;
            let to = action.text("to")?;
            let to = match to.strip_prefix(OUTSIDE) {
                Some("") => self.outside.clone(),
                Some(inside) if inside.starts_with('/') => self.outside.join(&inside[1..]),
                _ => PathBuf::from(to),
            };
            symlink(to, path)
        } else {
            std::fs::create_dir_all(self.path(action.text("mkdir")?))
        };
        made?;
        action.done()?;
        Ok(None)
    }

    fn parent_of(&self, path: &str) -> Result<PathBuf> {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().context("a directory")?)?;
        Ok(path)
    }

    /// Plants in the journal what the peer had written down. Returns the receipts that it was.
    async fn plant(&self, bytes: &[u8]) -> Result<Vec<Value>> {
        let Some(receipts) = peers_receipts(bytes) else {
            std::fs::write(self.root.join(JOURNAL), bytes)?;
            return Ok(Vec::new());
        };
        FileStore::open(FileOptions::new(&self.root))
            .await?
            .close()
            .await;
        let mut journal = self.journal().await?;
        for (index, receipt) in receipts.iter().enumerate() {
            // Versions of another form than any that the store would make.
            let version = format!("planted-{index}");
            self.plant_one(&mut journal, receipt, &version).await?;
        }
        Ok(receipts)
    }

    async fn plant_one(
        &self,
        journal: &mut SqliteConnection,
        receipt: &Value,
        version: &str,
    ) -> Result<()> {
        let text = |key: &str| receipt[key].as_str();
        let path = text("path").context("a path")?;
        let (scope, name) = path.rsplit_once('/').context("a scope")?;
        let is_write = text("kind") == Some("write");
        let version = is_write.then_some(version);
        let status = match (is_write, receipt["existed"] == true) {
            (true, false) => "created",
            (true, true) => "updated",
            (false, true) => "deleted",
            (false, false) => "not_found",
        };
        let file = State::of(&self.root.join(path))?;
        let landed = file
            .as_ref()
            .filter(|file| Some(file.digest.as_str()) == text("version"));
        if receipt["done"] == true {
            plant_answer(journal, receipt, (scope, name), status, version).await?;
            if let (Some(file), Some(version)) = (landed, version) {
                file.record(journal, path, version, text("id")).await?;
            }
            return Ok(());
        }
        // An operation that died either before it touched the file, with the new one beside it,
        // or after.
        let next = match (is_write, landed) {
            (false, _) => None,
            (true, Some(file)) => Some(file.inode),
            (true, None) => {
                let next = self.root.join(scope).join(".memory-tmp-next");
                std::fs::create_dir_all(self.root.join(scope))?;
                std::fs::write(&next, "not there yet")?;
                Some(std::fs::metadata(&next)?.ino().cast_signed())
            }
        };
        let digest = |key: &str| text(key).map(|digest| hex(digest).unwrap_or_default());
        let before = match (text("expected"), &file) {
            (None, _) => None,
            (Some(_), Some(file)) if landed.is_none() => Some(file.inode),
            (Some(_), _) => Some(0),
        };
        sqlx::query(
            "insert into prepared (scope, name, operation_id, fingerprint, kind, status, version, \
             existed, path, entry, next_inode, next_sha256, inode, sha256) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11, $12, $13)",
        )
        .bind(scope)
        .bind(name)
        .bind(text("id"))
        .bind(text("fingerprint"))
        .bind(text("kind"))
        .bind(status)
        .bind(version)
        .bind(receipt["existed"].as_bool())
        .bind(path)
        .bind(next)
        .bind(next.and(digest("version")))
        .bind(before)
        .bind(before.and(digest("expected")))
        .execute(journal)
        .await?;
        Ok(())
    }

    async fn journal(&self) -> Result<SqliteConnection> {
        let options = SqliteConnectOptions::new().filename(self.root.join(JOURNAL));
        Ok(SqliteConnection::connect_with(&options).await?)
    }

    /// Files and links, without the journal's.
    fn files(&self) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for (root, before) in [(&self.root, ""), (&self.outside, "OUT/")] {
            walk(root, root, before, &mut found)?;
        }
        found.retain(|path| !path.starts_with(JOURNAL));
        Ok(found)
    }

    /// The receipts in the peer's form, oldest first; null where there is none.
    async fn receipts(&self) -> Result<Value> {
        let rows = sqlx::query(
            "select id, fingerprint, kind, scope || '/' || name as path, \
             version is not null as versioned, existed from receipts order by number",
        )
        .fetch_all(&mut self.journal().await?)
        .await?;
        let receipts = rows.iter().map(|row| {
            json!({
                "id": row.get::<String, _>("id"),
                "fingerprint": row.get::<String, _>("fingerprint"),
                "kind": row.get::<String, _>("kind"),
                "path": row.get::<String, _>("path"),
                "version": row.get::<bool, _>("versioned").then_some("set"),
                "existed": row.get::<bool, _>("existed"),
            })
        });
        let receipts: Vec<_> = receipts.collect();
        Ok(if receipts.is_empty() {
            Value::Null
        } else {
            json!(receipts)
        })
    }
}

/// Plants the receipt of an operation that was answered.
async fn plant_answer(
    journal: &mut SqliteConnection,
    receipt: &Value,
    (scope, name): (&str, &str),
    status: &str,
    version: Option<&str>,
) -> Result<()> {
    let text = |key: &str| receipt[key].as_str();
    sqlx::query(
        "insert into receipts (scope, id, fingerprint, kind, name, status, version, existed) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(scope)
    .bind(text("id"))
    .bind(text("fingerprint"))
    .bind(text("kind"))
    .bind(name)
    .bind(status)
    .bind(version)
    .bind(receipt["existed"].as_bool())
    .execute(journal)
    .await?;
    Ok(())
}

/// A file as a record of the journal has it.
struct State {
    digest: String,
    inode: i64,
    bytes: i64,
    modified: i64,
    changed: i64,
}

impl State {
    fn of(path: &Path) -> Result<Option<Self>> {
        let Ok(text) = std::fs::read_to_string(path) else {
            return Ok(None);
        };
        let metadata = std::fs::metadata(path)?;
        let time = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
        Ok(Some(Self {
            digest: snapshot_digest(&text),
            inode: metadata.ino().cast_signed(),
            bytes: metadata.size().cast_signed(),
            modified: time(metadata.mtime(), metadata.mtime_nsec()),
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
        }))
    }

    async fn record(
        &self,
        journal: &mut SqliteConnection,
        path: &str,
        version: &str,
        id: Option<&str>,
    ) -> Result<()> {
        sqlx::query("insert or replace into records values ($1, $2, $3, $4, $5, $6, $7, $8)")
            .bind(path)
            .bind(version)
            .bind(id)
            .bind(hex(&self.digest)?)
            .bind(self.inode)
            .bind(self.bytes)
            .bind(self.modified)
            .bind(self.changed)
            .execute(journal)
            .await?;
        Ok(())
    }
}

/// The peer's receipts; `None` where it couldn't read them either.
fn peers_receipts(bytes: &[u8]) -> Option<Vec<Value>> {
    let receipts: Vec<Value> = serde_json::from_slice(bytes).ok()?;
    let whole = receipts.iter().all(|receipt| {
        ["id", "fingerprint", "kind", "path"]
            .iter()
            .all(|key| receipt[*key].is_string())
            && receipt["existed"].is_boolean()
            && receipt["done"].is_boolean()
    });
    whole.then_some(receipts)
}

fn walk(root: &Path, directory: &Path, before: &str, found: &mut BTreeSet<String>) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let shown = path.strip_prefix(root)?.to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(root, &path, before, found)?;
        } else if kind.is_symlink() {
            found.insert(format!("{before}{shown} ->"));
        } else {
            found.insert(format!("{before}{shown}"));
        }
    }
    Ok(())
}

fn hex(text: &str) -> Result<Vec<u8>> {
    anyhow::ensure!(text.is_ascii() && text.len().is_multiple_of(2), "no bytes");
    let bytes = (0..text.len()).step_by(2);
    let bytes = bytes.map(|at| Ok(u8::from_str_radix(&text[at..at + 2], 16)?));
    bytes.collect()
}

/// The version of a note, where a case spells out the one of its text: the peer's versions are
/// digests of texts, ours can't be spelt out.
pub(super) async fn text_at(
    bench: &Bench,
    path: &str,
    expected: Option<&str>,
) -> Result<Option<Version>, Stop> {
    let digest = expected.filter(|text| text.len() == 64 && bench.store.kind() == "file");
    let (Some(digest), Some((scope, name))) = (digest, address(path)) else {
        return Ok(None);
    };
    let Ok(Some(part)) = bench.store.read(&scope, &name, CHARS_MAX).await else {
        return Ok(None);
    };
    Ok((snapshot_digest(&part.content) == digest).then_some(part.version))
}

/// What is said of what is no note.
pub(super) fn refusal(error: StoreError) -> Answer {
    let kind = match error {
        StoreError::OddNote(OddNote::LeadsOut) => "path_escape",
        StoreError::OddNote(OddNote::Reserved) | StoreError::OddScope(OddScope::Reserved) => {
            "invalid_path"
        }
        StoreError::OddNote(_) | StoreError::OddScope(_) => "unusable_file",
        other => return Err(other.into()),
    };
    Ok(json!({ "error": kind }))
}

/// Whether a case is about the bytes of one file.
pub(super) fn is_about_bytes(case: &Case) -> bool {
    case.topic == "version_hash" && case.given["store"] == "file"
}

/// `version_hash` of a store of files: what is on the disk of a text.
pub(super) async fn bytes(case: &Case, _: &Bench) -> Answer {
    let given = case.fields()?;
    given.text("store")?;
    let content = given.need("content")?;
    given.done()?;
    if is_unencodable(content) {
        return Err(Stop::Unencodable(content.clone()));
    }
    let content = content.as_str().context("the content is no text")?;
    let directory = directory_in_memory()?;
    let store = FileStore::open(FileOptions::new(directory.path())).await?;
    let (scope, name) = (Scope::parse("main")?, NoteName::main());
    let expected = Expected::Absent;
    let written = store
        .write(&scope, &name, &WriteRequest::new(content, &expected), None)
        .await?;
    let read = store
        .read(&scope, &name, CHARS_MAX)
        .await?
        .context("the note is gone")?;
    let bytes = std::fs::read(directory.path().join("main/MEMORY.md"))?;
    Ok(json!({
        "version": if written.version == Some(read.version) { "set" } else { "another" },
        "bytes_on_disk": bytes.len(),
        "disk_is_utf8_of_content": bytes == content.as_bytes(),
        "read_equals_written": read.content == content,
    }))
}
