//! How the database runs each statement: by ranges of indexes, at the same cost however many
//! tenants there are.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Row};

use crate::database::Database;

/// Parameters of a call of each statement, as SQL text. A statement that isn't listed fails the
/// test, so none goes unseen.
const CALLS: &[(&str, &[&str])] = &[
    ("look_up", &["'acme/7/main'", "'none'", "'n7.md'", "1001"]),
    ("find_receipt", &["'acme/7/main'", "'op7'"]),
    (
        "create_note",
        &[
            "'acme/7/main'",
            "'new'",
            "'new.md'",
            "'text'",
            "null",
            "4",
            "'f'",
            "'edit'",
            "'created'",
            "'{\"updated_by\":\"ui\"}'",
        ],
    ),
    (
        "update_note",
        &[
            "'acme/7/main'",
            "'new'",
            "'n7.md'",
            "'text'",
            "null",
            "4",
            "'f'",
            "'edit'",
            "'appended'",
            "'{\"updated_by\":\"ui\"}'",
            "7",
            "true",
        ],
    ),
    ("lock_note", &["'acme/7/main'", "'n7.md'", "1001"]),
    ("delete_any", &["'acme/7/main'", "'new'", "'n7.md'", "'f'"]),
    (
        "delete_version",
        &["'acme/7/main'", "'new'", "'n7.md'", "'f'", "7"],
    ),
    (
        "record_absence",
        &["'acme/7/main'", "'new'", "'absent.md'", "'f'"],
    ),
    ("read_note", &["'acme/7/main'", "'n7.md'", "65536"]),
    ("list_names", &["'acme/7/main'", "11"]),
    ("list_notes", &["'acme/7/main'", "11"]),
    (
        "read_notebook",
        &["'acme/7/main'", "'MEMORY.md'", "65536", "1333"],
    ),
    (
        "search_notes",
        &["'acme/7/main'", "1000", "65536", "'{needle,x}'"],
    ),
    ("keep_snapshot", &["'acme/7/main'", "'new'", "'text'"]),
    ("read_snapshot", &["'acme/7/main'", "'d7'"]),
    ("newest_migration", &[]),
    (
        "add_messages",
        &[
            "'acme/7/main'",
            "'new'",
            "'c7'",
            "'f'",
            "'{\"{\\\"role\\\":\\\"user\\\"}\",\"{\\\"role\\\":\\\"tool\\\"}\"}'",
        ],
    ),
    ("clear_messages", &["'acme/7/main'", "'new'", "'c7'", "'f'"]),
    (
        "read_messages",
        &["'acme/7/main'", "'c7'", "0", BIG, BIG, "100000"],
    ),
    ("list_conversations", &["'acme/7/main'", "''", "11"]),
    ("look_up_fact", &["'acme/7/main'", "'none'", "'k7'"]),
    (
        "create_fact",
        &[
            "'acme/7/main'",
            "'new'",
            "'new'",
            "'value'",
            "'folded'",
            "'{a,b}'",
            "'f'",
        ],
    ),
    (
        "update_fact",
        &[
            "'acme/7/main'",
            "'new'",
            "'k7'",
            "'value'",
            "'folded'",
            "'{a,t7}'",
            "'f'",
            "7",
            "true",
        ],
    ),
    ("lock_fact", &["'acme/7/main'", "'k7'"]),
    (
        "delete_fact",
        &["'acme/7/main'", "'new'", "'k7'", "'f'", "7", "true"],
    ),
    (
        "record_no_fact",
        &["'acme/7/main'", "'new'", "'absent'", "'f'"],
    ),
    ("read_facts", &["'acme/7/main'", "'{k7}'"]),
    (
        "find_facts",
        &["'acme/7/main'", "'{t7,none}'", "'{t}'", "'{u}'"],
    ),
    (
        "scan_facts",
        &["'acme/7/main'", "'{none}'", "'{t7}'", "'{t8}'", "'{ome}'"],
    ),
    ("list_facts", &["'acme/7/main'", "''", "11"]),
    ("newest_facts", &["'acme/7/main'", "11"]),
    (
        "keep_chunks",
        &[
            "'acme/7/main'",
            "'new'",
            "'main'",
            "'f'",
            "'model'",
            "3",
            "'{c7,new}'",
            "'{some words,x}'",
            "'{\"{}\",\"{\\\"tier\\\":1}\"}'",
            "'{null,7}'",
            "'{1,0,0,0,1,0}'",
        ],
    ),
    (
        "nearest_chunks",
        &[
            "'acme/7/main'",
            "'main'",
            "'model'",
            "3",
            "'{1,0,0}'",
            "'{\"tier\":\"a\"}'",
            "10",
            "true",
        ],
    ),
    ("read_chunks", &["'acme/7/main'", "'main'", "'{c7,none}'"]),
    ("compare_vectors", &[]),
    ("chunk_marks", &["'acme/7/main'", "'main'", "'model'"]),
    ("remove_chunks", &["'acme/7/main'", "'main'", "'{c7,none}'"]),
    ("find_extension", &[]),
    ("newest_changes", &["'acme/7/main'", "11"]),
    (
        "read_texts",
        &["'acme/7/main'", "'n'", "100", "65536", "100000"],
    ),
];

