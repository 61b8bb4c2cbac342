//! `notekeeper messages`: transcripts from the terminal, in the store and through the activities of a
//! worker.

use serde_json::{Value, json};

use crate::support::{
    Bed, Ended, Talk, WAYS, Worker, assert_done, assert_ends_well_unread, assert_failed, run,
    run_and_meanwhile, run_fed,
};

fn of_ada<'a>(via: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    let (command, rest) = arguments.split_first().expect("a command");
    let whose = ["messages", command, "-n", "customers/ada", "--via", via];
    [&whose, rest].concat()
}

async fn messages(bed: &Bed, via: &str, arguments: &[&str]) -> Ended {
    run(bed, &of_ada(via, arguments), &[]).await
}

async fn messages_json(bed: &Bed, via: &str, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.insert(1, "--json");
    let ended = messages(bed, via, &all).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.matches('\n').count(), 1, "one line");
    serde_json::from_str(&ended.stdout).expect("JSON on standard output")
}

async fn add(bed: &Bed, via: &str, conversation: &str, input: &str) -> Ended {
    run_fed(bed, &of_ada(via, &["add", conversation]), input).await
}

/// An exchange in each of three forms, with fields that nobody here knows.
fn exchanges() -> Vec<Value> {
    vec![
        json!({"role": "user", "content": "I drink green tea.", "at": {"x": [1.5, null]}}),
        json!({"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_0", "name": "write_memory", "arguments": {"content": "- tea"}}]}),
        json!({"role": "tool", "tool_call_id": "call_0", "content": "created MEMORY.md"}),
        json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "look", "arguments": "{\"where\": \"Lyon\"}"}}]}),
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "find", "input": {"what": "x"}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "nothing", "is_error": true}]}),
    ]
}

fn lines(messages: &[Value]) -> String {
    messages
        .iter()
        .map(|message| format!("{message}\n"))
        .collect()
}

#[tokio::test]
async fn messages_are_added_listed_shown_and_cleared_in_both_ways_alike() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let all = exchanges();
    for via in WAYS {
        let id = format!("travel-{via}");
        let added = add(&bed, via, &id, &lines(&all[..3])).await;
        assert_done(
            &added,
            &format!("added 3 messages to {id}, from position 0 to 2\n"),
        );
        let array = serde_json::to_string_pretty(&all[3..]).expect("JSON");
        let added = add(&bed, via, &id, &array).await;
        assert_done(
            &added,
            &format!("added 3 messages to {id}, from position 3 to 5\n"),
        );

        let again = messages(&bed, via, &["show", &id, "--jsonl"]).await;
        let read: Vec<Value> = again
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(read, all, "as they were added");
        let copied = add(&bed, via, &format!("copy-{via}"), &again.stdout).await;
        assert_eq!(copied.code, Some(0), "{copied:?}");
        let shown = messages_json(&bed, via, &["show", &id]).await;
        assert_eq!(
            shown,
            json!({"conversation": id, "first": 0, "next": 6, "messages": all})
        );
        let last = messages_json(&bed, via, &["show", &id, "--last", "2"]).await;
        assert_eq!(
            (&last["first"], &last["messages"]),
            (&json!(4), &json!(all[4..]))
        );
        let text = messages(&bed, via, &["show", &id]).await;
        assert_done(
            &text,
            "#0 user\n  I drink green tea.\n\n\
             #1 assistant\n  · write_memory {\"content\":\"- tea\"}\n\n\
             #2 tool\n  ↳ created MEMORY.md\n\n\
             #3 assistant\n  · look {\"where\":\"Lyon\"}\n\n\
             #4 assistant\n  I look.\n  · find {\"what\":\"x\"}\n\n\
             #5 user\n  ↳ (failed) nothing\n",
        );

        let cleared = messages(&bed, via, &["clear", &id]).await;
        assert_done(&cleared, &format!("cleared 6 messages of {id}\n"));
        let empty = messages(&bed, via, &["show", &id]).await;
        assert_done(&empty, "");
        assert!(empty.stderr.contains("was cleared"), "{empty:?}");
        // Positions never come back.
        let added = add(&bed, via, &id, r#"{"role": "user", "content": "Hi"}"#).await;
        assert_done(
            &added,
            &format!("added 1 message to {id}, from position 6 to 6\n"),
        );
    }
    bed.finish().await;
}

