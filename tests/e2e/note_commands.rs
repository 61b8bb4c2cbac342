//! `notekeeper note`: notes from the terminal, in the store and through the activities of a worker.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};

use crate::support::{
    Bed, Ended, Proxy, Talk, WAYS, Worker, assert_done, assert_ends_well_unread, assert_failed,
    eventually, run, run_fed,
};

/// Runs `notekeeper note …` on Ada's notebook.
async fn note(bed: &Bed, via: &str, arguments: &[&str]) -> Ended {
    let (command, rest) = arguments.split_first().expect("a command");
    let mut all = vec![
        "note",
        command,
        "--namespace",
        "customers/ada",
        "--via",
        via,
    ];
    all.extend(rest);
    run(bed, &all, &[]).await
}

/// As `note`, with `--json` and what it printed.
async fn note_json(bed: &Bed, via: &str, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.insert(1, "--json");
    let ended = note(bed, via, &all).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).expect("JSON on standard output")
}

/// The scope of Ada's notebook.
const ADA: &str = "customers/ada/main";

#[tokio::test]
async fn a_notebook_is_written_listed_read_searched_and_deleted_in_both_ways_alike() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    for via in WAYS {
        let made = note(&bed, via, &["write", "MEMORY", "- likes tea"]).await;
        assert!(
            made.stdout.starts_with("created MEMORY.md, version "),
            "{made:?}"
        );
        let appended = note(&bed, via, &["write", "MEMORY.md", "- lives in Lyon\n\n"]).await;
        assert!(
            appended.stdout.starts_with("appended MEMORY.md, version "),
            "{appended:?}"
        );
        let changed = note(
            &bed,
            via,
            &["write", "MEMORY", "coffee", "--replace", "tea"],
        )
        .await;
        assert!(
            changed.stdout.starts_with("updated MEMORY.md, version "),
            "{changed:?}"
        );
        note(&bed, via, &["write", "plans", "Paris in May"]).await;

        let cat = note(&bed, via, &["cat", "MEMORY"]).await;
        assert_done(&cat, "- likes coffee\n- lives in Lyon\n");

        let listed = note_json(&bed, via, &["ls"]).await;
        let plans = note_json(&bed, via, &["cat", "plans"]).await;
        assert_eq!(listed["truncated"], false);
        let files = listed["files"].as_array().expect("a list");
        assert_eq!(files.len(), 2, "{listed}");
        assert_eq!(
            (&files[0]["file"], &files[0]["chars"]),
            (&json!("MEMORY.md"), &json!(31))
        );
        assert_eq!(files[1]["version"], plans["version"]);
        let table = note(&bed, via, &["ls"]).await;
        let lines: Vec<Vec<&str>> = table
            .stdout
            .lines()
            .map(|l| l.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0], ["NOTE", "CHARS", "VERSION", "UPDATED"]);
        assert_eq!(lines[2][..2], ["plans.md", "13"]);
        let one = note(&bed, via, &["ls", "--limit", "1"]).await;
        assert_eq!((one.stdout.lines().count(), one.code), (2, Some(0)));
        assert!(one.stderr.contains("--limit"), "{one:?}");

        let found = note(&bed, via, &["search", "PARIS", "lyon"]).await;
        assert_done(
            &found,
            "MEMORY.md\n  - likes coffee\n  - lives in Lyon\n\nplans.md\n  Paris in May\n",
        );
        let none = note(&bed, via, &["search", "Berlin"]).await;
        assert_done(&none, "");
        assert!(none.stderr.contains("no match in 2 notes"), "{none:?}");

        let removed = note(&bed, via, &["rm", "plans"]).await;
        assert_done(&removed, "deleted plans.md\n");
        let again = note(&bed, via, &["rm", "plans"]).await;
        assert_failed(&again, 1, &["`plans.md`"]);
        bed.execute("delete from notes").await;
    }
    bed.finish().await;
}

