//! Settings that can't be used, and what the documentation says of them.

use std::path::Path;

use super::assert_failed;
use crate::support::{Bed, run};

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
