//! Write metadata, from a conversation, an editor and the terminal to the note.

use notekeeper_contract::MetadataSource;
use notekeeper_domain::{NoteName, Scope, WriteMetadata};
use notekeeper_store::{Expected, MutationError, NoteStore as _, WriteRequest};
use serde_json::{Value, json};
use temporalio_client::errors::WorkflowGetResultError;

use crate::support::{
    Bed, Worker, WorkerOptions, activities_of, close, ended, failure_type, history, holds, in_time,
    run, say,
};

/// What a test plants in metadata, to look for it where it mustn't be.
const PLANTED: &str = "planted-by-7f3a";

const SCOPE: &str = "acme/main";

/// Version and metadata of the main note.
async fn main_note(bed: &Bed) -> (notekeeper_domain::Version, Value) {
    let scope = Scope::parse(SCOPE).expect("scope");
    let note = bed.store.read(&scope, &NoteName::main(), 1_000).await;
    let note = note.expect("read").expect("the note is there");
    let metadata = note.metadata.map(WriteMetadata::into_entries);
    (note.version, json!(metadata))
}

/// Options of a worker with this script whose resolver `agent` says so.
fn resolving(bed: &Bed, turns: &Value, by: &str) -> WorkerOptions {
    let config = format!(
        "[metadata.agent]\nupdated_by = \"{by}\"\nconversation = \"{{workflow_id}}\"\nnote = \"{{note}}\""
    );
    WorkerOptions {
        script: Some(bed.script(turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&config))],
        ..WorkerOptions::default()
    }
}

fn write_of(content: &str) -> Value {
    json!({"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": content}}]})
}

#[tokio::test]
async fn a_conversations_writes_and_an_editors_replace_each_others_metadata() {
    let bed = Bed::new().await;
    let turns = json!([
        {"prompt": "one", "responses": [write_of("- likes tea"), {"text": "{{memory}}"}]},
        {"prompt": "two", "responses": [write_of("- likes cake"), {"text": "{{memory}}"}]},
    ]);
    let worker = Worker::start(&bed, resolving(&bed, &turns, PLANTED)).await;
    let mut input = bed.input("acme");
    input.memories[0].write_metadata = Some(MetadataSource::Resolver("agent".to_owned()));
    let agent = bed.start(input).await;

    say(&agent, "one").await.expect("a reply");
    let (version, metadata) = main_note(&bed).await;
    let agents = json!({
        "updated_by": PLANTED, "conversation": agent.info().workflow_id, "note": "MEMORY.md",
    });
    assert_eq!(metadata, agents);

    // The editor writes over the version that it showed, and only over that.
    let scope = Scope::parse(SCOPE).expect("scope");
    let by = [("updated_by".to_owned(), format!("{PLANTED}-ui"))];
    let by = WriteMetadata::new(by.into()).expect("valid");
    let expected = Expected::Version(version);
    let typed = WriteRequest {
        metadata: by.as_ref(),
        ..WriteRequest::new("- likes coffee\n", &expected)
    };
    let main = NoteName::main();
    let save = || bed.store.write(&scope, &main, &typed, None);
    save().await.expect("the editor's write");
    assert_eq!(
        main_note(&bed).await.1,
        json!({"updated_by": format!("{PLANTED}-ui")})
    );
    let stale = save().await;
    assert!(
        matches!(stale, Err(MutationError::VersionConflict)),
        "{stale:?}"
    );

    let second = say(&agent, "two").await.expect("a reply");
    assert!(
        second.text.contains("- likes coffee\n- likes cake"),
        "{second:?}"
    );
    assert_eq!(main_note(&bed).await.1, agents, "the model wrote last");

    // Where it mustn't be: prompts, results, snapshots and all else that is recorded, and the log.
    close(&agent).await;
    ended(&agent).await.expect("an end");
    let history = history(&agent).await;
    assert_eq!(activities_of(&history, "write_memory").len(), 2);
    assert!(holds(&history, "- likes cake"), "the test can see payloads");
    assert!(!holds(&history, PLANTED));
    assert!(!worker.log().join("\n").contains(PLANTED));
    for table in ["receipts", "snapshots"] {
        let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "select count(*) from {table} as kept where kept::text like '%{PLANTED}%'"
        )))
        .fetch_one(&mut bed.database().await)
        .await
        .expect("count");
        assert_eq!(found, 0, "{table}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn fixed_metadata_is_recorded_with_each_of_the_models_writes() {
    let bed = Bed::new().await;
    let turns = json!([
        {"prompt": "one", "responses": [write_of("- likes tea"), {"text": "{{memory}}"}]},
    ]);
    let _worker = Worker::serving(&bed, &turns).await;
    let mut input = bed.input("acme");
    let by = [("updated_by".to_owned(), PLANTED.to_owned())];
    input.memories[0].write_metadata = Some(MetadataSource::Fixed(by.into()));
    let agent = bed.start(input).await;
    let reply = say(&agent, "one").await.expect("a reply");
    assert_eq!(main_note(&bed).await.1, json!({"updated_by": PLANTED}));
    assert!(reply.text.contains("- likes tea"), "{reply:?}");
    assert!(!reply.text.contains(PLANTED));
    // It stands in what was asked for, and in nothing that came of it.
    let history = history(&agent).await;
    for activity in crate::support::activities(&history) {
        let given = activity.name == "write_memory";
        assert_eq!(
            activity.input.to_string().contains(PLANTED),
            given,
            "{activity:?}"
        );
        assert!(
            !activity.result().to_string().contains(PLANTED),
            "{activity:?}"
        );
    }
    bed.finish().await;
}

