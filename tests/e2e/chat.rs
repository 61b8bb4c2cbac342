//! `notekeeper chat`: a person, or a pipe, talks to an agent.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use notekeeper_workflows::AgentWorkflow;
use serde_json::json;
use temporalio_client::{WorkflowStartOptions, WorkflowTerminateOptions};
use temporalio_common::{UntypedWorkflow, data_converters::RawValue};

use crate::support::{Bed, Endpoint, Talk, Worker, WorkerOptions, eventually};

/// The script that the README talks to.
fn demo_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demo/chat.json")
}

async fn demo_worker(bed: &Bed) -> Worker {
    let options = WorkerOptions {
        script: Some(demo_script()),
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// An id of a conversation that no other test has.
fn conversation() -> String {
    format!("chat-{:016x}", rand::random::<u64>())
}

/// A Temporal server of a test's own, which keeps its state in a file.
struct Server {
    child: Option<Child>,
    port: u16,
    database: PathBuf,
}

impl Server {
    fn new(database: PathBuf) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        Self {
            child: None,
            port,
            database,
        }
    }

    async fn start(&mut self) {
        let program = std::env::var("TEMPORAL_CLI").unwrap_or_else(|_| "temporal".to_owned());
        let port = self.port.to_string();
        let child = Command::new(program)
            .args(["server", "start-dev", "--headless", "--ip", "127.0.0.1"])
            .args(["--port", &port, "--log-level", "error", "--db-filename"])
            .arg(&self.database)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("start a Temporal server"));
        let address = ("127.0.0.1", self.port);
        eventually("the Temporal server listens", || async {
            tokio::net::TcpStream::connect(address).await.ok()
        })
        .await;
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

#[tokio::test]
async fn a_pipe_gets_its_answers_and_another_conversation_recalls_what_was_said() {
    let bed = Bed::new().await;
    let _worker = demo_worker(&bed).await;
    let (first, second) = (conversation(), conversation());
    let tenant = ["--namespace", "customers/ada"];

    let said = Talk::of(
        &bed,
        &[&first, tenant[0], tenant[1]],
        "I drink green tea.\n\nBye\n/nothing\n",
    )
    .await;
    let asked = Talk::of(&bed, &[&second, tenant[0], tenant[1]], "What do I drink?").await;
    let other = Talk::of(&bed, &[&conversation()], "What do I drink?\n").await;

    assert_eq!(said.code, Some(0), "{said:?}");
    let answers: Vec<_> = said.stdout.lines().collect();
    assert_eq!(answers.len(), 2, "{said:?}");
    assert_eq!(answers[0], "I'll remember that you drink green tea.");
    assert!(
        said.stderr.contains(&format!("new conversation `{first}`")),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("· write_memory {\"content\":"),
        "{said:?}"
    );
    assert!(said.stderr.contains("there is no /nothing"), "{said:?}");
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert!(asked.stdout.contains("- Drinks green tea"), "{asked:?}");
    assert_eq!(
        bed.note("customers/ada/main", "MEMORY.md").await.as_deref(),
        Some("- Drinks green tea, without sugar.\n")
    );
    assert_eq!(other.stdout, "This is what I have in my notes:\n\n");
    bed.finish().await;
}

#[tokio::test]
async fn a_conversation_goes_on_after_all_was_stopped_and_through_a_restart_of_temporal() {
    let mut bed = Bed::new().await;
    let mut server = Server::new(bed.path("temporal.db"));
    server.start().await;
    bed.temporal_address = format!("127.0.0.1:{}", server.port);
    let mut worker = demo_worker(&bed).await;
    let before = Talk::of(&bed, &[], "I drink green tea.\n").await;
    worker.kill();
    server.stop();

    server.start().await;
    let worker = demo_worker(&bed).await;
    let mut after = Talk::start(&bed, &[]);
    after.write("What do I drink?\n");
    after.hears("- Drinks green tea").await;
    server.stop();
    after.write("And?\n");
    after.is_told("Temporal can't be reached").await;
    server.start().await;
    after
        .hears("</memory>\nThis is what I have in my notes:")
        .await;
    let after = after.ended().await;

    assert_eq!(before.code, Some(0), "{before:?}");
    assert_eq!(after.code, Some(0), "{after:?}");
    let shown = "conversation `chat` goes on; /help lists commands\n> I drink green tea.\n\
                 I'll remember that you drink green tea.\n";
    assert!(after.stderr.contains(shown), "{after:?}");
    let history = Talk::of(&bed, &[], "/history\n").await;
    assert_eq!(history.stderr.matches("> And?").count(), 2, "{history:?}");
    drop(worker);
    bed.finish().await;
}

#[tokio::test]
async fn a_closed_conversation_goes_on_with_its_messages_or_is_begun_anew() {
    let bed = Bed::new().await;
    let _worker = demo_worker(&bed).await;
    let id = conversation();
    let arguments = [id.as_str()];
    let anew = [id.as_str(), "--new"];

    let unborn = Talk::of(&bed, &arguments, "/close\nHi\n\nHo\n").await;
    let left = Talk::of(&bed, &arguments, "/quit\nHi").await;
    let nothing = Talk::of(&bed, &arguments, "/close\n\n/quit\n").await;
    let open = Talk::of(&bed, &arguments, "Hi\n").await;
    let twice = Talk::of(&bed, &anew, "Hi\n").await;
    let closed = Talk::of(&bed, &arguments, "/close\nHi\n").await;
    let again = eventually("the conversation has ended", || async {
        let again = Talk::of(&bed, &arguments, "").await;
        again.stderr.contains("messages;").then_some(again)
    })
    .await;
    let anew = Talk::of(&bed, &anew, "Hi\n").await;

    assert!(unborn.stderr.contains("nothing to close"), "{unborn:?}");
    for (ended, unsent) in [(&unborn, 2), (&left, 1), (&closed, 1)] {
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = format!("lines that were not sent: {unsent}\n");
        assert!(ended.stderr.contains(&told), "{ended:?}");
    }
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert_eq!(open.code, Some(0), "{open:?}");
    assert_eq!(twice.code, Some(1), "{twice:?}");
    assert!(twice.stderr.contains("is still open"), "{twice:?}");
    assert_eq!(closed.stdout, "", "{closed:?}");
    assert!(
        closed.stderr.contains(&format!("`{id}` is closed")),
        "{closed:?}"
    );
    assert_eq!(again.code, Some(0), "{again:?}");
    let resumed = format!("conversation `{id}` goes on with its 2 messages");
    assert!(again.stderr.contains(&resumed), "{again:?}");
    assert_eq!(anew.code, Some(0), "{anew:?}");
    assert!(
        anew.stderr.contains("2 earlier messages are removed"),
        "{anew:?}"
    );
    bed.finish().await;
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_with_what_to_do() {
    let mut bed = Bed::new().await;
    let id = conversation();
    let options = WorkflowStartOptions::new(&bed.workflow_task_queue, &id)
        .run_timeout(Duration::from_secs(60))
        .build();
    bed.client
        .start_workflow(
            UntypedWorkflow::new("Other"),
            RawValue::new(Vec::new()),
            options,
        )
        .await
        .expect("start a workflow");

    let other = Talk::of(&bed, &[&id], "Hi\n").await;
    let namespace = Talk::of(&bed, &["--namespace", "a b"], "Hi\n").await;
    let broken = Talk::of(&bed, &["a\nb"], "Hi\n").await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    bed.temporal_address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let alone = Talk::of(&bed, &[], "Hi\n").await;

    for (ended, part) in [
        (other, "a workflow of the type `Other`"),
        (namespace, "namespace has a segment"),
        (broken, "id has a control character"),
        (alone, "run `notekeeper dev`, or set TEMPORAL_ADDRESS"),
    ] {
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(1), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(part), "{ended:?}");
        assert_eq!(ended.stderr.matches("error:").count(), 1, "{ended:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn where_no_worker_is_there_the_wait_says_so_and_ends_at_ctrl_c() {
    let bed = Bed::new().await;
    let id = conversation();
    let mut talk = Talk::start(&bed, &[&id]);
    talk.write("Is anybody there?\n");
    talk.is_told(&format!(
        "no worker serves the task queue `{}`",
        bed.workflow_task_queue
    ))
    .await;
    talk.interrupt();
    let ended = talk.ended().await;
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended.stderr.contains("no worker has taken the message yet"),
        "{ended:?}"
    );

    // A worker for conversations alone takes the message, and nobody asks the model.
    let options = WorkerOptions {
        script: Some(demo_script()),
        queues: Some("workflows"),
        ..WorkerOptions::default()
    };
    let _workflows = Worker::start(&bed, options).await;
    let mut talk = Talk::start(&bed, &[&conversation()]);
    talk.write("What do I drink?\n");
    talk.is_told(&format!(
        "no worker serves the task queue `{}`",
        bed.task_queue
    ))
    .await;
    let _both = demo_worker_of_memory(&bed).await;
    let ended = talk.ended().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("my notes"), "{ended:?}");
    bed.finish().await;
}

#[tokio::test]
async fn a_pipe_does_not_wait_for_ever_and_a_terminated_conversation_is_called_so() {
    let bed = Bed::new().await;
    let id = conversation();
    let ended = Talk::of(&bed, &[&id, "--timeout", "1"], "Hi\nHi again\n").await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(1), ""),
        "{ended:?}"
    );
    assert_eq!(ended.stderr.matches("--timeout").count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("may be lost"), "{ended:?}");

    // Nobody answers, and the conversation has the message.
    let options = WorkerOptions {
        script: Some(demo_script()),
        queues: Some("workflows"),
        ..WorkerOptions::default()
    };
    let _workflows = Worker::start(&bed, options).await;
    let id = conversation();
    let ended = Talk::of(&bed, &[&id, "--timeout", "3"], "What do I drink?\n").await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the message is kept"), "{ended:?}");

    bed.client
        .get_workflow_handle::<AgentWorkflow>(id.clone())
        .terminate(WorkflowTerminateOptions::default())
        .await
        .expect("terminate it");
    let ended = Talk::of(&bed, &[&id], "Hi\n").await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("was terminated, and whether its messages are kept can't be seen"),
        "{ended:?}"
    );
    bed.finish().await;
}

