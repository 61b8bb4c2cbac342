//! `notekeeper replay --workflow-id`: histories that a server has.

use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use crate::support::{Agent, Bed, Ended, Worker, close, ended, run, run_id, say};

#[tokio::test]
async fn conversations_are_fetched_replayed_and_saved_as_files_that_replay() {
    let bed = Bed::new().await;
    let (first, second) = two_conversations(&bed).await;
    let directory = bed.path("saved/of today");
    let directory = directory.to_str().unwrap();

    let fetched = replay(
        &bed,
        &[
            "--workflow-id",
            &first,
            "--workflow-id",
            &second,
            "--save",
            directory,
        ],
    )
    .await;
    let again = replay(&bed, &["--workflow-id", &first, "--save", directory]).await;
    let without_a_server = run(
        &bed,
        &["replay", directory],
        &[("TEMPORAL_ADDRESS", "127.0.0.1:1")],
    )
    .await;

    for (ended, count) in [(&fetched, 2), (&again, 1), (&without_a_server, 2)] {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let summary = format!("{count} replayed, 0 refused, 0 unreadable");
        assert_eq!(
            ended.stdout.lines().last(),
            Some(summary.as_str()),
            "{ended:?}"
        );
    }
    assert!(
        fetched.stdout.contains(&format!("workflow `{first}` run ")),
        "{fetched:?}"
    );
    let files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(
        files.len(),
        2,
        "one for each run, and nothing half-written: {files:?}"
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_run_is_named_and_programs_read_what_became_of_it() {
    let bed = Bed::new().await;
    let (first, second) = two_conversations(&bed).await;
    let agent = bed
        .client
        .get_workflow_handle::<notekeeper_workflows::AgentWorkflow>(&first);
    let run_of_first = run_id(&agent).await;

    let named = replay(
        &bed,
        &["--json", "--workflow-id", &first, "--run-id", &run_of_first],
    )
    .await;
    let newest = replay(
        &bed,
        &["--json", "--workflow-id", &first, "--workflow-id", &second],
    )
    .await;
    let nobodys = replay(
        &bed,
        &[
            "--json",
            "--workflow-id",
            &second,
            "--run-id",
            &run_of_first,
        ],
    )
    .await;

    let report: Value = serde_json::from_str(&named.stdout).expect("one object");
    assert_eq!(named.code, Some(0), "{named:?}");
    assert_eq!(report["workflow_id"], first);
    assert_eq!(report["run_id"], run_of_first);
    assert_eq!(report["outcome"], "replayed");
    assert_eq!(report["compares_identities"], true);
    assert!(
        report["events"].as_u64().is_some_and(|events| events > 10),
        "{report}"
    );
    assert_eq!(
        newest.stdout.lines().next(),
        Some(named.stdout.trim_end()),
        "{newest:?}"
    );
    assert_eq!(newest.stdout.lines().count(), 2, "{newest:?}");
    let report: Value = serde_json::from_str(&nobodys.stdout).expect("one object");
    assert_eq!(nobodys.code, Some(1));
    assert_eq!(report["outcome"], "unreadable");
    let reason = report["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("there is no such run in Temporal namespace"),
        "{reason}"
    );
    bed.finish().await;
}

#[tokio::test]
async fn what_cannot_be_fetched_is_said_with_what_to_do() {
    let bed = Bed::new().await;
    let (there, _) = two_conversations(&bed).await;

    let mixed = replay(&bed, &["--workflow-id", "nobody", "--workflow-id", &there]).await;
    let namespace = run(
        &bed,
        &["replay", "--workflow-id", &there],
        &[("TEMPORAL_NAMESPACE", "elsewhere")],
    )
    .await;
    let no_server = run(
        &bed,
        &["replay", "--json", "--workflow-id", &there],
        &[("TEMPORAL_ADDRESS", "127.0.0.1:1")],
    )
    .await;
    let two = replay(
        &bed,
        &[
            "--workflow-id",
            &there,
            "--workflow-id",
            "b",
            "--run-id",
            "c",
        ],
    )
    .await;
    let unusable = replay(&bed, &["--workflow-id", &there, "--run-id", "not-a-run"]).await;
    let nowhere = replay(
        &bed,
        &["--workflow-id", &there, "--save", "/dev/null/histories"],
    )
    .await;

    assert_eq!(mixed.code, Some(1), "{mixed:?}");
    let line = format!(
        "unreadable  workflow `nobody`: there is no such workflow in Temporal namespace `{}`",
        bed.temporal_namespace
    );
    assert!(mixed.stdout.starts_with(&line), "{mixed:?}");
    assert!(
        mixed
            .stdout
            .ends_with("1 replayed, 0 refused, 1 unreadable\n"),
        "{mixed:?}"
    );
    assert_failed(
        &namespace,
        1,
        &["error: Temporal has no namespace `elsewhere`"],
    );
    assert_failed(
        &no_server,
        1,
        &[
            r#"{"error":"#,
            "127.0.0.1:1",
            "can't be reached",
            "--temporal-address",
        ],
    );
    assert_failed(&two, 2, &["--run-id names a run of one workflow"]);
    assert_eq!(unusable.code, Some(1), "{unusable:?}");
    assert!(
        unusable
            .stdout
            .contains("Temporal can't send it: Invalid RunId"),
        "{unusable:?}"
    );
    assert_failed(&nowhere, 1, &["can't save `/dev/null/histories/"]);
    bed.finish().await;
}

/// A server that lets anybody connect and nobody read, as one does whose key lacks a role; and one
/// that lets nobody connect.
#[tokio::test]
async fn a_server_that_does_not_permit_it_is_told_from_one_that_is_away() {
    let bed = Bed::new().await;
    let denied = |code: u8, message: &'static str| {
        ResponseTemplate::new(200)
            .insert_header("content-type", "application/grpc")
            .insert_header("grpc-status", code.to_string())
            .insert_header("grpc-message", message)
    };
    let (permission_denied, unauthenticated) = (7, 16);
    // An empty message, in its frame.
    let welcome = ResponseTemplate::new(200)
        .insert_header("grpc-status", "0")
        .set_body_raw([0; 5].to_vec(), "application/grpc");
    let [half_open, closed] = [MockServer::start().await, MockServer::start().await];
    let info = matchers::path_regex("/GetSystemInfo$");
    let first = Mock::given(info).respond_with(welcome).with_priority(1);
    first.mount(&half_open).await;
    for (server, answer) in [
        (
            &half_open,
            denied(permission_denied, "Request unauthorized."),
        ),
        (&closed, denied(unauthenticated, "no valid key")),
    ] {
        let others = Mock::given(matchers::any()).respond_with(answer);
        others.mount(server).await;
    }
    let ask = async |server: &MockServer| {
        let address = server.address().to_string();
        let arguments = ["replay", "--workflow-id", "agent-7"];
        run(&bed, &arguments, &[("TEMPORAL_ADDRESS", &address)]).await
    };

    let unread = ask(&half_open).await;
    let unmet = ask(&closed).await;

    assert_eq!(unread.code, Some(1), "{unread:?}");
    for part in [
        "unreadable  workflow `agent-7`: Temporal refuses to show it",
        "Request unauthorized.",
        "permission to read",
    ] {
        assert!(
            unread.stdout.contains(part),
            "`{part}` is not in {unread:?}"
        );
    }
    assert_failed(
        &unmet,
        1,
        &[
            "doesn't admit this client",
            "TEMPORAL_API_KEY",
            "no valid key",
        ],
    );
    bed.finish().await;
}

/// A server would have to be asked for settings that a replay of files doesn't have.
#[tokio::test]
async fn without_a_workflow_no_server_is_asked() {
    let bed = Bed::new().await;
    let files = TempDir::new().unwrap();
    let file = files.path().join("history.json");
    std::fs::write(&file, "{}").unwrap();
    let broken = bed.config("[temporal]\naddress = 7\n");

    let ended = run(
        &bed,
        &["replay", file.to_str().unwrap()],
        &[
            ("NOTEKEEPER_CONFIG", &broken),
            ("TEMPORAL_ADDRESS", "http://no such host:1"),
        ],
    )
    .await;

    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stdout
            .ends_with("0 replayed, 0 refused, 1 unreadable\n"),
        "{ended:?}"
    );
    assert_eq!(ended.stderr, "", "{ended:?}");
    bed.finish().await;
}

/// Two conversations that have ended; their workflow ids.
async fn two_conversations(bed: &Bed) -> (String, String) {
    let turns = json!([{"prompt": "Hello.", "responses": [{"text": "Good day."}]}]);
    let _worker = Worker::serving(bed, &turns).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let agent: Agent = bed.start(bed.input("fetched/acme")).await;
        say(&agent, "Hello.").await.expect("a reply");
        close(&agent).await;
        ended(&agent).await.expect("it ends well");
        ids.push(agent.info().workflow_id.clone());
    }
    let second = ids.pop().expect("two");
    (ids.remove(0), second)
}

async fn replay(bed: &Bed, arguments: &[&str]) -> Ended {
    run(bed, &[&["replay"], arguments].concat(), &[]).await
}

/// Checks that a command failed with an exit code, and said all of `parts` on standard error.
fn assert_failed(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "`{part}` is not in {ended:?}");
    }
}
