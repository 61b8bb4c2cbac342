//! A model's endpoint that answers what a test says, one request after another.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

use super::{Bed, Worker, WorkerOptions, eventually};

/// The key that its workers send.
pub(crate) const KEY: &str = "SECRET-key";

/// An endpoint on a port of its own.
pub(crate) struct Endpoint {
    server: MockServer,
    answers: Answers,
}

#[derive(Clone, Default)]
struct Answers(Arc<Mutex<VecDeque<ResponseTemplate>>>);

impl Respond for Answers {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers
            .pop_front()
            .unwrap_or_else(|| ResponseTemplate::new(400))
    }
}

impl Endpoint {
    pub(crate) async fn start() -> Self {
        let endpoint = Self {
            server: MockServer::start().await,
            answers: Answers::default(),
        };
        Mock::given(any())
            .respond_with(endpoint.answers.clone())
            .mount(&endpoint.server)
            .await;
        endpoint
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.server.uri())
    }

    /// Adds an answer.
    pub(crate) fn then(&self, answer: ResponseTemplate) -> &Self {
        let mut answers = self
            .answers
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        answers.push_back(answer);
        self
    }

    /// Adds a failure.
    pub(crate) fn then_fail(&self, status: u16) -> &Self {
        self.then(ResponseTemplate::new(status))
    }

    /// Adds a message of the model.
    pub(crate) fn then_answer(&self, message: Value) -> &Self {
        self.then(completion(message))
    }

    /// Adds a message that takes its time.
    pub(crate) fn then_answer_after(&self, delay: Duration, message: Value) -> &Self {
        self.then(completion(message).set_delay(delay))
    }

    /// Bodies of the requests so far.
    pub(crate) async fn requests(&self) -> Vec<Value> {
        let requests = self.server.received_requests().await.expect("requests");
        let bodies = requests.iter().map(Request::body_json);
        bodies.collect::<Result<_, _>>().expect("JSON")
    }

    /// Waits for so many requests.
    pub(crate) async fn was_asked(&self, requests: usize) {
        eventually(&format!("there are {requests} requests"), || async {
            (self.requests().await.len() >= requests).then_some(())
        })
        .await;
    }

    /// A worker whose model `default` is here.
    pub(crate) async fn worker(&self, bed: &Bed) -> Worker {
        let options = WorkerOptions {
            environment: vec![
                ("NOTEKEEPER_MODEL", "test-model".to_owned()),
                ("OPENAI_BASE_URL", self.url()),
                ("OPENAI_API_KEY", KEY.to_owned()),
                ("NOTEKEEPER_LOG", "debug".to_owned()),
            ],
            ..WorkerOptions::default()
        };
        Worker::start(bed, options).await
    }
}

fn completion(message: Value) -> ResponseTemplate {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    ResponseTemplate::new(200).set_body_json(json!({"id": "x", "choices": [choice]}))
}
