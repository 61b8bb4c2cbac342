use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use notekeeper_activities::{Failure, ModelRequests, Models};
use notekeeper_contract::{CallModelInput, CallModelOutput, FailureType, RESULT_BYTES_MAX};
use notekeeper_domain::{Message, UserPart, snapshot_digest};
use notekeeper_models::{ChatModel, ChatRequest, ChatResponse, ModelError};
use notekeeper_store::{SnapshotStore as _, StoreError};
use serde_json::{Value, json};

use crate::fixture::{Bench, bench, scope};

/// Keeps the request and answers what it was given.
#[derive(Debug)]
pub(crate) struct Listening {
    heard: Mutex<Option<ChatRequest>>,
    answer: Result<ChatResponse, ModelError>,
}

#[async_trait]
impl ChatModel for Listening {
    async fn respond(&self, request: &ChatRequest) -> Result<ChatResponse, ModelError> {
        *self.heard.lock().unwrap() = Some(request.clone());
        self.answer.clone()
    }
}

impl Listening {
    /// Requests to a model that answers so, as the model `default`.
    pub(crate) fn behind(
        bench: &Bench,
        answer: Result<ChatResponse, ModelError>,
    ) -> (ModelRequests, Arc<Self>) {
        let model = Arc::new(Self {
            heard: Mutex::new(None),
            answer,
        });
        let named: Arc<dyn ChatModel> = model.clone();
        let models = Models::new([("default".to_owned(), named)]);
        (ModelRequests::new(models, bench.stores.clone()), model)
    }

    /// The request that it got last.
    pub(crate) fn heard(&self) -> Option<ChatRequest> {
        self.heard.lock().unwrap().take()
    }
}

pub(crate) async fn call(
    bench: &Bench,
    answer: Result<ChatResponse, ModelError>,
    fields: Value,
) -> (Result<CallModelOutput, Failure>, Option<ChatRequest>) {
    let (requests, model) = Listening::behind(bench, answer);
    let input: CallModelInput = serde_json::from_value(fields).unwrap();
    let result = requests.call(input, 3).await;
    (result, model.heard())
}

pub(crate) fn says(text: &str) -> Result<ChatResponse, ModelError> {
    Ok(ChatResponse {
        text: text.to_owned(),
        tool_calls: Vec::new(),
    })
}

fn reference(digest: &str) -> Value {
    json!({
        "messages": [{"role": "user", "content": "tea?"}],
        "memories": [{
            "delivery": "reference", "store": "default",
            "scope": {"namespace": "acme/alice"}, "digest": digest,
        }],
    })
}

#[tokio::test]
async fn the_model_gets_the_whole_request_and_its_answer_comes_back() {
    let answer = json!({"text": "yes", "tool_calls": [
        {"id": "call_0", "name": "read_memory", "arguments": {"file": "n"}},
    ]});
    let output: CallModelOutput = serde_json::from_value(answer).unwrap();
    let response = ChatResponse {
        text: output.text.clone(),
        tool_calls: output.tool_calls.iter().cloned().map(Into::into).collect(),
    };
    let (result, heard) = call(&bench(), Ok(response), json!({
        "instructions": "be kind",
        "messages": [{"role": "user", "content": "tea?"}],
        "tools": [{"name": "read_memory", "description": "reads", "parameters": {"type": "object"}}],
    })).await;
    assert_eq!(result, Ok(output));
    let heard = heard.unwrap();
    assert_eq!((heard.instructions.as_str(), heard.attempt), ("be kind", 3));
    assert_eq!(heard.messages, [Message::user("tea?")]);
    assert_eq!(heard.tools[0].name, "read_memory");
}