async fn demo_worker_of_memory(bed: &Bed) -> Worker {
    let options = WorkerOptions {
        script: Some(demo_script()),
        queues: Some("memory"),
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

#[tokio::test]
async fn a_message_whose_answer_was_not_waited_for_is_answered_and_shown_later() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    endpoint.then_answer_after(Duration::from_secs(2), json!({"content": "It is late."}));
    let _worker = endpoint.worker(&bed).await;
    let id = conversation();
    let mut talk = Talk::start(&bed, &[&id]);
    talk.write("What time is it?\n");
    endpoint.was_asked(1).await;
    talk.interrupt();
    let ended = talk.ended().await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(130), ""),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("the message is kept"), "{ended:?}");

    eventually("the answer is there", || async {
        let later = Talk::of(&bed, &[&id], "").await;
        later
            .stderr
            .contains("> What time is it?\nIt is late.")
            .then_some(())
    })
    .await;
    assert_eq!(endpoint.requests().await.len(), 1);
    bed.finish().await;
}

#[tokio::test]
async fn a_model_that_fails_is_told_and_the_chat_goes_on() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    endpoint
        .then_fail(401)
        .then_answer(json!({"content": "\u{1b}[2Jhi"}));
    let _worker = endpoint.worker(&bed).await;

    let ended = Talk::of(&bed, &[&conversation()], "Hi\nHi again\n").await;

    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended.stdout, "\u{1b}[2Jhi\n",
        "a pipe gets the answer as it is"
    );
    let told = "error: model refused: the endpoint answered 401; check the API key (ModelRefused)";
    assert!(ended.stderr.contains(told), "{ended:?}");
    bed.finish().await;
}

