//! `notekeeper config check`: what the settings come to, and whether what they name is there.

use std::path::Path;

use serde_json::Value;

use crate::support::{Bed, Ended, run};

/// Runs the check with `--json`, and gives what it printed.
async fn check(bed: &Bed, arguments: &[&str], environment: &[(&str, &str)]) -> (Ended, Value) {
    let all = [&["config", "check", "--json"], arguments].concat();
    let ended = run(bed, &all, environment).await;
    let report = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    (ended, report)
}

/// Value and source of a setting.
fn setting<'a>(report: &'a Value, key: &str) -> (&'a Value, &'a str) {
    let settings = report["settings"].as_array().expect("a list");
    let found = settings.iter().find(|setting| setting["key"] == key);
    let found = found.unwrap_or_else(|| panic!("`{key}` is not in {report}"));
    (&found["value"], found["source"].as_str().expect("a source"))
}

/// No variable of the bed's says anything.
const UNSET: [(&str, &str); 6] = [
    ("DATABASE_URL", ""),
    ("NOTEKEEPER_SCHEMA", ""),
    ("TEMPORAL_ADDRESS", ""),
    ("TEMPORAL_NAMESPACE", ""),
    ("NOTEKEEPER_TASK_QUEUE", ""),
    ("NOTEKEEPER_WORKFLOW_TASK_QUEUE", ""),
];

#[tokio::test]
async fn each_setting_is_shown_with_where_it_comes_from_and_without_passwords() {
    let bed = Bed::new().await;
    let file = bed.config(
        "[worker]\nactivity_slots = 7\ntask_queue = 'of-the-file'\n\
         [stores.eu]\nkind = 'postgres'\nurl = 'postgres://app:hunter2@eu/app'",
    );
    let environment = [
        ("DATABASE_URL", "postgres://app:hunter3@db/app"),
        ("NOTEKEEPER_SCHEMA", "notes"),
        ("NOTEKEEPER_CONFIG", file.as_str()),
    ];
    let arguments = ["--schema", "flagged"];
    let (ended, report) = check(&bed, &arguments, &environment).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let expected = [
        (
            "stores.default.url",
            "postgres://app:***@db/app",
            "DATABASE_URL",
        ),
        ("stores.default.kind", "postgres", "DATABASE_URL"),
        ("stores.default.schema", "flagged", "--schema"),
        ("stores.eu.url", "postgres://app:***@eu/app", "file"),
        ("stores.eu.schema", "notekeeper", "default"),
        (
            "worker.task_queue",
            &bed.task_queue,
            "NOTEKEEPER_TASK_QUEUE",
        ),
        (
            "temporal.namespace",
            &bed.temporal_namespace,
            "TEMPORAL_NAMESPACE",
        ),
    ];
    for (key, value, source) in expected {
        assert_eq!(
            setting(&report, key),
            (&Value::from(value), source),
            "{key}"
        );
    }
    assert_eq!(
        setting(&report, "worker.activity_slots"),
        (&Value::from(7), "file")
    );
    assert_eq!(
        setting(&report, "worker.drain_seconds"),
        (&Value::from(11), "default")
    );
    assert_eq!(report["checks"], Value::Array(Vec::new()));

    let for_people = run(&bed, &["config", "check"], &environment).await;
    let line = for_people
        .stdout
        .lines()
        .find(|line| line.starts_with("stores.eu.url "));
    let words: Vec<_> = line.expect("a line").split_whitespace().collect();
    assert_eq!(
        words,
        ["stores.eu.url", "postgres://app:***@eu/app", "file"]
    );
    for said in [&ended, &for_people] {
        assert!(!format!("{said:?}").contains("hunter"), "{said:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn settings_of_temporals_own_tools_are_told_from_ours() {
    let bed = Bed::new().await;
    let profile = bed.path("temporal.toml");
    let text = "[profile.default]\naddress = 'temporal.internal:7233'\nnamespace = 'ns'\napi_key = 'hunter2'";
    std::fs::write(&profile, text).expect("write the profile");
    let profile = profile.to_str().expect("a path that is text");
    let environment = [&UNSET[..], &[("TEMPORAL_CONFIG_FILE", profile)]].concat();
    let (ended, report) = check(&bed, &["--sqlite", "notes.db"], &environment).await;
    let address = Value::from("https://temporal.internal:7233/");
    assert_eq!(setting(&report, "temporal.address"), (&address, "temporal"));
    assert_eq!(
        setting(&report, "temporal.namespace"),
        (&Value::from("ns"), "temporal")
    );
    assert_eq!(
        setting(&report, "temporal.tls"),
        (&Value::from(true), "temporal")
    );
    assert!(!format!("{ended:?}").contains("hunter"), "{ended:?}");
    let (_, report) = check(&bed, &["--sqlite", "notes.db"], &UNSET).await;
    assert_eq!(setting(&report, "temporal.address").1, "default");
    bed.finish().await;
}

/// The keys of a file, with dots between.
fn keys(prefix: &str, value: &toml::Value, found: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (name, value) in table {
                let key = [prefix, name].join(".").trim_start_matches('.').to_owned();
                keys(&key, value, found);
            }
        }
        _ => found.push(prefix.to_owned()),
    }
}

