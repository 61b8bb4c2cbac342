//! Random operations on each database and on the specification, side by side.

mod facts;
mod transcripts;
mod vectors;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Debug,
    sync::Arc,
};

use futures::future::{BoxFuture, ready};

use notekeeper_domain::{
    Edit, MAIN_NOTE, Notebook, Operation, Scope, SearchLimits, SearchQuery, Version, WriteMetadata,
};
use notekeeper_store::{
    EditRequest, Expected, InMemoryStore, MutationError, NoteStore, NotebookBounds,
    PostgresOptions, PostgresStore, Receipt, SnapshotStore, SqliteStore, Store, StoreError,
    WriteRequest,
};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use crate::{
    database::{Database, name, operation, scope, seed},
    database_file::DatabaseFile,
    file_root::FileRoot,
};

const STEPS: usize = 4_000;

/// More than so often each thing that a run is for has to come out. The rarest, conflicts of rememberings, comes out
/// some 33 times, and fewer than seven times in one run of millions.
const TIMES_MIN: usize = 5;

const SCOPES: [&str; 4] = ["acme/main", "acme", "acme/main/sub", "Acme/main"];
const FILES: [&str; 8] = [
    MAIN_NOTE,
    "memory.md",
    "a.md",
    "a-1.md",
    "a_1.md",
    "B.md",
    "_odd.md",
    "data.json",
];

/// Pieces that texts and queries are made of: letters whose lower case is longer, shorter,
/// context-dependent or ASCII, line ends, white space that only some rules know, characters of
/// several bytes, and what a query language would take for syntax.
const PIECES: [&str; 26] = [
    "needle",
    "NEEDLE",
    "a",
    "ab",
    "é",
    "É",
    "İ",
    "ΟΔΟΣ",
    "Σ",
    "σ",
    "ς",
    "\u{212a}",
    "ß",
    "ẞ",
    "固",
    "👩\u{200d}👩",
    "\n",
    "\r\n",
    " ",
    "\u{a0}",
    "\u{1c}",
    "%",
    "_",
    "'",
    "\\",
    "$1",
];

/// Opens a store anew over what it kept.
type Open = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn Store>>>;

/// A store that must do as the specification does.
struct Subject {
    store: Arc<dyn Store>,
    open: Open,
    /// What each version of the specification is called here.
    versions: HashMap<Version, Version>,
    given_out: HashSet<Version>,
    /// What each order of the specification is here. Numbers may be left out, but never turn round.
    orders: BTreeMap<i64, i64>,
}

struct Comparison {
    specification: InMemoryStore,
    subjects: Vec<Subject>,
    /// Versions that were given out, in terms of the specification.
    known: Vec<Version>,
    /// How often something came out that the run is for, to see that it was worth something.
    seen: BTreeMap<&'static str, usize>,
    random: StdRng,
}

impl Subject {
    async fn new(open: Open) -> Self {
        Self {
            store: open().await,
            open,
            versions: HashMap::new(),
            given_out: HashSet::new(),
            orders: BTreeMap::new(),
        }
    }

    /// The same expectation in the words of this store.
    fn expected(&self, expected: &Expected) -> Expected {
        match expected {
            Expected::Version(version) => {
                let version = self.versions.get(version).unwrap_or(version);
                Expected::Version(version.clone())
            }
            other => other.clone(),
        }
    }

