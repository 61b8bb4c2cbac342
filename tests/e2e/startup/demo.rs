//! `notekeeper demo` that can't start or is interrupted.

use std::{path::Path, process::Stdio};

use sqlx::{Connection as _, PgConnection};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

use super::{assert_failed, refusing_port};
use crate::support::{Bed, Proxy, binary, dev::gone, in_time, run};

const ON_POSTGRES: [&str; 3] = ["demo", "--store", "postgres"];

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
async fn on_postgres_a_demonstration_that_fails_early_or_is_interrupted_leaves_nothing_behind() {
    let bed = Bed::new().await;
    let temporary = bed.path("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    let there = temporary.to_str().expect("a path that is text");
    let before = schemas_of_demonstrations(&bed).await;

    let (_refusing, address) = refusing_port();
    let environment = [("TEMPORAL_ADDRESS", address.as_str()), ("TMPDIR", there)];
    let no_server = run(&bed, &ON_POSTGRES, &environment).await;
    assert_failed(&no_server, 1, &["Temporal at", "can't be reached"]);

    let target = Proxy::target(&bed.database_url);
    let url = bed.database_url.replace(&target, &address);
    let environment = [("DATABASE_URL", url.as_str()), ("TMPDIR", there)];
    let no_database = run(&bed, &ON_POSTGRES, &environment).await;
    assert_failed(&no_database, 1, &["the database can't be used"]);
    assert_eq!(entries(&temporary), 0);

    let mut command = Command::from(binary());
    command
        .args(ON_POSTGRES)
        .env("DATABASE_URL", &bed.database_url)
        .env("TEMPORAL_ADDRESS", &bed.temporal_address)
        .env("TEMPORAL_NAMESPACE", &bed.temporal_namespace);
    interrupt(command, &temporary).await;
    assert_eq!(entries(&temporary), 0);
    assert_eq!(schemas_of_demonstrations(&bed).await, before);
    bed.finish().await;
}

#[tokio::test]
async fn on_sqlite_a_demonstration_that_fails_early_or_is_interrupted_leaves_nothing_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let temporary = directory.path().join("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    let there = temporary.to_str().expect("a path that is text");
    let bed = Bed::new().await;

    let environment = [("TEMPORAL_CLI", "/nowhere/temporal"), ("TMPDIR", there)];
    let no_server = run(&bed, &["demo"], &environment).await;
    assert_failed(&no_server, 1, &["TEMPORAL_CLI", "/nowhere/temporal"]);
    let environment = [("TMPDIR", "/nowhere")];
    let no_room = run(&bed, &["demo"], &environment).await;
    assert_failed(&no_room, 1, &["/nowhere/notekeeper-demo-", "can't make"]);
    assert_eq!(entries(&temporary), 0);

    let mut command = Command::from(binary());
    command.arg("demo");
    interrupt(command, &temporary).await;
    bed.finish().await;
}

/// Starts a demonstration, interrupts it once its first worker runs, and checks that it leaves
/// neither a file nor a process.
async fn interrupt(mut command: Command, temporary: &Path) {
    let mut demonstration = command
        .env("TMPDIR", temporary)
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
    assert_eq!(entries(temporary), 1);
    let id = demonstration.id().expect("it runs");
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let children = children.expect("it runs");
    let interrupted = Command::new("kill")
        .args(["-INT", &id.to_string()])
        .status()
        .await;
    assert!(interrupted.expect("run kill").success());
    let status = in_time("its end", demonstration.wait()).await;
    assert_eq!(status.expect("it ended").code(), Some(130));
    assert_eq!(entries(temporary), 0);
    assert!(!children.trim().is_empty());
    for child in children.split_whitespace() {
        gone(child.parse().expect("a process id")).await;
    }
}
