//! Starting: what the binary says of settings that it can't use, and of servers that aren't there.

mod dev;

use std::{
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::Stdio,
    time::Duration,
};

use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpSocket,
    process::Command,
};

use crate::support::{Bed, Ended, Proxy, Worker, WorkerOptions, dev::finish, in_time, run, say};

/// Checks that a command failed with exit code `code` and said all of `parts`.
fn assert_failed(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "`{part}` is not in {ended:?}");
    }
    let errors = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("error:"));
    assert_eq!(errors.count(), 1, "{ended:?}");
}

/// Writes a program. It is copied into place by another process: one that this process had open for
/// writing when it starts any other can't be run.
pub(super) fn write_program(path: &Path, text: &str) {
    let staged = path.with_extension("staged");
    std::fs::write(&staged, text).expect("write a program");
    std::fs::set_permissions(&staged, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let copied = std::process::Command::new("cp")
        .arg("-p")
        .args([&staged, path])
        .status();
    assert!(copied.expect("run cp").success());
}

/// Somebody without special rights, on every Unix.
const NOBODY: u32 = 65_534;

/// Runs the binary as somebody whose permissions count: another user where this one is root, who
/// may do everything. `directory` is open to that user.
async fn unprivileged(directory: &Path, arguments: &[&str]) -> Ended {
    // The build's own directory may be closed to others.
    let program = directory.join("notekeeper");
    if !program.exists() {
        let copied = std::process::Command::new("cp")
            .arg(env!("CARGO_BIN_EXE_notekeeper"))
            .arg(&program)
            .status();
        assert!(copied.expect("run cp").success());
    }
    let mut command = std::process::Command::new(program);
    command
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    finish(command).await
}

#[tokio::test]
async fn a_database_that_was_not_migrated_is_refused_with_the_command_that_migrates_it() {
    let bed = Bed::new().await;
    let elsewhere = format!("{}_new", bed.schema);
    let there = [("NOTEKEEPER_SCHEMA", elsewhere.as_str())];

    let refused = run(&bed, &["worker"], &there).await;
    let migrated = run(&bed, &["migrate"], &there).await;
    let again = run(&bed, &["migrate"], &there).await;

    assert_failed(
        &refused,
        1,
        &["store `default`", "run `notekeeper migrate`"],
    );
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    assert!(
        migrated.stdout.contains("store `default`: applied 1 "),
        "{migrated:?}"
    );
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.stdout.contains("up to date at migration"),
        "{again:?}"
    );

    // The worker now serves it.
    let _worker = Worker::start(
        &bed,
        WorkerOptions {
            queues: Some("memory"),
            environment: vec![("NOTEKEEPER_SCHEMA", elsewhere.clone())],
            ..WorkerOptions::default()
        },
    )
    .await;
    let write = json!({"scope": {"namespace": "acme"}, "content": "line"});
    assert_eq!(
        bed.call("write_memory", &write).await.result()["status"],
        "created"
    );
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await,
        None,
        "another schema"
    );
    bed.execute(&format!("drop schema \"{elsewhere}\" cascade"))
        .await;
    bed.finish().await;
}

#[tokio::test]
async fn a_database_of_a_newer_release_is_refused() {
    let bed = Bed::new().await;
    bed.execute(
        "insert into notekeeper_migrations (version, description, success, checksum, execution_time) \
         values (9999, 'later', true, '', 0)",
    )
    .await;

    let worker = run(&bed, &["worker"], &[]).await;
    let migrate = run(&bed, &["migrate"], &[]).await;

    assert_failed(&worker, 1, &["9999", "newer version"]);
    assert_failed(&migrate, 1, &["9999", "newer version"]);
    bed.finish().await;
}

