//! `notekeeper fact`: facts from the terminal, in the store and through the activities of a worker.

use serde_json::{Value, json};

use crate::support::{
    Bed, Ended, Talk, WAYS, Worker, WorkerOptions, assert_done, assert_failed, run, run_fed,
};

/// The arguments of `notekeeper fact …` on what is kept for Ada.
fn of_ada<'a>(via: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    let (command, rest) = arguments.split_first().expect("a command");
    let whose = ["fact", command, "-n", "customers/ada", "--via", via];
    [&whose, rest].concat()
}

async fn fact(bed: &Bed, via: &str, arguments: &[&str]) -> Ended {
    run(bed, &of_ada(via, arguments), &[]).await
}

/// As `fact`, with `--json` and what it printed.
async fn fact_json(bed: &Bed, via: &str, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.insert(1, "--json");
    let ended = fact(bed, via, &all).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).expect("JSON on standard output")
}

/// Words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .map(|line| line.split_whitespace().collect())
        .collect()
}

#[tokio::test]
async fn facts_are_kept_listed_recalled_and_removed_in_both_ways_alike() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    for via in WAYS {
        let made = fact(&bed, via, &["set", "food", "no nuts"]).await;
        assert_done(&made, "created food\n");
        let changed = fact(&bed, via, &["set", "food", "no peanuts, no milk"]).await;
        assert_done(&changed, "updated food\n");
        fact(&bed, via, &["set", "City", "Lyon"]).await;

        let got = fact(&bed, via, &["get", "food"]).await;
        assert_done(&got, "no peanuts, no milk\n");
        let got = fact_json(&bed, via, &["get", "food"]).await;
        assert_eq!(
            (&got["key"], &got["value"]),
            (&json!("food"), &json!("no peanuts, no milk"))
        );
        assert!(got["age_seconds"].is_u64(), "{got}");

        let listed = fact(&bed, via, &["ls"]).await;
        let lines = words(&listed.stdout);
        assert_eq!(lines[0], ["KEY", "AGE"], "{listed:?}");
        assert_eq!((lines[1][0], lines[2][0], lines.len()), ("City", "food", 3));
        let long = fact(&bed, via, &["ls", "--long"]).await;
        assert!(long.stdout.contains("no peanuts, no milk"), "{long:?}");
        let one = fact_json(&bed, via, &["ls", "--limit", "1"]).await;
        assert_eq!(
            (&one["facts"][0]["key"], &one["more"]),
            (&json!("City"), &json!(true))
        );
        let rest = fact_json(&bed, via, &["ls", "--after", "City"]).await;
        assert_eq!(
            (&rest["facts"][0]["key"], &rest["more"]),
            (&json!("food"), &json!(false))
        );

        let found = fact(&bed, via, &["recall", "PEANUTS"]).await;
        let (head, value) = found.stdout.split_once('\n').expect("two lines");
        assert!(
            head.starts_with("food (score 0.") || head.starts_with("food (score 1."),
            "{found:?}"
        );
        assert_eq!(value, "  no peanuts, no milk\n");
        let found = fact_json(&bed, via, &["recall", "lyon"]).await;
        assert_eq!(found["facts"][0]["value"], "Lyon");
        assert!(
            found["facts"][0]["score"]
                .as_f64()
                .is_some_and(|score| score > 0.0)
        );
        // Without words those come that were set last; 1 of 2.
        let latest = fact_json(&bed, via, &["recall", "--limit", "1"]).await;
        assert_eq!(latest["facts"].as_array().map(Vec::len), Some(1));
        assert_eq!(latest["facts"][0]["key"], "City");
        let none = fact(&bed, via, &["recall", "Berlin"]).await;
        assert_done(&none, "");
        assert!(none.stderr.contains("no match"), "{none:?}");

        assert_done(&fact(&bed, via, &["rm", "food"]).await, "deleted food\n");
        assert_failed(
            &fact(&bed, via, &["rm", "food"]).await,
            1,
            &["no fact `food`"],
        );
        assert_failed(
            &fact(&bed, via, &["get", "food"]).await,
            1,
            &["no fact `food`"],
        );
        fact(&bed, via, &["rm", "City"]).await;
        let empty = fact(&bed, via, &["ls"]).await;
        assert_done(&empty, "");
        assert!(empty.stderr.contains("no facts"), "{empty:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_value_comes_from_standard_input_as_it_is_but_for_one_line_break() {
    let bed = Bed::new().await;
    let value = "固\n - two\n\n";
    for arguments in [&["set", "k", "-"][..], &["set", "k"]] {
        let ended = run_fed(&bed, &of_ada("store", arguments), value).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let got = fact_json(&bed, "store", &["get", "k"]).await;
        assert_eq!(got["value"], "固\n - two\n");
    }
    let forgotten = run_fed(&bed, &of_ada("store", &["set", "k"]), "").await;
    assert_failed(&forgotten, 1, &["standard input is empty"]);
    let got = fact_json(&bed, "store", &["get", "k"]).await;
    assert_eq!(got["value"], "固\n - two\n");
    let nothing = run_fed(&bed, &of_ada("store", &["set", "k", "-"]), "").await;
    assert_done(&nothing, "updated k\n");
    assert_done(&fact(&bed, "store", &["get", "k"]).await, "\n");
    // An item of a list is a value, and a misspelt option is none.
    assert_done(
        &fact(&bed, "store", &["set", "k", "- tea"]).await,
        "updated k\n",
    );
    assert_failed(
        &fact(&bed, "store", &["set", "k", "--jsn"]).await,
        2,
        &["`--jsn`"],
    );
    assert_done(&fact(&bed, "store", &["get", "k"]).await, "- tea\n");
    bed.finish().await;
}

#[tokio::test]
async fn what_makes_no_fact_is_refused_with_a_message_and_a_code() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let long_key = "k".repeat(501);
    let long = "x".repeat(16_385);
    for via in WAYS {
        let cases: [(&[&str], &str, &str); 5] = [
            (&["set", " ", "x"], "invalid_key", "not be blank"),
            (&["set", &long_key, "x"], "invalid_key", "500"),
            (&["set", "k", &long], "too_large", "16385"),
            (&["get", "k"], "not_found", "notekeeper fact ls"),
            (
                &["recall", "x", "--limit", "1001"],
                "InvalidArgument",
                "1000",
            ),
        ];
        for (arguments, code, said) in cases {
            let mut all = arguments.to_vec();
            all.insert(1, "--json");
            let ended = fact(&bed, via, &all).await;
            assert_failed(&ended, 1, &[&format!(r#""code":"{code}""#), said]);
        }
        let nul = run_fed(&bed, &of_ada(via, &["set", "k", "-"]), "a\0b").await;
        assert_failed(&nul, 1, &["NUL"]);
    }
    let ls = fact_json(&bed, "store", &["ls"]).await;
    assert_eq!(ls["facts"], json!([]));
    bed.finish().await;
}

#[tokio::test]
async fn a_repetition_under_the_same_operation_id_takes_effect_once() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    for via in WAYS {
        let id = format!("op-{via}");
        let set = ["set", "k", "one", "--operation-id", &id];
        let first = fact_json(&bed, via, &set).await;
        assert_eq!(
            first,
            json!({"key": "k", "status": "created", "replayed": false, "operation": {"id": id}})
        );
        fact(&bed, via, &["set", "k", "two"]).await;
        let again = fact_json(&bed, via, &set).await;
        assert_eq!(
            (&again["status"], &again["replayed"]),
            (&json!("created"), &json!(true))
        );
        let other = fact(&bed, via, &["rm", "k", "--operation-id", &id]).await;
        assert_failed(&other, 1, &["operation"]);
        assert_done(&fact(&bed, via, &["get", "k"]).await, "two\n");
        fact(&bed, via, &["rm", "k"]).await;

        // What a removal found is what its repetition tells, whatever is there by then.
        let gone = format!("gone-{via}");
        let rm = ["rm", "k", "--operation-id", &gone];
        let none = fact(&bed, via, &rm).await;
        assert_failed(&none, 1, &["there is no fact `k`"]);
        fact(&bed, via, &["set", "k", "three"]).await;
        let again = fact(&bed, via, &rm).await;
        let told = format!("operation `{gone}` took effect before and found no fact `k` then");
        assert_failed(&again, 1, &[&told]);
        assert_done(&fact(&bed, via, &["get", "k"]).await, "three\n");
        fact(&bed, via, &["rm", "k"]).await;
    }
    bed.finish().await;
}

#[tokio::test]
async fn facts_steer_no_terminal() {
    let bed = Bed::new().await;
    let key = "k\u{1b}[2J\u{202e}";
    fact(
        &bed,
        "store",
        &["set", key, "a\u{1b}]52;c;AAAA\u{7}b\u{9b}2J"],
    )
    .await;
    let get = of_ada("store", &["get", key]);
    let seen = Talk::program_in_terminal(&bed, &get).ended().await;
    assert!(
        seen.stdout
            .contains("a\u{fffd}]52;c;AAAA\u{fffd}b\u{fffd}2J"),
        "{seen:?}"
    );
    for arguments in [
        &["ls", "--long"][..],
        &["recall", "AAAA"],
        &["recall"],
        &["rm", key],
    ] {
        let ended = fact(&bed, "store", arguments).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("k\u{fffd}[2J\u{fffd}"), "{ended:?}");
        assert!(
            !ended.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']),
            "{ended:?}"
        );
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_store_that_keeps_no_facts_says_so_and_no_file_is_made_by_looking() {
    let bed = Bed::new().await;
    let file = bed.path("facts.db");
    let path = file.to_str().expect("a path that is text");
    let notes = bed.path("notes");
    let config = bed.config(&format!(
        "[stores.default]\nkind = 'sqlite'\npath = '{path}'\n\
         [stores.notes]\nkind = 'file'\ndirectory = '{}'",
        notes.display()
    ));
    let environment = [
        ("DATABASE_URL", ""),
        ("NOTEKEEPER_SCHEMA", ""),
        ("NOTEKEEPER_CONFIG", config.as_str()),
    ];
    let fact =
        async |via, arguments: &[&str]| run(&bed, &of_ada(via, arguments), &environment).await;
    for looking in [&["ls"][..], &["get", "k"], &["recall", "tea"], &["rm", "k"]] {
        let ended = fact("store", looking).await;
        assert_failed(
            &ended,
            1,
            &["there is no file", path, "`notekeeper fact set` makes it"],
        );
    }
    assert!(!file.exists());
    assert_done(&fact("store", &["set", "k", "v"]).await, "created k\n");
    assert_done(&fact("store", &["get", "k"]).await, "v\n");

    let files = fact("store", &["ls", "--store", "notes", "--json"]).await;
    assert_failed(&files, 1, &[r#""code":"Unsupported""#, "--store"]);
    assert!(!notes.exists());
    let config = bed.config(&format!(
        "[stores.notes]\nkind = 'file'\ndirectory = '{}'",
        notes.display()
    ));
    let options = WorkerOptions {
        queues: Some("memory"),
        environment: vec![("NOTEKEEPER_CONFIG", config)],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let remote = fact("temporal", &["ls", "--store", "notes", "--json"]).await;
    assert_failed(&remote, 1, &[r#""code":"Unsupported""#]);
    bed.finish().await;
}

#[tokio::test]
async fn facts_are_listed_past_rows_that_no_command_made() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    for key in ["ka", "kb"] {
        fact(&bed, "store", &["set", key, "value"]).await;
    }
    // Values longer than any may be.
    sqlx::query(
        "insert into facts (scope, key, value, folded, terms, order_number) \
         select 'customers/ada/main', 'ka' || number, repeat('x', 20000), 'x', '{}', 1000 + number \
         from generate_series(1, 5) as number",
    )
    .execute(&mut bed.database().await)
    .await
    .expect("insert");
    for via in WAYS {
        for (limit, keys) in [("1", vec!["ka"]), ("2", vec!["ka", "kb"])] {
            let listed = fact_json(&bed, via, &["ls", "--limit", limit]).await;
            let found = listed["facts"].as_array().expect("a list").iter();
            let found: Vec<_> = found.map(|fact| &fact["key"]).collect();
            assert_eq!(found, keys);
            assert_eq!(listed["more"], limit == "1");
        }
        let latest = fact_json(&bed, via, &["recall", "--limit", "1"]).await;
        assert_eq!(latest["facts"][0]["key"], "kb");
    }
    bed.finish().await;
}

#[tokio::test]
async fn words_that_begin_with_a_dash_are_found_and_a_list_of_none_is_refused_at_once() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    fact(&bed, "store", &["set", "danger", "never run rm -rf here"]).await;
    for via in WAYS {
        let found = fact(&bed, via, &["recall", "--", "rm", "-rf"]).await;
        assert!(found.stdout.starts_with("danger "), "{found:?}");
        let unescaped = fact(&bed, via, &["recall", "rm", "-rf"]).await;
        assert_failed(&unescaped, 2, &["'-- -r"]);
        for command in [["fact", "ls"], ["messages", "ls"], ["note", "ls"]] {
            let none = ["-n", "customers/ada", "--via", via, "--limit", "0"];
            let refused = run(&bed, &[&command[..], &none].concat(), &[]).await;
            assert_failed(&refused, 2, &["--limit", "0 is not in 1.."]);
        }
    }
    bed.finish().await;
}