    /// The metadata that this store is given, and gives back.
    fn kept<'m>(&self, metadata: &'m Option<WriteMetadata>) -> Option<&'m WriteMetadata> {
        metadata.as_ref().filter(|_| self.store.keeps_metadata())
    }

    fn assert_same_order(&mut self, found: i64, right: i64) {
        let kind = self.store.kind();
        match self.orders.get(&right) {
            Some(known) => assert_eq!(found, *known, "{kind}"),
            None => {
                let before = self.orders.range(..right).next_back();
                let after = self.orders.range(right..).next();
                assert!(before.is_none_or(|(_, before)| *before < found), "{kind}");
                assert!(after.is_none_or(|(_, after)| found < *after), "{kind}");
                self.orders.insert(right, found);
            }
        }
    }

    fn assert_same_version(&mut self, found: &Version, right: &Version) {
        let kind = self.store.kind();
        match self.versions.get(right) {
            Some(known) => assert_eq!(known, found, "{kind}"),
            None => {
                assert!(
                    self.given_out.insert(found.clone()),
                    "{kind}: {found:?} again"
                );
                self.versions.insert(right.clone(), found.clone());
            }
        }
    }

    /// Receipts are equal when they say the same of versions that mean the same.
    fn assert_same_receipt(
        &mut self,
        found: Result<Receipt, MutationError>,
        right: &Result<Receipt, MutationError>,
    ) {
        let kind = self.store.kind();
        match (found, right) {
            (Ok(found), Ok(right)) => {
                match (&found.version, &right.version) {
                    (Some(found), Some(right)) => self.assert_same_version(found, right),
                    (None, None) => {}
                    versions => panic!("{kind}: {versions:?}"),
                }
                let same = Receipt {
                    version: right.version.clone(),
                    ..found
                };
                assert_eq!(same, *right, "{kind}");
            }
            (Err(found), Err(right)) => {
                assert_eq!(found.to_string(), right.to_string(), "{kind}");
            }
            (found, right) => panic!("{kind} {found:?}, specification {right:?}"),
        }
    }
}

impl Comparison {
    fn text(&mut self) -> String {
        let pieces = self.random.random_range(0..6);
        (0..pieces)
            .map(|_| *PIECES.choose(&mut self.random).expect("there are some"))
            .collect()
    }

    /// What a write records; often nothing.
    fn metadata(&mut self) -> Option<WriteMetadata> {
        let entries = self.random.random_range(0..3);
        let entries = (0..entries).map(|_| (self.text(), self.text())).collect();
        WriteMetadata::new(entries).expect("pieces hold no NUL, and few are short")
    }

    fn scope(&mut self) -> Scope {
        scope(SCOPES.choose(&mut self.random).expect("there are some"))
    }

