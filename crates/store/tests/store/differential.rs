//! Random operations on the database and on the specification, side by side.

use std::{collections::HashMap, fmt::Debug};

use notekeeper_domain::{
    Edit, MAIN_NOTE, Notebook, Operation, Scope, SearchLimits, SearchQuery, Version,
};
use notekeeper_store::{
    EditRequest, Expected, InMemoryStore, MutationError, NoteIndex, NoteStore, NotebookBounds,
    PostgresStore, Receipt, SnapshotStore, StoreError,
};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use crate::database::{Database, name, operation, scope, seed};

const STEPS: usize = 4_000;

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

struct Twins {
    postgres: PostgresStore,
    in_memory: InMemoryStore,
    /// What each version of one store is called in the other.
    versions: HashMap<Version, Version>,
    /// Versions that were given out, in terms of the specification.
    known: Vec<Version>,
    random: StdRng,
}

impl Twins {
    fn text(&mut self) -> String {
        let pieces = self.random.random_range(0..6);
        (0..pieces)
            .map(|_| *PIECES.choose(&mut self.random).expect("there are some"))
            .collect()
    }

    fn scope(&mut self) -> Scope {
        scope(SCOPES.choose(&mut self.random).expect("there are some"))
    }

    fn file(&mut self) -> &'static str {
        FILES.choose(&mut self.random).expect("there are some")
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

    /// An expectation for each store that means the same.
    fn expected(&mut self) -> (Expected, Expected) {
        match self.random.random_range(0..10) {
            0..=4 => (Expected::Any, Expected::Any),
            5 | 6 => (Expected::Absent, Expected::Absent),
            7 => {
                let unknown = Expected::Version(Version::new("unknown"));
                (unknown.clone(), unknown)
            }
            _ => match self.known.choose(&mut self.random) {
                Some(version) => (
                    Expected::Version(self.versions[version].clone()),
                    Expected::Version(version.clone()),
                ),
                None => (Expected::Any, Expected::Any),
            },
        }
    }

    /// Receipts are equal when they say the same of versions that mean the same.
    fn assert_same_receipt(
        &mut self,
        postgres: Result<Receipt, MutationError>,
        in_memory: Result<Receipt, MutationError>,
    ) {
        match (postgres, in_memory) {
            (Ok(postgres), Ok(in_memory)) => {
                match (&postgres.version, &in_memory.version) {
                    (Some(there), Some(here)) => self.assert_same_version(there, here),
                    (None, None) => {}
                    versions => panic!("{versions:?}"),
                }
                let same = Receipt {
                    version: in_memory.version.clone(),
                    ..postgres
                };
                assert_eq!(same, in_memory);
            }
            (Err(postgres), Err(in_memory)) => {
                assert_eq!(postgres.to_string(), in_memory.to_string());
            }
            (postgres, in_memory) => panic!("postgres {postgres:?}, in_memory {in_memory:?}"),
        }
    }

    fn assert_same_version(&mut self, postgres: &Version, in_memory: &Version) {
        match self.versions.get(in_memory) {
            Some(known) => assert_eq!(known, postgres),
            None => {
                self.versions.insert(in_memory.clone(), postgres.clone());
                self.known.push(in_memory.clone());
            }
        }
    }

    async fn step(&mut self) {
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
        let (there, here) = self.expected();
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
        let request = |expected| EditRequest {
            edit: &edit,
            note_chars_max,
            expected,
        };
        let postgres = self
            .postgres
            .edit(&scope, &file, &request(there), &operation)
            .await;
        let in_memory = self
            .in_memory
            .edit(&scope, &file, &request(here), &operation)
            .await;
        self.assert_same_receipt(postgres, in_memory);
    }

    async fn write(&mut self) {
        let (scope, file, content) = (self.scope(), name(self.file()), self.text());
        let (there, here) = self.expected();
        let operation = self.random.random_bool(0.5).then(|| self.operation());
        let operation = operation.as_ref();
        let postgres = self
            .postgres
            .write(&scope, &file, &content, &there, operation)
            .await;
        let in_memory = self
            .in_memory
            .write(&scope, &file, &content, &here, operation)
            .await;
        self.assert_same_receipt(postgres, in_memory);
    }