#[tokio::test]
async fn conversations_are_listed_with_their_positions_in_both_ways_alike() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let input = lines(&exchanges());
    for id in ["copy", "travel"] {
        assert_eq!(add(&bed, "store", id, &input).await.code, Some(0));
    }
    let cleared = messages(&bed, "store", &["clear", "travel"]).await;
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    let more = add(
        &bed,
        "store",
        "travel",
        r#"{"role": "user", "content": "Hi"}"#,
    )
    .await;
    assert_eq!(more.code, Some(0), "{more:?}");
    for via in WAYS {
        let listed = messages_json(&bed, via, &["ls"]).await;
        let found: Vec<_> = listed["conversations"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| {
                (
                    it["conversation"].clone(),
                    it["first"].clone(),
                    it["next"].clone(),
                )
            })
            .collect();
        let of = |id: &str, first: u64, next: u64| (json!(id), json!(first), json!(next));
        assert_eq!(found, [of("copy", 0, 6), of("travel", 6, 7)]);
        let table = messages(&bed, via, &["ls", "--limit", "1"]).await;
        let lines: Vec<Vec<&str>> = table
            .stdout
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[0],
            ["CONVERSATION", "MESSAGES", "FIRST", "NEXT", "UPDATED"]
        );
        assert_eq!(lines[1][..4], ["copy", "6", "0", "6"]);
        assert_eq!(lines.len(), 2);
        assert!(table.stderr.contains("--limit"), "{table:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn of_messages_that_cannot_be_kept_none_is_added_and_line_and_place_are_told() {
    let bed = Bed::new().await;
    let good = r#"{"role": "user", "content": "a"}"#;
    let cases = [
        (
            format!("{good}\n{{\"content\": \"b\"}}\n"),
            "line 2: message 2 needs `role`",
        ),
        (
            format!(
                "[{good},\n {{\"role\": \"user\", \"content\": [{{\"text\": \"b\\u0000\"}}]}}]"
            ),
            "line 2: message 2 contains a NUL character (U+0000) in `content[0].text`",
        ),
        (
            format!("{good}\n{good}\n{{\"role\": "),
            "line 3: message 3 is no JSON",
        ),
        (String::new(), "there are no messages"),
    ];
    for (input, told) in cases {
        let ended = add(&bed, "store", "main", &input).await;
        assert_failed(&ended, 1, &[told]);
    }
    let missing = messages(&bed, "store", &["show", "--json"]).await;
    assert_failed(
        &missing,
        1,
        &[r#""code":"not_found""#, "notekeeper messages ls"],
    );
    let missing = messages(&bed, "store", &["clear", "main"]).await;
    assert_failed(&missing, 1, &["no conversation `main`"]);
    let odd = messages(&bed, "store", &["show", "a\nb"]).await;
    assert_failed(&odd, 1, &["control character"]);
    let both = messages(&bed, "store", &["show", "--json", "--jsonl"]).await;
    assert_failed(&both, 2, &["--json"]);
    bed.finish().await;
}

#[tokio::test]
async fn more_messages_than_one_call_takes_are_added_in_batches_and_shown_in_pages() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    // 2,500 messages of some 2 KB: 5 MB, five answers and more.
    let all: Vec<Value> = (0..2_500)
        .map(|number| json!({"role": "user", "content": format!("{number} {}", "x".repeat(2_000))}))
        .collect();
    let input = lines(&all);
    for via in WAYS {
        let arguments = of_ada(via, &["add", via, "--operation-id", via, "--json"]);
        for replayed in [false, true] {
            let ended = run_fed(&bed, &arguments, &input).await;
            assert_eq!(ended.code, Some(0), "{ended:?}");
            let added: Value = serde_json::from_str(&ended.stdout).expect("JSON");
            assert_eq!(
                added,
                json!({"conversation": via, "added": 2_500, "first": 0, "next": 2_500,
                       "replayed": replayed, "operation": {"id": via}})
            );
        }
        let shown = messages_json(&bed, via, &["show", via]).await;
        assert_eq!(shown["next"], 2_500);
        assert!(
            shown["messages"] == json!(all),
            "all of them in their order"
        );
        let read = messages(&bed, via, &["show", via, "--jsonl"]).await;
        assert!(read.stdout == input, "as they were given");
        let text = messages(&bed, via, &["show", via, "--last", "1500"]).await;
        assert_eq!(text.stdout.lines().next(), Some("#1000 user"));
        assert_eq!(text.stdout.matches("--full shows all").count(), 1_500);
    }
    bed.finish().await;
}

