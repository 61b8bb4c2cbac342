//! What goes wrong around transcripts and facts, and what callers see of it.

use std::time::Duration;

use notekeeper_domain::{
    FACT_VALUE_CHARS_MAX, Fact, MESSAGES_ADDED_MAX, Operation, RecallQuery, Scope,
};
use notekeeper_store::{
    FactStore, InMemoryStore, MessageSelection as Selection, MutationError, PostgresOptions,
    PostgresStore, StoreError, TranscriptStore,
};
use sqlx::{
    AssertSqlSafe, Executor as _,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    database::{Database, operation, scope},
    database_file::DatabaseFile,
    faults::{self, ONE_WAITS_FOR_A_LOCK, until, within_patience},
    interleavings::{assert_terms_belong, forget, remember, value},
    messages::{conversation, message},
    proxy::Proxy,
};

/// What changes something, chosen by number. It leaves one message more, none, or a value.
async fn change(
    store: &PostgresStore,
    scope: &Scope,
    number: usize,
    operation: Option<&Operation>,
) -> Result<bool, MutationError> {
    let id = conversation("main");
    match number {
        0 => {
            let messages = [message("added")];
            let added = store.add_messages(scope, &id, &messages, operation).await;
            added.map(|added| added.replayed)
        }
        1 => {
            let cleared = store.clear_messages(scope, &id, operation).await;
            cleared.map(|cleared| cleared.replayed)
        }
        2 => {
            let kept = remember(store, scope, ("key", "value"), operation).await;
            kept.map(|kept| kept.replayed)
        }
        3 => {
            let forgotten = forget(store, scope, "key", operation).await;
            forgotten.map(|forgotten| forgotten.replayed)
        }
        _ => {
            let forgotten = forget(store, scope, "absent", operation).await;
            forgotten.map(|forgotten| forgotten.replayed)
        }
    }
}

const CHANGES: usize = 5;

/// How many messages were ever added, how many are there, and whether there is a fact.
async fn state(store: &PostgresStore, scope: &Scope) -> (u64, usize, bool) {
    let id = conversation("main");
    let part = store.messages(scope, &id, Selection::All, 1_000_000);
    let part = part.await.expect("read");
    let fact = value(store, scope, "key").await.is_some();
    (part.bounds.next, part.messages.len(), fact)
}

/// The states after each of the changes, one after the other.
const AFTER: [(u64, usize, bool); CHANGES] = [
    (1, 1, false),
    (1, 0, false),
    (1, 0, true),
    (1, 0, false),
    (1, 0, false),
];

#[tokio::test]
async fn a_connection_that_is_lost_around_a_commit_costs_nothing_and_doubles_nothing() {
    let database = Database::migrated().await;
    let (proxy, direct) = (Proxy::start().await, database.store());
    let store = proxy.store(&database, 2);
    for (name, replayed) in [("after", true), ("before", false)] {
        let scope = scope(&format!("{name}/main"));
        for (number, right) in AFTER.into_iter().enumerate() {
            // The statement that writes is the second; the first looks for the receipt.
            match replayed {
                true => proxy.cut_after(2),
                false => proxy.cut_before(2),
            }
            let by = operation(&format!("change {number}"), "f");
            let done = within_patience(change(&store, &scope, number, Some(&by))).await;
            assert_eq!(done.expect("done"), replayed, "{name} {number}");
            assert_eq!(state(&direct, &scope).await, right, "{name} {number}");
        }
    }
    assert_terms_belong(&mut database.connection().await).await;
}

#[tokio::test]
async fn a_change_without_operation_is_not_repeated_when_in_doubt() {
    let database = Database::migrated().await;
    let (proxy, direct) = (Proxy::start().await, database.store());
    let store = proxy.store(&database, 2);
    let scope = scope("doubt/main");
    // Changes of facts look up first.
    for (number, statement) in [(0, 1), (1, 1), (2, 2), (3, 2)] {
        proxy.cut_after(statement);
        let before = proxy.statements();
        let done = within_patience(change(&store, &scope, number, None)).await;
        assert_eq!(
            proxy.statements() - before,
            statement,
            "nothing is repeated"
        );
        let Err(MutationError::Store(StoreError::Unavailable(reason))) = done else {
            panic!("{done:?}");
        };
        assert!(reason.contains("isn't known"), "{reason}");
        assert_eq!(
            state(&direct, &scope).await,
            AFTER[number],
            "it took effect"
        );
    }
}