    fn file(&mut self) -> &'static str {
        FILES.choose(&mut self.random).expect("there are some")
    }

    /// A text of any characters but U+0000.
    fn any_text(&mut self) -> String {
        if self.random.random_bool(0.7) {
            return self.text();
        }
        let chars = self.random.random_range(0..20);
        let planes = [0x80, 0x800, 0x3100, 0x1_0000, 0x11_0000];
        let below = *planes.choose(&mut self.random).expect("there are some");
        (0..chars)
            .filter_map(|_| char::from_u32(self.random.random_range(1..below)))
            .collect()
    }

    fn saw(&mut self, what: &'static str, times: usize) {
        *self.seen.entry(what).or_default() += times;
    }

    /// Few ids and fingerprints, so that repetitions and conflicts are frequent.
    fn operation(&mut self) -> Operation {
        let id = self.random.random_range(0..400);
        let fingerprint = if self.random.random_bool(0.9) {
            "f"
        } else {
            "g"
        };
        operation(&format!("op{id}"), fingerprint)
    }

    /// One that mostly no other kind of operation has.
    fn operation_of(&mut self, kind: &str) -> Operation {
        if self.random.random_bool(0.1) {
            return self.operation();
        }
        let (id, wrong) = (
            self.random.random_range(0..80),
            self.random.random_bool(0.1),
        );
        operation(&format!("{kind}{id}"), if wrong { "g" } else { "f" })
    }

    /// An expectation in terms of the specification.
    fn expected(&mut self) -> Expected {
        match self.random.random_range(0..10) {
            0..=4 => Expected::Any,
            5 | 6 => Expected::Absent,
            7 => Expected::Version(Version::new("unknown")),
            _ => match self.known.choose(&mut self.random) {
                Some(version) => Expected::Version(version.clone()),
                None => Expected::Any,
            },
        }
    }

    /// Notes the version that the specification made.
    fn learn(&mut self, right: &Result<Receipt, MutationError>) {
        if let Ok(Receipt {
            version: Some(version),
            replayed: false,
            ..
        }) = right
        {
            self.known.push(version.clone());
        }
    }

    fn of(subjects: Vec<Subject>) -> Self {
        Self {
            specification: InMemoryStore::default(),
            subjects,
            known: Vec::new(),
            seen: BTreeMap::new(),
            random: StdRng::seed_from_u64(seed()),
        }
    }

    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..=19 => self.step_on_notes().await,
            20..=32 => self.add_messages().await,
            33..=36 => self.clear_messages().await,
            37..=48 => self.messages().await,
            49..=52 => self.conversations().await,
            53..=68 => self.remember().await,
            69..=74 => self.forget().await,
            75..=90 => self.recall().await,
            91..=93 => self.fact().await,
            94..=96 => self.facts().await,
            97..=98 => self.restart().await,
            _ => self.journal().await,
        }
    }

    /// What is kept outlives the store that kept it.
    async fn restart(&mut self) {
        for subject in &mut self.subjects {
            subject.store = (subject.open)().await;
        }
        self.saw("restarts", 1);
    }

    async fn step_on_notes(&mut self) {
        match self.random.random_range(0..100) {
            0..=34 => self.edit().await,
            35..=44 => self.write().await,
            45..=56 => self.delete().await,
            57..=64 => self.read().await,
            65..=69 => self.receipt().await,
            70..=75 => self.names().await,
            76..=82 => self.notebook().await,
            83..=94 => self.search().await,
            _ => self.snapshot().await,
        }
    }

    async fn edit(&mut self) {
        let (scope, file, operation) = (self.scope(), name(self.file()), self.operation());
        let expected = self.expected();
        let content = self.text();
        let edit = if self.random.random_bool(0.6) {
            Edit::Append { content }
        } else {
            Edit::Replace {
                old_text: self.text(),
                content,
            }
        };
        let note_chars_max = if self.random.random_bool(0.8) {
            10_000
        } else {
            20
        };
        let metadata = self.metadata();
        let request = |expected, metadata| EditRequest {
            edit: &edit,
            note_chars_max,
            expected,
            metadata,
        };
        let right = request(expected.clone(), metadata.as_ref());
        let right = self.specification.edit(&scope, &file, &right, &operation);
        let right = right.await;
        self.learn(&right);
        for subject in &mut self.subjects {
            let request = request(subject.expected(&expected), subject.kept(&metadata));
            let found = subject.store.edit(&scope, &file, &request, &operation);
            let found = found.await;
            subject.assert_same_receipt(found, &right);
        }
    }

    async fn write(&mut self) {
        let (scope, file, content) = (self.scope(), name(self.file()), self.text());
        let expected = self.expected();
        let operation = self.random.random_bool(0.5).then(|| self.operation());
        let operation = operation.as_ref();
        let metadata = self.metadata();
        let right = WriteRequest {
            metadata: metadata.as_ref(),
            ..WriteRequest::new(&content, &expected)
        };
        let right = self
            .specification
            .write(&scope, &file, &right, operation)
            .await;
        self.learn(&right);
        for subject in &mut self.subjects {
            let expected = subject.expected(&expected);
            let request = WriteRequest {
                metadata: subject.kept(&metadata),
                ..WriteRequest::new(&content, &expected)
            };
            let found = subject
                .store
                .write(&scope, &file, &request, operation)
                .await;
            subject.assert_same_receipt(found, &right);
        }
    }

    async fn delete(&mut self) {
        let (scope, file) = (self.scope(), name(self.file()));
        let expected = self.expected();
        let operation = self.random.random_bool(0.7).then(|| self.operation());
        let operation = operation.as_ref();
        let right = self
            .specification
            .delete(&scope, &file, &expected, operation)
            .await;
        for subject in &mut self.subjects {
            let expected = subject.expected(&expected);
            let found = subject
                .store
                .delete(&scope, &file, &expected, operation)
                .await;
            subject.assert_same_receipt(found, &right);
        }
    }

    async fn read(&mut self) {
        let (scope, file) = (self.scope(), name(self.file()));
        let chars_max = self.random.random_range(0..40);
        let right = self.specification.read(&scope, &file, chars_max).await;
        let right = right.expect("read");
        for subject in &mut self.subjects {
            let found = subject.store.read(&scope, &file, chars_max).await;
            match (found.expect("read"), right.clone()) {
                (Some(found), Some(mut right)) => {
                    subject.assert_same_version(&found.version, &right.version);
                    right.version = found.version.clone();
                    right.metadata = subject.kept(&right.metadata).cloned();
                    assert_eq!(found, right, "{}", subject.store.kind());
                }
                (found, right) => assert_eq!(found, right, "{}", subject.store.kind()),
            }
        }
    }

    async fn receipt(&mut self) {
        let (scope, operation) = (self.scope(), self.operation());
        let right = self.specification.receipt(&scope, &operation).await;
        let right = right.transpose();
        for subject in &mut self.subjects {
            let found = subject.store.receipt(&scope, &operation).await;
            match (found.transpose(), &right) {
                (Some(found), Some(right)) => subject.assert_same_receipt(found, right),
                (found, right) => assert!(found.is_none() && right.is_none()),
            }
        }
    }

    async fn names(&mut self) {
        let (scope, names_max) = (self.scope(), self.random.random_range(0..10));
        let right = self.specification.names(&scope, names_max).await;
        for subject in &self.subjects {
            same(
                subject,
                subject.store.names(&scope, names_max).await,
                &right,
            );
        }
    }

    async fn notebook(&mut self) {
        let scope = self.scope();
        let bounds = NotebookBounds {
            main_chars_max: self.random.random_range(0..60),
            names_max: self.random.random_range(0..6),
        };
        let right: Result<Notebook, _> = self.specification.notebook(&scope, bounds).await;
        for subject in &self.subjects {
            same(
                subject,
                subject.store.notebook(&scope, bounds).await,
                &right,
            );
        }
        assert!(right.expect("notebook").names.len() <= bounds.names_max);
    }

    async fn search(&mut self) {
        let scope = self.scope();
        let query = (0..self.random.random_range(1..4))
            .map(|_| self.text())
            .collect::<Vec<_>>();
        let Ok(query) = SearchQuery::parse(&query.join(" ")) else {
            return;
        };
        let limits = SearchLimits {
            results_max: self.random.random_range(0..6),
            result_chars_max: self.random.random_range(0..120),
            files_max: self.random.random_range(0..10),
            note_chars_max: self.random.random_range(0..60),
        };
        let right = self.specification.search(&scope, &query, &limits).await;
        for subject in &self.subjects {
            let found = subject.store.search(&scope, &query, &limits).await;
            same(subject, found, &right);
        }
    }

    async fn snapshot(&mut self) {
        let (scope, text) = (self.scope(), self.text());
        let digest = format!("d{}", self.random.random_range(0..20));
        if self.random.random_bool(0.5) {
            let right = self.specification.keep_snapshot(&scope, &digest, &text);
            let right = right.await;
            for subject in &self.subjects {
                let snapshots = subject.store.snapshots().expect("all keep snapshots");
                let found = snapshots.keep_snapshot(&scope, &digest, &text).await;
                same(subject, found, &right);
            }
        }
        let right = self.specification.snapshot(&scope, &digest).await;
        for subject in &self.subjects {
            let snapshots = subject.store.snapshots().expect("all keep snapshots");
            same(subject, snapshots.snapshot(&scope, &digest).await, &right);
        }
    }
}

