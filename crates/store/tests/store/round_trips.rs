//! What each operation sends, counted on the wire.
//!
//! A statement waits for its answer before the next is sent, so statements are round trips. The
//! first use of a statement on a connection costs one more, for parsing it. When a connection
//! goes back to the driver's pool, the driver asks once more whether it lives; it goes there now
//! and then only.

use notekeeper_domain::{Edit, FactKey, RecallQuery, Refusal, SearchLimits, SearchQuery};
use notekeeper_store::{
    EditRequest, Expected, FactStore, JournalStore, MessageSelection, MutationError, NoteStore,
    NotebookBounds, PostgresStore, ReceiptStatus, SnapshotStore, TextBounds, TranscriptStore,
    VectorStore, WriteRequest,
};

use crate::{
    database::{Database, append, name, operation, scope, text},
    interleavings::{forget, remember},
    messages::{conversation, message},
    proxy::Proxy,
    vectors::{chunk, collection, nearest},
};

struct Counted {
    database: Database,
    proxy: Proxy,
    store: PostgresStore,
}

impl Counted {
    async fn start() -> Self {
        let database = Database::migrated().await;
        let proxy = Proxy::start().await;
        let store = proxy.store(&database, 1);
        Self {
            database,
            proxy,
            store,
        }
    }

    /// The answer of a call and the statements that it took. `call` runs twice with different
    /// numbers; the first time, statements are parsed.
    async fn count<T>(&self, call: impl AsyncFn(u32) -> T) -> (T, u64) {
        call(1).await;
        let (before, prepared) = (self.proxy.statements(), self.proxy.prepared());
        let answer = call(2).await;
        assert_eq!(
            self.proxy.prepared(),
            prepared,
            "statements are parsed once"
        );
        (answer, self.proxy.statements() - before)
    }
}

#[tokio::test]
async fn an_operation_that_ended_well_leaves_its_connection_to_the_next_without_a_question() {
    let counted = Counted::start().await;
    let (scope, file) = (scope("t/main"), name("a.md"));
    let read = async || counted.store.read(&scope, &file, 10).await.expect("read");
    read().await;
    let before = (counted.proxy.round_trips(), counted.proxy.connections());
    for _ in 0..20 {
        read().await;
    }
    let after = (counted.proxy.round_trips(), counted.proxy.connections());
    assert_eq!(after, (before.0 + 20, before.1));
}

#[test]
fn a_store_that_outlives_its_runtime_can_be_dropped() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (database, store) = runtime.block_on(async {
        let database = Database::migrated().await;
        let store = database.store();
        let read = store.read(&scope("t/main"), &name("a.md"), 10).await;
        assert_eq!(read.expect("read"), None);
        (database, store)
    });
    drop(database);
    drop(runtime);
    drop(store);
}

#[tokio::test]
async fn an_uncontended_edit_takes_two_round_trips_and_a_repetition_one() {
    let counted = Counted::start().await;
    let scope = scope("t/main");
    let (created, statements) = counted
        .count(async |n| {
            let file = format!("{n}.md");
            append(&counted.store, &scope, &file, "x", &operation(&file, "f")).await
        })
        .await;
    assert_eq!(created.expect("edit").status, ReceiptStatus::Created);
    assert_eq!(statements, 2);
    let (appended, statements) = counted
        .count(async |n| {
            let edit = operation(&n.to_string(), "f");
            append(&counted.store, &scope, "1.md", "y", &edit).await
        })
        .await;
    assert_eq!(appended.expect("edit").status, ReceiptStatus::Appended);
    assert_eq!(statements, 2);
    let (replayed, statements) = counted
        .count(async |_| append(&counted.store, &scope, "1.md", "y", &operation("1", "f")).await)
        .await;
    assert!(replayed.expect("replay").replayed);
    assert_eq!(statements, 1);
    let (conflict, statements) = counted
        .count(async |_| {
            append(
                &counted.store,
                &scope,
                "1.md",
                "y",
                &operation("1", "other"),
            )
            .await
        })
        .await;
    assert!(matches!(conflict, Err(MutationError::OperationConflict)));
    assert_eq!(statements, 1);
}