/// A bound that bounds nothing.
const BIG: &str = "9223372036854775807";

/// Notes of each scope, one of them the main note.
const NOTES_PER_SCOPE: i32 = 10;

/// What a statement may touch more at a hundred times the rows: one level of each index that it
/// goes down, five at most; and, where transactions of other tests keep the server from knowing
/// that a row is visible to all, the page of each note of the scope.
const MORE_BUFFERS_MAX: i64 = 5 + NOTES_PER_SCOPE as i64;

/// Fills scopes from number `first` to `last` with notes, and as many receipts, snapshots,
/// conversations of three messages, facts of three terms, and chunks.
async fn fill(connection: &mut PgConnection, first: i32, last: i32) {
    let notes = "insert into notes (scope, name, content, chars, version, operation_id) \
         select format('acme/%s/main', scope), \
                case note when 1 then 'MEMORY.md' else format('n%s.md', note) end, \
                repeat('some words ', 20), 220, 7, null \
         from generate_series($1, $2) as scope, generate_series(1, $3) as note";
    let receipts = "insert into receipts \
             (scope, id, fingerprint, kind, name, status, version, existed) \
         select format('acme/%s/main', scope), format('op%s', note), 'f', 'edit', 'MEMORY.md', \
                'appended', 1, true \
         from generate_series($1, $2) as scope, generate_series(1, $3) as note";
    let snapshots = "insert into snapshots (scope, digest, content) \
         select format('acme/%s/main', scope), format('d%s', note), repeat('block ', 20) \
         from generate_series($1, $2) as scope, generate_series(1, $3) as note";
    let conversations = "insert into conversations (scope, id, next) \
         select format('acme/%s/main', scope), format('c%s', conversation), 3 \
         from generate_series($1, $2) as scope, generate_series(1, $3) as conversation";
    let messages = "insert into messages (scope, conversation, position, message) \
         select format('acme/%s/main', scope), format('c%s', conversation), position, \
                '{\"role\":\"user\",\"content\":\"some words\"}' \
         from generate_series($1, $2) as scope, generate_series(1, $3) as conversation, \
              generate_series(0, 2) as position";
    let facts = "insert into facts (scope, key, value, folded, terms, order_number) \
         select format('acme/%s/main', scope), format('k%s', fact), 'some words', 'some words', \
                array['some', 'words', format('t%s', fact)], fact \
         from generate_series($1, $2) as scope, generate_series(1, $3) as fact";
    let terms = "insert into fact_terms (scope, term, key) \
         select scope, unnest(terms), key from facts \
         where split_part(scope, '/', 2)::integer between $1 and $2 and $3 > 0";
    let chunks = "insert into chunks \
             (scope, collection, id, model, dimensions, content, metadata, embedding) \
         select format('acme/%s/main', scope), collection, format('c%s', chunk), 'model', 3, \
                'some words', '{\"tier\":\"a\"}', array[1, chunk, scope]::real[] \
         from generate_series($1, $2) as scope, unnest(array['main', 'other', 'third']) as collection, \
              generate_series(1, $3) as chunk";
    for statement in [
        notes,
        receipts,
        snapshots,
        conversations,
        messages,
        facts,
        terms,
        chunks,
    ] {
        sqlx::query(statement)
            .bind(first)
            .bind(last)
            .bind(NOTES_PER_SCOPE)
            .execute(&mut *connection)
            .await
            .expect("fill");
    }
    // Also settles what inserting left to do, which would otherwise count as cost of a read.
    connection
        .execute(
            "vacuum (analyze) notes, receipts, snapshots, conversations, messages, facts, \
             fact_terms, chunks",
        )
        .await
        .expect("vacuum");
}