#[tokio::test]
async fn what_the_store_refuses_is_an_error_with_a_message_and_a_code() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    bed.put(ADA, "MEMORY.md", "tea tea").await;
    let long = "x".repeat(65_537);
    let cases: [(&[&str], &str, &str); 9] = [
        (&["cat", "plans"], "not_found", "there is no note `plans`"),
        (&["cat", "../plans"], "invalid_path", "`../plans`"),
        (&["write", "MEMORY", " \n"], "empty_content", "`MEMORY`"),
        (
            &["write", "MEMORY", "x", "--replace", "milk"],
            "old_text_not_found",
            "not found",
        ),
        (
            &["write", "MEMORY", "x", "--replace", "tea"],
            "ambiguous",
            "2 times",
        ),
        (&["write", "MEMORY", &long], "too_large", "65536"),
        (
            &["write", "MEMORY", "x", "--expect-version", "0"],
            "VersionConflict",
            "read it again",
        ),
        (&["rm", "MEMORY"], "protected", "can't be deleted"),
        (&["search", " "], "query_empty", "give words"),
    ];
    for via in WAYS {
        for (arguments, code, said) in &cases {
            let for_people = note(&bed, via, arguments).await;
            assert_failed(&for_people, 1, &["error: ", said]);
            let mut arguments = arguments.to_vec();
            arguments.insert(1, "--json");
            let for_programs = note(&bed, via, &arguments).await;
            assert_eq!(
                (for_programs.code, for_programs.stdout.as_str()),
                (Some(1), "")
            );
            let error: Value = serde_json::from_str(&for_programs.stderr).expect("JSON");
            assert_eq!(error["error"]["code"], *code, "{error}");
            let message = error["error"]["message"].as_str().expect("a message");
            assert!(message.contains(said), "{error}");
        }
    }
    assert_eq!(bed.note(ADA, "MEMORY.md").await.as_deref(), Some("tea tea"));
    bed.finish().await;
}

