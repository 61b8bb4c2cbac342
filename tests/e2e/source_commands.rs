//! `notekeeper sources`: in this process and through the activities of a worker.

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use crate::support::{
    Bed, Ended, WAYS, Worker, WorkerOptions, assert_done, assert_failed, run, run_fed,
};

const SOURCES: &str = "\
[sources.handbook]
kind = 'vector'
[sources.facts]
kind = 'facts'
[sources.kb]
kind = 'composite'
sources = ['handbook', { kind = 'read_only', inner = 'facts', on_write = 'ignore' }, { kind = 'scratchpad' }]
[sources.guarded]
kind = 'scoped'
inner = 'kb'
require = { prefix = 'acme' }
";

async fn sources(bed: &Bed, config: &str, arguments: &[&str]) -> Ended {
    let all = [&["sources"], arguments].concat();
    run(bed, &all, &[("NOTEKEEPER_CONFIG", config)]).await
}

async fn worker(bed: &Bed, config: &str) -> Worker {
    let options = WorkerOptions {
        queues: Some("memory"),
        environment: vec![("NOTEKEEPER_CONFIG", config.to_owned())],
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

fn json_of(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

/// Words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .map(|line| line.split_whitespace().collect())
        .collect()
}

#[tokio::test]
async fn sources_are_listed_with_what_they_are_made_of() {
    let bed = Bed::new().await;
    let config = bed.config(SOURCES);
    let listed = sources(&bed, &config, &["ls"]).await;
    assert_done(
        &listed,
        "SOURCE    KIND       WRITES  MADE OF\n\
         facts     facts      yes     store default\n\
         guarded   scoped     yes     kb\n\
         handbook  vector     yes     store default\n\
         hybrid    hybrid     no      store default\n\
         kb        composite  yes     handbook, read_only, scratchpad\n",
    );
    let listed = json_of(&sources(&bed, &config, &["ls", "--json"]).await);
    assert_eq!(
        listed["sources"][0],
        json!({"name": "facts", "kind": "facts", "accepts_writes": true, "members": [], "store": "default"})
    );
    bed.finish().await;
}

#[tokio::test]
async fn items_are_written_and_found_in_both_ways_alike() {
    let bed = Bed::new().await;
    let config = bed.config(SOURCES);
    let _worker = worker(&bed, &config).await;
    for via in WAYS {
        let namespace = format!("acme/{via}");
        let at = ["--namespace", &namespace, "--via", via];
        let write = |arguments: &[&'static str]| [&["write", "kb"], arguments, &at].concat();
        let one = write(&[
            "--text",
            "Refunds take 5 days.",
            "--metadata",
            r#"{"id": "r"}"#,
        ]);
        let ended = sources(&bed, &config, &one).await;
        assert_done(
            &ended,
            "accepted handbook\naccepted scratchpad\nrefused facts (read-only)\n",
        );
        let items =
            json!([{"content": "Store credit never expires.", "metadata": {"tier": "gold"}}]);
        let all = [
            &[
                "sources", "write", "handbook", "--config", &config, "--json",
            ],
            &at[..],
        ];
        let ended = run_fed(&bed, &all.concat(), &items.to_string()).await;
        let written = json_of(&ended);
        assert_eq!(written["accepted"], json!(["handbook"]), "{ended:?}");
        assert!(written["operation"]["id"].is_string(), "{written}");

        let query = |arguments: &[&'static str]| [&["query"], arguments, &at].concat();
        let ended = sources(&bed, &config, &query(&["handbook", "refunds", "-k", "1"])).await;
        let lines = words(&ended.stdout);
        assert_eq!(lines[0], ["SOURCE", "SCORE", "ID", "CONTENT"], "{ended:?}");
        assert_eq!(
            (lines[1][0], lines[1][2], lines.len()),
            ("handbook", "r", 2)
        );
        assert!(ended.stdout.contains("Refunds take 5 days."), "{ended:?}");
        let gold = query(&["kb", "credit", "--where", r#"{"tier": "gold"}"#, "--json"]);
        let found = json_of(&sources(&bed, &config, &gold).await);
        assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
        assert_eq!(found["items"][0]["content"], "Store credit never expires.");
        let pad = query(&[
            "kb",
            "tea",
            "--scratchpad",
            r#"{"plan": "buy tea"}"#,
            "--json",
        ]);
        let found = json_of(&sources(&bed, &config, &pad).await);
        let last = found["items"].as_array().expect("items").last();
        assert_eq!(last.expect("an item")["source"], "scratchpad");
        let none = query(&["facts", "nothing"]);
        let ended = sources(&bed, &config, &none).await;
        assert_done(&ended, "");
        assert!(ended.stderr.contains("no items"), "{ended:?}");

        let unknown = sources(&bed, &config, &query(&["manual", "x"])).await;
        assert_failed(&unknown, 1, &["configured: `facts`"]);
        let many = sources(&bed, &config, &query(&["kb", "x", "-k", "101"])).await;
        assert_failed(&many, 1, &["`k` must be 1 to 100"]);
    }
    let outside = ["query", "guarded", "x", "--namespace", "other"];
    assert_failed(
        &sources(&bed, &config, &outside).await,
        1,
        &["source `kb` refuses the scope"],
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_write_is_kept_once_under_its_operation() {
    let bed = Bed::new().await;
    let config = bed.config(SOURCES);
    let write = |text: &'static str| {
        [
            "write",
            "handbook",
            "--text",
            text,
            "-n",
            "acme",
            "--operation-id",
            "order-17",
        ]
    };
    for _ in 0..2 {
        let ended = sources(&bed, &config, &write("Refunds take 5 days.")).await;
        assert_done(&ended, "accepted handbook\n");
    }
    let other = sources(&bed, &config, &write("Refunds take 7 days.")).await;
    assert_failed(&other, 1, &["operation id was already used"]);
    let query = ["query", "handbook", "refunds", "-n", "acme", "--json"];
    let found = json_of(&sources(&bed, &config, &query).await);
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
    bed.finish().await;
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_told_without_being_repeated() {
    let bed = Bed::new().await;
    let config = bed.config(SOURCES);
    for (arguments, code, part) in [
        (
            &["query", "kb", "x", "-n", "acme", "--where", "hunter2"][..],
            2,
            "--where is no JSON object",
        ),
        (
            &["query", "kb", "x", "-n", "acme", "--where", "[]"],
            2,
            "--where is no JSON object",
        ),
        (
            &[
                "write",
                "kb",
                "--text",
                "x",
                "--metadata",
                "hunter2",
                "-n",
                "a",
            ],
            2,
            "--metadata is no JSON object",
        ),
        (&["query", "kb", "x", "-n", "a//b"], 1, "segment"),
        (&["query", "kb", "x"], 2, "--namespace"),
    ] {
        let ended = sources(&bed, &config, arguments).await;
        assert_failed(&ended, code, &[part]);
        assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
    }
    let all = ["sources", "write", "kb", "-n", "acme", "--config", &config];
    for input in ["", "hunter2", r#"[{"text": "hunter2"}]"#] {
        let ended = run_fed(&bed, &all, input).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn what_only_a_worker_has_and_files_that_are_not_there_are_refused_here() {
    let bed = Bed::new().await;
    let config = bed.config(
        "[stores.default]\nkind = 'sqlite'\n[stores.scratch]\nkind = 'in_memory'\n\
         [sources.terms]\nkind = 'vector'\nindex = 'in_memory'\n\
         [sources.kb]\nkind = 'read_only'\ninner = { kind = 'facts', store = 'scratch' }\n\
         [sources.facts]\nkind = 'facts'\n",
    );
    let file = bed.path("notes.db");
    let file = file.to_str().expect("a path that is text");
    let environment = [
        ("DATABASE_URL", ""),
        ("NOTEKEEPER_SCHEMA", ""),
        ("NOTEKEEPER_SQLITE", file),
        ("NOTEKEEPER_CONFIG", config.as_str()),
    ];
    for (source, part) in [
        ("terms", "source `terms` is kept in the memory"),
        ("kb", "source `kb.inner` is kept in the memory"),
        ("facts", "there is no file"),
    ] {
        let arguments = ["sources", "query", source, "x", "-n", "acme"];
        assert_failed(&run(&bed, &arguments, &environment).await, 1, &[part]);
    }
    let check = run(&bed, &["sources", "check", "facts"], &environment).await;
    assert_failed(&check, 1, &["there is no file"]);
    let bad = bed.config("[sources.a]\nkind = 'facts'\nstore = 'eu'\n");
    let bad = [&environment[..3], &[("NOTEKEEPER_CONFIG", bad.as_str())]].concat();
    assert_failed(
        &run(&bed, &["worker"], &bad).await,
        1,
        &["`sources.a.store`"],
    );
    assert!(!std::path::Path::new(file).exists());
    let write = ["sources", "write", "facts", "--text", "x", "-n", "acme"];
    assert_done(&run(&bed, &write, &environment).await, "accepted facts\n");
    let query = ["sources", "query", "facts", "x", "-n", "acme"];
    let ended = run(&bed, &query, &environment).await;
    assert_eq!(words(&ended.stdout).len(), 2, "{ended:?}");
    bed.finish().await;
}

#[tokio::test]
async fn a_tool_whose_time_its_composition_never_leaves_it_is_told_by_a_check_and_by_the_worker() {
    let bed = Bed::new().await;
    let service = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_json(json!(["one"]));
    Mock::given(any())
        .respond_with(answer)
        .mount(&service)
        .await;
    let config = bed.config(&format!(
        "[sources.web]\nkind = 'tool'\nurl = '{}'\ntimeout_seconds = 90\n\
         [sources.kb]\nkind = 'composite'\nsources = ['web']\nleg_timeout_ms = 60000\n",
        service.uri()
    ));
    let told = "`sources.web.timeout_seconds` is 90 s, but `sources.kb.leg_timeout_ms`, 60000 ms, ends a query's \
                call sooner, so the tool never has its time there; raise `sources.kb.leg_timeout_ms`, or lower \
                `sources.web.timeout_seconds`";
    // It warns of what works, and not of what isn't looked at.
    let checked = sources(&bed, &config, &["check"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(checked.stderr, format!("warning: {told}\n"), "{checked:?}");
    let checked = json_of(&sources(&bed, &config, &["check", "kb", "--json"]).await);
    assert_eq!(checked["warnings"], json!([told]), "{checked}");
    let alone = sources(&bed, &config, &["check", "web"]).await;
    assert_eq!((alone.code, alone.stderr.as_str()), (Some(0), ""));

    let worker = worker(&bed, &config).await;
    let warned = worker
        .log()
        .into_iter()
        .filter(|line| line.contains(told))
        .collect::<Vec<_>>();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("WARN"), "{warned:?}");
    bed.finish().await;
}

#[tokio::test]
async fn a_check_asks_each_leg_once_and_tells_where_it_stands() {
    let bed = Bed::new().await;
    let service = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_json(json!(["one", "two"]));
    Mock::given(any())
        .respond_with(answer)
        .mount(&service)
        .await;
    let broken = MockServer::start().await;
    let answer = ResponseTemplate::new(500).set_body_string("SECRET");
    Mock::given(any()).respond_with(answer).mount(&broken).await;
    let config = bed.config(&format!(
        "[sources.handbook]\nkind = 'vector'\n\
         [sources.kb]\nkind = 'composite'\nsources = ['handbook', \
         {{ kind = 'cached', inner = {{ kind = 'tool', name = 'web', url = '{}' }} }}]\n\
         [sources.bad]\nkind = 'sequential'\nsources = ['handbook', {{ kind = 'tool', url = '{}' }}]\n",
        service.uri(),
        broken.uri()
    ));
    let fine = sources(&bed, &config, &["check", "kb"]).await;
    assert_eq!(fine.code, Some(0), "{fine:?}");
    let lines = words(&fine.stdout);
    assert_eq!(
        lines[0],
        ["SOURCE", "KIND", "WRITES", "OUTCOME", "ITEMS", "TIME"]
    );
    let told: Vec<_> = lines[1..].iter().map(|line| line[..5].to_vec()).collect();
    assert_eq!(
        told,
        [
            ["kb", "composite", "yes", "ok", "1"],
            ["kb.sources[1]", "cached", "no", "ok", "1"],
            ["kb.sources[1].inner", "tool", "no", "ok", "1"],
            ["handbook", "vector", "yes", "ok", "0"],
        ]
    );
    // Once for the composition and the decorator, whose cache answers the second time, and once by itself.
    let requests = service.received_requests().await.expect("requests");
    assert_eq!(requests.len(), 2);

    let failing = sources(&bed, &config, &["check", "--json"]).await;
    assert_eq!(failing.code, Some(1), "{failing:?}");
    let report = json_of(&failing);
    assert_eq!(report["ok"], false);
    let of = |path: &str| {
        let rows = report["sources"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["path"] == path);
        row.unwrap_or_else(|| panic!("{path} is not in {report}"))
            .clone()
    };
    let leg = of("bad.sources[1]");
    assert_eq!(
        (&leg["ok"], &leg["outcome"], &leg["kind"]),
        (&json!(false), &json!("Unavailable"), &json!("tool"))
    );
    assert!(
        leg["message"]
            .as_str()
            .expect("text")
            .contains("it answers 500"),
        "{leg}"
    );
    assert_eq!(of("bad")["outcome"], "partial");
    assert_eq!(of("hybrid")["ok"], true);
    assert!(!failing.stdout.contains("SECRET"), "{failing:?}");
    bed.finish().await;
}

#[tokio::test]
async fn who_looked_at_a_part_alone_is_told_in_a_line_and_in_the_table() {
    let bed = Bed::new().await;
    let config = bed.config(
        "[sources.texts]\nkind = 'file'\n\
         [sources.both]\nkind = 'composite'\nsources = ['texts', 'notes', { kind = 'scratchpad' }]\n\
         [sources.notes]\nkind = 'notes'\n",
    );
    let _worker = worker(&bed, &config).await;
    let longer = format!("alpha {}", "x".repeat(70_000));
    bed.put("acme/main", "long.md", &longer).await;
    bed.put("other/main", "short.md", "alpha").await;
    for via in WAYS {
        let query = |source, namespace: &'static str| {
            [
                "query",
                source,
                "alpha",
                "--namespace",
                namespace,
                "--via",
                via,
            ]
        };
        let told = sources(&bed, &config, &query("texts", "acme")).await;
        assert_eq!(told.code, Some(0), "it is done: {told:?}");
        assert!(told.stdout.contains("alpha xx"), "{told:?}");
        let lines = told.stderr.lines();
        let lines: Vec<&str> = lines
            .filter(|line| line.contains("more than one query"))
            .collect();
        assert!(
            matches!(lines[..], [line] if line.contains("source `texts` has")),
            "{told:?}"
        );
        let both = sources(&bed, &config, &query("both", "acme")).await;
        assert!(
            both.stderr
                .contains("sources `texts`, `notes` have more than one query"),
            "{both:?}"
        );
        let json = [&query("both", "acme")[..], &["--json"]].concat();
        let found = json_of(&sources(&bed, &config, &json).await);
        assert_eq!(found["incomplete"], json!(["texts", "notes"]));
        let whole = sources(&bed, &config, &query("both", "other")).await;
        assert!(!whole.stderr.contains("more than one query"), "{whole:?}");
        let json = [&query("both", "other")[..], &["--json"]].concat();
        let found = json_of(&sources(&bed, &config, &json).await);
        assert_eq!(found.get("incomplete"), None, "{found}");
    }
    let check = ["check", "both", "--namespace", "acme"];
    let checked = sources(&bed, &config, &check).await;
    assert_eq!(checked.code, Some(0), "it has not failed: {checked:?}");
    let marked = |path: &str| {
        let mut rows = checked.stdout.lines();
        let row = rows.find(|row| row.split_whitespace().next() == Some(path));
        row.is_some_and(|row| {
            row.contains(" ok ") && row.ends_with(": more than one query looks through")
        })
    };
    assert_eq!(
        ["both", "texts", "notes", "both.sources[2]"].map(marked),
        [true, true, true, false],
        "{checked:?}"
    );
    bed.finish().await;
}

/// What a worker says of sources that can't work, and `ls` and `config check` with it.
#[tokio::test]
async fn sources_that_cannot_work_end_every_command_with_the_path_of_the_setting() {
    let bed = Bed::new().await;
    let inline = |member: &str| {
        format!(
            "[sources.kb]\nkind = 'composite'\nsources = [{{ kind = 'scratchpad' }}, {member}]\n"
        )
    };
    let files = [
        "[sources.a]\nkind = 'vektor'\n".to_owned(),
        "[sources.a]\nkind = 'vector'\nstoer = 'x'\n".to_owned(),
        "[sources.a]\nkind = 'facts'\nstore = 'eu'\n".to_owned(),
        "[sources.a]\nkind = 'vector'\nembedder = 'big'\n".to_owned(),
        "[sources.'a b']\nkind = 'scratchpad'\n".to_owned(),
        inline("'handbok'") + "[sources.handbook]\nkind = 'vector'\n",
        inline("{ kind = 'scratchpad' }"),
        inline("{ kind = 'scoped' }"),
        inline("{ kind = 'cached', inner = { kind = 'facts' }, ttl_seconds = 0 }"),
        inline("{ kind = 'read_only', inner = 'kb' }"),
        inline("{ kind = 'read_only', inner = { kind = 'facts' }, on_write = 'drop' }"),
        inline("{ kind = 'tool', url = 'https://app:hunter2@h/' }"),
        inline("{ kind = 'tool', url = 'https://h/', headers_env = { X-Key = 'hunter2' } }"),
        inline("{ kind = 'tool', url = 'https://h/', headers_env = { X-Key = 'NOWHERE' } }"),
        inline("{ kind = 'tool', activity = 'search' }"),
        "[sources.a]\nkind = 'compacted'\ninner = { kind = 'facts' }\nmodel = 'small'\n".to_owned(),
        "[sources.a]\nkind = 'scoped'\ninner = { kind = 'facts' }\nrequire = { policy = 'ours' }\n"
            .to_owned(),
        "[embedders.default]\nkind = 'hashing'\ndimensions = 3\n".to_owned(),
        "[embedders.default]\nkind = 'openai'\nmodel = 'm'\napi_key_env = 'sk-hunter2'\n"
            .to_owned(),
    ];
    let mut told = String::new();
    for file in files {
        let config = bed.config(&file);
        let mut said = Vec::new();
        for arguments in [&["worker"][..], &["sources", "ls"], &["config", "check"]] {
            let ended = run(&bed, arguments, &[("NOTEKEEPER_CONFIG", &config)]).await;
            assert_eq!(ended.code, Some(1), "{file}: {ended:?}");
            assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
            let error = ended.stderr.lines().find(|line| line.starts_with("error:"));
            said.push(error.expect("an error").replace(&config, "FILE"));
        }
        said.dedup();
        assert_eq!(said.len(), 1, "{said:?}");
        told += &format!("{}\n", said[0]);
    }
    insta::assert_snapshot!(told);
    bed.finish().await;
}

#[tokio::test]
async fn the_settings_show_sources_and_embedders_without_secrets() {
    let bed = Bed::new().await;
    let config = bed.config(
        "[sources.web]\nkind = 'tool'\nurl = 'https://h/search?key=hunter2'\nheaders_env = { X-Key = 'SEARCH_KEY' }\n\
         [sources.kb]\nkind = 'composite'\nsources = ['web', { kind = 'facts' }]\n",
    );
    let environment = [
        ("NOTEKEEPER_CONFIG", config.as_str()),
        ("SEARCH_KEY", "hunter3"),
    ];
    let ended = run(&bed, &["config", "check", "--json"], &environment).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stdout.contains("hunter"), "{ended:?}");
    let report = json_of(&ended);
    assert_eq!(
        report["sources"],
        json!([
            {"name": "hybrid", "kind": "hybrid", "accepts_writes": false},
            {"name": "kb", "kind": "composite", "accepts_writes": true},
            {"name": "web", "kind": "tool", "accepts_writes": false},
        ])
    );
    let settings = report["settings"].as_array().expect("a list");
    let of = |key: &str| {
        let found = settings.iter().find(|setting| setting["key"] == key);
        let found = found.unwrap_or_else(|| panic!("`{key}` is not in {report}"));
        (found["value"].clone(), found["source"].clone())
    };
    assert_eq!(
        of("embedders.default.kind"),
        (json!("hashing"), json!("default"))
    );
    assert_eq!(
        of("sources.web.headers_env.X-Key"),
        (json!("SEARCH_KEY"), json!("file"))
    );
    let people = run(&bed, &["config", "check"], &environment).await;
    let line = people.stdout.lines().find(|line| line.starts_with("kb "));
    let words: Vec<_> = line.expect("a line").split_whitespace().collect();
    assert_eq!(words, ["kb", "composite", "yes"]);
    bed.finish().await;
}
