//! An application's tools: activities of a worker that runs inside the test.

#![expect(
    dead_code,
    reason = "the macro makes a constant of each activity, for workflow code"
)]

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use notekeeper_workflows::{ApplicationTool, FILE_READER};
use serde_json::{Value, json};
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::{
    Runtime, Worker, WorkerOptions,
    activities::{ActivityContext, ActivityError},
    runtime::RuntimeOptions,
};
use tokio::sync::watch;

use super::{Agent, Bed, bed::connect, eventually};

/// The application of a test, with the tools `look_up`, `fetch`, `gate`, `sell_out`, `read_file` and
/// `search_docs`.
pub(crate) struct Application {
    tools: Tools,
    task_queue: String,
    stop: watch::Sender<bool>,
}

#[derive(Clone)]
struct Tools {
    calls: Arc<Mutex<Vec<(&'static str, Value)>>>,
    gate: watch::Sender<bool>,
    /// Where the workspace is that `read_file` reads.
    files: PathBuf,
}

#[activities]
impl Tools {
    /// Answers with what it got.
    #[activity(name = "look_up")]
    async fn look_up(
        self: Arc<Self>,
        _context: ActivityContext,
        input: Value,
    ) -> Result<Value, ActivityError> {
        self.note("look_up", &input);
        Ok(json!({"got": input}))
    }

    /// Answers with as many bytes as it is asked for.
    #[activity(name = "fetch")]
    async fn fetch(
        self: Arc<Self>,
        _context: ActivityContext,
        input: Value,
    ) -> Result<String, ActivityError> {
        self.note("fetch", &input);
        let bytes = input["arguments"]["bytes"].as_u64().unwrap_or_default();
        Ok("x".repeat(usize::try_from(bytes).unwrap_or_default()))
    }

    /// Searches a handbook of two passages.
    #[activity(name = "search_docs")]
    async fn search_docs(
        self: Arc<Self>,
        _context: ActivityContext,
        input: Value,
    ) -> Result<Value, ActivityError> {
        self.note("search_docs", &input);
        Ok(json!([
            {"content": "Deploys freeze on Fridays.", "url": "/handbook/deploys", "score": 0.9},
            {"content": "Rollbacks need two approvers.", "url": "/handbook/rollback", "score": 0.7},
        ]))
    }

    /// Ends when the test opens the gate.
    #[activity(name = "gate")]
    async fn gate(
        self: Arc<Self>,
        _context: ActivityContext,
        input: Value,
    ) -> Result<String, ActivityError> {
        self.note("gate", &input);
        let mut open = self.gate.subscribe();
        // `self` holds a sender, so the channel can't close under the wait.
        let _ = open.wait_for(|open| *open).await;
        Ok("passed".to_owned())
    }

    /// Reads a file of the workspace, wherever the model found its path.
    #[activity(name = "read_file")]
    async fn read_file(
        self: Arc<Self>,
        _context: ActivityContext,
        input: Value,
    ) -> Result<String, ActivityError> {
        self.note("read_file", &input);
        let path = input["arguments"]["path"].as_str().unwrap_or_default();
        Ok(std::fs::read_to_string(self.files.join(path))
            .unwrap_or_else(|error| format!("can't read it: {}", error.kind())))
    }

    /// Fails for good, in the application's own way.
    #[activity(name = "sell_out")]
    async fn sell_out(
        self: Arc<Self>,
        _context: ActivityContext,
        input: Value,
    ) -> Result<String, ActivityError> {
        self.note("sell_out", &input);
        let failure = ApplicationFailure::builder("nothing is left")
            .type_name("OutOfStock".to_owned())
            .non_retryable(true)
            .build();
        Err(failure.into())
    }
}

impl Tools {
    fn note(&self, tool: &'static str, input: &Value) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((tool, input.clone()));
    }
}

impl Application {
    /// Starts the application's worker on a queue of its own.
    pub(crate) fn start(bed: &Bed) -> Self {
        let application = Self {
            tools: Tools {
                calls: Arc::default(),
                gate: watch::Sender::new(false),
                files: bed.path("workspace"),
            },
            task_queue: format!("{}-application", bed.task_queue),
            stop: watch::Sender::new(false),
        };
        let (address, namespace) = (bed.temporal_address.clone(), bed.temporal_namespace.clone());
        let (tools, queue) = (application.tools.clone(), application.task_queue.clone());
        let stop = application.stop.subscribe();
        // A thread and a runtime of its own: a worker's future can't be sent to another thread.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime
                .expect("a runtime")
                .block_on(serve(&address, &namespace, &queue, tools, stop));
        });
        application
    }

    /// One of its tools, for an agent's input.
    pub(crate) fn tool(&self, name: &str) -> ApplicationTool {
        ApplicationTool {
            name: name.to_owned(),
            description: format!("The tool `{name}`."),
            parameters: json!({"type": "object"}),
            kind: None,
            activity: name.to_owned(),
            task_queue: Some(self.task_queue.clone()),
            start_to_close_ms: 30_000,
            schedule_to_close_ms: 30_000,
        }
    }

    /// The queue on which its worker waits.
    pub(crate) fn task_queue(&self) -> &str {
        &self.task_queue
    }

    /// Its tool that reads files of the directory `workspace` of the bed, of the kind for which
    /// `read_memory` steps aside.
    pub(crate) fn file_reader(&self) -> ApplicationTool {
        ApplicationTool {
            kind: Some(FILE_READER.to_owned()),
            ..self.tool("read_file")
        }
    }

    /// All its tools.
    pub(crate) fn tools(&self) -> Vec<ApplicationTool> {
        ["look_up", "gate", "sell_out"]
            .map(|name| self.tool(name))
            .into()
    }

    /// Starts a conversation whose model may call all of them.
    pub(crate) async fn talk(&self, bed: &Bed, namespace: &str) -> Agent {
        let mut input = bed.input(namespace);
        input.tools = self.tools();
        bed.start(input).await
    }

    /// What a tool got, call by call.
    pub(crate) fn calls(&self, tool: &str) -> Vec<Value> {
        let calls = self
            .tools
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let of_tool = calls.iter().filter(|(name, _)| *name == tool);
        of_tool.map(|(_, input)| input.clone()).collect()
    }

    /// Waits until so many calls stand at the gate, or went through.
    pub(crate) async fn at_the_gate(&self, calls: usize) {
        eventually(&format!("{calls} calls are at the gate"), || async {
            (self.calls("gate").len() >= calls).then_some(())
        })
        .await;
    }

    /// Lets all through, now and later.
    pub(crate) fn open_the_gate(&self) {
        self.tools.gate.send_replace(true);
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.tools.gate.send_replace(true);
        self.stop.send_replace(true);
    }
}

async fn serve(
    address: &str,
    namespace: &str,
    task_queue: &str,
    tools: Tools,
    mut stop: watch::Receiver<bool>,
) {
    let client = connect(address, namespace).await;
    let options = RuntimeOptions::builder().build().expect("runtime options");
    let runtime = Runtime::from_current_tokio(options).expect("a runtime");
    let worker_options = WorkerOptions::new(task_queue)
        .graceful_shutdown_period(Duration::from_millis(100))
        .register_activities(tools)
        .build();
    let mut worker = Worker::new(&runtime, client, worker_options).expect("a worker");
    let shut_down = worker.shutdown_handle();
    tokio::spawn(async move {
        let _ = stop.wait_for(|stop| *stop).await;
        shut_down();
    });
    worker.run().await.expect("the application's worker");
}
