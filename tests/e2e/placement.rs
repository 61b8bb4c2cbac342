//! Where blocks stand: cases of the vectors, through `AgentWorkflow` and real activities.

#[path = "../vectors/topics/placement/words.rs"]
mod words;

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use notekeeper_activities::{
    ModelActivities, ModelRequests, Models, Notebook, NotebookActivities, Stores,
};
use notekeeper_contract::{ChatMemory, ChatMessage};
use notekeeper_domain::{Message, Scope, ToolCall};
use notekeeper_models::{ChatModel, ChatRequest, ChatResponse, ModelError};
use notekeeper_store::Store;
use notekeeper_workflows::{
    ActivityQueue, AgentInput, AgentWorkflow, MemorySettings, Resumed, Session,
};
use serde_json::{Value, json};

use crate::support::{Bed, Hosted, say, transcript};
use words::Words;

#[tokio::test]
async fn a_write_during_the_run_is_in_the_block_of_the_next_request() {
    through_the_workflow("message_placement-006-write-mid-run").await;
}

#[tokio::test]
async fn a_block_that_an_earlier_run_left_in_the_transcript_is_taken_out() {
    through_the_workflow("message_placement-019-old-block-current").await;
}

#[tokio::test]
async fn the_blocks_of_two_memories_stay_with_the_prompt_in_a_tool_loop() {
    through_the_workflow("message_placement-037-two-memories").await;
}

/// A block of another memory is none of this run's business.
#[tokio::test]
async fn a_block_that_another_memory_left_stays() {
    through_the_workflow("message_placement-029-old-block-other-scope").await;
}

/// Answers what a case says, and keeps the messages of each request.
#[derive(Debug, Default)]
struct Listening {
    requests: Mutex<Vec<Vec<Message>>>,
    answers: Mutex<VecDeque<ChatResponse>>,
}

#[async_trait]
impl ChatModel for Listening {
    async fn respond(&self, request: &ChatRequest) -> Result<ChatResponse, ModelError> {
        self.requests
            .lock()
            .expect("not poisoned")
            .push(request.messages.clone());
        let answer = self.answers.lock().expect("not poisoned").pop_front();
        answer.ok_or_else(|| ModelError::Refused("the case has no more answers".to_owned()))
    }
}

fn case(id: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/vectors/data/message_placement.json");
    let text = std::fs::read_to_string(file).expect("read the cases");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    let cases = file["cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["id"] == id);
    case.unwrap_or_else(|| panic!("there is no case {id}"))
        .clone()
}

async fn through_the_workflow(id: &str) {
    let case = case(id);
    let (given, expected) = (&case["given"], &case["expect"]);
    let bed = Bed::new().await;
    for (path, text) in given["files"].as_object().expect("files") {
        let (scope, name) = path.rsplit_once('/').expect("a path");
        bed.put(scope, name, text.as_str().expect("text")).await;
    }
    let model = Arc::new(Listening::default());
    let answers = given["script"].as_array().expect("a script").iter();
    *model.answers.lock().expect("not poisoned") = answers.enumerate().map(answer).collect();
    let worker = hosted(&bed, &model).await;
    let mut shape = Shape::default();
    let input = input(given, &mut shape);
    let agent = bed.start(input).await;

    let prompt = given["prompt"].as_str().expect("a prompt");
    say(&agent, prompt).await.expect("a reply");

    let requests = model.requests.lock().expect("not poisoned").clone();
    let requests: Vec<_> = requests
        .iter()
        .map(|messages| shape.shown(messages))
        .collect();
    assert_eq!(json!(requests), expected["requests"], "{id}");
    let kept: Vec<Message> = transcript(&agent)
        .await
        .into_iter()
        .map(Into::into)
        .collect();
    assert_eq!(shape.shown(&kept), expected["history_after"], "{id}");
    worker.stop().await;
    bed.finish().await;
}

/// A worker inside the test whose model is this one.
async fn hosted(bed: &Bed, model: &Arc<Listening>) -> Hosted {
    let stores: [(String, Arc<dyn Store>); 1] =
        [("default".to_owned(), Arc::new(bed.store.clone()))];
    let stores = Stores::new(stores);
    let model: Arc<dyn ChatModel> = model.clone();
    let models = Models::new([("default".to_owned(), model)]);
    let requests = ModelRequests::new(models, stores.clone());
    let mut options = temporalio_sdk::WorkerOptions::new(bed.workflow_task_queue.as_str())
        .register_activities(NotebookActivities::new(Notebook::new(stores)))
        .register_activities(ModelActivities::new(requests))
        .build();
    options
        .register_workflow::<AgentWorkflow>()
        .expect("a new type");
    Hosted::start(bed.client.clone(), options).await
}

fn answer((number, answer): (usize, &Value)) -> ChatResponse {
    let call = answer["tool"].as_str().map(|name| ToolCall {
        id: format!("c{number}"),
        name: name.to_owned(),
        arguments: answer["args"].clone(),
    });
    ChatResponse {
        text: answer["text"].as_str().unwrap_or_default().to_owned(),
        tool_calls: call.into_iter().collect(),
    }
}

fn input(given: &Value, shape: &mut Shape) -> AgentInput {
    let default = json!([{}]);
    let memories = given.get("memories").unwrap_or(&default).as_array();
    let memories = memories.expect("a list").iter().map(|memory| {
        let mut settings = MemorySettings::from_spec(memory.clone()).expect("settings");
        settings.activities.queue = ActivityQueue::Workflow;
        settings
    });
    let mut input = AgentInput {
        memories: memories.collect(),
        ..AgentInput::default()
    };
    let session = Session::new();
    let opened: Vec<_> = input
        .memories
        .iter()
        .map(|memory| {
            session
                .open(memory.clone(), &(), |()| "")
                .expect("a memory")
        })
        .collect();
    for memory in &opened {
        shape.words.know(memory.scope().clone());
    }
    if let Some(history) = given["history"].as_array() {
        input.resumed = Some(Resumed {
            scope_hash: session.scope_hash(),
            transcript: history
                .iter()
                .map(|message| shape.earlier(message))
                .collect(),
            conversation: None,
            turns: 1,
            skipped_snapshots: 0,
            grounded: None,
            skipped_groundings: 0,
            answered: Vec::new(),
        });
    }
    input
}

/// Messages in the words of the cases.
#[derive(Default)]
struct Shape {
    words: Words,
}

impl Shape {
    /// A message of an earlier run.
    fn earlier(&mut self, given: &Value) -> ChatMessage {
        let parts = given["parts"].as_array().expect("parts");
        if given["role"] == "response" {
            return ChatMessage::Assistant {
                content: "ok".to_owned(),
                tool_calls: Vec::new(),
            };
        }
        let (mut content, mut memories) = (String::new(), Vec::new());
        for part in parts {
            match part.as_str() {
                Some(text) => content.push_str(text.strip_prefix("user:").expect("a prompt")),
                None => {
                    let block = &part["memory"];
                    let scope = block["scope"].as_str().unwrap_or("main");
                    let scope = Scope::parse(scope).expect("a scope");
                    let text = block["text"].as_str().expect("text").to_owned();
                    self.words.number(&text);
                    memories.push(ChatMemory {
                        scope_hash: scope.hash(),
                        text,
                    });
                    self.words.know(scope);
                }
            }
        }
        ChatMessage::User { content, memories }
    }

    fn shown(&mut self, messages: &[Message]) -> Value {
        let shown = messages.iter().map(|message| {
            let (role, parts) = self.words.of(message);
            json!({"role": role, "parts": parts})
        });
        shown.collect()
    }
}