#[tokio::test]
async fn every_key_of_the_documented_file_is_shown_as_coming_from_it() {
    let bed = Bed::new().await;
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let docs = std::fs::read_to_string(docs).expect("the documentation");
    let documented = docs
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let documented = documented.expect("an example");
    let script = bed.script(&serde_json::json!([]));
    let script = script.to_str().expect("a path that is text");
    let file = bed.config(&documented.replace("turns.json", script));
    let environment = [
        &UNSET[..],
        &[
            ("NOTEKEEPER_CONFIG", file.as_str()),
            ("OPENAI_API_KEY", "k"),
        ],
    ]
    .concat();
    let (ended, report) = check(&bed, &[], &environment).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut all = Vec::new();
    keys("", &toml::from_str(documented).expect("TOML"), &mut all);
    assert!(all.len() > 10, "{all:?}");
    for key in all {
        assert_eq!(setting(&report, &key).1, "file", "{key}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn with_connect_each_store_and_temporal_are_reached_and_what_is_wrong_is_said() {
    let bed = Bed::new().await;
    let (well, report) = check(&bed, &["--connect"], &[]).await;
    assert_eq!(well.code, Some(0), "{well:?}");
    assert_eq!(report["ok"], true);
    let checks: Vec<_> = report["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    assert_eq!(checks.len(), 2, "{report}");
    assert!(checks.iter().all(|check| check["ok"] == true), "{report}");

    let sqlite = bed.path("notes.db");
    let file = bed.config(&format!(
        "[stores.laptop]\nkind = 'sqlite'\npath = '{}'\n[stores.away]\nkind = 'sqlite'\npath = '/nowhere/n.db'\n\
         [stores.gone]\nkind = 'postgres'\nurl = 'postgres://app:hunter2@127.0.0.1:1/app'",
        sqlite.display()
    ));
    let environment = [
        ("NOTEKEEPER_CONFIG", file.as_str()),
        ("NOTEKEEPER_SCHEMA", "never_migrated"),
        ("TEMPORAL_NAMESPACE", "no-such-one"),
    ];
    let (ill, report) = check(&bed, &["--connect"], &environment).await;
    assert_eq!(ill.code, Some(1), "{ill:?}");
    assert_eq!(report["ok"], false);
    let expected = [
        ("store `away`", false, "/nowhere"),
        ("store `default`", false, "notekeeper migrate"),
        ("store `gone`", false, "ConnectionRefused"),
        ("store `laptop`", true, "makes it"),
        ("Temporal at", false, "no namespace `no-such-one`"),
    ];
    let checks = report["checks"].as_array().expect("a list");
    assert_eq!(checks.len(), expected.len(), "{report}");
    for (check, (what, ok, message)) in checks.iter().zip(expected) {
        assert!(
            check["what"].as_str().expect("text").starts_with(what),
            "{check}"
        );
        assert_eq!(check["ok"], ok, "{check}");
        assert!(
            check["message"].as_str().expect("text").contains(message),
            "{check}"
        );
    }
    assert!(!sqlite.exists(), "a check makes no file");
    assert!(!format!("{ill:?}").contains("hunter"), "{ill:?}");
    let for_people = run(&bed, &["config", "check", "--connect"], &environment).await;
    assert_eq!(for_people.code, Some(1), "{for_people:?}");
    assert!(
        for_people.stdout.contains("notekeeper migrate"),
        "{for_people:?}"
    );
    bed.finish().await;
}

#[tokio::test]
async fn settings_that_a_worker_would_refuse_are_refused_in_the_same_words() {
    let bed = Bed::new().await;
    let refused = [
        "[worker]\ntask_quue = 'x'",
        "[worker]\nactivity_slots = 0",
        "[worker]\nactivity_slots = 9223372036854775807",
        "[worker]\ndrain_seconds = 18446744073709551615",
        "[stores.archive]\nkind = 'postgres'\nurl = 'mysql://db/app'",
    ];
    for toml in refused {
        let file = bed.config(toml);
        let there = [("NOTEKEEPER_CONFIG", file.as_str())];
        let worker = run(&bed, &["worker"], &there).await;
        let check = run(&bed, &["config", "check"], &there).await;
        assert_eq!((check.code, check.stdout.as_str()), (Some(1), ""));
        assert_eq!(check.stderr, worker.stderr);
        let json = run(&bed, &["config", "check", "--json"], &there).await;
        let error: Value = serde_json::from_str(&json.stderr).expect("JSON");
        assert_eq!(error["error"]["code"], "failed");
    }
    bed.finish().await;
}

#[tokio::test]
async fn where_spans_go_is_shown_and_no_key_of_scope_hashes() {
    let bed = Bed::new().await;
    let key = "SECRET-key-of-scope-hashes";
    let file = bed.config("[telemetry]\nendpoint = 'http://of-the-file:4318'");
    let of_file = [
        ("NOTEKEEPER_CONFIG", file.as_str()),
        ("NOTEKEEPER_SCOPE_HASH_KEY", key),
    ];
    let (ended, report) = check(&bed, &[], &of_file).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stdout.contains("SECRET"), "{ended:?}");
    let url = Value::from("http://of-the-file:4318/v1/traces");
    assert_eq!(setting(&report, "telemetry.endpoint"), (&url, "file"));
    let (variable, _) = setting(&report, "telemetry.scope_hash_key_env");
    assert_eq!(*variable, "NOTEKEEPER_SCOPE_HASH_KEY");

    let variable = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let both = [
        ("NOTEKEEPER_CONFIG", file.as_str()),
        (variable, "http://of-the-variable:4318"),
    ];
    let (ended, report) = check(&bed, &[], &both).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let url = Value::from("http://of-the-variable:4318/v1/traces");
    assert_eq!(setting(&report, "telemetry.endpoint"), (&url, variable));

    let (ended, report) = check(&bed, &[], &[]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let nowhere = (&Value::Null, "default");
    assert_eq!(setting(&report, "telemetry.endpoint"), nowhere);
    assert_eq!(setting(&report, "telemetry.scope_hash_key_env"), nowhere);
    bed.finish().await;
}

#[tokio::test]
async fn what_each_store_keeps_is_said_without_opening_any() {
    let bed = Bed::new().await;
    let file = bed.config(
        "[stores.local]\nkind = 'sqlite'\npath = '/nowhere/n.db'\n\
         [stores.notes]\nkind = 'file'\ndirectory = '/nowhere/notes'\n\
         [stores.scratch]\nkind = 'in_memory'",
    );
    let environment = [("NOTEKEEPER_CONFIG", file.as_str())];
    let (ended, report) = check(&bed, &[], &environment).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let all = serde_json::json!(["notes", "transcripts", "facts"]);
    let of = |name: &str, kind: &str, keeps: &Value| serde_json::json!({"name": name, "kind": kind, "keeps": keeps});
    assert_eq!(
        report["stores"],
        serde_json::json!([
            of("default", "postgres", &all),
            of("local", "sqlite", &all),
            of("notes", "file", &serde_json::json!(["notes"])),
            of("scratch", "in_memory", &all),
        ])
    );
    let for_people = run(&bed, &["config", "check"], &environment).await;
    let lines: Vec<Vec<&str>> = for_people
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for line in [
        &["STORE", "KIND", "KEEPS"][..],
        &["default", "postgres", "notes,", "transcripts,", "facts"],
        &["notes", "file", "notes"],
    ] {
        assert!(lines.iter().any(|found| found == line), "{for_people:?}");
    }
    bed.finish().await;
}
