//! Write metadata in the databases: the column, what an application asks of it, what somebody else
//! put there, and notes that are older than it.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use notekeeper_domain::{Edit, WriteMetadata};
use notekeeper_store::{EditRequest, Expected, NoteStore, Store, StoreError, WriteRequest};
use sqlx::{AssertSqlSafe, Executor as _};
use tracing::{Level, instrument::WithSubscriber as _};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    database::{CHARS_MAX, Database, append, name, operation, scope, text},
    database_file::DatabaseFile,
    migrations::{older_database, older_file},
};

fn by(whom: &str) -> WriteMetadata {
    let entries = [("updated_by".to_owned(), whom.to_owned())];
    WriteMetadata::new(entries.into())
        .expect("valid metadata")
        .expect("an entry")
}

async fn write(store: &impl NoteStore, file: &str, metadata: Option<&WriteMetadata>) {
    let request = WriteRequest {
        metadata,
        ..WriteRequest::new("text", &Expected::Any)
    };
    store
        .write(&scope("zoe/main"), &name(file), &request, None)
        .await
        .expect("write");
}

async fn read(store: &impl NoteStore, file: &str) -> Option<WriteMetadata> {
    let note = store.read(&scope("zoe/main"), &name(file), CHARS_MAX).await;
    note.expect("read").expect("the note is there").metadata
}

/// Names and texts of the notes whose metadata the listing has.
async fn listed(store: &impl NoteStore) -> Vec<(String, Option<WriteMetadata>)> {
    let listing = store.list(&scope("zoe/main"), 100).await.expect("list");
    let notes = listing.notes.into_iter();
    notes
        .map(|note| (note.name.as_str().to_owned(), note.metadata))
        .collect()
}

/// What is logged while `work` runs.
async fn logged<T>(work: impl Future<Output = T>) -> (T, String) {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_max_level(Level::WARN)
        .with_ansi(false)
        .finish();
    let result = work.with_subscriber(subscriber).await;
    let text = lines.0.lock().unwrap_or_else(PoisonError::into_inner);
    (result, String::from_utf8_lossy(&text).into_owned())
}

/// An application's own query, which knows the column and the key.
const WRITTEN_BY_UI: &str = "select name from notes where scope = 'zoe/main' and write_metadata->>'updated_by' = 'ui' \
     order by name";

#[tokio::test]
async fn an_application_can_ask_postgres_who_wrote() {
    let database = Database::migrated().await;
    let store = database.store();
    write(&store, "MEMORY.md", Some(&by("ui"))).await;
    write(&store, "agents.md", Some(&by("agent"))).await;
    write(&store, "nobodys.md", None).await;
    write(&store, "typed.md", Some(&by("ui"))).await;
    let mut connection = database.connection().await;
    let names: Vec<String> = sqlx::query_scalar(WRITTEN_BY_UI)
        .fetch_all(&mut connection)
        .await
        .expect("the application's query");
    assert_eq!(names, ["MEMORY.md", "typed.md"]);
    let kind: String = sqlx::query_scalar(
        "select data_type from information_schema.columns \
         where table_schema = current_schema and table_name = 'notes' \
         and column_name = 'write_metadata' and is_nullable = 'YES'",
    )
    .fetch_one(&mut connection)
    .await
    .expect("there is such a column");
    assert_eq!(kind, "jsonb");
    // The agent edits what the user typed.
    append(
        &store,
        &scope("zoe/main"),
        "typed.md",
        "x",
        &operation("1", "f"),
    )
    .await
    .expect("edit");
    let names: Vec<String> = sqlx::query_scalar(WRITTEN_BY_UI)
        .fetch_all(&mut connection)
        .await
        .expect("the application's query");
    assert_eq!(names, ["MEMORY.md"]);
}

