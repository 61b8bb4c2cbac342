//! `notekeeper chat` goes on with what a store keeps of a conversation, whatever became of its workflow
//! and of the server.

use std::path::Path;

use notekeeper_workflows::AgentWorkflow;
use serde_json::{Value, json};
use temporalio_client::WorkflowTerminateOptions;

use crate::support::{
    Bed, Ended, Endpoint, Talk,
    dev::{Dev, gone},
    eventually, run,
};

/// Starts `notekeeper dev` with a model at the endpoint, and points the bed at it.
async fn dev(bed: &mut Bed, data: &Path, endpoint: &Endpoint) -> Dev {
    let url = endpoint.url();
    let arguments = ["--no-ui", "--model", "test-model", "--model-url", &url];
    let dev = Dev::start(data, &arguments).await;
    bed.temporal_address = dev.address();
    bed.temporal_namespace = "default".to_owned();
    bed.task_queue = "notekeeper".to_owned();
    bed.workflow_task_queue = "notekeeper-workflows".to_owned();
    dev
}

/// Says one thing, to which the model answers.
async fn say(
    bed: &Bed,
    endpoint: &Endpoint,
    arguments: &[&str],
    text: &str,
    answer: &str,
) -> Ended {
    endpoint.then_answer(json!({"content": answer}));
    let ended = Talk::of(bed, arguments, &format!("{text}\n")).await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), format!("{answer}\n").as_str()),
        "{ended:?}"
    );
    ended
}