#[tokio::test]
async fn a_configuration_file_that_cannot_be_used_is_named_with_what_is_wrong_in_it() {
    let bed = Bed::new().await;
    let unusable: [(&str, &[&str]); 7] = [
        (
            "[stores.default]\nurl = postgres://app:hunter2@db/app",
            &["line 2"],
        ),
        (
            "[stores.default]\nkind = 'in_memory'",
            &["--database-url (DATABASE_URL)", "[stores.default]"],
        ),
        (
            "[worker]\ntask_quue = 'x'",
            &["line 2", "task_quue", "`task_queue`"],
        ),
        ("[stores.default]\nkind = 'mongo'", &["mongo", "`postgres`"]),
        (
            "[stores.archive]\nkind = 'postgres'",
            &["store `archive`", "`url`"],
        ),
        ("[worker]\nactivity_slots = 0", &["`worker.activity_slots`"]),
        ("worker = ", &["line 1"]),
    ];
    for (toml, parts) in unusable {
        let file = bed.config(toml);
        let ended = run(&bed, &["worker"], &[("NOTEKEEPER_CONFIG", &file)]).await;
        assert_failed(&ended, 1, parts);
        assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
    }
    let absent = "/nowhere/notekeeper.toml";
    let ended = run(&bed, &["--config", absent, "worker"], &[]).await;
    assert_failed(&ended, 1, &[absent]);
    bed.finish().await;
}

#[tokio::test]
async fn a_setting_that_cannot_be_used_ends_the_program_with_a_message_that_names_it() {
    let bed = Bed::new().await;
    let script = bed.config("{\"turns\": [{\"prompt\": \"p\", \"responses\": []}]}");
    let url = "mysql://me:hunter2@host/db";
    let unusable: [(&str, &str, &[&str]); 7] = [
        (
            "DATABASE_URL",
            "",
            &["no store is configured", "DATABASE_URL"],
        ),
        ("DATABASE_URL", url, &["store `default`", "postgres://"]),
        (
            "NOTEKEEPER_SCRIPT",
            "/nowhere/script.json",
            &["`default`", "/nowhere/script.json"],
        ),
        (
            "NOTEKEEPER_SCRIPT",
            &script,
            &["`default`", &script, "responses"],
        ),
        (
            "NOTEKEEPER_WORKFLOW_TASK_QUEUE",
            &bed.task_queue,
            &["same name"],
        ),
        (
            "TEMPORAL_ADDRESS",
            "not an address",
            &["Temporal at `not an address`"],
        ),
        (
            "TEMPORAL_ADDRESS",
            "http://me:hunter2@127.0.0.1:7233",
            &["Temporal address", "password"],
        ),
    ];
    for (name, value, parts) in unusable {
        let ended = run(&bed, &["worker"], &[(name, value)]).await;
        assert_failed(&ended, 1, parts);
        assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
    }
    let migrate = run(&bed, &["migrate"], &[("DATABASE_URL", url)]).await;
    assert_failed(&migrate, 1, &["store `default`", "postgres://"]);
    assert!(!migrate.stderr.contains("hunter2"), "{migrate:?}");
    // The driver would say what it doesn't know of a URL, whatever the filter.
    let odd = "postgres://me@127.0.0.1:1/db?pasword=hunter2";
    let filter = ["--log", "sqlx_postgres=trace,notekeeper=info", "migrate"];
    let refused = run(&bed, &filter, &[("DATABASE_URL", odd)]).await;
    assert_failed(&refused, 1, &["ConnectionRefused"]);
    assert!(!refused.stderr.contains("hunter2"), "{refused:?}");
    let log = run(&bed, &["--log", "notekeeper=loud", "worker"], &[]).await;
    assert_failed(&log, 1, &["log filter `notekeeper=loud`"]);
    let nameless = run(&bed, &["worker", "--task-queue", ""], &[]).await;
    assert_failed(&nameless, 1, &["task queue", "empty"]);
    let queues = run(&bed, &["worker", "--queues", "memory,printer"], &[]).await;
    assert_failed(&queues, 2, &["printer"]);
    bed.finish().await;
}