#[tokio::test]
async fn a_cancelled_call_gives_back_what_it_held() {
    let database = Database::migrated().await;
    let store = database.store_of(1);
    let scope = scope("cancelled/main");
    let mut behind = database.connection().await;
    for number in 0..CHANGES - 1 {
        change(&store, &scope, number, None).await.expect("once");
    }
    change(&store, &scope, 2, None).await.expect("a fact");
    let mut other = database.connection().await;
    for number in 0..CHANGES - 1 {
        other.execute("begin").await.expect("begin");
        for lock in [
            "select from conversations for update",
            "select from facts for update",
        ] {
            other.execute(lock).await.expect("lock");
        }
        let by = operation(&format!("cancelled {number}"), "f");
        let call = {
            let (store, scope, by) = (store.clone(), scope.clone(), by.clone());
            tokio::spawn(async move { change(&store, &scope, number, Some(&by)).await })
        };
        until(&mut behind, ONE_WAITS_FOR_A_LOCK, &database.options.schema).await;
        call.abort();
        assert!(call.await.expect_err("it was cancelled").is_cancelled());
        other.execute("rollback").await.expect("rollback");
        // The one connection is free again, and the repetition is told what became of it.
        let done = within_patience(change(&store, &scope, number, Some(&by))).await;
        done.expect("it can be repeated");
        if number == 3 {
            change(&store, &scope, 2, None).await.expect("a fact");
        }
    }
    let receipts: i64 = sqlx::query_scalar("select count(*) from receipts")
        .fetch_one(&mut behind)
        .await
        .expect("count");
    assert_eq!(receipts, 4, "each took effect once");
    assert_terms_belong(&mut behind).await;
}

/// More than any transcript that one clears in the time of a statement: it must be quick, not just
/// possible.
const LONG: u64 = 10_000;

async fn fill(store: &impl TranscriptStore, scope: &Scope) {
    let id = conversation("long");
    let messages: Vec<_> = (0..MESSAGES_ADDED_MAX)
        .map(|number| message(&format!("{number} {}", "some words ".repeat(20))))
        .collect();
    while store
        .messages(scope, &id, Selection::Newest(0), 1)
        .await
        .expect("read")
        .bounds
        .next
        < LONG
    {
        let added = store.add_messages(scope, &id, &messages, None).await;
        added.expect("add");
    }
}

#[tokio::test]
async fn a_long_transcript_is_cleared_far_below_the_statement_time_out() {
    let database = Database::migrated().await;
    let (scope, id) = (scope("long/main"), conversation("long"));
    fill(&database.store(), &scope).await;
    let options = PostgresOptions {
        // A quarter of what programs have.
        statement_timeout: Duration::from_secs(2),
        ..database.options.clone()
    };
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    let cleared = store.clear_messages(&scope, &id, None);
    let cleared = cleared.await.expect("clear");
    assert_eq!((cleared.first, cleared.next), (0, LONG));
    let file = DatabaseFile::new();
    let store = file.store().await;
    fill(&store, &scope).await;
    let cleared = store.clear_messages(&scope, &id, None);
    let cleared = cleared.await.expect("clear");
    assert_eq!((cleared.first, cleared.next), (0, LONG));
}

#[tokio::test]
async fn the_longest_values_are_kept_and_replaced_far_below_the_statement_time_out() {
    let database = Database::migrated().await;
    let options = PostgresOptions {
        statement_timeout: Duration::from_secs(2),
        ..database.options.clone()
    };
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    let scope = scope("long/main");
    let mut behind = database.connection().await;
    for shift in 0..3_u32 {
        // No two characters beside each other are the same two twice: as many terms as can be.
        let characters = (0..16_384_u32).map(|n| 0x4e00 + (n + shift * 7_000) % 20_000);
        let long: String = characters.filter_map(char::from_u32).collect();
        assert_eq!(long.chars().count(), FACT_VALUE_CHARS_MAX);
        let kept = remember(&store, &scope, ("long", &long), None).await;
        assert_eq!(kept.expect("remember").existed, shift > 0);
        assert_eq!(value(&store, &scope, "long").await, Some(long));
        assert_terms_belong(&mut behind).await;
    }
    let terms: i64 = sqlx::query_scalar("select count(*) from fact_terms")
        .fetch_one(&mut behind)
        .await
        .expect("count");
    assert!(terms > 1_000, "{terms} terms");
    forget(&store, &scope, "long", None).await.expect("forget");
    assert_terms_belong(&mut behind).await;
    let found = store.facts(&scope, None, 10).await.expect("list").facts;
    assert_eq!(found, []);
}