/// Runs one write of a conversation whose first worker dies at a fault point, and whose second one
/// has another answer to the same resolver. Returns who is recorded.
async fn recorded_after_a_death_at(point: &str) -> Value {
    let bed = Bed::new().await;
    let turns = json!([
        {"prompt": "one", "responses": [write_of("- likes tea"), {"text": "done"}]},
    ]);
    let workflows = WorkerOptions {
        queues: Some("workflows"),
        ..WorkerOptions::default()
    };
    let _workflows = Worker::start(&bed, workflows).await;
    let marker = bed.path("killed");
    let mut killed = Worker::start(
        &bed,
        WorkerOptions {
            queues: Some("memory"),
            fault: Some(format!("{point}=kill-once:{}", marker.display())),
            ..resolving(&bed, &turns, "first")
        },
    )
    .await;
    let mut input = bed.input("acme");
    input.memories[0].write_metadata = Some(MetadataSource::Resolver("agent".to_owned()));
    input.memories[0].activities.start_to_close_ms = 3_000;
    let agent = bed.start(input).await;
    let rescue = async {
        killed.ended().await;
        let options = WorkerOptions {
            queues: Some("memory"),
            ..resolving(&bed, &turns, "second")
        };
        Worker::start(&bed, options).await
    };
    let (reply, _rescuer) = futures::future::join(say(&agent, "one"), rescue).await;
    reply.expect("a reply");
    let write = activities_of(&history(&agent).await, "write_memory").remove(0);
    assert_eq!(write.attempt, 2);
    let (_, metadata) = main_note(&bed).await;
    assert_eq!(bed.receipts(SCOPE).await.len(), 1);
    bed.finish().await;
    metadata["updated_by"].clone()
}

#[tokio::test]
async fn a_repetition_after_a_workers_death_records_what_the_first_attempt_resolved() {
    let after = recorded_after_a_death_at("write_memory.after_commit").await;
    assert_eq!(after, "first", "the receipt answers, and nobody is asked");
    let before = recorded_after_a_death_at("write_memory.before_commit").await;
    assert_eq!(
        before, "second",
        "nothing was written, so the next attempt asks"
    );
}

