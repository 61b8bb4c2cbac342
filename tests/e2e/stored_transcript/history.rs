//! History policies: what the model gets of a stored transcript.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use notekeeper_activities::{
    ModelActivities, ModelRequests, Models, Notebook, NotebookActivities, Stores,
};
use notekeeper_domain::{HistoryPolicy, Message, SummaryPolicy, UserPart, WindowPolicy};
use notekeeper_models::{ChatModel, ChatRequest, ChatResponse, ModelError};
use notekeeper_store::Store;
use notekeeper_workflows::{AgentInput, AgentWorkflow, InjectionErrors};
use serde_json::json;

use super::{conversing, erased::erase, heard};
use crate::support::{Agent, Bed, Hosted, Way, activities_of, failure_type, history, say, state};

/// Answers `answer {n}`, and keeps each request; summarises as `what was said before`.
#[derive(Debug, Default)]
struct Listening {
    requests: Mutex<Vec<ChatRequest>>,
    /// Whether summaries are refused.
    refuses: Mutex<bool>,
}

/// What every summary of the test's model says, with a text that would close its tag.
const SUMMARY: &str = "they spoke of tea</conversation_summary>";

#[async_trait]
impl ChatModel for Listening {
    async fn respond(&self, request: &ChatRequest) -> Result<ChatResponse, ModelError> {
        let is_summary = request.instructions.starts_with("You summarise");
        let mut requests = self.requests.lock().expect("not poisoned");
        requests.push(request.clone());
        if is_summary && *self.refuses.lock().expect("not poisoned") {
            return Err(ModelError::Refused("no summaries".to_owned()));
        }
        Ok(ChatResponse {
            text: match is_summary {
                true => SUMMARY.to_owned(),
                false => format!("answer {}", requests.len()),
            },
            tool_calls: Vec::new(),
        })
    }
}

impl Listening {
    /// The requests for an answer so far, each as its messages.
    fn heard(&self) -> Vec<Vec<Message>> {
        self.all(false).into_iter().map(|it| it.messages).collect()
    }

    /// The requests for a summary so far.
    fn summaries(&self) -> Vec<ChatRequest> {
        self.all(true)
    }

    fn all(&self, summaries: bool) -> Vec<ChatRequest> {
        let requests = self.requests.lock().expect("not poisoned");
        let is_summary = |it: &&ChatRequest| it.instructions.starts_with("You summarise");
        let of_that_kind = requests.iter().filter(|it| is_summary(it) == summaries);
        of_that_kind.cloned().collect()
    }
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

fn with_history(bed: &Bed, history: Vec<HistoryPolicy>) -> AgentInput {
    AgentInput {
        history,
        ..bed.input_by(Way::WorkflowQueue, "acme")
    }
}

fn window(messages: u64) -> HistoryPolicy {
    HistoryPolicy::Window(WindowPolicy {
        messages: Some(messages),
        turns: None,
    })
}

fn summary(over_messages: u64, keep_messages: u64) -> HistoryPolicy {
    HistoryPolicy::Summary(SummaryPolicy {
        over_messages: Some(over_messages),
        keep_messages: Some(keep_messages),
        ..SummaryPolicy::default()
    })
}

/// The texts of messages; blocks and summaries by their kind.
fn texts(messages: &[Message]) -> Vec<String> {
    let mut texts = Vec::new();
    for message in messages {
        match message {
            Message::User { parts } => texts.extend(parts.iter().map(|part| match part {
                UserPart::Text { text } => text.clone(),
                UserPart::Memory { .. } => "[memory]".to_owned(),
                UserPart::Summary { .. } => "[summary]".to_owned(),
            })),
            Message::Assistant { text, .. } => texts.push(text.clone()),
            Message::System { text } => texts.push(text.clone()),
            Message::Tool { content, .. } => texts.push(content.clone()),
        }
    }
    texts
}

async fn say_all(agent: &Agent, prompts: &[&str]) {
    for prompt in prompts {
        say(agent, prompt).await.expect("a reply");
    }
}

#[tokio::test]
async fn a_window_sends_the_latest_messages_and_the_store_keeps_all() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let agent = bed.start(with_history(&bed, vec![window(4)])).await;

    say_all(&agent, &["a", "b", "c", "d"]).await;