#[track_caller]
fn same<T: Debug + PartialEq>(
    subject: &Subject,
    found: Result<T, StoreError>,
    right: &Result<T, StoreError>,
) {
    let found = found.expect("the store answers");
    let right = right.as_ref().expect("the specification answers");
    assert_eq!(found, *right, "{} on the left", subject.store.kind());
}

#[track_caller]
fn same_mutation<T: Debug + PartialEq>(
    subject: &Subject,
    found: &Result<T, MutationError>,
    right: &Result<T, MutationError>,
) {
    let kind = subject.store.kind();
    match (found, right) {
        (Ok(found), Ok(right)) => assert_eq!(found, right, "{kind} on the left"),
        (Err(found), Err(right)) => assert_eq!(found.to_string(), right.to_string(), "{kind}"),
        (found, right) => panic!("{kind} {found:?}, specification {right:?}"),
    }
}

#[tokio::test]
async fn random_operations_come_out_the_same_on_every_store() {
    let (database, file, root) = (
        Database::migrated().await,
        DatabaseFile::new(),
        FileRoot::new(),
    );
    let (files, root) = (root.store().await, root);
    let files: Arc<dyn Store> = Arc::new(files);
    let subjects = vec![
        Subject::new(postgres(&database)).await,
        Subject::new(sqlite(&file)).await,
        Subject::new(Box::new(move || Box::pin(ready(Arc::clone(&files))))).await,
    ];
    let mut comparison = Comparison::of(subjects);
    for _ in 0..STEPS {
        comparison.step_on_notes().await;
    }
    drop(root);
    // The run was worth something: it made versions enough.
    let versions = comparison.known.len();
    println!("versions: {versions}");
    assert!(versions > 200, "{versions} versions");
}