#[tokio::test]
async fn a_wait_for_a_model_that_is_asked_again_and_again_says_why() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    // The sixth attempt comes after some six seconds.
    for _ in 0..5 {
        endpoint.then_fail(503);
    }
    endpoint.then_answer(json!({"content": "At last."}));
    let _worker = endpoint.worker(&bed).await;

    let ended = Talk::of(&bed, &[&conversation()], "Hi\n").await;

    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "At last.\n"),
        "{ended:?}"
    );
    let told =
        "`call_model` failed and is tried again: model is unavailable: the endpoint answered 503.";
    assert!(ended.stderr.contains(told), "{ended:?}");
    bed.finish().await;
}

#[tokio::test]
async fn in_a_terminal_lines_are_edited_pasted_texts_stay_whole_and_nothing_steers_it() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    endpoint
        .then_answer(json!({"content": "One\u{1b}[2J."}))
        .then_answer(json!({"content": "Two."}))
        .then_answer_after(Duration::from_secs(3), json!({"content": "Three."}));
    let _worker = endpoint.worker(&bed).await;
    let id = conversation();
    let mut talk = Talk::in_terminal(&bed, &[&id]);
    talk.hears("> ").await;
    // The last letter is deleted again.
    talk.write("Hix\u{7f}\r");
    talk.hears("One\u{fffd}[2J.").await;
    talk.hears("> ").await;
    talk.write("\u{1b}[200~two\nlines\u{1b}[201~\r");
    talk.hears("Two.").await;
    talk.hears("> ").await;
    talk.write("And?\r");
    endpoint.was_asked(3).await;
    // Ctrl-C ends the wait, and at the prompt it drops the line.
    talk.write("\u{3}");
    talk.hears("the message is kept").await;
    talk.hears("> ").await;
    talk.write("nonsense\u{3}");
    talk.hears("Ctrl-D or /quit leaves.").await;
    talk.hears("> ").await;
    talk.write("/history\r");
    talk.hears("> two\r\nlines").await;
    talk.hears("Two.").await;
    talk.hears("> And?").await;
    talk.hears("> ").await;
    talk.write("\u{4}");
    let ended = talk.ended().await;

    assert_eq!(ended.code, Some(0), "{ended:?}");
    let requests = endpoint.requests().await;
    let messages = &requests[1]["messages"];
    assert_eq!(messages[1]["content"], "Hi");
    assert_eq!(messages[3]["content"], "two\nlines");
    bed.finish().await;
}