#[tokio::test]
async fn a_contended_edit_takes_seven_round_trips() {
    let counted = Counted::start().await;
    let direct = counted.database.store();
    let scope = scope("t/main");
    for (round, file) in ["there.md", "absent.md"].into_iter().enumerate() {
        if file == "there.md" {
            direct
                .write(
                    &scope,
                    &name(file),
                    &WriteRequest::new("start\n", &Expected::Any),
                    None,
                )
                .await
                .expect("write");
        }
        for warm in [true, false] {
            let (edit, other) = (
                operation(&format!("{round} {warm} slow"), "f"),
                operation(&format!("{round} {warm} fast"), "f"),
            );
            let (before, prepared) = (counted.proxy.statements(), counted.proxy.prepared());
            // Between the look-up and the write, another writer comes.
            let slow = append(&counted.store, &scope, file, "slow", &edit);
            let fast = async {
                append(&direct, &scope, file, "fast", &other)
                    .await
                    .expect("edit");
            };
            let (receipt, ()) = counted.proxy.overtake(2, slow, fast).await;
            assert!(!receipt.expect("edit").replayed);
            assert_eq!(counted.proxy.statements() - before, 7);
            if !warm {
                assert_eq!(counted.proxy.prepared(), prepared);
            }
        }
        let lines = text(&direct, &scope, file).await.expect("there");
        assert!(lines.ends_with("fast\nslow\nfast\nslow\n"), "{lines}");
    }
}

#[tokio::test]
async fn a_write_for_a_version_that_is_overtaken_takes_three_round_trips() {
    let counted = Counted::start().await;
    let direct = counted.database.store();
    let (scope, file) = (scope("t/main"), name("a.md"));
    let write = operation("write", "f");
    let first = direct
        .write(&scope, &file, &WriteRequest::new("1", &Expected::Any), None)
        .await
        .expect("write");
    let expected = Expected::Version(first.version.expect("a version"));
    let before = counted.proxy.statements();
    let request = WriteRequest::new("slow", &expected);
    let slow = counted.store.write(&scope, &file, &request, Some(&write));
    let fast = async {
        direct
            .write(&scope, &file, &WriteRequest::new("fast", &expected), None)
            .await
            .expect("write");
    };
    let (result, ()) = counted.proxy.overtake(2, slow, fast).await;
    assert!(
        matches!(result, Err(MutationError::VersionConflict)),
        "{result:?}"
    );
    assert_eq!(counted.proxy.statements() - before, 3);
    assert_eq!(text(&direct, &scope, "a.md").await.as_deref(), Some("fast"));
    assert_eq!(direct.receipt(&scope, &write).await.expect("answers"), None);
}

#[tokio::test]
async fn an_operation_that_runs_elsewhere_meanwhile_is_answered_in_three_round_trips() {
    let counted = Counted::start().await;
    let direct = counted.database.store();
    let scope = scope("t/main");
    let same = operation("same", "f");
    let before = counted.proxy.statements();
    // The other call of the operation is about another note, so only the receipt is in the way.
    let slow = append(&counted.store, &scope, "slow.md", "x", &same);
    let fast = async {
        append(&direct, &scope, "fast.md", "x", &same)
            .await
            .expect("edit");
    };
    let (receipt, ()) = counted.proxy.overtake(2, slow, fast).await;
    assert!(receipt.expect("answered").replayed);
    assert_eq!(counted.proxy.statements() - before, 3);
    assert_eq!(
        text(&direct, &scope, "slow.md").await,
        None,
        "all of it was undone"
    );
}

/// The other call of the operation comes between the look-up and the write, about the same note.
/// What it left is no longer what the slow call expects or edits, but that is no conflict.
#[tokio::test]
async fn an_operation_is_answered_even_where_its_own_other_call_changed_the_note() {
    let counted = Counted::start().await;
    let direct = counted.database.store();
    let (scope, file) = (scope("t/main"), name("a.md"));
    let start = direct
        .write(
            &scope,
            &file,
            &WriteRequest::new("old text", &Expected::Any),
            None,
        )
        .await
        .expect("write");
    let edit = Edit::Replace {
        old_text: "old".to_owned(),
        content: "new".to_owned(),
    };
    for (id, expected) in [
        (
            "by version",
            Expected::Version(start.version.expect("a version")),
        ),
        ("whatever", Expected::Any),
    ] {
        if id == "whatever" {
            direct
                .write(
                    &scope,
                    &file,
                    &WriteRequest::new("old text", &Expected::Any),
                    None,
                )
                .await
                .expect("write");
        }
        let same = operation(id, "f");
        let request = EditRequest {
            edit: &edit,
            note_chars_max: 100,
            expected,
            metadata: None,
        };
        let slow = counted.store.edit(&scope, &file, &request, &same);
        let fast = direct.edit(&scope, &file, &request, &same);
        let (slow, fast) = counted.proxy.overtake(2, slow, fast).await;
        let (slow, fast) = (
            slow.expect("answered from the receipt"),
            fast.expect("edit"),
        );
        assert!(slow.replayed && !fast.replayed);
        assert_eq!(slow.version, fast.version);
        assert_eq!(
            text(&direct, &scope, "a.md").await.as_deref(),
            Some("new text")
        );
    }
}