#[tokio::test]
async fn a_change_that_is_repeated_under_its_id_takes_effect_once() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    for via in WAYS {
        let write = ["write", "log", "- done", "--operation-id", "job-7"];
        let first = note_json(&bed, via, &write).await;
        let again = note_json(&bed, via, &write).await;
        assert_eq!(first["operation"], json!({"id": "job-7"}));
        assert_eq!(
            (&first["replayed"], &again["replayed"]),
            (&json!(false), &json!(true))
        );
        assert_eq!(first["version"], again["version"]);
        let said = note(&bed, via, &write).await;
        assert!(said.stdout.contains("(replayed: "), "{said:?}");
        let other = ["write", "log", "- other", "--operation-id", "job-7"];
        assert_failed(&note(&bed, via, &other).await, 1, &["already used"]);
        assert_eq!(bed.note(ADA, "log.md").await.as_deref(), Some("- done\n"));

        let version = again["version"].as_str().expect("a version");
        let rm = [
            "rm",
            "log",
            "--expect-version",
            version,
            "--operation-id",
            "job-8",
        ];
        assert_done(&note(&bed, via, &rm).await, "deleted log.md\n");
        let replayed = note_json(&bed, via, &rm).await;
        assert_eq!(
            (&replayed["status"], &replayed["replayed"]),
            (&json!("deleted"), &json!(true))
        );
        bed.execute("delete from receipts").await;
    }
    // Without an id of the user's each call is one of its own.
    for _ in 0..2 {
        note(&bed, "store", &["write", "log", "- again"]).await;
    }
    assert_eq!(
        bed.note(ADA, "log.md").await.as_deref(),
        Some("- again\n- again\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_whole_text_goes_in_exactly_and_only_over_the_version_that_is_expected() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let file = bed.path("plan.md");
    let text = "# Plan\r\n\n固 \n\n";
    std::fs::write(&file, text).expect("write the file");
    let file = file.to_str().expect("a path that is text");
    for via in WAYS {
        bed.put(ADA, "plan.md", "- old\n").await;
        let before = note_json(&bed, via, &["cat", "plan"]).await;
        let version = before["version"].as_str().expect("a version");
        let whole = [
            "write",
            "plan",
            "--whole",
            "--file",
            file,
            "--expect-version",
            version,
        ];
        let first = note(&bed, via, &whole).await;
        assert!(
            first.stdout.starts_with("updated plan.md, version "),
            "{first:?}"
        );
        assert_eq!(bed.note(ADA, "plan.md").await.as_deref(), Some(text));
        assert_failed(&note(&bed, via, &whole).await, 1, &["read it again"]);
        let cat = note(&bed, via, &["cat", "plan"]).await;
        assert_done(&cat, text);

        let emptied = note(&bed, via, &["write", "plan", "", "--whole"]).await;
        assert!(emptied.stdout.starts_with("updated plan.md"), "{emptied:?}");
        assert_eq!(bed.note(ADA, "plan.md").await.as_deref(), Some(""));
        let nothing = note(&bed, via, &["write", "absent", "", "--whole"]).await;
        assert_failed(&nothing, 1, &["`absent`"]);
    }
    // Where nothing is there to be replaced as well.
    for via in WAYS {
        for text in ["- no line end", "固 \n\n", "a\r\nb\r\n", "- as usual\n"] {
            for before in [None, Some("")] {
                bed.execute("delete from notes").await;
                if let Some(before) = before {
                    bed.put(ADA, "new.md", before).await;
                }
                let written = note(&bed, via, &["write", "new", text, "--whole"]).await;
                assert_eq!(written.code, Some(0), "{written:?}");
                assert_eq!(bed.note(ADA, "new.md").await.as_deref(), Some(text));
                let cat = note_json(&bed, via, &["cat", "new"]).await;
                let version = cat["version"].as_str().expect("a version");
                assert!(written.stdout.contains(version), "{written:?} {cat}");
            }
        }
    }
    bed.put(ADA, "plan.md", "- old\n").await;
    let unrecognised = ["write", "plan", "x", "--whole", "--operation-id", "a"];
    assert_failed(
        &note(&bed, "temporal", &unrecognised).await,
        2,
        &["--operation-id"],
    );
    for replayed in ["updated plan.md, version", "(replayed: "] {
        let ended = note(&bed, "store", &unrecognised).await;
        assert!(ended.stdout.contains(replayed), "{ended:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn the_text_comes_from_the_argument_a_file_or_standard_input() {
    let bed = Bed::new().await;
    let stdin = ["note", "write", "piped", "--namespace", "customers/ada"];
    let piped = run_fed(&bed, &stdin, "- from a pipe\n").await;
    assert_eq!(piped.code, Some(0), "{piped:?}");
    assert_eq!(
        bed.note(ADA, "piped.md").await.as_deref(),
        Some("- from a pipe\n")
    );
    let dash = [&stdin[..], &["--file", "-"]].concat();
    assert_eq!(run_fed(&bed, &dash, "- more").await.code, Some(0));
    assert_eq!(
        bed.note(ADA, "piped.md").await.as_deref(),
        Some("- from a pipe\n- more\n")
    );

    let odd = bed.path("odd");
    std::fs::write(&odd, b"tea\xff").expect("write the file");
    let odd = odd.to_str().expect("a path that is text");
    let cases: [(&[&str], i32, &str); 5] = [
        (&["write", "n", "--file", odd], 1, "UTF-8"),
        (
            &["write", "n", "--file", "/nowhere/at.all"],
            1,
            "/nowhere/at.all",
        ),
        (&["write", "n", "text", "--file", odd], 2, "--file"),
        (&["write", "n", "--relpace"], 2, "`--relpace`"),
        (
            &["write", "n", "x", "--replace", "y", "--whole"],
            2,
            "--whole",
        ),
    ];
    for (arguments, code, said) in cases {
        assert_failed(&note(&bed, "store", arguments).await, code, &[said]);
    }
    assert_eq!(bed.note(ADA, "n.md").await, None);
    // An item of a list begins with a dash, and `--` lets anything in.
    assert_eq!(
        note(&bed, "store", &["write", "n", "- tea"]).await.code,
        Some(0)
    );
    assert_eq!(
        note(&bed, "store", &["write", "n", "--", "--relpace"])
            .await
            .code,
        Some(0)
    );
    assert_eq!(
        bed.note(ADA, "n.md").await.as_deref(),
        Some("- tea\n--relpace\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn whose_notes_are_meant_is_always_said_and_nested_namespaces_are_apart() {
    let bed = Bed::new().await;
    let mut ended = Vec::new();
    let cases: [(&[&str], &str); 3] = [
        (&["--namespace", "a/b"], "a/b/main"),
        (&["--namespace", "a", "--agent-name", "b"], "a/b"),
        (&["--namespace", ""], "main"),
    ];
    for (whose, scope) in cases {
        let write = [&["note", "write", "n", scope][..], whose].concat();
        ended.push(run(&bed, &write, &[]).await);
        let text = format!("{scope}\n");
        assert_eq!(bed.note(scope, "n.md").await, Some(text), "{ended:?}");
    }
    let ls = run(&bed, &["note", "ls", "--namespace", "a"], &[]).await;
    assert_done(&ls, "");
    assert!(ls.stderr.contains("no notes"), "{ls:?}");

    let unsaid = run(&bed, &["note", "ls"], &[]).await;
    assert_failed(&unsaid, 2, &["--namespace"]);
    let odd = run(&bed, &["note", "ls", "--namespace", "a/../b"], &[]).await;
    assert_failed(&odd, 1, &["namespace has a segment"]);
    let store = run(&bed, &["note", "ls", "-n", "a", "--store", "eu"], &[]).await;
    assert_failed(&store, 1, &["no store `eu`", "`default`"]);
    bed.finish().await;
}

/// An editor that a shell carries out.
fn editor(bed: &Bed, name: &str, script: &str) -> String {
    let path = bed.path(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("write the editor");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, executable).expect("make it executable");
    path.to_str().expect("a path that is text").to_owned()
}

async fn edit(bed: &Bed, via: &str, name: &str, editor: &str) -> Ended {
    let arguments = ["note", "edit", name, "-n", "customers/ada", "--via", via];
    run(bed, &arguments, &[("VISUAL", ""), ("EDITOR", editor)]).await
}

#[tokio::test]
async fn an_editor_changes_a_note_and_nothing_is_written_where_it_changed_nothing() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let adding = editor(&bed, "adding", "printf -- '- %s\\n' \"$1\" >> \"$2\"");
    let adding = format!("{adding} milk");
    for via in WAYS {
        bed.put(ADA, "shopping.md", "- tea\n").await;
        let changed = edit(&bed, via, "shopping", &adding).await;
        assert!(
            changed.stdout.starts_with("updated shopping.md"),
            "{changed:?}"
        );
        assert_eq!(
            bed.note(ADA, "shopping.md").await.as_deref(),
            Some("- tea\n- milk\n")
        );
        let receipts = bed.receipts(ADA).await.len();
        let unchanged = edit(&bed, via, "shopping", "true").await;
        assert_done(&unchanged, "unchanged; nothing is written\n");
        assert_eq!(bed.receipts(ADA).await.len(), receipts);

        let made = edit(&bed, via, &format!("new-{via}"), &adding).await;
        assert!(made.stdout.starts_with("created new-"), "{made:?}");
        let made = bed.note(ADA, &format!("new-{via}.md")).await;
        assert_eq!(made.as_deref(), Some("- milk\n"));
        let nothing = edit(&bed, via, "nothing", "true").await;
        assert_done(&nothing, "unchanged; nothing is written\n");
        assert_eq!(bed.note(ADA, "nothing.md").await, None);
    }
    let none = run(
        &bed,
        &["note", "edit", "n", "-n", "a"],
        &[("VISUAL", ""), ("EDITOR", "")],
    )
    .await;
    assert_failed(&none, 1, &["EDITOR"]);
    bed.finish().await;
}

/// The file that an error names.
fn kept(ended: &Ended) -> &Path {
    let (_, after) = ended
        .stderr
        .split_once("kept in `")
        .expect("a file is named");
    Path::new(after.split('`').next().expect("it ends"))
}

#[tokio::test]
async fn an_edit_that_cannot_be_written_is_kept_in_a_file() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let notekeeper = env!("CARGO_BIN_EXE_notekeeper");
    // Somebody else writes while the editor is open.
    let overtaken = editor(
        &bed,
        "overtaken",
        &format!(
            "'{notekeeper}' note write n '- theirs' -n customers/ada >/dev/null && echo '- mine' >> \"$1\""
        ),
    );
    let failing = editor(&bed, "failing", "echo '- mine' >> \"$1\"; exit 3");
    for via in WAYS {
        for before in [Some("- tea\n"), None] {
            bed.execute("delete from notes").await;
            if let Some(text) = before {
                bed.put(ADA, "n.md", text).await;
            }
            let conflict = edit(&bed, via, "n", &overtaken).await;
            assert_failed(&conflict, 1, &["nothing is written", "expected version"]);
            let mine = format!("{}- mine\n", before.unwrap_or_default());
            let theirs = format!("{}- theirs\n", before.unwrap_or_default());
            let file = kept(&conflict);
            assert_eq!(std::fs::read_to_string(file).expect("it is kept"), mine);
            assert_eq!(bed.note(ADA, "n.md").await, Some(theirs));
            let directory = file.parent().expect("a directory");
            let mode = std::fs::metadata(directory)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o700);
            std::fs::remove_dir_all(directory).expect("remove it");
        }
    }
    let failed = edit(&bed, "store", "n", &failing).await;
    assert_failed(&failed, 1, &["nothing is written", "exit status: 3"]);
    let directory = kept(&failed).parent().expect("a directory");
    std::fs::remove_dir_all(directory).expect("remove it");
    bed.finish().await;
}

/// Waits until the file is there.
async fn is_there(path: &Path) {
    eventually("the file is there", || async {
        path.exists().then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_edit_of_which_nobody_knows_whether_it_was_written_says_so_and_is_kept() {
    let bed = Bed::new().await;
    let _worker = Worker::of_activities(&bed).await;
    let database = Proxy::start(Proxy::target(&bed.database_url)).await;
    let database_url = database.url(&bed.database_url);
    let temporal = Proxy::start(bed.temporal_address.clone()).await;
    let temporal_address = temporal.address();
    for (via, proxy) in WAYS.into_iter().zip([&database, &temporal]) {
        bed.put(ADA, "n.md", "- tea\n").await;
        let (open, go) = (
            bed.path(&format!("open-{via}")),
            bed.path(&format!("go-{via}")),
        );
        let script = format!(
            "touch '{}'; while [ ! -e '{}' ]; do sleep 0.02; done; echo '- mine' >> \"$1\"",
            open.display(),
            go.display()
        );
        let editor = editor(&bed, &format!("waiting-{via}"), &script);
        let environment = [
            ("VISUAL", editor.as_str()),
            ("DATABASE_URL", &database_url),
            ("TEMPORAL_ADDRESS", &temporal_address),
        ];
        let arguments = ["note", "edit", "n", "-n", "customers/ada", "--via", via];
        let away = async {
            is_there(&open).await;
            proxy.cut();
            std::fs::write(&go, "").expect("let it go on");
        };
        let (ended, ()) = tokio::join!(run(&bed, &arguments, &environment), away);
        assert_failed(&ended, 1, &["it isn't known whether it was written"]);
        assert!(!ended.stderr.contains("nothing is written"), "{ended:?}");
        let file = kept(&ended);
        let mine = std::fs::read_to_string(file).expect("it is kept");
        assert_eq!(mine, "- tea\n- mine\n");
        std::fs::remove_dir_all(file.parent().expect("a directory")).expect("remove it");
    }
    bed.finish().await;
}

/// Activities that Temporal has taken for the queue of the bed.
async fn taken(bed: &Bed) -> i64 {
    let of_queue = format!("TaskQueue = '{}'", bed.task_queue);
    let counted = bed.client.count_activities(of_queue, Default::default());
    let counted = counted.await.expect("count them");
    i64::try_from(counted.count()).expect("few")
}

#[tokio::test]
async fn a_change_whose_answer_is_lost_says_how_it_can_be_repeated() {
    let bed = Bed::new().await;
    let temporal = Proxy::start(bed.temporal_address.clone()).await;
    let address = temporal.address();
    let through = [("TEMPORAL_ADDRESS", address.as_str())];
    let mut seen = 0;
    let repeat = "`--operation-id ";
    let cases: [(&[&str], &str); 3] = [
        (&["write", "n", "- x"], repeat),
        (&["rm", "n"], repeat),
        // It would refuse the flag.
        (&["write", "n", "- x", "--whole"], "`notekeeper note cat`"),
    ];
    for (arguments, remedy) in cases {
        temporal.mend();
        let all = [&["note"], arguments, &["-n", "a", "--via", "temporal"]].concat();
        let away = async {
            eventually("the activity is taken", || async {
                (taken(&bed).await > seen).then_some(())
            })
            .await;
            temporal.cut();
        };
        let (ended, ()) = tokio::join!(run(&bed, &all, &through), away);
        let said = ["isn't known to have taken effect", remedy];
        assert_failed(&ended, 1, &said);
        let told = ended.stderr.contains(repeat);
        assert_eq!(told, remedy == repeat, "{ended:?}");
        seen = taken(&bed).await;
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_note_steers_no_terminal_and_goes_into_a_file_as_it_is() {
    let bed = Bed::new().await;
    let text = "a\u{1b}]52;c;AAAA\u{7}b\u{9b}2J\u{202e}c\n";
    bed.put(ADA, "n.md", text).await;
    assert_done(&note(&bed, "store", &["cat", "n"]).await, text);
    let cat = ["note", "cat", "n", "-n", "customers/ada"];
    let seen = Talk::program_in_terminal(&bed, &cat).ended().await;
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let shown = "a\u{fffd}]52;c;AAAA\u{fffd}b\u{fffd}2J\u{fffd}c";
    assert!(seen.stdout.contains(shown), "{seen:?}");
    assert!(!seen.stdout.contains('\u{1b}'), "{seen:?}");
    let json = note(&bed, "store", &["cat", "n", "--json"]).await;
    assert!(!json.stdout.contains('\u{9b}'), "{json:?}");
    let read: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(read["content"], text);
    bed.finish().await;
}

#[tokio::test]
async fn without_a_worker_or_a_server_the_message_says_what_is_missing() {
    let bed = Bed::new().await;
    let nobody = note(&bed, "temporal", &["write", "n", "x", "--timeout", "1"]).await;
    assert_failed(&nobody, 1, &["no worker", &bed.task_queue, "--task-queue"]);
    let ls = ["note", "ls", "-n", "a", "--via", "temporal"];
    let no_server = run(&bed, &ls, &[("TEMPORAL_ADDRESS", "127.0.0.1:1")]).await;
    assert_failed(&no_server, 1, &["Temporal at", "can't be reached"]);
    let for_programs = [&ls[..], &["--json"]].concat();
    let no_server = run(&bed, &for_programs, &[("TEMPORAL_ADDRESS", "127.0.0.1:1")]).await;
    assert_failed(&no_server, 1, &[r#""code":"NoTemporal""#]);
    let no_store = run(
        &bed,
        &["note", "ls", "-n", "a", "--store", "eu", "--json"],
        &[],
    )
    .await;
    assert_failed(&no_store, 1, &[r#""code":"NoStore""#]);
    let no_namespace = run(&bed, &ls, &[("TEMPORAL_NAMESPACE", "no-such-one")]).await;
    assert_failed(&no_namespace, 1, &["no namespace `no-such-one`"]);
    let database = bed
        .database_url
        .replace(&Proxy::target(&bed.database_url), "127.0.0.1:1");
    let write = [
        "note",
        "write",
        "n",
        "x",
        "-n",
        "a",
        "--operation-id",
        "op-1",
    ];
    let away = run(&bed, &write, &[("DATABASE_URL", &database)]).await;
    assert_failed(&away, 1, &["store is unavailable", "--operation-id op-1"]);
    let memory = bed.config("[stores.default]\nkind = 'in_memory'");
    let of_process = [
        ("DATABASE_URL", ""),
        ("NOTEKEEPER_SCHEMA", ""),
        ("NOTEKEEPER_CONFIG", memory.as_str()),
    ];
    let in_memory = run(&bed, &["note", "ls", "-n", "a"], &of_process).await;
    assert_failed(&in_memory, 1, &["`--via temporal`"]);
    bed.finish().await;
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_error() {
    let bed = Bed::new().await;
    bed.put(ADA, "long.md", &"a line of a note\n".repeat(60_000))
        .await;
    assert_ends_well_unread(
        &bed,
        &["note", "cat", "long", "-n", "customers/ada"],
        "a line of a note",
    )
    .await;
    bed.finish().await;
}

#[tokio::test]
async fn an_sqlite_file_keeps_notes_as_well_and_none_is_made_by_looking_into_it() {
    let bed = Bed::new().await;
    let file = bed.path("notes.db");
    let path = file.to_str().expect("a path that is text");
    let without_database = [("DATABASE_URL", ""), ("NOTEKEEPER_SCHEMA", "")];
    let whose = ["--namespace", "customers/ada", "--sqlite", path];
    let note = async |arguments: &[&str]| {
        let all = [&["note"], arguments, &whose].concat();
        run(&bed, &all, &without_database).await
    };
    for looking in [&["ls"][..], &["cat", "n"], &["search", "tea"], &["rm", "n"]] {
        assert_failed(&note(looking).await, 1, &["there is no file", path]);
    }
    assert!(!file.exists());

    let made = note(&["write", "n", "- likes tea"]).await;
    assert!(
        made.stdout.starts_with("created n.md, version "),
        "{made:?}"
    );
    assert_done(&note(&["cat", "n"]).await, "- likes tea\n");
    assert_done(&note(&["search", "tea"]).await, "n.md\n  - likes tea\n");
    let listed = note(&["ls"]).await;
    assert!(listed.stdout.contains("n.md"), "{listed:?}");
    assert_done(&note(&["rm", "n"]).await, "deleted n.md\n");
    // Closed in order, it leaves nothing beside it.
    assert!(!bed.path("notes.db-wal").exists());
    bed.finish().await;
}