/// What was said, as the model was sent it last: without the system's text and memory blocks.
async fn sent(endpoint: &Endpoint) -> Vec<(String, String)> {
    let requests = endpoint.requests().await;
    let messages = requests.last().expect("a request")["messages"].clone();
    let messages = messages.as_array().expect("a list").clone();
    let told = messages
        .iter()
        .filter(|message| message["role"] != "system");
    told.map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn exchange(prompt: &str, answer: &str) -> [(String, String); 2] {
    let of = |role: &str, text: &str| (role.to_owned(), text.to_owned());
    [of("user", prompt), of("assistant", answer)]
}

/// All that was said and a further prompt.
fn said(exchanges: &[(&str, &str)], prompt: &str) -> Vec<(String, String)> {
    let mut said: Vec<_> = exchanges
        .iter()
        .flat_map(|(prompt, answer)| exchange(prompt, answer))
        .collect();
    said.push(("user".to_owned(), prompt.to_owned()));
    said
}

#[tokio::test]
async fn after_a_stop_a_kill_and_the_loss_of_the_servers_data_the_model_sees_what_was_said() {
    let mut bed = Bed::new().await;
    let data = bed.path("data");
    let endpoint = Endpoint::start().await;

    let mut first = dev(&mut bed, &data, &endpoint).await;
    let server = first.server();
    let began = say(&bed, &endpoint, &[], "I am Ada.", "Hello Ada.").await;
    assert!(
        began.stderr.contains("new conversation `chat`"),
        "{began:?}"
    );
    say(&bed, &endpoint, &[], "I drink tea.", "Noted.").await;
    // As the terminal does on Ctrl-C: to the whole group.
    first.signal("-INT", true);
    assert_eq!(first.ended().await.code(), Some(0));
    gone(server).await;

    let mut second = dev(&mut bed, &data, &endpoint).await;
    let server = second.server();
    let resumed = say(&bed, &endpoint, &["--last", "1"], "Who am I?", "Ada.").await;
    assert!(
        resumed.stderr.contains(
            "conversation `chat` goes on; /help lists commands\n> I drink tea.\nNoted.\n"
        ),
        "{resumed:?}"
    );
    let both = [("I am Ada.", "Hello Ada."), ("I drink tea.", "Noted.")];
    assert_eq!(sent(&endpoint).await, said(&both, "Who am I?"));
    second.signal("-KILL", false);
    assert_eq!(second.ended().await.code(), None);
    gone(server).await;

    // What Temporal knew is gone; what the store keeps is not.
    for suffix in ["", "-wal", "-shm"] {
        let file = data.join(format!("temporal.sqlite{suffix}"));
        match std::fs::remove_file(&file) {
            Ok(()) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
        }
    }
    assert!(!data.join("temporal.sqlite").exists());
    let mut third = dev(&mut bed, &data, &endpoint).await;
    let resumed = say(&bed, &endpoint, &[], "And what do I drink?", "Tea.").await;
    assert!(
        resumed
            .stderr
            .contains("conversation `chat` goes on with its 6 messages"),
        "{resumed:?}"
    );
    assert!(
        resumed.stderr.contains("> I am Ada.\nHello Ada.\n"),
        "{resumed:?}"
    );
    let three = [both[0], both[1], ("Who am I?", "Ada.")];
    assert_eq!(sent(&endpoint).await, said(&three, "And what do I drink?"));
    third.signal("-TERM", false);
    assert_eq!(third.ended().await.code(), Some(0));

    // The store's file alone tells it as well.
    let notes = data.join("notes.sqlite");
    let notes = notes.to_str().expect("a path that is text");
    let show = [
        "messages", "show", "chat", "-n", "chat", "--sqlite", notes, "--last", "2",
    ];
    let environment = [("DATABASE_URL", ""), ("NOTEKEEPER_SCHEMA", "")];
    let shown = run(&bed, &show, &environment).await;
    assert_eq!(
        shown.stdout, "#6 user\n  And what do I drink?\n\n#7 assistant\n  Tea.\n",
        "{shown:?}"
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_conversation_whose_workflow_was_closed_or_terminated_goes_on_with_its_messages() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    let _worker = endpoint.worker(&bed).await;
    let id = format!("chat-{:016x}", rand::random::<u64>());
    let tenant = [id.as_str(), "--namespace", "customers/ada"];
    say(&bed, &endpoint, &tenant, "One.", "1").await;

    let closed = Talk::of(&bed, &tenant, "/close\n").await;
    assert_eq!(closed.code, Some(0), "{closed:?}");
    let resumed = eventually("the workflow has ended", || async {
        let ended = Talk::of(&bed, &tenant, "").await;
        ended
            .stderr
            .contains("goes on with its 2 messages")
            .then_some(ended)
    })
    .await;
    assert!(resumed.stderr.contains("> One.\n1\n"), "{resumed:?}");
    say(&bed, &endpoint, &tenant, "Two.", "2").await;
    assert_eq!(sent(&endpoint).await, said(&[("One.", "1")], "Two."));

    let workflow = bed.client.get_workflow_handle::<AgentWorkflow>(id.clone());
    let options = WorkflowTerminateOptions::default();
    workflow.terminate(options).await.expect("terminate it");
    say(&bed, &endpoint, &tenant, "Three.", "3").await;
    let two = [("One.", "1"), ("Two.", "2")];
    assert_eq!(sent(&endpoint).await, said(&two, "Three."));

    // Another id of the same transcript.
    let other = format!("{id}-again");
    let again = [
        &other,
        "--namespace",
        "customers/ada",
        "--conversation",
        &id,
    ];
    let resumed = say(&bed, &endpoint, &again, "Four.", "4").await;
    assert!(
        resumed.stderr.contains("goes on with its 6 messages"),
        "{resumed:?}"
    );
    let three = [two[0], two[1], ("Three.", "3")];
    assert_eq!(sent(&endpoint).await, said(&three, "Four."));
    let all = Talk::of(&bed, &again, "/history\n").await;
    assert!(
        all.stderr
            .contains("> One.\n1\n> Two.\n2\n> Three.\n3\n> Four.\n4\n"),
        "{all:?}"
    );
    bed.finish().await;
}

#[tokio::test]
async fn new_and_clear_remove_what_is_kept_and_nothing_else() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    let _worker = endpoint.worker(&bed).await;
    let id = format!("chat-{:016x}", rand::random::<u64>());
    let fact = ["fact", "set", "k", "v", "-n", "chat"];
    assert_eq!(run(&bed, &fact, &[]).await.code, Some(0));
    say(&bed, &endpoint, &[&id], "One.", "1").await;
    endpoint.then_answer(json!({"content": "2"}));
    let cleared = Talk::of(&bed, &[&id], "/clear\n/clear yes\nTwo.\n").await;
    assert_eq!(
        (cleared.code, cleared.stdout.as_str()),
        (Some(0), "2\n"),
        "{cleared:?}"
    );
    assert!(
        cleared
            .stderr
            .contains("2 messages are removed; notes and facts stay"),
        "{cleared:?}"
    );
    assert!(
        cleared.stderr.contains("/clear yes removes them"),
        "the word alone removes nothing: {cleared:?}"
    );
    assert_eq!(sent(&endpoint).await, said(&[], "Two."));

    let open = Talk::of(&bed, &[&id, "--new"], "").await;
    assert_eq!(open.code, Some(1), "{open:?}");
    assert!(open.stderr.contains("is still open"), "{open:?}");
    let workflow = bed.client.get_workflow_handle::<AgentWorkflow>(id.clone());
    let options = WorkflowTerminateOptions::default();
    workflow.terminate(options).await.expect("terminate it");
    let anew = say(&bed, &endpoint, &[&id, "--new"], "Three.", "3").await;
    assert!(
        anew.stderr.contains("2 earlier messages are removed"),
        "{anew:?}"
    );
    assert_eq!(sent(&endpoint).await, said(&[], "Three."));
    let get = run(&bed, &["fact", "get", "k", "-n", "chat"], &[]).await;
    assert_eq!(get.stdout, "v\n", "{get:?}");

    // On a terminal it is asked.
    let workflow = bed.client.get_workflow_handle::<AgentWorkflow>(id.clone());
    let options = WorkflowTerminateOptions::default();
    workflow.terminate(options).await.expect("terminate it");
    let mut asked = Talk::in_terminal(&bed, &[&id, "--new"]);
    asked.hears("remove the 2 messages that are kept").await;
    asked.hears("[y/N]").await;
    asked.write("n\r");
    let ended = asked.ended().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let kept = Talk::of(&bed, &[&id], "").await;
    assert!(
        kept.stderr.contains("goes on with its 2 messages"),
        "{kept:?}"
    );
    bed.finish().await;
}

/// Also where the command has more blanks than it needs.
#[tokio::test]
async fn a_cleared_conversation_goes_on_for_all_who_talk_in_it_and_for_who_comes_back() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    let _worker = endpoint.worker(&bed).await;
    let id = format!("chat-{:016x}", rand::random::<u64>());
    say(&bed, &endpoint, &[&id], "One.", "1").await;
    let mut other = Talk::start(&bed, &[&id]);
    other.is_told("goes on").await;

    let cleared = Talk::of(&bed, &[&id], "/clear  yes \n").await;
    endpoint.then_answer(json!({"content": "2"}));
    other.write("Two.\n");
    other.hears("2").await;
    let other = other.ended().await;

    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    let removed = "2 messages are removed; notes and facts stay";
    assert!(cleared.stderr.contains(removed), "{cleared:?}");
    assert_eq!(other.code, Some(0), "{other:?}");
    assert_eq!(sent(&endpoint).await, said(&[], "Two."));
    say(&bed, &endpoint, &[&id], "Three.", "3").await;
    assert_eq!(sent(&endpoint).await, said(&[("Two.", "2")], "Three."));

    // One that was closed as well begins anew, with nothing that could be lost.
    let closed = Talk::of(&bed, &[&id], "/clear yes\n/close\n").await;
    assert_eq!(closed.code, Some(0), "{closed:?}");
    eventually("the workflow has ended", || async {
        let ended = Talk::of(&bed, &[&id], "").await;
        ended.stderr.contains("new conversation").then_some(())
    })
    .await;
    say(&bed, &endpoint, &[&id], "Four.", "4").await;
    assert_eq!(sent(&endpoint).await, said(&[], "Four."));
    bed.finish().await;
}

