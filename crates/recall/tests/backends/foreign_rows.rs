//! What a backend answers of another tenant is caught, whichever rows they are, and nothing is passed on.

use std::sync::Arc;

use notekeeper_domain::{
    ConversationId, Fact, Fingerprint, NoteName, Operation, OperationId, StoredMessage,
};
use notekeeper_models::HashingEmbedder;
use notekeeper_recall::{
    CacheOptions, CachedSource, CompositeOptions, CompositeSource, FactsSource, FileSource,
    HybridLeg, HybridSource, JournalSource, LEG_TIMEOUT_DEFAULT, NotesSource, OpenStores,
    ScratchpadSource, SequentialSource, Source, SourceError, TranscriptSource, VectorSource,
};
use notekeeper_store::{
    Expected, FactStore, FileOptions, FileStore, NoteStore, SqliteOptions, SqliteStore, Store,
    TranscriptStore, WriteRequest,
};
use serde_json::json;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, sqlite::SqliteConnectOptions};

use crate::{
    fixture::{Tenant, item, opening},
    leaky_store::{Leak, LeakyStore},
};

/// A kind of source over a store.
type Kind = fn(Arc<dyn OpenStores>) -> Arc<dyn Source>;

fn file(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    Arc::new(FileSource::new("leaf", stores, "default"))
}

fn notes(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    Arc::new(NotesSource::new("leaf", stores, "default"))
}

fn hybrid(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    let embedder = Arc::new(HashingEmbedder::default());
    Arc::new(HybridSource::new("leaf", stores, "default", embedder))
}

/// Hybrid search, whose leg of words alone finds rows.
fn words(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    let embedder = Arc::new(HashingEmbedder::default());
    let source = HybridSource::new("leaf", stores, "default", embedder);
    Arc::new(source.with_legs(&[HybridLeg::Words]))
}

fn facts(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    Arc::new(FactsSource::new("leaf", stores, "default"))
}

fn transcript(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    Arc::new(TranscriptSource::new("leaf", stores, "default", None))
}

fn one_conversation(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    let conversation = ConversationId::parse("talk").expect("a valid id");
    let source = TranscriptSource::new("leaf", stores, "default", Some(conversation));
    Arc::new(source)
}

fn journal(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    Arc::new(JournalSource::new("leaf", stores, "default"))
}

fn vector(stores: Arc<dyn OpenStores>) -> Arc<dyn Source> {
    let embedder = Arc::new(HashingEmbedder::default());
    let source = VectorSource::embedded("leaf", stores, "default", "c", embedder);
    Arc::new(source)
}

/// Each kind of leaf with each of the rows that it reads.
const LEAVES: [(Kind, Leak); 18] = [
    (file, Leak::Notes),
    (file, Leak::NotesOfNobody),
    (notes, Leak::Notes),
    (notes, Leak::NotesOfNobody),
    (hybrid, Leak::Notes),
    (hybrid, Leak::Listed),
    (hybrid, Leak::Recalled),
    (hybrid, Leak::Chunks),
    (words, Leak::Notes),
    (words, Leak::Listed),
    (words, Leak::Recalled),
    (facts, Leak::Recalled),
    (transcript, Leak::Messages),
    (transcript, Leak::MessagesOfNobody),
    (transcript, Leak::Conversations),
    (one_conversation, Leak::Messages),
    (journal, Leak::Changes),
    (vector, Leak::Chunks),
];

/// Keeps something of each kind for a tenant that a query for `alpha` finds, under names that begin so.
async fn fill(
    inner: &(impl NoteStore + FactStore + TranscriptStore),
    tenant: &Tenant,
    text: &str,
    prefix: &str,
) {
    let scope = &tenant.scope;
    let name = NoteName::parse(&format!("{prefix}.md")).expect("a valid name");
    let operation = Operation {
        id: OperationId::parse(prefix).expect("a valid id"),
        fingerprint: Fingerprint::new("f"),
    };
    let request = WriteRequest::new(text, &Expected::Any);
    let written = inner.write(scope, &name, &request, Some(&operation)).await;
    written.expect("written");
    let fact = Fact::new(prefix, text).expect("a valid fact");
    inner
        .remember(scope, &fact, None)
        .await
        .expect("remembered");
    let message = StoredMessage::new(json!({"role": "user", "content": text})).expect("a message");
    for conversation in ["talk", prefix] {
        let conversation = ConversationId::parse(conversation).expect("a valid id");
        let added = inner.add_messages(scope, &conversation, std::slice::from_ref(&message), None);
        added.await.expect("added");
    }
}

/// The source over a store with this leak, in which two tenants keep something, and the one who asks.
async fn leaf(kind: Kind, leak: Leak) -> (Arc<dyn Source>, Tenant) {
    let store = Arc::new(LeakyStore::new(leak));
    let tenant = Tenant::of("acme");
    fill(&store.inner, &tenant, "alpha, my own", "a-mine").await;
    let elsewhere = Tenant::of("elsewhere");
    fill(&store.inner, &elsewhere, "alpha, their secret", "b-theirs").await;
    let store: Arc<dyn Store> = store;
    let source = kind(opening(&store));
    if source.accepts_writes() {
        let items = [item("alpha, my own", json!({"id": "1", "path": "1.md"}))];
        let written = tenant.write(&*source, &items, "op").await;
        written.expect("written");
    }
    (source, tenant)
}

fn assert_caught(error: &SourceError, what: &str) {
    assert!(
        matches!(error, SourceError::ForeignScope { source_name } if source_name.starts_with("leaf")),
        "{what}: {error:?}"
    );
    assert!(error.is_of_scope() && !error.is_passing(), "{what}");
    let said = error.to_string();
    assert!(
        !said.contains("elsewhere") && !said.contains("secret"),
        "{what}: {said}"
    );
}