#[tokio::test]
async fn an_application_can_ask_sqlite_who_wrote() {
    let file = DatabaseFile::new();
    let store = file.store().await;
    write(&store, "MEMORY.md", Some(&by("ui"))).await;
    write(&store, "agents.md", Some(&by("agent"))).await;
    write(&store, "nobodys.md", None).await;
    let mut connection = file.connection().await;
    let names: Vec<String> = sqlx::query_scalar(WRITTEN_BY_UI)
        .fetch_all(&mut connection)
        .await
        .expect("the application's query");
    assert_eq!(names, ["MEMORY.md"]);
    let kept: Vec<String> = sqlx::query_scalar(
        "select write_metadata from notes where write_metadata is not null order by name",
    )
    .fetch_all(&mut connection)
    .await
    .expect("read behind the store");
    assert_eq!(
        kept,
        [r#"{"updated_by":"ui"}"#, r#"{"updated_by":"agent"}"#]
    );
}

/// What somebody with a console put there, and what is said of it.
const ODD: [&str; 8] = [
    "[]",
    "null",
    "\"secret\"",
    "7",
    "{\"secret\": 7}",
    "{\"secret\": null}",
    "{\"a\": {\"secret\": \"b\"}}",
    "{\"a\": [\"secret\"]}",
];

/// Checks that what `put` writes behind the store reads as none and is warned about.
async fn odd_values_read_as_none(store: &impl NoteStore, mut put: impl AsyncFnMut(&str)) {
    write(store, "a.md", Some(&by("ui"))).await;
    write(store, "b.md", Some(&by("ui"))).await;
    let long = format!("{{\"a\": \"{}\"}}", "secret".repeat(1_000));
    for odd in ODD.into_iter().chain([long.as_str()]) {
        put(odd).await;
        let (found, warnings) = logged(read(store, "a.md")).await;
        assert_eq!(found, None, "{odd}");
        assert!(warnings.contains("WARN"), "{odd}: {warnings}");
        for told in ["secret", "zoe", "a.md"] {
            assert!(!warnings.contains(told), "{odd}: {warnings}");
        }
        let both = [("a.md", None), ("b.md", Some(by("ui")))];
        let both = both.map(|(name, metadata)| (name.to_owned(), metadata));
        assert_eq!(listed(store).await, both, "{odd}");
    }
    put("{}").await;
    let (found, warnings) = logged(read(store, "a.md")).await;
    assert_eq!((found, warnings.as_str()), (None, ""), "{{}} is nothing");
    // The text is as good as any, and the next write makes all well.
    assert_eq!(
        text(store, &scope("zoe/main"), "a.md").await.as_deref(),
        Some("text")
    );
    write(store, "a.md", Some(&by("agent"))).await;
    assert_eq!(read(store, "a.md").await, Some(by("agent")));
}

#[tokio::test]
async fn odd_values_in_postgres_read_as_none_with_a_warning() {
    let database = Database::migrated().await;
    let mut connection = database.connection().await;
    odd_values_read_as_none(&database.store(), async |odd| {
        sqlx::query("update notes set write_metadata = $1::text::jsonb where name = 'a.md'")
            .bind(odd)
            .execute(&mut connection)
            .await
            .expect("update");
    })
    .await;
}

#[tokio::test]
async fn odd_values_in_sqlite_read_as_none_with_a_warning() {
    let file = DatabaseFile::new();
    let store = file.store().await;
    let mut connection = file.connection().await;
    let mut put = async |odd: &str| {
        sqlx::query("update notes set write_metadata = $1 where name = 'a.md'")
            .bind(odd)
            .execute(&mut connection)
            .await
            .expect("update");
    };
    odd_values_read_as_none(&store, &mut put).await;
    // Text that isn't even JSON.
    put("secret").await;
    assert_eq!(read(&store, "a.md").await, None);
    put("{\"a\": \"x\\u0000y\"}").await;
    assert_eq!(read(&store, "a.md").await, None);
}

/// A note as a program before the second migration left it.
const OLD_NOTE: &str = "insert into notes (scope, name, content, chars, version) \
     values ('zoe/main', 'old.md', 'old text', 8, 3)";

#[tokio::test]
async fn notes_that_are_older_than_the_column_of_postgres_have_none() {
    let (database, mut connection) = older_database(1).await;
    connection.execute(OLD_NOTE).await.expect("insert");
    let store = database.store();
    // A newer worker on an older database says what to do, at its start and in every call.
    let checked = store.check().await;
    assert!(
        matches!(
            checked,
            Err(StoreError::Unmigrated {
                found: 1,
                needed: 2..
            })
        ),
        "{checked:?}"
    );
    let reading = store.read(&scope("zoe/main"), &name("old.md"), 9).await;
    assert!(
        matches!(reading, Err(StoreError::Unmigrated { found: 1, .. })),
        "{reading:?}"
    );
    let report = store.migrate().await.expect("migrate");
    assert_eq!(report.before, 1);
    assert_eq!(
        report.applied.first(),
        Some(&(2, "write metadata".to_owned()))
    );
    old_notes_have_none(&store).await;
    // An older worker goes on: it knows nothing of the column.
    connection
        .execute(AssertSqlSafe(OLD_NOTE.replace("old.md", "older.md")))
        .await
        .expect("insert");
    assert_eq!(read(&store, "older.md").await, None);
}

#[tokio::test]
async fn notes_that_are_older_than_the_column_of_sqlite_have_none() {
    let (file, mut connection) = older_file(1).await;
    connection.execute(OLD_NOTE).await.expect("insert");
    drop(connection);
    let store = file.store().await;
    old_notes_have_none(&store).await;
    let mut connection = file.connection().await;
    connection
        .execute(AssertSqlSafe(OLD_NOTE.replace("old.md", "older.md")))
        .await
        .expect("insert");
    assert_eq!(read(&store, "older.md").await, None);
}

async fn old_notes_have_none(store: &impl Store) {
    let (found, warnings) = logged(read(store, "old.md")).await;
    assert_eq!((found, warnings.as_str()), (None, ""));
    assert_eq!(listed(store).await, [("old.md".to_owned(), None)]);
    let edit = Edit::Append {
        content: "new line".to_owned(),
    };
    let by = by("agent");
    let request = EditRequest {
        edit: &edit,
        note_chars_max: CHARS_MAX,
        expected: Expected::Any,
        metadata: Some(&by),
    };
    let written = operation("1", "f");
    store
        .edit(&scope("zoe/main"), &name("old.md"), &request, &written)
        .await
        .expect("edit");
    assert_eq!(read(store, "old.md").await, Some(by));
    assert_eq!(
        text(store, &scope("zoe/main"), "old.md").await.as_deref(),
        Some("old text\nnew line\n")
    );
}
