//! `notekeeper dev` that can't start.

use std::{net::TcpListener, path::Path};

use super::{assert_failed, open_to_all, unprivileged, write_program};
use crate::support::{
    Bed,
    dev::{Dev, run_dev, send},
};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// A listener on a port of its own, and the port.
fn taken() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port.to_string())
}

#[tokio::test]
async fn a_missing_command_line_is_said_with_what_to_install_or_set() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let nothing = [("TEMPORAL_CLI", ""), ("PATH", text(directory.path()))];
    let missing = run_dev(&data, &[], &nothing).await;
    assert_failed(
        &missing,
        1,
        &["`temporal` on PATH", "install", "TEMPORAL_CLI"],
    );

    let absent = directory.path().join("absent");
    let given = run_dev(&data, &["--temporal-cli", text(&absent)], &[]).await;
    assert_failed(&given, 1, &["TEMPORAL_CLI", text(&absent), "doesn't exist"]);

    let document = directory.path().join("document");
    std::fs::write(&document, "not a program").expect("write it");
    let given = run_dev(&data, &[], &[("TEMPORAL_CLI", text(&document))]).await;
    assert_failed(
        &given,
        1,
        &["TEMPORAL_CLI", text(&document), "can't be run"],
    );

    let other = directory.path().join("other");
    write_program(
        &other,
        "#!/bin/sh\necho 'Error: unknown flag: --namespace'\nexit 3\n",
    );
    let given = run_dev(&data, &["--port", "0"], &[("TEMPORAL_CLI", text(&other))]).await;
    assert_failed(&given, 1, &[text(&other), "didn't start", "unknown flag"]);
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_with_who_may_have_it_and_the_flag() {
    let bed = Bed::new().await;
    let data = bed.path("data");
    let (_server, port) = bed.temporal_address.rsplit_once(':').expect("a port");
    let temporal = run_dev(&data, &["--port", port, "--no-ui"], &[]).await;
    assert_failed(
        &temporal,
        1,
        &[
            port,
            "a Temporal server",
            "another `notekeeper dev`",
            "--port",
        ],
    );

    let (_listener, port) = taken();
    let other = run_dev(&data, &["--port", &port, "--no-ui"], &[]).await;
    assert_failed(&other, 1, &[&port, "another program", "--port"]);
    let ui = run_dev(&data, &["--port", "0", "--ui-port", &port], &[]).await;
    assert_failed(&ui, 1, &[&port, "web UI", "--ui-port"]);
    let beyond = run_dev(&data, &["--port", "65000"], &[]).await;
    assert_failed(&beyond, 1, &["65000", "--ui-port", "--no-ui"]);
    bed.finish().await;
}

#[tokio::test]
async fn another_server_that_takes_the_port_meanwhile_is_not_taken_for_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let real = std::env::var("TEMPORAL_CLI").expect("TEMPORAL_CLI; run the tests with `make test`");
    let (listener, port) = taken();
    drop(listener);
    // The other server is there first, and then it is found that the port is taken.
    let program = directory.path().join("temporal");
    let id = directory.path().join("id");
    let text_of_program = format!(
        "#!/bin/sh\n'{real}' server start-dev --headless --ip 127.0.0.1 --port {port} >/dev/null 2>&1 &\n\
         echo $! > '{}'\n\
         until '{real}' operator cluster health --address 127.0.0.1:{port} >/dev/null 2>&1; do :; done\n\
         sleep 0.5\necho 'listen: address already in use' >&2\nexit 1\n",
        text(&id)
    );
    write_program(&program, &text_of_program);
    let data = directory.path().join("data");
    let arguments = ["--no-ui", "--port", &port];
    let ended = run_dev(&data, &arguments, &[("TEMPORAL_CLI", text(&program))]).await;
    let id = std::fs::read_to_string(&id).expect("the other server was started");
    send("-KILL", id.trim());
    assert_failed(&ended, 1, &[&port, "is taken by a Temporal server"]);
}