/// The same for notes that aren't there at first.
#[tokio::test]
async fn an_operation_is_answered_even_where_its_own_other_call_made_the_note() {
    let counted = Counted::start().await;
    let direct = counted.database.store();
    let (scope, file) = (scope("t/main"), name("a.md"));
    for expected in [Expected::Absent, Expected::Any] {
        direct
            .delete(&scope, &file, &Expected::Any, None)
            .await
            .expect("delete");
        let same = operation(&format!("{expected:?}"), "f");
        let request = WriteRequest::new("x", &expected);
        let slow = counted.store.write(&scope, &file, &request, Some(&same));
        let fast = async {
            direct
                .write(&scope, &file, &request, Some(&same))
                .await
                .expect("write");
        };
        let (slow, ()) = counted.proxy.overtake(2, slow, fast).await;
        assert!(slow.expect("answered from the receipt").replayed);
    }
}

/// A note that is deleted between the look-up and the write is made anew, not lost.
#[tokio::test]
async fn an_edit_that_a_deletion_overtakes_makes_the_note_anew() {
    let counted = Counted::start().await;
    let direct = counted.database.store();
    let (scope, file) = (scope("t/main"), name("a.md"));
    direct
        .write(
            &scope,
            &file,
            &WriteRequest::new("old\n", &Expected::Any),
            None,
        )
        .await
        .expect("write");
    let edit = operation("edit", "f");
    let slow = append(&counted.store, &scope, "a.md", "new", &edit);
    let fast = async {
        direct
            .delete(&scope, &file, &Expected::Any, None)
            .await
            .expect("delete");
    };
    let (receipt, ()) = counted.proxy.overtake(2, slow, fast).await;
    let receipt = receipt.expect("edit");
    assert_eq!(
        (receipt.status, receipt.existed),
        (ReceiptStatus::Created, false)
    );
    assert_eq!(
        text(&direct, &scope, "a.md").await.as_deref(),
        Some("new\n")
    );
}

/// Where the other writer takes the note over the bound, the edit must not go on from a part.
#[tokio::test]
async fn an_edit_whose_note_grows_over_the_bound_meanwhile_is_refused() {
    let counted = Counted::start().await;
    let direct = counted.database.store();
    let (scope, file) = (scope("t/main"), name("a.md"));
    let edit = Edit::new("x".to_owned(), None).expect("valid");
    let too_large = Refusal::TooLarge {
        chars: 11,
        chars_max: 10,
    };
    let existing_too_large = Refusal::ExistingTooLarge { chars_max: 10 };
    let cases = [
        ("1234567", None),
        ("12345678", Some(too_large)),
        ("12345678901", Some(existing_too_large)),
    ];
    for (overtaking, refusal) in cases {
        direct
            .write(&scope, &file, &WriteRequest::new("", &Expected::Any), None)
            .await
            .expect("write");
        let request = EditRequest {
            edit: &edit,
            note_chars_max: 10,
            expected: Expected::Any,
            metadata: None,
        };
        let append = operation(overtaking, "f");
        let slow = counted.store.edit(&scope, &file, &request, &append);
        let fast = async {
            direct
                .write(
                    &scope,
                    &file,
                    &WriteRequest::new(overtaking, &Expected::Any),
                    None,
                )
                .await
                .expect("write");
        };
        let (slow, ()) = counted.proxy.overtake(2, slow, fast).await;
        let text = text(&direct, &scope, "a.md").await.expect("there");
        match (slow, refusal) {
            (Ok(_), None) => assert_eq!(text, "1234567\nx\n", "exactly the bound fits"),
            (Err(MutationError::Refused(found)), Some(refusal)) => {
                assert_eq!(found, refusal);
                assert_eq!(text, overtaking, "nothing was cut off");
            }
            (slow, refusal) => panic!("expected {refusal:?}, found {slow:?}"),
        }
    }
}