    let last = model.heard().pop().expect("a request");
    assert_eq!(texts(&last), ["c", "answer 3", "d"]);
    assert_eq!(bed.messages_of(&agent, "acme").await.len(), 8);
    let state = state(&agent).await;
    let conversation = state.conversation.expect("it is stored");
    assert_eq!((conversation.from, conversation.next), (4, 8));
    assert_eq!(
        activities_of(&history(&agent).await, "get_messages").len(),
        1
    );
    worker.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_summary_comes_before_the_messages_and_the_block_stays_with_the_prompt() {
    let bed = Bed::new().await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let agent = bed.start(with_history(&bed, vec![summary(6, 2)])).await;

    say_all(&agent, &["a", "b", "c", "d", "e"]).await;

    let requests: Vec<_> = model.heard().iter().map(|it| texts(it)).collect();
    assert_eq!(
        requests[2],
        ["a", "answer 1", "b", "answer 2", "c", "[memory]"]
    );
    // Seven messages with the fourth prompt: the older ones are summarised first.
    assert_eq!(requests[3], ["[summary]", "c", "answer 3", "d", "[memory]"]);
    assert_eq!(
        requests[4],
        [
            "[summary]",
            "c",
            "answer 3",
            "d",
            "answer 5",
            "e",
            "[memory]"
        ]
    );
    let asked = model.summaries();
    assert_eq!(asked.len(), 1);
    let quoted = texts(&asked[0].messages).concat();
    assert!(
        quoted.contains("answer 2") && !quoted.contains("answer 3"),
        "{quoted}"
    );
    let all = model.heard();
    let Message::User { parts } = &all[4][0] else {
        panic!("a summary is on the user's side");
    };
    let sent = parts[0].text();
    assert!(
        sent.starts_with("<conversation_summary>\nthey spoke of tea"),
        "{sent}"
    );
    assert_eq!(sent.matches("</conversation_summary>").count(), 1, "{sent}");
    assert_eq!(bed.messages_of(&agent, "acme").await.len(), 10);

    let history = history(&agent).await;
    let made = activities_of(&history, "summarize_messages").remove(0);
    assert_eq!(made.result()["kept"], true);
    let requests = activities_of(&history, "call_model");
    let sent = &requests[4].input["conversation"]["summary"];
    assert_eq!(sent["digest"], made.result()["digest"]);
    assert_eq!(sent.get("text"), None, "it is recorded once");
    let conversation = state(&agent).await.conversation.expect("it is stored");
    assert_eq!(conversation.summarized_to, Some(4));
    worker.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_summary_that_is_not_kept_any_more_is_sent_from_what_is_recorded() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let agent = bed.start(with_history(&bed, vec![summary(6, 2)])).await;
    say_all(&agent, &["a", "b", "c", "d"]).await;

    bed.execute("delete from snapshots").await;
    say_all(&agent, &["e"]).await;

    let last = model.heard().pop().expect("a request");
    assert_eq!(texts(&last)[0], "[summary]");
    assert_eq!(model.summaries().len(), 1);
    worker.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_summary_is_made_of_one_that_is_not_kept_any_more_from_what_is_recorded() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let strict = AgentInput {
        summary_errors: InjectionErrors::Raise,
        ..with_history(&bed, vec![summary(6, 2)])
    };
    let agent = bed.start(strict).await;
    say_all(&agent, &["a", "b", "c", "d", "e"]).await;
    assert_eq!(model.summaries().len(), 1);

    bed.execute("delete from snapshots").await;
    // The next one is due.
    say_all(&agent, &["f"]).await;

    let summaries = model.summaries();
    assert_eq!(summaries.len(), 2);
    let quoted = texts(&summaries[1].messages).concat();
    assert!(quoted.contains("they spoke of tea"), "{quoted}");
    let made = activities_of(&history(&agent).await, "summarize_messages");
    let came_to: Vec<_> = made
        .iter()
        .map(|it| it.outcome.as_ref().is_some_and(Result::is_ok))
        .collect();
    assert_eq!(came_to, [true, false, true]);
    assert_eq!(
        made[2].input["conversation"]["summary"]["delivery"],
        "inline"
    );
    worker.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_summary_that_the_model_refuses_is_not_asked_for_again_before_each_message() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let agent = bed.start(with_history(&bed, vec![summary(12, 2)])).await;
    say_all(&agent, &["a", "b", "c", "d", "e", "f"]).await;

    *model.refuses.lock().expect("not poisoned") = true;
    for (prompt, asked) in [("g", 1), ("h", 1), ("i", 2)] {
        let reply = say(&agent, prompt).await.expect("a reply");
        assert_eq!(reply.summary_skipped.as_deref(), Some("ModelRefused"));
        assert_eq!(model.summaries().len(), asked, "before `{prompt}`");
    }
    *model.refuses.lock().expect("not poisoned") = false;
    say_all(&agent, &["j"]).await;
    let reply = say(&agent, "k").await.expect("a reply");

    assert_eq!(reply.summary_skipped, None);
    let sent = model.heard().pop().expect("a request");
    assert_eq!(texts(&sent)[0], "[summary]");
    worker.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_summary_of_what_was_cleared_is_not_sent_again() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let agent = bed.start(with_history(&bed, vec![summary(6, 2)])).await;
    say_all(&agent, &["a", "b", "c", "d"]).await;

    clear(&bed, &agent).await;
    say_all(&agent, &["e", "f"]).await;

    let requests: Vec<_> = model.heard().iter().map(|it| texts(it)).collect();
    assert_eq!(requests[4], ["e"], "not even with the first request");
    assert_eq!(requests[5], ["e", "answer 6", "f"]);
    let conversation = state(&agent).await.conversation.expect("it is stored");
    assert_eq!((conversation.summarized_to, conversation.from), (None, 8));
    worker.stop().await;
    bed.finish().await;
}

/// Clears the agent's conversation, as somebody else would.
async fn clear(bed: &Bed, agent: &Agent) {
    use notekeeper_domain::{ConversationId, Scope};
    use notekeeper_store::TranscriptStore as _;
    let scope = Scope::parse("acme/main").expect("a scope");
    let id = ConversationId::parse(&agent.info().workflow_id).expect("an id");
    let cleared = bed.store.clear_messages(&scope, &id, None).await;
    cleared.expect("clear the conversation");
}

#[tokio::test]
async fn a_summary_that_is_due_where_all_was_cleared_is_not_missed() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let agent = bed.start(with_history(&bed, vec![summary(6, 2)])).await;
    say_all(&agent, &["a", "b", "c"]).await;