#[tokio::test]
async fn a_directory_in_use_is_said_with_the_process_that_uses_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let mut first = Dev::start(&data, &["--no-ui"]).await;
    let second = run_dev(&data, &["--port", "0"], &[]).await;
    let process = format!("(process {})", first.id());
    assert_failed(&second, 1, &[text(&data), "in use", &process, "--data"]);
    // The first one goes on.
    let client = first.client().await;
    drop(client);
    first.signal("-TERM", false);
    assert_eq!(first.ended().await.code(), Some(0));
}

#[tokio::test]
async fn a_directory_or_file_without_permission_is_named_with_what_to_give_instead() {
    let directory = tempfile::tempdir().expect("a directory");
    open_to_all(directory.path(), 0o755);
    let theirs = directory.path().join("theirs");
    // It isn't reached.
    let program = directory.path().join("temporal");
    write_program(&program, "#!/bin/sh\nexit 3\n");
    let arguments = [
        "dev",
        "--port",
        "0",
        "--temporal-cli",
        text(&program),
        "--data",
    ];

    let made = unprivileged(
        directory.path(),
        &[&arguments[..], &[text(&theirs)]].concat(),
    )
    .await;
    assert_failed(&made, 1, &[text(&theirs), "ermission denied", "--data"]);

    std::fs::create_dir(&theirs).expect("a directory");
    open_to_all(&theirs, 0o555);
    let written = unprivileged(
        directory.path(),
        &[&arguments[..], &[text(&theirs)]].concat(),
    )
    .await;
    assert_failed(&written, 1, &[text(&theirs), "ermission denied", "--data"]);

    open_to_all(&theirs, 0o777);
    for name in ["temporal.sqlite", "notes.sqlite"] {
        let file = theirs.join(name);
        std::fs::write(&file, "").expect("write it");
        open_to_all(&file, 0o000);
        let arguments = [&arguments[..], &[text(&theirs)]].concat();
        let read = unprivileged(directory.path(), &arguments).await;
        assert_failed(&read, 1, &[text(&file), "ermission"]);
        std::fs::remove_file(&file).expect("remove it");
    }
}

#[tokio::test]
async fn what_is_no_directory_or_no_database_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    std::fs::write(&file, "of somebody's").expect("write it");
    let no_directory = run_dev(&file, &[], &[]).await;
    assert_failed(&no_directory, 1, &[text(&file), "no directory", "--data"]);

    let data = directory.path().join("data");
    std::fs::create_dir(&data).expect("a directory");
    std::fs::write(data.join("diary.md"), "").expect("write it");
    for name in ["temporal.sqlite", "notes.sqlite"] {
        let file = data.join(name);
        std::fs::write(&file, "not a database, but long enough to be one").expect("write it");
        let no_database = run_dev(&data, &["--port", "0"], &[]).await;
        assert_failed(&no_database, 1, &[text(&file), "SQLite database"]);
        std::fs::remove_file(&file).expect("remove it");
    }
    // What somebody keeps there stays in sight of version control.
    assert!(!data.join(".gitignore").exists());
}

#[tokio::test]
async fn settings_for_another_server_or_store_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let cases = [
        ("[temporal]\naddress = 'there:7233'", "[temporal]"),
        ("[stores.default]\nkind = 'in_memory'", "[stores.default]"),
    ];
    for (toml, part) in cases {
        let file = directory.path().join("notekeeper.toml");
        std::fs::write(&file, toml).expect("write it");
        let refused = run_dev(&data, &["--config", text(&file)], &[]).await;
        assert_failed(&refused, 1, &[part, "`notekeeper worker`"]);
    }
    let script = run_dev(&data, &["--script", "/nowhere/script.json"], &[]).await;
    assert_failed(&script, 1, &["`default`", "/nowhere/script.json"]);
}