/// The plan of a statement as run with generic parameters, and the buffers that it touched.
async fn plan(
    connection: &mut PgConnection,
    name: &str,
    sql: &str,
    values: &[&str],
) -> (Value, i64) {
    let execute = if values.is_empty() {
        format!("execute {name}")
    } else {
        format!("execute {name}({})", values.join(", "))
    };
    connection
        .execute(AssertSqlSafe(format!("prepare {name} as {sql}")))
        .await
        .expect(name);
    connection.execute("begin").await.expect("begin");
    // The first run also loads what the server caches about tables.
    connection
        .execute(AssertSqlSafe(execute.clone()))
        .await
        .expect(name);
    connection.execute("rollback; begin").await.expect("begin");
    let explain = format!("explain (analyze, buffers, timing off, format json) {execute}");
    let row = sqlx::raw_sql(AssertSqlSafe(explain))
        .fetch_one(&mut *connection)
        .await
        .expect(name);
    connection
        .execute(AssertSqlSafe(format!("rollback; deallocate {name}")))
        .await
        .expect(name);
    let explained: &str = row.try_get_unchecked(0).expect("a plan");
    let explained: Value = serde_json::from_str(explained).expect("JSON");
    let plan = explained[0]["Plan"].clone();
    let buffers = ["Shared Hit Blocks", "Shared Read Blocks"]
        .iter()
        .map(|key| plan[key].as_i64().expect("buffers are counted"))
        .sum();
    (plan, buffers)
}

fn statements() -> BTreeMap<String, String> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/postgres/sql");
    std::fs::read_dir(directory)
        .expect("the statements are there")
        .map(|entry| entry.expect("readable").path())
        .map(|path| {
            let stem = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (stem, std::fs::read_to_string(&path).expect("readable"))
        })
        .collect()
}

/// Nodes of a plan that read a whole table of tenants' data, or a whole index.
fn scans(node: &Value, found: &mut Vec<String>) {
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let relation = node["Relation Name"].as_str().unwrap_or_default();
    let tenants_data = [
        "notes",
        "receipts",
        "snapshots",
        "conversations",
        "messages",
        "facts",
        "fact_terms",
        "chunks",
    ];
    if tenants_data.contains(&relation) {
        let by_index = matches!(kind, "Index Scan" | "Index Only Scan" | "Bitmap Heap Scan");
        let conditions = ["Index Cond", "Recheck Cond"];
        let mut conditions = conditions.iter().filter_map(|key| node[key].as_str());
        // What else a scope keeps there is none of a statement's troubles.
        let part = match relation {
            "chunks" => "collection",
            "messages" => "conversation",
            _ => "scope",
        };
        let bounded = conditions.any(|condition| condition.contains(part));
        // By the places of rows that an index gave.
        let placed = kind == "Tid Scan";
        if kind != "ModifyTable" && !(by_index && bounded) && !placed {
            found.push(format!("{kind} on {relation}"));
        }
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        scans(child, found);
    }
}