#[tokio::test]
async fn keys_as_long_as_they_may_be_fit_beside_scope_and_terms() {
    let database = Database::migrated().await;
    let (store, file) = (database.store(), DatabaseFile::new());
    let sqlite = file.store().await;
    let segment = "s".repeat(198);
    let path = vec![segment; 10].join("/");
    let scope = scope(&format!("{path}/main"));
    // Random enough that nothing makes it shorter.
    let random = |chars: usize| -> String {
        (0..chars)
            .map(|_| char::from(rand::random_range(b'a'..=b'z')))
            .collect()
    };
    let (key, id) = (random(500), conversation(&random(200)));
    let by = operation(&random(200), "f");
    for words in [random(400), "漢".repeat(150)] {
        let kept = remember(&store, &scope, (&key, &words), None).await;
        kept.expect("remember");
        let kept = remember(&sqlite, &scope, (&key, &words), None).await;
        kept.expect("remember");
    }
    let messages = [message("x")];
    for store in [&store as &dyn TranscriptStore, &sqlite] {
        let added = store.add_messages(&scope, &id, &messages, Some(&by)).await;
        added.expect("add");
    }
    assert_terms_belong(&mut database.connection().await).await;
}

#[tokio::test]
async fn what_a_person_changed_with_a_console_is_told_or_passed_over() {
    let database = Database::migrated().await;
    let store = database.store();
    let (scope, id) = (scope("odd/main"), conversation("main"));
    let mut behind = database.connection().await;
    let messages = [message("a"), message("b")];
    let added = store.add_messages(&scope, &id, &messages, None).await;
    added.expect("add");
    remember(&store, &scope, ("key", "value"), None)
        .await
        .expect("remember");
    for change in [
        "insert into conversations (scope, id, next) values ('odd/main', E'a\\tb', 0)",
        "insert into facts (scope, key, value, folded, terms, order_number) \
         values ('odd/main', ' ', 'value', 'value', '{}', 1)",
        "insert into fact_terms (scope, term, key) values ('odd/main', 'value', 'nowhere')",
        "delete from facts where key = 'key'",
    ] {
        behind.execute(change).await.expect("change");
    }
    let listed = store.conversations(&scope, None, 10).await.expect("list");
    assert_eq!(listed.conversations.len(), 1);
    let facts = store.facts(&scope, None, 10).await.expect("list");
    assert_eq!(facts.facts, []);
    // Terms without their fact find nothing, and are no hindrance to one.
    let query = RecallQuery::parse("value");
    let found = store.recall(&scope, &query, 10).await.expect("recall");
    assert!(found.iter().all(|found| found.key == " "), "{found:?}");
    for key in ["key", "nowhere"] {
        let kept = remember(&store, &scope, (key, "value"), None).await;
        assert!(!kept.expect("remember").existed);
    }
    behind
        .execute("update messages set message = 'no JSON' where position = 1")
        .await
        .expect("change");
    let read = store.messages(&scope, &id, Selection::All, 1_000).await;
    let Err(StoreError::Unexpected(reason)) = read else {
        panic!("{read:?}");
    };
    assert!(!reason.contains("JSON"), "it quotes nothing: {reason}");
    let first = store.messages(&scope, &id, Selection::Range(0, 1), 1_000);
    assert_eq!(first.await.expect("read").messages, [message("a")]);
}

#[tokio::test]
async fn ages_are_by_the_clock_of_the_database_and_never_negative() {
    let (database, file) = (Database::migrated().await, DatabaseFile::new());
    let (postgres, sqlite) = (database.store(), file.store().await);
    let scope = scope("old/main");
    for store in [&postgres as &dyn FactStore, &sqlite] {
        for key in ["ahead", "hour"] {
            let fact = Fact::new(key, "value").expect("a fact");
            store.remember(&scope, &fact, None).await.expect("remember");
        }
    }
    let mut behind = database.connection().await;
    for change in [
        "update facts set remembered_at = now() + interval '1 day' where key = 'ahead'",
        "update facts set remembered_at = now() - interval '1 hour' where key = 'hour'",
    ] {
        behind.execute(change).await.expect("change");
    }
    let mut behind = file.connection().await;
    for change in [
        "update facts set remembered_at = strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 day') \
         where key = 'ahead'",
        "update facts set remembered_at = strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 hour') \
         where key = 'hour'",
    ] {
        behind.execute(change).await.expect("change");
    }
    for store in [&postgres as &dyn FactStore, &sqlite] {
        let listed = store.facts(&scope, None, 10).await.expect("list").facts;
        let mut ages: Vec<u64> = listed.iter().map(|fact| fact.age_seconds).collect();
        for query in ["", "value", "alue"] {
            let found = store.recall(&scope, &RecallQuery::parse(query), 10).await;
            let mut found = found.expect("recall");
            found.sort_by(|a, b| a.key.cmp(&b.key));
            ages.extend(found.iter().map(|fact| fact.age_seconds));
        }
        assert_eq!(ages.len(), 8);
        for ages in ages.chunks(2) {
            assert_eq!(ages[0], 0);
            assert!((3_600..4_000).contains(&ages[1]), "{ages:?}");
        }
    }
}