#[tokio::test]
async fn where_a_later_batch_is_refused_it_is_told_how_many_messages_were_added() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let message = json!({"role": "user", "content": "x"});
    let input = lines(&vec![message; 1_001]);
    for via in WAYS {
        // Somebody else has used the identity of the second batch.
        let taken = format!("{via}#2");
        let fact = ["fact", "set", "k", "v", "-n", "customers/ada"];
        let fact = [&fact[..], &["--operation-id", &taken]].concat();
        assert_eq!(run(&bed, &fact, &[]).await.code, Some(0));
        let arguments = of_ada(via, &["add", via, "--operation-id", via, "--json"]);
        let ended = run_fed(&bed, &arguments, &input).await;
        let told = [
            r#""code":"Incomplete""#,
            &format!(
                "`--operation-id {via}` was used before for something else from message 1001 on; 1000 \
                 messages were added now;"
            ),
        ];
        assert_failed(&ended, 1, &told);
        let again = run_fed(&bed, &arguments, &input).await;
        let told = [r#""code":"OperationConflict""#, "; nothing was added now;"];
        assert_failed(&again, 1, &told);
        let shown = messages_json(&bed, via, &["show", via]).await;
        assert_eq!(shown["next"], 1_000);
    }
    bed.finish().await;
}

#[tokio::test]
async fn on_a_terminal_clearing_asks_and_nothing_that_is_shown_steers_it() {
    let bed = Bed::new().await;
    let hostile = json!({"role": "us\u{1b}[2Jer", "content": "hidden"});
    let message = json!({"role": "user", "content": "a\u{1b}]52;c;AAAA\u{7}b\u{9b}2J\u{202e}"});
    add(
        &bed,
        "store",
        "main\u{202e}x",
        &lines(&[message.clone(), hostile]),
    )
    .await;
    let show = of_ada("store", &["show", "main\u{202e}x"]);
    let seen = Talk::program_in_terminal(&bed, &show).ended().await;
    assert!(
        seen.stdout
            .contains("a\u{fffd}]52;c;AAAA\u{fffd}b\u{fffd}2J\u{fffd}"),
        "{seen:?}"
    );
    assert!(seen.stdout.contains("#1 us\u{fffd}[2Jer"), "{seen:?}");
    let jsonl = of_ada("store", &["show", "main\u{202e}x", "--jsonl"]);
    let json_seen = Talk::program_in_terminal(&bed, &jsonl).ended().await;
    let ls = messages(&bed, "store", &["ls"]).await;
    assert!(ls.stdout.contains("main\u{fffd}x"), "{ls:?}");
    for text in [&seen.stdout, &json_seen.stdout, &ls.stdout] {
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text:?}");
    }
    let first: Value =
        serde_json::from_str(json_seen.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first, message);

    let clear = of_ada("store", &["clear", "main\u{202e}x"]);
    let mut asked = Talk::program_in_terminal(&bed, &clear);
    asked.hears("clear 2 messages of `main\u{fffd}x`").await;
    asked.hears("[y/N]").await;
    asked.write("\r");
    let ended = asked.ended().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("nothing is cleared"), "{ended:?}");
    let mut asked = Talk::program_in_terminal(&bed, &clear);
    asked.hears("[y/N]").await;
    asked.write("y\r");
    asked.hears("cleared 2 messages of main\u{fffd}x").await;
    assert_eq!(asked.ended().await.code, Some(0));
    let yes = of_ada("store", &["clear", "main\u{202e}x", "--yes"]);
    let mut unasked = Talk::program_in_terminal(&bed, &yes);
    unasked.hears("cleared 0 messages").await;
    assert_eq!(unasked.ended().await.code, Some(0));
    bed.finish().await;
}