#[tokio::test]
async fn flags_that_a_conversation_which_goes_on_does_not_heed_are_told() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    let _worker = endpoint.worker(&bed).await;
    let id = format!("chat-{:016x}", rand::random::<u64>());
    let began = [id.as_str(), "--namespace", "customers/ada", "--facts"];
    let told = "what is given now doesn't count";
    let new = say(&bed, &endpoint, &began, "One.", "1").await;
    let same = Talk::of(&bed, &began, "").await;
    let plain = Talk::of(&bed, &[&id], "").await;
    for ended in [new, same, plain] {
        assert!(!ended.stderr.contains(told), "{ended:?}");
    }

    let other = ["--namespace", "other", "--facts", "--model", "nope"];
    let other = [&[id.as_str()], &other[..]].concat();
    let heard = say(&bed, &endpoint, &other, "Two.", "2").await;
    let line = format!("{told}: --namespace, --model;");
    assert_eq!(heard.stderr.matches(&line).count(), 1, "{heard:?}");
    assert_eq!(sent(&endpoint).await, said(&[("One.", "1")], "Two."));
    bed.finish().await;
}

#[tokio::test]
async fn facts_are_offered_and_a_window_leaves_the_older_messages_in_the_store() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    let _worker = endpoint.worker(&bed).await;
    let id = format!("chat-{:016x}", rand::random::<u64>());
    let arguments = [id.as_str(), "--facts", "--history", "window:3"];
    endpoint
        .then_answer(json!({"content": null, "tool_calls": [{
            "id": "c1", "type": "function",
            "function": {"name": "remember", "arguments": "{\"key\": \"food\", \"value\": \"no peanuts\"}"},
        }]}))
        .then_answer(json!({"content": "Remembered."}));
    let first = Talk::of(&bed, &arguments, "I can't eat peanuts.\n").await;
    assert_eq!(first.stdout, "Remembered.\n", "{first:?}");
    assert!(first.stderr.contains("· remember {"), "{first:?}");
    say(&bed, &endpoint, &arguments, "Two.", "2").await;
    say(&bed, &endpoint, &arguments, "Three.", "3").await;
    assert_eq!(sent(&endpoint).await, said(&[("Two.", "2")], "Three."));
    let tools = endpoint.requests().await.pop().expect("a request")["tools"].to_string();
    for tool in ["\"remember\"", "\"recall\"", "\"forget\""] {
        assert!(tools.contains(tool), "{tool}: {tools}");
    }
    let found = run(&bed, &["fact", "get", "food", "-n", "chat"], &[]).await;
    assert_eq!(found.stdout, "no peanuts\n", "{found:?}");
    let show = ["messages", "show", &id, "-n", "chat"];
    let shown = run(&bed, &show, &[]).await;
    assert_eq!(shown.stdout.matches('#').count(), 8, "{shown:?}");
    let odd = Talk::of(&bed, &[&id, "--history", "window:0"], "").await;
    assert_eq!(odd.code, Some(1), "{odd:?}");
    assert!(odd.stderr.contains("history[0]"), "{odd:?}");
    bed.finish().await;
}