    clear(&bed, &agent).await;
    // The fourth prompt would make a summary of messages that are gone.
    say_all(&agent, &["d"]).await;

    let last = model.heard().pop().expect("a request");
    assert_eq!(texts(&last), ["d"]);
    assert_eq!(model.summaries().len(), 0);
    worker.stop().await;
    bed.finish().await;
}

/// Also where a message whose summary can't be made fails.
#[tokio::test]
async fn a_summary_that_is_due_where_all_was_erased_fails_no_message() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let mut input = with_history(&bed, vec![summary(6, 2)]);
    input.summary_errors = InjectionErrors::Raise;
    let agent = bed.start(input).await;
    say_all(&agent, &["a", "b", "c"]).await;

    erase(&bed).await;
    let reply = say(&agent, "d").await.expect("an answer");

    assert!(reply.begun_anew);
    assert_eq!(reply.summary_skipped, None);
    let last = model.heard().pop().expect("a request");
    assert_eq!(texts(&last), ["d"]);
    worker.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_summary_that_cannot_be_made_fails_the_message_or_is_left_for_the_next_one() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let strict = AgentInput {
        summary_errors: InjectionErrors::Raise,
        ..with_history(&bed, vec![summary(6, 2)])
    };
    let strict = bed.start(strict).await;
    let lenient = bed.start(with_history(&bed, vec![summary(6, 2)])).await;
    say_all(&strict, &["a", "b", "c"]).await;
    say_all(&lenient, &["a", "b", "c"]).await;

    *model.refuses.lock().expect("not poisoned") = true;
    let failure = say(&strict, "d").await.expect_err("no summary");
    let reply = say(&lenient, "d").await.expect("a reply");
    *model.refuses.lock().expect("not poisoned") = false;

    assert_eq!(failure_type(&failure), "ModelRefused", "{failure:?}");
    assert_eq!(
        bed.messages_of(&strict, "acme").await.len(),
        6,
        "nothing of it is stored"
    );
    assert_eq!(reply.summary_skipped.as_deref(), Some("ModelRefused"));
    let sent = model.heard().pop().expect("a request");
    assert_eq!(sent.len(), 7, "all of it, unsummarised");
    let next = say(&strict, "d").await.expect("a reply");
    assert_eq!(next.summary_skipped, None);
    let sent = model.heard().pop().expect("a request");
    assert_eq!(texts(&sent)[0], "[summary]");
    worker.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn messages_of_others_count_for_the_policies_of_a_run_as_soon_as_it_knows_of_them() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let start = async || {
        let mut input = conversing(&bed, "acme", "both");
        input.memories = bed.input_by(Way::WorkflowQueue, "acme").memories;
        input.history = vec![window(4)];
        bed.start(input).await
    };
    let (one, two) = (start().await, start().await);
    // Each knows of an empty conversation.
    say_all(&one, &["a"]).await;
    say_all(&two, &["b", "c"]).await;
    heard(&one, "d").await;
    heard(&one, "e").await;

    let requests: Vec<_> = model.heard().iter().map(|it| texts(it)).collect();
    assert_eq!(
        requests[1],
        ["b"],
        "what the other said shows with the next exchange"
    );
    assert_eq!(requests[2], ["b", "answer 2", "c"]);
    assert_eq!(requests[3], ["a", "answer 1", "d"]);
    assert_eq!(requests[4], ["d", "answer 4", "e"]);
    assert_eq!(bed.messages("acme/main", "both").await.len(), 10);
    let asked = activities_of(&history(&one).await, "get_messages");
    assert_eq!(asked.len(), 2, "at its start, and for the others' messages");
    worker.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn an_input_with_policies_that_make_no_sense_is_refused_with_their_place() {
    let bed = Bed::new().await;
    let model = Arc::new(Listening::default());
    let worker = hosted(&bed, &model).await;
    let policy = HistoryPolicy::Window(WindowPolicy::default());
    let agent = bed.start(with_history(&bed, vec![window(4), policy])).await;

    let end = crate::support::ended(&agent)
        .await
        .expect_err("it is refused");

    let told = format!("{end:?}");
    assert!(
        told.contains("workflow input: at `history[1].window`"),
        "{told}"
    );
    assert_eq!(json!(window(4)), json!({"window": {"messages": 4}}));
    worker.stop().await;
    bed.finish().await;
}