#[tokio::test]
async fn clearing_touches_no_facts_and_a_repetition_clears_nothing_that_came_later() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let hi = r#"{"role": "user", "content": "Hi"}"#;
    let set = ["fact", "set", "k", "v", "-n", "customers/ada"];
    assert_eq!(run(&bed, &set, &[]).await.code, Some(0));
    for via in WAYS {
        add(&bed, via, via, &[hi, hi].join("\n")).await;
        let clear = ["clear", via, "--operation-id", via];
        let first = messages_json(&bed, via, &clear).await;
        assert_eq!(
            first,
            json!({"cleared": 2, "next": 2, "replayed": false, "operation": {"id": via}})
        );
        add(&bed, via, via, hi).await;
        let again = messages_json(&bed, via, &clear).await;
        assert_eq!(
            (&again["cleared"], &again["replayed"]),
            (&json!(2), &json!(true))
        );
        let shown = messages_json(&bed, via, &["show", via]).await;
        assert_eq!((&shown["first"], &shown["next"]), (&json!(2), &json!(3)));
    }
    let get = ["fact", "get", "k", "-n", "customers/ada"];
    assert_done(&run(&bed, &get, &[]).await, "v\n");
    bed.finish().await;
}

#[tokio::test]
async fn a_reader_of_messages_that_has_seen_enough_is_no_error() {
    let bed = Bed::new().await;
    let all: Vec<Value> = (0..900)
        .map(|number| json!({"role": "user", "content": format!("{number} {}", "x".repeat(1_000))}))
        .collect();
    add(&bed, "store", "main", &lines(&all)).await;
    assert_ends_well_unread(&bed, &of_ada("store", &["show"]), "#0 user").await;
    bed.finish().await;
}

/// The first page doesn't fit into the pipe, so the second is read after the conversation was cleared.
#[tokio::test]
async fn a_conversation_that_is_cleared_while_it_is_shown_is_told_as_one() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let all: Vec<Value> = (0..2_000)
        .map(|number| json!({"role": "user", "content": format!("{number} {}", "x".repeat(1_000))}))
        .collect();
    for via in WAYS {
        for json in ["--json", "--jsonl"] {
            let id = format!("{via}{json}");
            add(&bed, via, &id, &lines(&all)).await;
            let show = of_ada(via, &["show", &id, json]);
            let clear = async {
                let cleared = messages(&bed, "store", &["clear", &id]).await;
                assert_eq!(cleared.code, Some(0), "{cleared:?}");
            };
            let ended = run_and_meanwhile(&bed, &show, clear).await;
            assert_eq!(ended.code, Some(1), "{via} {json}: {}", ended.stderr);
            assert!(ended.stdout.contains(r#""content":"0 x"#));
            assert!(!ended.stdout.contains(r#""content":"1999 x"#));
            let last = ended.stderr.lines().last().expect("an error");
            let error: Value = serde_json::from_str(last).expect("JSON");
            assert_eq!(
                error["error"],
                json!({
                    "code": "cleared",
                    "message": format!(
                        "conversation `{id}` was cleared while it was printed; what is printed is its \
                         beginning"
                    ),
                })
            );
        }
    }
    bed.finish().await;
}

#[tokio::test]
async fn conversations_are_listed_past_ids_that_no_command_made() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    for id in ["t", "v"] {
        add(&bed, "store", id, r#"{"role": "user", "content": "Hi"}"#).await;
    }
    sqlx::query(
        "insert into conversations (scope, id, next) \
         select 'customers/ada/main', 'u' || chr(number), 1 from generate_series(1, 5) as number",
    )
    .execute(&mut bed.database().await)
    .await
    .expect("insert");
    for via in WAYS {
        let listed = messages_json(&bed, via, &["ls", "--limit", "2"]).await;
        let ids: Vec<_> = listed["conversations"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|listed| &listed["conversation"])
            .collect();
        assert_eq!(
            (ids, &listed["more"]),
            (vec![&json!("t"), &json!("v")], &json!(false))
        );
    }
    bed.finish().await;
}
