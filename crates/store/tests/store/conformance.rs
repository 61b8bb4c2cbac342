//! The suite over each store.

use std::sync::Mutex;

use notekeeper_store::{
    InMemoryStore,
    conformance::{self, Capability, MinimalStore},
};

use crate::{database::Database, database_file::DatabaseFile, file_root::FileRoot};

#[tokio::test]
async fn in_memory_does_what_every_store_must() {
    let report = conformance::exercise(async || InMemoryStore::default()).await;
    assert_eq!(report.left_out, [], "{report}");
}

#[tokio::test]
async fn a_store_with_only_what_it_must_have_does_as_well() {
    let report = conformance::exercise(async || MinimalStore::default()).await;
    use Capability::{Facts, Journal, Metadata, Snapshots, Tails, Transcripts, Vectors};
    let left_out = [
        Metadata,
        Tails,
        Snapshots,
        Transcripts,
        Facts,
        Vectors,
        Journal,
    ];
    assert_eq!(report.left_out, left_out, "{report}");
}

/// Each of its calls lets the others go first, so changes come between.
#[tokio::test]
async fn so_does_one_whose_edits_give_up_beside_others() {
    let report = conformance::exercise(async || MinimalStore::polite()).await;
    assert_eq!(
        report.to_string(),
        "`minimal` does what every store must; left out: edits that never give up, metadata of \
         writes, ends of over-long notes, texts of snapshots, transcripts, facts, vectors, a journal"
    );
}

#[tokio::test]
async fn sqlite_does_what_every_store_must() {
    let files = Mutex::new(Vec::new());
    let report = conformance::exercise(async || {
        let file = DatabaseFile::new();
        let store = file.store().await;
        files.lock().expect("no case panics with it").push(file);
        store
    })
    .await;
    assert_eq!(report.left_out, [], "{report}");
}

#[tokio::test]
async fn files_do_what_every_store_must() {
    let roots = Mutex::new(Vec::new());
    let report = conformance::exercise(async || {
        let root = FileRoot::new();
        let store = root.store().await;
        roots.lock().expect("no case panics with it").push(root);
        store
    })
    .await;
    use Capability::{Facts, Journal, Metadata, Transcripts, Vectors};
    let left_out = [Metadata, Transcripts, Facts, Vectors, Journal];
    assert_eq!(report.left_out, left_out, "{report}");
}

#[tokio::test]
async fn postgres_does_what_every_store_must() {
    let databases = Mutex::new(Vec::new());
    let report = conformance::exercise(async || {
        let database = Database::migrated().await;
        let store = database.store();
        databases
            .lock()
            .expect("no case panics with it")
            .push(database);
        store
    })
    .await;
    assert_eq!(report.left_out, [], "{report}");
}