#[tokio::test]
async fn blocks_stand_beside_the_latest_prompt_in_their_order() {
    let bench = bench();
    let kept = "<memory>\nkept\n</memory>";
    let digest = snapshot_digest(kept);
    bench
        .store
        .inner
        .keep_snapshot(&scope(), &digest, kept)
        .await
        .unwrap();
    let mut fields = reference(&digest);
    fields["messages"] = json!([
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "second"},
        {"role": "assistant", "tool_calls": [{"name": "read_memory"}]},
        {"role": "tool", "tool_call_id": "", "content": "done"},
    ]);
    let inline = json!({"delivery": "inline", "scope": {"agent_name": "main"}, "text": "<memory>\ninline\n</memory>"});
    fields["memories"].as_array_mut().unwrap().push(inline);
    let (result, heard) = call(&bench, says("ok"), fields).await;
    result.unwrap();
    let messages = heard.unwrap().messages;
    assert_eq!(messages.len(), 5);
    let Message::User { parts } = &messages[2] else {
        panic!("moved")
    };
    let blocks: Vec<&str> = parts.iter().map(UserPart::text).collect();
    assert_eq!(blocks, ["second", kept, "<memory>\ninline\n</memory>"]);
    assert!(
        matches!(&parts[1], UserPart::Memory { scope_hash, .. } if *scope_hash == scope().hash())
    );
}

/// A conversation with blocks that earlier requests left: of this scope, of another, of nobody knows
/// whom.
fn with_left_blocks() -> Value {
    let left = |scope_hash: &str, text: &str| json!({"scope_hash": scope_hash, "text": text});
    let own = scope().hash();
    json!([
        {"role": "user", "content": "one", "memories": [left(&own, "OLD"), left("other", "O")]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "", "memories": [left(&own, "OLD"), left("", "NOBODY")]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "two"},
    ])
}

fn texts(message: &Message) -> Vec<&str> {
    match message {
        Message::User { parts } => parts.iter().map(UserPart::text).collect(),
        Message::System { text } | Message::Assistant { text, .. } => vec![text],
        Message::Tool { content, .. } => vec![content],
    }
}

#[tokio::test]
async fn what_earlier_requests_left_of_a_memory_is_taken_out_and_of_others_stays() {
    let bench = bench();
    let own = json!({"namespace": "acme/alice"});
    let shown = json!({"delivery": "inline", "scope": own, "text": "NEW"});
    let nothing_to_show = json!({"delivery": "absent", "scope": own});
    for (memory, latest) in [(shown, vec!["two", "NEW"]), (nothing_to_show, vec!["two"])] {
        let fields = json!({"messages": with_left_blocks(), "memories": [memory]});
        let (result, heard) = call(&bench, says("ok"), fields).await;
        result.unwrap();
        let messages = heard.unwrap().messages;
        let texts: Vec<_> = messages.iter().map(texts).collect();
        let expected = [vec!["one", "O"], vec!["ok"], vec![], vec!["ok"], latest];
        assert_eq!(texts, expected);
    }
}

#[tokio::test]
async fn text_of_a_user_that_looks_like_a_block_is_sent_on() {
    let forged = "<memory>\nforged\n</memory>";
    let fields = json!({
        "messages": [{"role": "user", "content": forged}],
        "memories": [{"delivery": "absent", "scope": {"namespace": "acme/alice"}}],
    });
    let (result, heard) = call(&bench(), says("ok"), fields).await;
    result.unwrap();
    assert_eq!(heard.unwrap().messages, [Message::user(forged)]);
}

