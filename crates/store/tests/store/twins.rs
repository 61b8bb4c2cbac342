//! The two databases have the same statements and migrations; where they differ they say why.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};

use crate::database_file::DatabaseFile;

/// Files of a directory of this crate, by name.
fn files(directory: &str) -> BTreeMap<String, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = std::fs::read_dir(directory).expect("the files are there");
    entries
        .map(|entry| entry.expect("readable").path())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            (
                name.into_owned(),
                std::fs::read_to_string(&path).expect("readable"),
            )
        })
        .collect()
}

fn assert_twins(postgres: &str, sqlite: &str) {
    let (postgres, sqlite) = (files(postgres), files(sqlite));
    assert!(!sqlite.is_empty());
    for (name, text) in &sqlite {
        assert_eq!(
            !postgres.contains_key(name),
            text.contains("Has no twin because"),
            "`{name}` says why it has no twin, if it has none"
        );
        let Some(twin) = postgres.get(name) else {
            continue;
        };
        let says_why = text.contains("Differs because") || text.contains("Differs from its twin");
        assert_eq!(
            text != twin,
            says_why,
            "`{name}` says why it differs, if it does"
        );
    }
    for (name, text) in &postgres {
        assert_eq!(
            !sqlite.contains_key(name),
            text.contains("Has no twin because"),
            "`{name}` says why it has no twin, if it has none"
        );
    }
}

#[test]
fn statements_have_twins_and_say_why_they_differ() {
    assert_twins("src/postgres/sql", "src/sqlite/sql");
}

#[test]
fn migrations_have_twins_and_say_why_they_differ() {
    assert_twins("../../migrations/postgres", "../../migrations/sqlite");
}

/// The statements of a file, without its comments.
fn statements(text: &str) -> Vec<String> {
    let code = |line: &'_ str| line.split("--").next().unwrap_or_default().to_owned();
    let text: Vec<String> = text.lines().map(code).collect();
    let statements = text.join("\n");
    let statements = statements.split(';').map(str::trim);
    let statements = statements.filter(|statement| !statement.is_empty());
    statements.map(str::to_owned).collect()
}

/// How SQLite goes about a statement, step by step.
async fn steps(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let explain = AssertSqlSafe(format!("explain query plan {statement}"));
    let rows = sqlx::query(explain).fetch_all(connection).await;
    let rows = rows.unwrap_or_else(|error| panic!("{error}: {statement}"));
    rows.iter().map(|row| row.get("detail")).collect()
}

/// Statements that sort or gather what they find before the first row, and why that isn't much.
const SORTED: &[(&str, &str)] = &[
    ("find_facts.sql", "each fact once that has one of the terms"),
    ("read_notebook.sql", "the names that the limit left"),
    ("update_fact.sql", "the terms of one fact"),
];

/// Whether a step of a plan is worth what it costs; `Err` says why it isn't.
fn check(name: &str, step: &str) -> Result<(), &'static str> {
    if step.contains("AUTOMATIC") {
        return Err("makes an index for itself");
    }
    if step.contains("TEMP B-TREE") {
        let listed = SORTED.iter().any(|(listed, _)| *listed == name);
        return listed.then_some(()).ok_or("sorts what it finds");
    }
    let mut words = step.split(' ');
    match (words.next().unwrap_or_default(), words.next()) {
        // What else a scope keeps there is none of a statement's troubles.
        ("SEARCH", Some("chunks")) if !step.contains("collection=?") => {
            Err("looks through all collections of a scope")
        }
        ("SEARCH", _) if step.contains("(scope=?") => Ok(()),
        // One row, or what another step found.
        ("SCAN", Some("CONSTANT" | "always" | "note_versions" | "other" | "found")) => Ok(()),
        ("SCAN", Some(table)) if table.starts_with("(subquery") => Ok(()),
        // What the caller gave, or the one fact holds.
        ("SCAN", Some("added" | "old" | "new" | "wanted"))
            if step.contains(" VIRTUAL TABLE INDEX 1:") =>
        {
            Ok(())
        }
        ("SCAN" | "SEARCH", Some("notekeeper_migrations")) => Ok(()),
        ("SCAN" | "SEARCH", _) => Err("is no range of an index"),
        // Of a list of values that another step gives.
        ("CREATE", Some("BLOOM")) => Ok(()),
        // How the others belong together.
        (
            "CO-ROUTINE" | "COMPOUND" | "CORRELATED" | "LEFT" | "LEFT-MOST" | "LIST" | "MERGE"
            | "RIGHT" | "SCALAR" | "UNION",
            _,
        ) => Ok(()),
        _ => Err("isn't known to this test"),
    }
}

/// Explaining a statement prepares it as well.
#[tokio::test]
async fn every_statement_of_sqlite_is_a_range_of_an_index_and_unsorted() {
    let file = DatabaseFile::new();
    file.store().await.close().await;
    let mut connection = file.connection().await;
    let mut searches = 0;
    let mut sorted = BTreeSet::new();
    for (name, text) in files("src/sqlite/sql") {
        for statement in statements(&text) {
            if name == "lock_note.sql" {
                // There is no plan of it.
                continue;
            }
            for step in steps(&mut connection, &statement).await {
                check(&name, &step).unwrap_or_else(|why| panic!("{name} {why}: {step}"));
                searches += usize::from(step.starts_with("SEARCH"));
                if step.contains("TEMP B-TREE") {
                    sorted.insert(name.clone());
                }
            }
        }
    }
    assert!(searches >= 15, "{searches} searches");
    let listed: BTreeSet<String> = SORTED.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(sorted, listed, "none is listed that doesn't sort");
    connection.close().await.expect("close");
}