#[tokio::test]
async fn every_statement_is_a_range_of_an_index_at_the_same_cost_among_100_000_notes() {
    let database = Database::migrated().await;
    let mut connection = database.connection().await;
    connection
        .execute("set plan_cache_mode = force_generic_plan")
        .await
        .expect("set");
    let statements = statements();
    assert_eq!(
        statements.keys().map(String::as_str).collect::<Vec<_>>(),
        {
            let mut listed: Vec<_> = CALLS.iter().map(|(name, _)| *name).collect();
            listed.sort_unstable();
            listed
        },
        "every statement has a call"
    );
    fill(&mut connection, 1, 100).await;
    let mut at_first = BTreeMap::new();
    for &(name, values) in CALLS {
        let (_, buffers) = plan(&mut connection, name, &statements[name], values).await;
        at_first.insert(name, buffers);
    }
    fill(&mut connection, 101, 10_000).await;
    let notes: i64 = sqlx::query_scalar("select count(*) from notes")
        .fetch_one(&mut connection)
        .await
        .expect("count");
    assert_eq!(notes, 100_000);
    for &(name, values) in CALLS {
        let (plan, buffers) = plan(&mut connection, name, &statements[name], values).await;
        let mut found = Vec::new();
        scans(&plan, &mut found);
        assert!(found.is_empty(), "{name} scans: {found:?}\n{plan:#}");
        let more = buffers - at_first[name];
        assert!(
            more <= MORE_BUFFERS_MAX,
            "{name} touched {} buffers at 1,000 notes and {buffers} at 100,000\n{plan:#}",
            at_first[name]
        );
    }
}

/// One tenant with many notes among many with few mustn't turn the plans for the others.
#[tokio::test]
async fn one_big_notebook_changes_no_plan() {
    let database = Database::migrated().await;
    let mut connection = database.connection().await;
    connection
        .execute("set plan_cache_mode = force_generic_plan")
        .await
        .expect("set");
    fill(&mut connection, 1, 100).await;
    connection
        .execute(
            "insert into notes (scope, name, content, chars, version) \
             select 'big/main', format('n%s.md', note), 'words', 5, 7 \
             from generate_series(1, 30000) as note",
        )
        .await
        .expect("fill");
    connection
        .execute("vacuum (analyze) notes")
        .await
        .expect("vacuum");
    let statements = statements();
    for &(name, values) in CALLS {
        let mut of_big: Vec<&str> = values.to_vec();
        if let Some(scope) = of_big.first_mut() {
            *scope = "'big/main'";
        }
        for values in [values, &of_big] {
            let (plan, buffers) = plan(&mut connection, name, &statements[name], values).await;
            let mut found = Vec::new();
            scans(&plan, &mut found);
            assert!(found.is_empty(), "{name} scans: {found:?}\n{plan:#}");
            // A search reads as many notes as it may examine, a snapshot as many names as it
            // may list; neither reads the whole notebook.
            let buffers_max = match name {
                "search_notes" => 1_100,
                "read_notebook" => 1_500,
                _ => 50,
            };
            assert!(
                buffers <= buffers_max,
                "{name} touched {buffers} buffers\n{plan:#}"
            );
        }
    }
}

/// A scope with 10,000 facts, and one of its conversations with 10,000 messages, among 1,000 tenants.
const MANY: i64 = 10_000;

async fn fill_big(connection: &mut PgConnection) {
    for statement in [
        "insert into conversations (scope, id, next) values ('big/main', 'c7', $1)",
        "insert into messages (scope, conversation, position, message) \
         select 'big/main', 'c7', position, \
                format('{\"role\":\"user\",\"content\":\"%s\"}', repeat('some words ', 20)) \
         from generate_series(0, $1 - 1) as position",
        "insert into facts (scope, key, value, folded, terms, order_number) \
         select 'big/main', format('k%s', fact), repeat('some words ', 20), \
                repeat('some words ', 20), array['some', 'words', format('t%s', fact)], fact \
         from generate_series(1, $1) as fact",
        "insert into fact_terms (scope, term, key) \
         select scope, unnest(terms), key from facts where scope = 'big/main' and $1 > 0",
    ] {
        sqlx::query(statement)
            .bind(MANY)
            .execute(&mut *connection)
            .await
            .expect("fill");
    }
    connection
        .execute("vacuum (analyze) conversations, messages, facts, fact_terms")
        .await
        .expect("vacuum");
}