/// A refusal in the contended path leaves no placeholder and no lock behind.
#[tokio::test]
async fn an_edit_that_is_refused_after_a_deletion_leaves_nothing_behind() {
    let counted = Counted::start().await;
    let direct = counted.database.store();
    let (scope, file) = (scope("t/main"), name("a.md"));
    direct
        .write(
            &scope,
            &file,
            &WriteRequest::new("old", &Expected::Any),
            None,
        )
        .await
        .expect("write");
    let edit = Edit::Replace {
        old_text: "old".to_owned(),
        content: "new".to_owned(),
    };
    let request = EditRequest {
        edit: &edit,
        note_chars_max: 100,
        expected: Expected::Any,
        metadata: None,
    };
    let replace = operation("edit", "f");
    let slow = counted.store.edit(&scope, &file, &request, &replace);
    let fast = async {
        direct
            .delete(&scope, &file, &Expected::Any, None)
            .await
            .expect("delete");
    };
    let (refused, ()) = counted.proxy.overtake(2, slow, fast).await;
    assert!(
        matches!(refused, Err(MutationError::Refused(Refusal::NotFound))),
        "{refused:?}"
    );
    assert_eq!(text(&direct, &scope, "a.md").await, None);
    assert_eq!(
        direct.receipt(&scope, &replace).await.expect("answers"),
        None
    );
    let created = direct
        .write(
            &scope,
            &file,
            &WriteRequest::new("x", &Expected::Absent),
            None,
        )
        .await;
    created.expect("nothing is in the way");
}

#[tokio::test]
async fn a_deletion_takes_two_round_trips_and_a_repetition_one() {
    let counted = Counted::start().await;
    let scope = scope("t/main");
    for existing in [true, false] {
        let (deleted, statements) = counted
            .count(async |n| {
                let file = format!("{existing} {n}").replace(' ', "-");
                if existing {
                    let direct = counted.database.store();
                    let any = &Expected::Any;
                    direct
                        .write(&scope, &name(&file), &WriteRequest::new("x", any), None)
                        .await
                        .expect("write");
                }
                let deletion = operation(&file, "f");
                counted
                    .store
                    .delete(&scope, &name(&file), &Expected::Any, Some(&deletion))
                    .await
            })
            .await;
        assert_eq!(deleted.expect("delete").existed, existing);
        assert_eq!(statements, 2);
    }
    let (replayed, statements) = counted
        .count(async |_| {
            let deletion = operation("true-1", "f");
            counted
                .store
                .delete(&scope, &name("true-1"), &Expected::Any, Some(&deletion))
                .await
        })
        .await;
    assert!(replayed.expect("replay").replayed);
    assert_eq!(statements, 1);
}

#[tokio::test]
async fn every_other_operation_takes_one_round_trip() {
    let counted = Counted::start().await;
    let scope = scope("t/main");
    let store = &counted.store;
    append(store, &scope, "a.md", "needle", &operation("1", "f"))
        .await
        .expect("edit");
    let (note, statements) = counted
        .count(async |_| store.read(&scope, &name("a.md"), 10).await)
        .await;
    assert!(note.expect("read").is_some());
    assert_eq!(statements, 1, "read");
    let (names, statements) = counted.count(async |_| store.names(&scope, 10).await).await;
    assert_eq!(names.expect("names").names.len(), 1);
    assert_eq!(statements, 1, "names");
    let bounds = NotebookBounds {
        main_chars_max: 10,
        names_max: 10,
    };
    let (view, statements) = counted
        .count(async |_| store.notebook(&scope, bounds).await)
        .await;
    assert_eq!(view.expect("notebook").names.len(), 1);
    assert_eq!(statements, 1, "notebook");
    let query = SearchQuery::parse("needle").expect("valid");
    let limits = SearchLimits {
        results_max: 10,
        result_chars_max: 100,
        files_max: 10,
        note_chars_max: 100,
    };
    let (answer, statements) = counted
        .count(async |_| store.search(&scope, &query, &limits).await)
        .await;
    assert_eq!(answer.expect("search").matches.len(), 1);
    assert_eq!(statements, 1, "search");
    let (kept, statements) = counted
        .count(async |_| store.keep_snapshot(&scope, "digest", "text").await)
        .await;
    kept.expect("keep");
    assert_eq!(statements, 1, "keep_snapshot");
    let (kept, statements) = counted
        .count(async |_| store.snapshot(&scope, "digest").await)
        .await;
    assert_eq!(kept.expect("snapshot").as_deref(), Some("text"));
    assert_eq!(statements, 1, "snapshot");
    let (found, statements) = counted
        .count(async |_| store.receipt(&scope, &operation("1", "f")).await)
        .await;
    assert!(found.expect("receipt").is_some());
    assert_eq!(statements, 1, "receipt");
}