#[tokio::test]
async fn a_temporal_namespace_that_does_not_exist_ends_the_worker_with_a_message_that_names_it() {
    let bed = Bed::new().await;
    let ended = run(
        &bed,
        &["worker"],
        &[("TEMPORAL_NAMESPACE", "no-such-namespace")],
    )
    .await;
    assert_failed(&ended, 1, &["no-such-namespace", "TEMPORAL_NAMESPACE"]);
    assert!(!ended.stderr.contains("worker is up"), "{ended:?}");
    bed.finish().await;
}

#[tokio::test]
async fn a_worker_waits_for_servers_says_so_once_an_attempt_and_stops_at_once_when_asked() {
    let bed = Bed::new().await;
    // A port that stays ours and refuses connections, and one that takes them and never answers.
    let refusing = TcpSocket::new_v4().expect("a socket");
    refusing
        .bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a free port");
    let refusing = refusing
        .local_addr()
        .map(|a| (a.to_string(), refusing))
        .expect("an address");
    let silent = Proxy::start(bed.temporal_address.clone()).await;
    silent.fall_silent();
    let away = |name, value: &str| WorkerOptions {
        environment: vec![(name, value.to_owned())],
        ..WorkerOptions::default()
    };
    let database = |address: &str| {
        let target = Proxy::target(&bed.database_url);
        bed.database_url.replace(&target, address)
    };
    let cases = [
        (
            "store `default`",
            away("DATABASE_URL", &database(&refusing.0)),
        ),
        (
            "store `default`",
            away("DATABASE_URL", &database(&silent.address())),
        ),
        ("Temporal at", away("TEMPORAL_ADDRESS", &refusing.0)),
        ("Temporal at", away("TEMPORAL_ADDRESS", &silent.address())),
    ];
    let mut workers: Vec<_> = cases
        .into_iter()
        .map(|(what, options)| (what, Worker::spawn(&bed, options)))
        .collect();
    for (what, worker) in &workers {
        worker.wait_until_logged(what, 1).await;
    }
    // The pause before the next attempt grows.
    let refused = &workers[2].1;
    refused.wait_until_logged("trying again in 2s", 1).await;
    for (line, pause) in refused.log().iter().zip(["500ms", "1s", "2s"]) {
        let pause = format!("trying again in {pause}");
        assert!(
            line.contains("Temporal at") && line.contains(&pause),
            "{line}"
        );
    }

    for (_, worker) in &mut workers {
        worker.terminate();
        let asked = tokio::time::Instant::now();
        let status = worker.ended().await;
        assert!(
            asked.elapsed() < Duration::from_secs(2),
            "{:?}",
            asked.elapsed()
        );
        assert_eq!(status.code(), Some(0));
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_worker_that_was_started_before_its_servers_serves_once_they_are_there() {
    let bed = Bed::new().await;
    let database = Proxy::start(Proxy::target(&bed.database_url)).await;
    let temporal = Proxy::start(bed.temporal_address.clone()).await;
    database.cut();
    temporal.cut();
    let worker = Worker::spawn(
        &bed,
        WorkerOptions {
            script: Some(bed.script(&json!([{"prompt": "hello", "responses": [{"text": "hi"}]}]))),
            database_url: Some(database.url(&bed.database_url)),
            environment: vec![("TEMPORAL_ADDRESS", temporal.address())],
            ..WorkerOptions::default()
        },
    );
    worker
        .wait_until_logged("store `default` can't be reached", 1)
        .await;
    database.mend();
    worker.wait_until_logged("Temporal at", 1).await;
    temporal.mend();
    worker.wait_until_logged("worker is up", 2).await;

    let agent = bed.start(bed.input("acme")).await;
    assert_eq!(say(&agent, "hello").await.expect("a reply").text, "hi");
    bed.finish().await;
}

/// How many schemas of demonstrations there are in the bed's database.
async fn schemas_of_demonstrations(bed: &Bed) -> i64 {
    let mut connection = PgConnection::connect(&bed.database_url)
        .await
        .expect("connect to the database");
    sqlx::query_scalar("select count(*) from pg_namespace where nspname like 'notekeeper_demo_%'")
        .fetch_one(&mut connection)
        .await
        .expect("count the schemas")
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).expect("a directory").count()
}

#[tokio::test]
async fn a_demonstration_that_fails_early_or_is_interrupted_leaves_nothing_behind() {
    let bed = Bed::new().await;
    let temporary = bed.path("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    let there = temporary.to_str().expect("a path that is text");
    let before = schemas_of_demonstrations(&bed).await;

    // A port that nobody listens on, for as long as it is ours.
    let refusing = TcpSocket::new_v4().expect("a socket");
    refusing
        .bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a free port");
    let address = refusing.local_addr().expect("an address").to_string();
    let environment = [("TEMPORAL_ADDRESS", address.as_str()), ("TMPDIR", there)];
    let no_server = run(&bed, &["demo"], &environment).await;
    assert_failed(&no_server, 1, &["Temporal at", "can't be reached"]);

    let target = Proxy::target(&bed.database_url);
    let url = bed.database_url.replace(&target, &address);
    let environment = [("DATABASE_URL", url.as_str()), ("TMPDIR", there)];
    let no_database = run(&bed, &["demo"], &environment).await;
    assert_failed(&no_database, 1, &["the database can't be used"]);
    assert_eq!(entries(&temporary), 0);

    let mut demonstration = Command::new(env!("CARGO_BIN_EXE_notekeeper"))
        .arg("demo")
        .env("DATABASE_URL", &bed.database_url)
        .env("TEMPORAL_ADDRESS", &bed.temporal_address)
        .env("TEMPORAL_NAMESPACE", &bed.temporal_namespace)
        .env("TMPDIR", there)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("start the demonstration");
    let stdout = demonstration.stdout.take().expect("piped");
    let mut said = BufReader::new(stdout).lines();
    let started = async {
        while let Some(line) = said.next_line().await.expect("text") {
            if line.starts_with("Worker 1 is started") {
                return true;
            }
        }
        false
    };
    assert!(in_time("its first worker", started).await);
    assert_eq!(entries(&temporary), 1);
    let id = demonstration.id().expect("it runs").to_string();
    let interrupted = Command::new("kill").args(["-INT", &id]).status().await;
    assert!(interrupted.expect("run kill").success());
    let status = in_time("its end", demonstration.wait()).await;
    assert_eq!(status.expect("it ended").code(), Some(130));
    assert_eq!(entries(&temporary), 0);
    assert_eq!(schemas_of_demonstrations(&bed).await, before);
    bed.finish().await;
}

#[tokio::test]
async fn the_documentation_lists_every_flag_with_the_variable_that_the_help_gives() {
    let bed = Bed::new().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let documented = std::fs::read_to_string(path).expect("the documentation");
    let mut seen = 0;
    for command in ["dev", "worker", "migrate", "replay", "demo"] {
        let help = run(&bed, &[command, "--help"], &[]).await;
        assert_eq!(help.code, Some(0), "{help:?}");
        let mut flag = "";
        for line in help.stdout.lines().map(str::trim) {
            // Values that are possible are listed with one dash.
            if line.starts_with("--") {
                flag = line.split(' ').next().unwrap_or_default();
            }
            let Some((_, variable)) = line.split_once("[env: ") else {
                continue;
            };
            let variable = variable.split(['=', ']']).next().unwrap_or_default();
            let row = documented.lines().any(|line| {
                line.contains(&format!("`{flag}`")) && line.contains(&format!("`{variable}`"))
            });
            assert!(row, "`{flag}` with `{variable}` of `notekeeper {command}`");
            seen += 1;
        }
    }
    assert!(seen > 10, "the help was read");
    bed.finish().await;
}