    async fn delete(&mut self) {
        let (scope, file) = (self.scope(), name(self.file()));
        let (there, here) = self.expected();
        let operation = self.random.random_bool(0.7).then(|| self.operation());
        let postgres = self
            .postgres
            .delete(&scope, &file, &there, operation.as_ref())
            .await;
        let in_memory = self
            .in_memory
            .delete(&scope, &file, &here, operation.as_ref())
            .await;
        self.assert_same_receipt(postgres, in_memory);
    }

    async fn read(&mut self) {
        let (scope, file) = (self.scope(), name(self.file()));
        let chars_max = self.random.random_range(0..40);
        let postgres = self
            .postgres
            .read(&scope, &file, chars_max)
            .await
            .expect("read");
        let in_memory = self
            .in_memory
            .read(&scope, &file, chars_max)
            .await
            .expect("read");
        match (postgres, in_memory) {
            (Some(postgres), Some(mut in_memory)) => {
                self.assert_same_version(&postgres.version, &in_memory.version);
                in_memory.version = postgres.version.clone();
                assert_eq!(postgres, in_memory);
            }
            (postgres, in_memory) => assert_eq!(postgres, in_memory),
        }
    }

    async fn receipt(&mut self) {
        let (scope, operation) = (self.scope(), self.operation());
        let postgres = self.postgres.receipt(&scope, &operation).await.transpose();
        let in_memory = self.in_memory.receipt(&scope, &operation).await.transpose();
        match (postgres, in_memory) {
            (Some(postgres), Some(in_memory)) => self.assert_same_receipt(postgres, in_memory),
            (postgres, in_memory) => assert!(postgres.is_none() && in_memory.is_none()),
        }
    }

    async fn names(&mut self) {
        let (scope, names_max) = (self.scope(), self.random.random_range(0..10));
        same(
            self.postgres.names(&scope, names_max).await,
            self.in_memory.names(&scope, names_max).await,
        );
    }

    async fn notebook(&mut self) {
        let scope = self.scope();
        let bounds = NotebookBounds {
            main_chars_max: self.random.random_range(0..60),
            names_max: self.random.random_range(0..6),
        };
        let view: Notebook = same(
            self.postgres.notebook(&scope, bounds).await,
            self.in_memory.notebook(&scope, bounds).await,
        );
        assert!(view.names.len() <= bounds.names_max);
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
        same(
            self.postgres.search(&scope, &query, &limits).await,
            self.in_memory.search(&scope, &query, &limits).await,
        );
    }

    async fn snapshot(&mut self) {
        let (scope, text) = (self.scope(), self.text());
        let digest = format!("d{}", self.random.random_range(0..20));
        if self.random.random_bool(0.5) {
            same(
                self.postgres.keep_snapshot(&scope, &digest, &text).await,
                self.in_memory.keep_snapshot(&scope, &digest, &text).await,
            );
        }
        same(
            self.postgres.snapshot(&scope, &digest).await,
            self.in_memory.snapshot(&scope, &digest).await,
        );
    }
}

#[track_caller]
fn same<T: Debug + PartialEq>(
    postgres: Result<T, StoreError>,
    in_memory: Result<T, StoreError>,
) -> T {
    let (postgres, in_memory) = (postgres.expect("postgres"), in_memory.expect("in_memory"));
    assert_eq!(
        postgres, in_memory,
        "postgres on the left, in_memory on the right"
    );
    postgres
}

#[tokio::test]
async fn random_operations_come_out_the_same_on_postgres_and_in_memory() {
    let database = Database::migrated().await;
    let mut twins = Twins {
        postgres: database.store_of(1),
        in_memory: InMemoryStore::default(),
        versions: HashMap::new(),
        known: Vec::new(),
        random: StdRng::seed_from_u64(seed()),
    };
    for _ in 0..STEPS {
        twins.step().await;
    }
    // The run was worth something: it made versions enough.
    assert!(twins.known.len() > 500, "{} versions", twins.known.len());
}