#[tokio::test]
async fn each_kind_of_source_catches_each_kind_of_row_of_another_tenant() {
    for (index, (kind, leak)) in LEAVES.into_iter().enumerate() {
        // The row of its own that comes first fills the limit, and doesn't save it.
        for limit in [1, 50] {
            let what = format!("leaf {index}, {leak:?}, at most {limit}");
            let (source, tenant) = leaf(kind, leak).await;
            let answer = tenant.query(&*source, "alpha", limit).await;
            assert_caught(&answer.expect_err(&what), &what);
            // What leaks nothing finds what is its own: it is the row that is caught.
            let (source, tenant) = leaf(kind, Leak::Nothing).await;
            let found = tenant.found(&*source, "alpha", limit).await;
            assert!(!found.is_empty(), "{what}");
            assert!(
                found.iter().all(|item| !item.content.contains("secret")),
                "{what}: {found:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_row_of_another_tenant_ends_the_query_of_all_that_the_source_stands_in() {
    for (index, (kind, leak)) in LEAVES.into_iter().enumerate() {
        let what = format!("leaf {index}, {leak:?}");
        let (leaf, mut tenant) = leaf(kind, leak).await;
        tenant
            .scratchpad
            .insert("plan".to_owned(), json!("alpha, what stands beside it"));
        let beside = || -> Arc<dyn Source> { Arc::new(ScratchpadSource::new("beside")) };
        let cached = CachedSource::new(leaf, CacheOptions::default()).expect("valid");
        let legs = vec![beside(), Arc::new(cached) as Arc<dyn Source>];
        let composite = CompositeSource::new("both", legs, CompositeOptions::default());
        let composite: Arc<dyn Source> = Arc::new(composite.expect("valid"));
        let legs = vec![beside(), composite];
        let chain = SequentialSource::new("chain", legs, LEG_TIMEOUT_DEFAULT).expect("valid");
        // Nor does a cache make an answer of it the second time.
        for _ in 0..2 {
            let answer = tenant.query(&chain, "alpha", 50).await;
            assert_caught(&answer.expect_err(&what), &what);
        }
        let found = tenant.found(&*beside(), "alpha", 50).await;
        assert_eq!(found.len(), 1, "the other leg has an answer of its own");
    }
}

/// What a copy of the tables could come to that a person made: letters of scopes count without their case.
const BLUR: &str = "pragma writable_schema = on;
    update sqlite_schema
    set sql = replace(sql, 'scope text not null', 'scope text collate nocase not null')
    where type = 'table';
    pragma writable_schema = reset;";

#[tokio::test]
async fn a_database_that_takes_two_tenants_for_one_is_caught() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("notes.db");
    let (mine, theirs) = (Tenant::of("acme"), Tenant::of("ACME"));
    let store = SqliteStore::open(&SqliteOptions::new(&path)).await;
    let store = store.expect("open");
    fill(&store, &theirs, "alpha, their secret", "theirs").await;
    let stores = opening(&(Arc::new(store) as Arc<dyn Store>));
    let items = [item("alpha, their secret", json!({"id": "1"}))];
    let written = theirs.write(&*vector(stores.clone()), &items, "op").await;
    written.expect("written");
    let kinds: [Kind; 7] = [file, notes, words, facts, transcript, journal, vector];
    for kind in kinds {
        let found = mine.found(&*kind(stores.clone()), "alpha", 5).await;
        assert_eq!(
            found,
            [],
            "they are apart until somebody lets them run together"
        );
    }
    drop(stores);

    let options = SqliteConnectOptions::new().filename(&path);
    let mut console = options.connect().await.expect("connect");
    console.execute(BLUR).await.expect("the tables change");
    console.execute("reindex").await.expect("as do the indexes");
    console.close().await.expect("close");

    let store = SqliteStore::open(&SqliteOptions::new(&path)).await;
    let stores = opening(&(Arc::new(store.expect("open")) as Arc<dyn Store>));
    for (index, kind) in kinds.into_iter().enumerate() {
        let what = format!("kind {index}");
        let source = kind(stores.clone());
        let answer = mine.query(&*source, "alpha", 5).await;
        assert_caught(&answer.expect_err(&what), &what);
        let found = theirs.found(&*source, "alpha", 5).await;
        assert!(
            !found.is_empty(),
            "{what}: whose rows they are may read them"
        );
    }
}

#[tokio::test]
async fn a_link_to_another_tenants_note_is_caught() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("notes");
    let store = FileStore::open(FileOptions::new(&root))
        .await
        .expect("open");
    for (scope, file) in [("acme/main", "own.md"), ("other/main", "secret.md")] {
        let scope = notekeeper_domain::Scope::parse(scope).expect("valid");
        let name = NoteName::parse(file).expect("valid");
        let request = WriteRequest::new("alpha", &Expected::Any);
        let written = store.write(&scope, &name, &request, None).await;
        written.expect("written");
    }
    let stores = opening(&(Arc::new(store) as Arc<dyn Store>));
    let tenant = Tenant::of("acme");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, root.join("acme/main").join(name)).expect("a link");
    };
    link("own.md", "same.md");
    // Hybrid search makes one of copies.
    for (kind, items) in [(file as Kind, 2), (notes, 2), (words, 1)] {
        let found = tenant.found(&*kind(stores.clone()), "alpha", 5).await;
        assert_eq!(found.len(), items, "inside of the scope it is another name");
    }
    link("../../other/main/secret.md", "theirs.md");
    for kind in [file, notes, words] {
        let answer = tenant.query(&*kind(stores.clone()), "alpha", 5).await;
        assert_caught(&answer.expect_err("an error"), "a link");
    }
}