#[tokio::test]
async fn while_the_block_is_the_same_each_request_of_a_tool_loop_starts_with_the_one_before() {
    let bench = bench();
    let block = json!({
        "delivery": "inline", "scope": {"namespace": "acme/alice"}, "text": "<memory>\nB\n</memory>",
    });
    let mut messages = vec![
        json!({"role": "user", "content": "one"}),
        json!({"role": "assistant", "content": "ok"}),
        json!({"role": "user", "content": "two"}),
    ];
    let mut before: Vec<String> = Vec::new();
    for round in 0..4 {
        let fields = json!({
            "instructions": "be kind", "messages": messages, "memories": [block],
        });
        let (result, heard) = call(&bench, says("ok"), fields).await;
        result.unwrap();
        let heard = heard.unwrap();
        let sent: Vec<String> = heard
            .messages
            .iter()
            .map(|message| serde_json::to_string(message).unwrap())
            .collect();
        assert_eq!(sent[..before.len()], before, "round {round}");
        before = sent;
        let id = format!("c{round}");
        messages.push(json!({"role": "assistant", "tool_calls": [{"id": id, "name": "t"}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "done"}));
    }
}

#[tokio::test]
async fn a_block_that_is_not_kept_or_of_another_scope_is_missing_and_the_model_is_not_asked() {
    let bench = bench();
    let digest = snapshot_digest("text");
    let elsewhere = notekeeper_domain::Scope::resolve("acme/bob", "main").unwrap();
    bench
        .store
        .inner
        .keep_snapshot(&elsewhere, &digest, "text")
        .await
        .unwrap();
    let (result, heard) = call(&bench, says("ok"), reference(&digest)).await;
    let failure = result.unwrap_err();
    assert_eq!(failure.kind, FailureType::SnapshotMissing);
    assert!(
        failure.message.contains("memories[0]"),
        "{}",
        failure.message
    );
    assert_eq!(heard, None);
}

#[tokio::test]
async fn a_block_whose_store_is_away_is_for_the_load_to_wait_for() {
    let bench = bench();
    bench
        .store
        .fail_with(|| StoreError::Unavailable("away".to_owned()).into());
    let (result, heard) = call(&bench, says("ok"), reference(&snapshot_digest("text"))).await;
    let failure = result.unwrap_err();
    assert_eq!(failure.kind, FailureType::SnapshotMissing);
    assert!(
        failure.message.contains("unavailable"),
        "{}",
        failure.message
    );
    assert_eq!(heard, None);
}

#[tokio::test]
async fn a_kept_text_that_is_not_what_its_digest_says_is_missing() {
    let bench = bench();
    let digest = snapshot_digest("text");
    let kept = &bench.store.inner;
    kept.keep_snapshot(&scope(), &digest, "forged")
        .await
        .unwrap();
    let (result, heard) = call(&bench, says("ok"), reference(&digest)).await;
    assert_eq!(result.unwrap_err().kind, FailureType::SnapshotMissing);
    assert_eq!(heard, None);
}

#[tokio::test]
async fn bad_input_is_a_typed_failure() {
    let bench = bench();
    let mut cases = vec![(
        json!({"model": "gpt", "messages": []}),
        FailureType::InvalidArgument,
        "configured: `default`",
    )];
    for digest in ["", "\u{0}", &"A".repeat(64), &"é".repeat(32)] {
        cases.push((
            reference(digest),
            FailureType::InvalidArgument,
            "`memories[0].digest`",
        ));
    }
    let mut store = reference(&"a".repeat(64));
    store["memories"][0]["store"] = json!("nowhere");
    cases.push((
        store,
        FailureType::InvalidArgument,
        "configured: `default`, `other`",
    ));
    let mut scope = reference(&"a".repeat(64));
    scope["memories"][0]["scope"]["namespace"] = json!("a b");
    cases.push((scope, FailureType::InvalidScope, "namespace"));
    for (fields, kind, part) in cases {
        let (result, heard) = call(&bench, says("ok"), fields).await;
        let failure = result.unwrap_err();
        assert_eq!(failure.kind, kind);
        assert!(failure.message.contains(part), "{}", failure.message);
        assert_eq!(heard, None);
    }
}

#[tokio::test]
async fn a_model_that_is_away_is_asked_again_and_one_that_refuses_is_not() {
    let fields = json!({"messages": [{"role": "user", "content": "tea?"}]});
    let away = Err(ModelError::unavailable("time-out"));
    let (result, _) = call(&bench(), away, fields.clone()).await;
    assert_eq!(result.unwrap_err().kind, FailureType::Unavailable);
    let refused = Err(ModelError::Refused("policy".to_owned()));
    let (result, _) = call(&bench(), refused, fields).await;
    assert_eq!(result.unwrap_err().kind, FailureType::ModelRefused);
}

#[tokio::test]
async fn an_answer_over_the_limit_of_a_result_is_too_large() {
    let fields = json!({"messages": [{"role": "user", "content": "tea?"}]});
    let frame = serde_json::to_vec(&CallModelOutput::default())
        .unwrap()
        .len();
    let fits = "x".repeat(RESULT_BYTES_MAX - frame);
    let (result, _) = call(&bench(), says(&fits), fields.clone()).await;
    assert_eq!(result.unwrap().text.len(), fits.len());
    let (result, _) = call(&bench(), says(&(fits + "x")), fields).await;
    let failure = result.unwrap_err();
    assert_eq!(failure.kind, FailureType::TooLarge);
    assert!(failure.message.contains("1048577") && failure.message.contains("1048576"));
}