#[tokio::test]
async fn what_is_done_with_one_of_many_facts_or_messages_touches_few_of_the_others() {
    let database = Database::migrated().await;
    let mut connection = database.connection().await;
    connection
        .execute("set plan_cache_mode = force_generic_plan")
        .await
        .expect("set");
    fill(&mut connection, 1, 1_000).await;
    fill_big(&mut connection).await;
    let statements = statements();
    // How much each may touch: what it reads or writes, and a few levels of indexes for each.
    let page = &["'big/main'", "'c7'", "0", BIG, BIG, "20000"];
    let newest = &["'big/main'", "'c7'", "0", BIG, "50", "1000000"];
    let range = &["'big/main'", "'c7'", "7000", "7050", BIG, "1000000"];
    let one = &["'big/main'", "'{t77,none}'", "'{nowhere}'", "'{nowherf}'"];
    let few = &["'big/main'", "'{none}'", "'{t77}'", "'{t78}'"];
    let calls: [(&str, &[&str], i64); 14] = [
        ("read_messages", page, 400),
        ("read_messages", newest, 40),
        ("read_messages", range, 40),
        (
            "add_messages",
            &["'big/main'", "null", "'c7'", "'f'", "'{x,y}'"],
            60,
        ),
        ("list_conversations", &["'big/main'", "''", "11"], 10),
        ("look_up_fact", &["'big/main'", "'none'", "'k7'"], 20),
        ("find_facts", one, 40),
        // 111 facts.
        ("find_facts", few, 600),
        ("read_facts", &["'big/main'", "'{k7,k8}'"], 20),
        ("list_facts", &["'big/main'", "'k5'", "11"], 30),
        ("newest_facts", &["'big/main'", "11"], 30),
        (
            "update_fact",
            &[
                "'big/main'",
                "null",
                "'k7'",
                "'v'",
                "'v'",
                "'{a,t7}'",
                "'f'",
                "7",
                "true",
            ],
            150,
        ),
        (
            "delete_fact",
            &["'big/main'", "null", "'k7'", "'f'", "7", "true"],
            80,
        ),
        ("lock_fact", &["'big/main'", "'k7'"], 60),
    ];
    for (name, values, buffers_max) in calls {
        let (plan, buffers) = plan(&mut connection, name, &statements[name], values).await;
        let mut found = Vec::new();
        scans(&plan, &mut found);
        assert!(found.is_empty(), "{name} scans: {found:?}\n{plan:#}");
        assert!(
            buffers <= buffers_max,
            "{name} touched {buffers} buffers\n{plan:#}"
        );
    }
}

#[tokio::test]
async fn a_part_of_many_long_texts_reads_little_of_those_that_do_not_fit() {
    let database = Database::migrated().await;
    let mut connection = database.connection().await;
    // Hashes, because what is compressed well is small.
    let notes = "insert into notes (scope, name, content, chars, version) \
         select 't/main', format('n%s.md', note), hashes, length(hashes), note \
         from generate_series(101, 180) as note, lateral ( \
             select string_agg(md5(format('%s %s', note, part)), '') as hashes \
             from generate_series(1, 3000) as part) as text";
    connection.execute(notes).await.expect("fill");
    connection
        .execute("vacuum (analyze) notes")
        .await
        .expect("vacuum");
    let sql = &statements()["read_texts"];
    let mut read = async |bytes: &str| {
        let values = ["'t/main'", "''", "100", "1000", bytes];
        plan(&mut connection, "read_texts", sql, &values).await.1
    };
    let (few, all) = (read("3000").await, read("1000000").await);
    assert!(
        few * 5 < all,
        "{few} buffers for four of 80 texts, {all} for all"
    );
}