/// Rankings change while facts are looked at: values that were let go come into the answer.
#[tokio::test]
async fn a_recall_that_can_hold_only_some_of_the_values_answers_as_one_that_holds_all() {
    const LIMIT: usize = 25;
    let (database, file) = (Database::migrated().await, DatabaseFile::new());
    let (postgres, sqlite) = (database.store(), file.store().await);
    let specification = InMemoryStore::default();
    let (mut behind, mut behind_file) = (database.connection().await, file.connection().await);
    let (one, large) = (scope("one/main"), scope("large/main"));
    // Of 64 KB each.
    let filling = "\u{1f600}".repeat(16_000);
    for word in ["alpha", "beta"] {
        let fact = Fact::new(word, format!("{word} {filling}")).expect("a fact");
        for store in [&postgres as &dyn FactStore, &sqlite] {
            store.remember(&one, &fact, None).await.expect("remember");
        }
    }
    // The first ones have the one word, which seems to be the more frequent one until more of the
    // others are seen. Copies, because it takes long to make their terms.
    for number in 0..100 {
        let word = if number < 40 { "alpha" } else { "beta" };
        let key = format!("{number:03}");
        let fact = Fact::new(&key, format!("{word} {filling}")).expect("a fact");
        specification
            .remember(&large, &fact, None)
            .await
            .expect("remember");
        for statement in [
            "insert into facts (scope, key, value, folded, terms, order_number) \
             select 'large/main', $1, value, folded, terms, $2 from facts \
             where scope = 'one/main' and key = $3",
            "insert into fact_terms (scope, term, key) \
             select 'large/main', term, $1 from fact_terms \
             where scope = 'one/main' and key = $3 and $2 >= 0",
        ] {
            let copied = sqlx::query(statement).bind(&key).bind(number).bind(word);
            copied.execute(&mut behind).await.expect("copy");
            let copied = sqlx::query(statement).bind(&key).bind(number).bind(word);
            copied.execute(&mut behind_file).await.expect("copy");
        }
    }
    let query = RecallQuery::parse("alpha beta");
    let mut answers = Vec::new();
    for store in [&specification as &dyn FactStore, &postgres, &sqlite] {
        let found = store.recall(&large, &query, LIMIT).await.expect("recall");
        let keys_and_scores = found.into_iter().map(|fact| (fact.key, fact.score));
        answers.push(keys_and_scores.collect::<Vec<_>>());
    }
    assert_eq!(answers[0].len(), LIMIT);
    assert_eq!(answers[0][0].0, "039", "the rarer word, and the newest");
    assert_eq!(answers[1], answers[0], "postgres on the left");
    assert_eq!(answers[2], answers[0], "sqlite on the left");
}

/// What docs/security.md says that a worker's role needs.
#[tokio::test]
async fn a_role_with_the_documented_privileges_can_do_everything() {
    let database = Database::migrated().await;
    let mut behind = database.connection().await;
    let (schema, role) = (
        &database.options.schema,
        format!("{}_role", database.options.schema),
    );
    for statement in [
        format!("create role {role} login password 'secret'"),
        format!("grant usage on schema {schema} to {role}"),
        format!("grant select, insert, update, delete on all tables in schema {schema} to {role}"),
        format!("grant usage on all sequences in schema {schema} to {role}"),
    ] {
        behind
            .execute(AssertSqlSafe(statement))
            .await
            .expect("grant");
    }
    // Over a pool of one connection that has the role for good.
    let set_role = format!("set role {role}");
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .after_connect(move |connection, _| {
            let set_role = set_role.clone();
            Box::pin(async move { connection.execute(AssertSqlSafe(set_role)).await.map(drop) })
        });
    let options: PgConnectOptions = database.options.url.parse().expect("valid URL");
    let options = options.options([("search_path", schema)]);
    let store = PostgresStore::with_pool(pool.connect_lazy_with(options));
    store.check().await.expect("it can be used");
    let scope = scope("role/main");
    let mut done = Vec::new();
    for number in 0..2 * faults::KINDS {
        done.push(faults::any_operation(&store, &scope, number).await);
    }
    for number in 0..CHANGES {
        let by = operation(&format!("by role {number}"), "f");
        change(&store, &scope, number, Some(&by))
            .await
            .expect("done");
    }
    store.close().await;
    for statement in [format!("drop owned by {role}"), format!("drop role {role}")] {
        behind
            .execute(AssertSqlSafe(statement))
            .await
            .expect("drop");
    }
    for done in done {
        done.expect("the privileges are enough");
    }
}