/// Chunks of the same scopes and collections, and notes as they are read for sources.
#[tokio::test]
async fn random_operations_on_chunks_and_reads_for_sources_come_out_the_same() {
    let (database, file) = (Database::migrated().await, DatabaseFile::new());
    let subjects = vec![
        Subject::new(postgres(&database)).await,
        Subject::new(sqlite(&file)).await,
    ];
    let mut comparison = Comparison::of(subjects);
    for _ in 0..STEPS {
        comparison.step_on_chunks().await;
    }
    for (what, times) in &comparison.seen {
        println!("{what}: {times}");
        assert!(*times > TIMES_MIN, "{what}: {times}");
    }
    assert_eq!(comparison.seen.len(), 9, "what the run is for came out");
}

/// Notes, transcripts and facts of the same scopes, under the same ids, with restarts in between.
#[tokio::test]
async fn random_operations_on_all_that_is_kept_come_out_the_same() {
    let (database, file) = (Database::migrated().await, DatabaseFile::new());
    let subjects = vec![
        Subject::new(postgres(&database)).await,
        Subject::new(sqlite(&file)).await,
    ];
    let mut comparison = Comparison::of(subjects);
    for _ in 0..STEPS {
        comparison.step().await;
    }
    for (what, times) in &comparison.seen {
        println!("{what}: {times}");
        assert!(*times > TIMES_MIN, "{what}: {times}");
    }
    assert_eq!(comparison.seen.len(), 12, "what the run is for came out");
}

fn postgres(database: &Database) -> Open {
    let options = PostgresOptions {
        connections_max: 1,
        ..database.options.clone()
    };
    Box::new(move || {
        let store = PostgresStore::connect_lazy(&options).expect("valid options");
        Box::pin(ready(Arc::new(store) as Arc<dyn Store>))
    })
}

fn sqlite(file: &DatabaseFile) -> Open {
    let options = file.options.clone();
    Box::new(move || {
        let options = options.clone();
        Box::pin(async move {
            let store = SqliteStore::open(&options).await.expect("open");
            Arc::new(store) as Arc<dyn Store>
        })
    })
}