#[tokio::test]
async fn metadata_that_cannot_be_recorded_fails_the_call_and_is_never_dropped() {
    let bed = Bed::new().await;
    let directory = bed.path("files");
    let config = format!(
        "[stores.files]\nkind = \"file\"\ndirectory = \"{}\"\n[metadata.agent]\nby = \"agent\"",
        directory.display()
    );
    let options = WorkerOptions {
        queues: Some("memory"),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&config))],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let call = async |fields: Value| {
        let mut input = json!({"scope": {"namespace": "acme"}, "content": "x"});
        for (key, value) in fields.as_object().expect("fields") {
            input[key] = value.clone();
        }
        in_time("an answer", bed.call("write_memory", &input)).await
    };
    for (fields, kind, said) in [
        (
            json!({"store": "files", "write_metadata": {"resolver": "agent"}}),
            "Unsupported",
            "of kind `file`, keeps no write metadata",
        ),
        (
            json!({"store": "files", "write_metadata": {"fixed": {"by": PLANTED}}}),
            "Unsupported",
            "name another store",
        ),
        (
            json!({"write_metadata": {"resolver": PLANTED}}),
            "InvalidArgument",
            "configured: `agent`",
        ),
        (
            json!({"write_metadata": {"fixed": {PLANTED: 7}}}),
            "InvalidArgument",
            "at `write_metadata.fixed`: expected an object whose values are strings",
        ),
        (
            json!({"write_metadata": {"fixed": {"a": PLANTED.repeat(1_000)}}}),
            "InvalidArgument",
            "4096 are allowed",
        ),
    ] {
        let called = call(fields).await;
        let failure = called.failure();
        assert_eq!(
            (failure_type(failure), called.attempts),
            (kind, 1),
            "{failure:?}"
        );
        assert!(failure.message.contains(said), "{failure:?}");
        assert!(!failure.message.contains(PLANTED), "{failure:?}");
    }
    assert_eq!(bed.note(SCOPE, "MEMORY.md").await, None);
    assert_eq!(
        call(json!({"store": "files"})).await.result()["status"],
        "created"
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_run_whose_store_keeps_no_metadata_fails_at_its_start() {
    let bed = Bed::new().await;
    let config = format!(
        "[stores.files]\nkind = \"file\"\ndirectory = \"{}\"\n[metadata.agent]\nby = \"agent\"",
        bed.path("files").display()
    );
    let turns = json!([{"prompt": "one", "responses": [write_of("- tea"), {"text": "done"}]}]);
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&config))],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let input = |source: Option<MetadataSource>| {
        let mut input = bed.input("acme");
        input.memories[0].store = "files".to_owned();
        input.memories[0].write_metadata = source;
        input
    };
    let by = [("updated_by".to_owned(), PLANTED.to_owned())];
    for source in [
        MetadataSource::Resolver("agent".to_owned()),
        MetadataSource::Fixed(by.into()),
    ] {
        let agent = bed.start(input(Some(source))).await;
        let Err(WorkflowGetResultError::Failed(error)) = ended(&agent).await else {
            panic!("the run goes on");
        };
        let failure = error.failure();
        assert_eq!(failure_type(failure), "Unsupported", "{failure:?}");
        assert!(failure.message.contains("keeps none"), "{failure:?}");
    }
    // What records nothing needs nothing.
    for source in [None, Some(MetadataSource::Fixed([].into()))] {
        let agent = bed.start(input(source)).await;
        say(&agent, "one").await.expect("a reply");
        close(&agent).await;
        ended(&agent).await.expect("an end");
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_person_in_the_terminal_records_who_typed_and_programs_read_it_both_ways_alike() {
    let bed = Bed::new().await;
    let options = WorkerOptions {
        queues: Some("memory"),
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    for via in ["store", "temporal"] {
        let note = async |arguments: &[&str]| {
            let (command, rest) = arguments.split_first().expect("a command");
            let mut all = vec!["note", command, "--namespace", "acme", "--via", via];
            all.extend(rest);
            run(&bed, &all, &[]).await
        };
        let json_of = async |arguments: &[&str]| -> Value {
            let ended = note(arguments).await;
            assert_eq!(ended.code, Some(0), "{ended:?}");
            serde_json::from_str(&ended.stdout).expect("JSON")
        };
        let both = ["--metadata", "updated_by=ui", "--metadata", "why=a=b, c"];
        let made = note(&[&["write", "n", "tea"][..], &both].concat()).await;
        assert_eq!(made.code, Some(0), "{made:?}");
        let read = json_of(&["cat", "n", "--json"]).await;
        let recorded = json!({"updated_by": "ui", "why": "a=b, c"});
        assert_eq!(read["write_metadata"], recorded);
        let listed = json_of(&["ls", "--json"]).await;
        assert_eq!(listed["files"][0]["write_metadata"], recorded);
        let text = note(&["cat", "n"]).await;
        assert_eq!(text.stdout, "tea\n");

        // Over the version that was shown, and not over another.
        let version = read["version"].as_str().expect("a version");
        let ada = ["--whole", "--metadata", "updated_by=ada"];
        let shown = ["--expect-version", version];
        let whole = [&["write", "n", "milk"][..], &ada, &shown].concat();
        let saved = note(&whole).await;
        assert_eq!(saved.code, Some(0), "{saved:?}");
        assert_eq!(
            json_of(&["cat", "n", "--json"]).await["write_metadata"],
            json!({"updated_by": "ada"})
        );
        assert_eq!(note(&whole).await.code, Some(1), "somebody was faster");
        // Where there was no note as well, and its text has no line end.
        let new = [&["write", "new", "x"][..], &ada].concat();
        assert_eq!(note(&new).await.code, Some(0));
        let read = json_of(&["cat", "new", "--json"]).await;
        assert_eq!(
            (&read["content"], &read["write_metadata"]),
            (&json!("x"), &json!({"updated_by": "ada"}))
        );
        // A write without it records nothing.
        assert_eq!(note(&["write", "n", "sugar"]).await.code, Some(0));
        assert_eq!(
            json_of(&["cat", "n", "--json"]).await.get("write_metadata"),
            None
        );
        bed.execute("delete from notes").await;
    }
    bed.finish().await;
}

#[tokio::test]
async fn metadata_that_cannot_be_meant_is_refused_before_anything_is_written() {
    let bed = Bed::new().await;
    let long = format!("a={}", "x".repeat(5_000));
    for wrong in [
        &["--metadata", "no-value"][..],
        &["--metadata", "=x"],
        &["--metadata", "a=1", "--metadata", "a=2"],
        &["--metadata", &long],
    ] {
        let write = ["note", "write", "n", "x", "--namespace", "acme"];
        let refused = run(&bed, &[&write[..], wrong].concat(), &[]).await;
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("--metadata"), "{refused:?}");
    }
    assert_eq!(bed.note(SCOPE, "n.md").await, None);
    bed.finish().await;
}

#[tokio::test]
async fn an_editors_session_in_the_terminal_records_who_typed() {
    let bed = Bed::new().await;
    bed.put(SCOPE, "n.md", "tea\n").await;
    let edit = [
        "note",
        "edit",
        "n",
        "--namespace",
        "acme",
        "--metadata",
        "updated_by=ada",
    ];
    let edited = run(
        &bed,
        &edit,
        &[("EDITOR", "sed -i s/tea/milk/"), ("VISUAL", "")],
    )
    .await;
    assert_eq!(edited.code, Some(0), "{edited:?}");
    let cat = ["note", "cat", "n", "--namespace", "acme", "--json"];
    let read = run(&bed, &cat, &[]).await;
    let read: Value = serde_json::from_str(&read.stdout).expect("JSON");
    assert_eq!(
        (&read["content"], &read["write_metadata"]),
        (&json!("milk\n"), &json!({"updated_by": "ada"}))
    );
    bed.finish().await;
}
