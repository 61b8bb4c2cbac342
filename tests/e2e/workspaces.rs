//! Notes as files in the workspace that a run names: whose worker touches them, what may be changed
//! there, and who reads them.

use std::path::PathBuf;

use notekeeper_contract::ChatMessage;
use notekeeper_workflows::{ActivityQueue, AgentInput};
use serde_json::{Value, json};
use temporalio_client::errors::WorkflowGetResultError;
use temporalio_common::protos::temporal::api::failure::v1::Failure;

use crate::support::{
    Agent, Application, Bed, Way, Worker, WorkerOptions, activities, activities_of, ended,
    failure_type, history, run, say, transcript,
};

/// A store in the run's workspace, and no workspace yet.
const STORE: &str = "[stores.notes]\nkind = 'file'\ndirectory = '.agent-memory'\n";

/// A directory of the bed, made, for a workspace.
fn root(bed: &Bed, name: &str) -> PathBuf {
    let root = bed.path(name);
    std::fs::create_dir_all(&root).expect("make the root");
    root
}

/// A workspace of a configuration.
fn workspace(name: &str, root: &std::path::Path, more: &str) -> String {
    let root = root.display();
    format!("[workspaces.{name}]\nroot = '{root}'\n{more}\n")
}

/// A worker on both queues, with this configuration.
async fn worker(bed: &Bed, config: &str, turns: &Value) -> Worker {
    let options = WorkerOptions {
        script: Some(bed.script(turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(config))],
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// A run in a workspace whose only memory is the store `notes`.
fn input(bed: &Bed, workspace: Option<&str>) -> AgentInput {
    let mut input = bed.input("acme");
    input.workspace = workspace.map(str::to_owned);
    input.memories[0].store = "notes".to_owned();
    input
}

/// One response with these calls, then what the last of them came to.
fn calls(prompt: &str, calls: &[(&str, Value)]) -> Value {
    let calls: Vec<_> = calls
        .iter()
        .map(|(name, arguments)| json!({"id": "call_0", "name": name, "arguments": arguments}))
        .collect();
    json!({"prompt": prompt, "responses": [{"tool_calls": calls}, {"text": "{{last_tool_result}}"}]})
}

/// What a run ends with that can't be served.
async fn failed(agent: &Agent) -> Failure {
    match ended(agent).await {
        Err(WorkflowGetResultError::Failed(error)) => error.failure().clone(),
        other => panic!("it ended as {other:?}"),
    }
}

/// Names of the tools that each model request offered.
async fn offered(agent: &Agent) -> Vec<Vec<String>> {
    let requests = activities_of(&history(agent).await, "call_model");
    let names = |tools: &Value| {
        let tools = tools.as_array().expect("tools").iter();
        tools
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    requests
        .iter()
        .map(|request| names(&request.input["tools"]))
        .collect()
}

/// Results of the conversation's tool calls, and whether each tells of an error.
async fn results(agent: &Agent) -> Vec<(String, bool)> {
    let messages = transcript(agent).await.into_iter();
    let results = messages.filter_map(|message| match message {
        ChatMessage::Tool {
            content, is_error, ..
        } => Some((content, is_error)),
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn the_files_of_a_run_are_touched_by_the_worker_that_has_its_workspace_and_no_other() {
    let bed = Bed::new().await;
    let queue = |name: &str| format!("{}-{name}", bed.task_queue);
    let turns = json!([
        calls("go", &[("write_memory", json!({"content": "- tea"}))]),
        {"prompt": "show", "responses": [{"text": "{{memory}}"}]},
    ]);
    // The worker that serves model requests and workflows has none of the roots.
    let nowhere = PathBuf::from("/nowhere/at/all");
    let elsewhere = |name| workspace(name, &nowhere, &format!("task_queue = '{}'", queue(name)));
    let config = format!("{}{}{STORE}", elsewhere("red"), elsewhere("blue"));
    let _main = worker(&bed, &config, &turns).await;
    let mut others = Vec::new();
    for name in ["red", "blue"] {
        let own = workspace(
            name,
            &root(&bed, name),
            &format!("task_queue = '{}'", queue(name)),
        );
        let options = WorkerOptions {
            queues: Some("memory"),
            environment: vec![
                ("NOTEKEEPER_CONFIG", bed.config(&format!("{own}{STORE}"))),
                ("NOTEKEEPER_TASK_QUEUE", queue(name)),
            ],
            ..WorkerOptions::default()
        };
        others.push(Worker::start(&bed, options).await);
    }

    // Whatever the settings of the memory say.
    for way in Way::ALL {
        for name in ["red", "blue"] {
            let mut input = bed.input_by(way, &format!("{name}/{way:?}"));
            input.workspace = Some(name.to_owned());
            input.memories[0].store = "notes".to_owned();
            let agent = bed.start(input).await;

            say(&agent, "go").await.expect("a reply");
            let shown = say(&agent, "show").await.expect("a reply");

            assert!(shown.text.contains("- tea"), "{shown:?}");
            let file = format!("{name}/.agent-memory/{name}/{way:?}/main/MEMORY.md");
            let text = std::fs::read_to_string(bed.path(&file)).expect("the note");
            assert_eq!(text, "- tea\n");
            let touching = activities(&history(&agent).await)
                .into_iter()
                .filter(|activity| ["write_memory", "load_snapshot"].contains(&&*activity.name));
            for activity in touching {
                assert_eq!(activity.queue, queue(name), "{way:?}: {activity:?}");
            }
            // No worker on the queue of model requests could resolve a reference.
            let requests = activities_of(&history(&agent).await, "call_model");
            let block = &requests.last().expect("a request").input["memories"][0];
            assert_eq!(block["delivery"], "inline", "{way:?}: {block}");
        }
    }
    bed.finish().await;
}

/// What grounds a run and what its model searches are files as well, which its workspace's worker alone has.
#[tokio::test]
async fn a_source_in_a_workspace_is_asked_on_the_queue_of_that_workspace() {
    let bed = Bed::new().await;
    let own_queue = format!("{}-red", bed.task_queue);
    let turns = json!([{"prompt": "When is tea?", "responses": [
        {"tool_calls": [{"id": "call_0", "name": "search_handbook", "arguments": {"query": "credit"}}]},
        {"text": "{{instructions}}|{{last_tool_result}}"},
    ]}]);
    let of = |root: &std::path::Path| {
        let red = workspace("red", root, &format!("task_queue = '{own_queue}'"));
        format!("{red}{STORE}[sources.handbook]\nkind = 'notes'\nstore = 'notes'\n")
    };
    let _main = worker(&bed, &of(&PathBuf::from("/nowhere/at/all")), &turns).await;
    let notes = root(&bed, "red").join(".agent-memory/acme/main");
    std::fs::create_dir_all(&notes).expect("make the notebook");
    std::fs::write(notes.join("tea.md"), "Tea is at four.\n").expect("write a note");
    std::fs::write(notes.join("credit.md"), "Credit never expires.\n").expect("write a note");
    let options = WorkerOptions {
        queues: Some("memory"),
        environment: vec![
            ("NOTEKEEPER_CONFIG", bed.config(&of(&bed.path("red")))),
            ("NOTEKEEPER_TASK_QUEUE", own_queue.clone()),
        ],
        ..WorkerOptions::default()
    };
    let _own = Worker::start(&bed, options).await;

    // Whatever the settings of the memory say.
    for way in Way::ALL {
        let mut input = bed.input_by(way, "acme");
        input.workspace = Some("red".to_owned());
        input.memories[0].store = "notes".to_owned();
        input.memories[0].inject_memory = false;
        let source = json!({"source": "handbook"});
        input.grounding = Some(serde_json::from_value(source.clone()).expect("grounding"));
        input.sources = vec![serde_json::from_value(source).expect("a source")];
        let agent = bed.start(input).await;

        let told = say(&agent, "When is tea?").await.expect("a reply").text;

        let (instructions, found) = told.split_once('|').expect("two parts");
        assert!(
            instructions.contains("[handbook] Tea is at four."),
            "{told}"
        );
        assert!(found.contains("Credit never expires."), "{told}");
        let asked = activities_of(&history(&agent).await, "query_source");
        let asked: Vec<_> = asked
            .iter()
            .map(|it| (it.queue.as_str(), it.input["workspace"].as_str()))
            .collect();
        let expected = (own_queue.as_str(), Some("red"));
        assert_eq!(asked, [expected, expected], "{way:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_run_whose_notes_have_no_place_fails_at_its_start_and_says_what_to_give() {
    let bed = Bed::new().await;
    let config = format!("{}{STORE}", workspace("red", &root(&bed, "red"), ""));
    let _worker = worker(&bed, &config, &json!([])).await;
    for way in [Way::MemoryQueue, Way::Local] {
        let run = |workspace: Option<&str>, store: &str| {
            let mut input = input(&bed, workspace);
            if way == Way::Local {
                input.memories[0].activities.queue = ActivityQueue::Local;
            }
            input.memories[0].store = store.to_owned();
            input
        };
        for (input, told) in [
            (run(None, "notes"), "give the run one of those"),
            (
                run(Some("green"), "notes"),
                "`workspace` names no configured workspace",
            ),
            (
                run(Some("green"), "default"),
                "`workspace` names no configured workspace",
            ),
            (
                run(Some("red"), "note"),
                "`store` names no configured store; configured: `default`, `notes`",
            ),
        ] {
            let agent = bed.start(input).await;
            let failure = failed(&agent).await;
            assert_eq!(failure_type(&failure), "InvalidArgument", "{failure:?}");
            assert!(failure.message.contains(told), "{}", failure.message);
            // It may be a customer's, and not the one whose run this is.
            assert!(!failure.message.contains("`red`"), "{}", failure.message);
        }
    }
    bed.finish().await;
}

#[tokio::test]
async fn what_changes_notes_is_hidden_in_a_read_only_workspace_and_unknown_when_called() {
    let bed = Bed::new().await;
    let root = root(&bed, "red");
    let notes = root.join(".agent-memory/acme/main");
    std::fs::create_dir_all(&notes).expect("make a scope");
    std::fs::write(notes.join("MEMORY.md"), "- likes tea\n").expect("write a note");
    let config = format!("{}{STORE}", workspace("red", &root, "read_only = true"));
    let turns = json!([calls(
        "go",
        &[
            ("write_memory", json!({"content": "- coffee"})),
            ("delete_memory", json!({"file": "teas"})),
            ("search_memory", json!({"query": "tea"})),
            ("read_memory", json!({"file": "MEMORY"})),
        ]
    )]);
    let _worker = worker(&bed, &config, &turns).await;
    let agent = bed.start(input(&bed, Some("red"))).await;

    let reply = say(&agent, "go").await.expect("a reply");

    assert_eq!(reply.text, "- likes tea\n");
    for tools in offered(&agent).await {
        assert_eq!(tools, ["read_memory", "search_memory"]);
    }
    let results = results(&agent).await;
    for (content, is_error) in &results[..2] {
        assert!(*is_error && content.contains("no such tool"), "{content}");
    }
    assert!(results[2..].iter().all(|(_, is_error)| !is_error));
    let entries = std::fs::read_dir(root.join(".agent-memory")).expect("it is there");
    let names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["acme"], "nothing else was made");
    bed.finish().await;
}

#[tokio::test]
async fn read_memory_steps_aside_for_a_tool_that_reads_the_files() {
    let bed = Bed::new().await;
    let config = format!("{}{STORE}", workspace("red", &root(&bed, "workspace"), ""));
    let path = ".agent-memory/acme/main/teas.md";
    let turns = json!([
        calls("note", &[("write_memory", json!({"content": "- sencha", "file": "teas"}))]),
        {"prompt": "show", "responses": [{"text": "{{memory}}"}]},
        calls("read", &[("read_file", json!({"path": path}))]),
        calls("change", &[(
            "write_memory",
            json!({"content": "x", "old_text": "never there", "file": "teas"}),
        )]),
        calls("misremember", &[("read_memory", json!({"file": "teas"}))]),
    ]);
    let application = Application::start(&bed);
    let _worker = worker(&bed, &config, &turns).await;
    let mut input = input(&bed, Some("red"));
    input.tools = vec![application.file_reader()];
    let agent = bed.start(input).await;

    for (said, told) in [
        ("note", "created"),
        (
            "show",
            "These files are in `.agent-memory/acme/main/` in the workspace.",
        ),
        ("read", "- sencha\n"),
        (
            "change",
            "use read_file on `.agent-memory/acme/main/teas.md` and copy the passage exactly",
        ),
        ("misremember", "there is no such tool"),
    ] {
        let reply = say(&agent, said).await.expect("a reply");
        assert!(reply.text.contains(told), "{said}: {}", reply.text);
    }

    for tools in offered(&agent).await {
        assert_eq!(
            tools,
            [
                "write_memory",
                "delete_memory",
                "search_memory",
                "read_file"
            ]
        );
    }
    let requests = activities_of(&history(&agent).await, "call_model");
    for request in &requests {
        let instructions = request.input["instructions"].as_str().expect("text");
        assert!(!instructions.contains("read_file"), "{instructions}");
    }
    assert_eq!(application.calls("read_file")[0]["workspace"], "red");
    bed.finish().await;
}

#[tokio::test]
async fn a_run_that_nobody_could_describe_asks_again_with_the_next_message() {
    let bed = Bed::new().await;
    let turns = json!([{"prompt": "hello", "responses": [{"text": "hi"}]}]);
    let worker = |queues| WorkerOptions {
        script: Some(bed.script(&turns)),
        queues: Some(queues),
        ..WorkerOptions::default()
    };
    let _workflows = Worker::start(&bed, worker("workflows")).await;
    let mut input = bed.input("acme");
    input.memories[0].activities.schedule_to_close_ms = 5_000;
    let agent = bed.start(input).await;

    let nobody = say(&agent, "hello").await.expect_err("no reply");
    let _memory = Worker::start(&bed, worker("memory")).await;
    let reply = say(&agent, "hello").await.expect("a reply");

    assert_eq!(failure_type(&nobody), "Timeout", "{nobody:?}");
    assert_eq!(reply.text, "hi");
    let asked = activities_of(&history(&agent).await, "describe_memory");
    let answered: Vec<_> = asked
        .iter()
        .map(|it| it.outcome.as_ref().is_some_and(Result::is_ok))
        .collect();
    assert_eq!(answered, [false, false, true]);
    bed.finish().await;
}

#[tokio::test]
async fn notes_in_a_workspace_are_reached_from_the_terminal_by_its_name() {
    let bed = Bed::new().await;
    let root = root(&bed, "red");
    let config = bed.config(&format!("{}{STORE}", workspace("red", &root, "")));
    let environment = [("NOTEKEEPER_CONFIG", config.as_str())];
    let note = async |arguments: &[&str]| {
        let all = [arguments, &["--store", "notes", "--namespace", "acme"]].concat();
        run(&bed, &all, &environment).await
    };

    let nowhere = note(&["note", "ls"]).await;
    let absent = note(&["note", "ls", "--workspace", "red"]).await;
    let made = note(&["note", "write", "teas", "- sencha", "--workspace", "red"]).await;
    let read = note(&["note", "cat", "teas", "--workspace", "red"]).await;

    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    let told = "name it with `--workspace`, configured: `red`";
    assert!(nowhere.stderr.contains(told), "{nowhere:?}");
    assert!(
        absent.stderr.contains("there is no directory"),
        "{absent:?}"
    );
    assert_eq!((made.code, read.stdout.as_str()), (Some(0), "- sencha\n"));
    assert!(root.join(".agent-memory/acme/main/teas.md").is_file());
    bed.finish().await;
}

#[tokio::test]
async fn a_worker_does_not_start_without_the_root_of_a_workspace_that_it_serves() {
    let bed = Bed::new().await;
    let gone = bed.path("gone");
    let served = format!("{}{STORE}", workspace("red", &gone, ""));
    let elsewhere = workspace("red", &gone, "task_queue = 'another-machine'");
    let elsewhere = format!("{elsewhere}{STORE}");
    let said = async |config: &str, arguments: &[&str]| {
        let config = bed.config(config);
        run(&bed, arguments, &[("NOTEKEEPER_CONFIG", config.as_str())]).await
    };

    let worker = said(&served, &["worker"]).await;
    let check = said(&served, &["config", "check", "--connect"]).await;
    let other = said(&elsewhere, &["config", "check", "--connect", "--json"]).await;

    assert_eq!(worker.code, Some(1), "{worker:?}");
    assert!(
        worker.stderr.contains("workspace `red`: its root"),
        "{worker:?}"
    );
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.stdout.contains("make it, or give"), "{check:?}");
    let report: Value = serde_json::from_str(&other.stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    let of_workspace = checks
        .iter()
        .find(|check| check["what"] == "workspace `red`");
    assert_eq!(
        of_workspace.expect("it is checked")["message"],
        "writable, not looked at: served on task queue `another-machine` and not by this worker"
    );
    let settings = report["settings"].as_array().expect("settings");
    let queue = settings
        .iter()
        .find(|setting| setting["key"] == "workspaces.red.task_queue");
    assert_eq!(queue.expect("it is shown")["value"], "another-machine");
    bed.finish().await;
}