#[tokio::test]
async fn a_change_of_a_transcript_takes_two_round_trips_and_a_repetition_one() {
    let counted = Counted::start().await;
    let (scope, id, store) = (scope("t/main"), conversation("main"), &counted.store);
    let messages = [message("x"), message("y")];
    let add = async |by: &str| {
        let by = operation(by, "f");
        store.add_messages(&scope, &id, &messages, Some(&by)).await
    };
    let (added, statements) = counted.count(async |n| add(&n.to_string()).await).await;
    assert_eq!((added.expect("add").first, statements), (2, 2));
    let (added, statements) = counted.count(async |_| add("1").await).await;
    assert!(added.expect("add").replayed);
    assert_eq!(statements, 1, "the receipt answers");
    let conflict = async |_| {
        store
            .clear_messages(&scope, &id, Some(&operation("1", "f")))
            .await
    };
    let (conflict, statements) = counted.count(conflict).await;
    assert!(matches!(conflict, Err(MutationError::OperationConflict)));
    assert_eq!(statements, 1);
    let plain = async |_| store.add_messages(&scope, &id, &messages, None).await;
    let (added, statements) = counted.count(plain).await;
    assert!(!added.expect("add").replayed);
    assert_eq!(statements, 1, "there is no receipt to look for");
    let clear = async |n: u32| {
        let by = operation(&format!("clear {n}"), "f");
        store.clear_messages(&scope, &id, Some(&by)).await
    };
    let (cleared, statements) = counted.count(clear).await;
    assert!(!cleared.expect("clear").replayed);
    assert_eq!(statements, 2);
    let (cleared, statements) = counted.count(async |_| clear(1).await).await;
    assert!(cleared.expect("clear").replayed);
    assert_eq!(statements, 1);
    let plain = async |_| store.clear_messages(&scope, &id, None).await;
    assert_eq!(counted.count(plain).await.1, 1);
}

#[tokio::test]
async fn a_change_of_a_fact_takes_two_round_trips_and_a_repetition_one() {
    let counted = Counted::start().await;
    let (scope, store) = (scope("t/main"), &counted.store);
    let create = async |n: u32| {
        let by = operation(&format!("create {n}"), "f");
        remember(store, &scope, (&n.to_string(), "value"), Some(&by)).await
    };
    let (kept, statements) = counted.count(create).await;
    assert_eq!((kept.expect("remember").existed, statements), (false, 2));
    let (kept, statements) = counted.count(async |_| create(1).await).await;
    assert!(kept.expect("remember").replayed);
    assert_eq!(statements, 1);
    let update = async |n: u32| {
        let by = operation(&format!("update {n}"), "f");
        remember(store, &scope, ("1", "other"), Some(&by)).await
    };
    let (kept, statements) = counted.count(update).await;
    assert_eq!((kept.expect("remember").existed, statements), (true, 2));
    for (what, existed) in [("there", true), ("absent", false)] {
        let away = async |n: u32| {
            let key = if existed {
                n.to_string()
            } else {
                "absent".to_owned()
            };
            let by = operation(&format!("forget {what} {n}"), "f");
            forget(store, &scope, &key, Some(&by)).await
        };
        let (forgotten, statements) = counted.count(away).await;
        assert_eq!(
            (forgotten.expect("forget").existed, statements),
            (existed, 2)
        );
        let (forgotten, statements) = counted.count(async |_| away(2).await).await;
        let forgotten = forgotten.expect("forget");
        assert!(forgotten.replayed && forgotten.existed == existed);
        assert_eq!(statements, 1);
    }
    let plain = async |_| forget(store, &scope, "absent", None).await;
    assert_eq!(counted.count(plain).await.1, 1, "there is nothing to write");
}

#[tokio::test]
async fn reading_a_transcript_or_facts_takes_one_round_trip_and_a_thin_recall_two() {
    let counted = Counted::start().await;
    let (scope, id, store) = (scope("t/main"), conversation("main"), &counted.store);
    store
        .add_messages(&scope, &id, &[message("x")], None)
        .await
        .expect("add");
    remember(store, &scope, ("key", "some value"), None)
        .await
        .expect("remember");
    let read = async |_| {
        let part = store.messages(&scope, &id, MessageSelection::All, 1_000);
        part.await.expect("read").messages.len()
    };
    assert_eq!(counted.count(read).await, (1, 1));
    let list = async |_| {
        let listed = store.conversations(&scope, None, 10).await;
        listed.expect("list").conversations.len()
    };
    assert_eq!(counted.count(list).await, (1, 1));
    let key = FactKey::parse("key").expect("a key");
    let fact = async |_| store.fact(&scope, &key).await.expect("read").is_some();
    assert_eq!(counted.count(fact).await, (true, 1));
    let facts = async |_| {
        store
            .facts(&scope, None, 10)
            .await
            .expect("list")
            .facts
            .len()
    };
    assert_eq!(counted.count(facts).await, (1, 1));
    for (query, limit, statements) in [
        ("", 10, 1),
        ("value", 1, 1),
        ("value", 2, 2),
        ("alue", 1, 2),
    ] {
        let query = RecallQuery::parse(query);
        let recall = async |_| {
            let found = store.recall(&scope, &query, limit).await;
            found.expect("recall").len()
        };
        assert_eq!(counted.count(recall).await, (1, statements), "{query:?}");
    }
}

#[tokio::test]
async fn keeping_chunks_takes_two_round_trips_and_finding_the_nearest_one() {
    let counted = Counted::start().await;
    let (scope, main, store) = (scope("t/main"), collection("main"), &counted.store);
    let keep = async |n: u32| {
        let chunks = (0..20).map(|i| chunk(&format!("{n}/{i}"), &[1.0, 0.5]));
        let chunks: Vec<_> = chunks.collect();
        let by = operation(&format!("keep {n}"), "f");
        let kept = store.keep_chunks(&scope, &main, &chunks, Some(&by)).await;
        kept.expect("keep").replayed
    };
    assert_eq!(counted.count(keep).await, (false, 2));
    assert_eq!(counted.count(async |_| keep(1).await).await, (true, 1));
    let plain = async |_| {
        let chunks = [chunk("a", &[1.0, 0.0])];
        let kept = store.keep_chunks(&scope, &main, &chunks, None).await;
        kept.expect("keep").replayed
    };
    assert_eq!(counted.count(plain).await, (false, 1));
    let find = async |_| {
        let found = nearest(store, &scope, &[1.0, 0.0], 10).await;
        found.expect("found").len()
    };
    assert_eq!(
        counted.count(find).await,
        (10, 1),
        "where the extension lies is asked once"
    );
    let marks = async |_| {
        let marks = store.chunk_marks(&scope, &main).await;
        marks.expect("marks").len()
    };
    assert_eq!(counted.count(marks).await, (41, 1));
    let remove = async |n: u32| {
        let ids = ["a".to_owned(), n.to_string()];
        let removed = store.remove_chunks(&scope, &main, &ids).await;
        removed.expect("remove");
    };
    // Asked whether the connection lives before: in doubt it couldn't be repeated.
    assert_eq!(counted.count(remove).await, ((), 1));
}

#[tokio::test]
async fn the_journal_and_texts_take_one_round_trip() {
    let counted = Counted::start().await;
    let (scope, store) = (scope("t/main"), &counted.store);
    for n in 0..20 {
        let by = operation(&n.to_string(), "f");
        let written = append(store, &scope, &format!("{n}.md"), "x", &by).await;
        written.expect("edit");
    }
    let journal = async |_| {
        let newest = store.newest_changes(&scope, 10).await;
        newest.expect("told").changes.len()
    };
    assert_eq!(counted.count(journal).await, (10, 1));
    let bounds = TextBounds {
        notes_max: 15,
        chars_max: 100,
        bytes_max: 1_000,
    };
    let texts = async |_| {
        let texts = store.texts(&scope, None, bounds).await;
        texts.expect("read").notes.len()
    };
    assert_eq!(counted.count(texts).await, (15, 1));
}
