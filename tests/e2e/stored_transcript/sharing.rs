//! Conversations that go on elsewhere, facts that they share, and several writers.

use notekeeper_workflows::AgentInput;
use serde_json::{Value, json};
use temporalio_client::WorkflowTerminateOptions;

use super::{conversing, heard, pairs, said, tool_turn, turn};
use crate::support::{
    Agent, Application, Bed, Worker, WorkerOptions, activities_of, begin, close, ended,
    failure_type, history, reply, say, state,
};

#[tokio::test]
async fn a_conversation_goes_on_in_a_new_workflow_after_the_first_was_closed_or_terminated() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &json!([turn("hello", "{{message_count}}")])).await;
    let first = bed.start(conversing(&bed, "acme", "ticket 7")).await;
    assert_eq!(heard(&first, "hello").await, "1");
    close(&first).await;
    let output = ended(&first).await.expect("a good end");
    assert_eq!((output.messages, output.unstored), (2, 0));

    let second = bed.start(conversing(&bed, "acme", "ticket 7")).await;
    assert_eq!(heard(&second, "hello").await, "3");
    let options = WorkflowTerminateOptions::default();
    second.terminate(options).await.expect("terminate it");
    let third = bed.start(conversing(&bed, "acme", "ticket 7")).await;
    assert_eq!(heard(&third, "hello").await, "5");
    let other = bed.start(conversing(&bed, "acme", "ticket 8")).await;
    assert_eq!(heard(&other, "hello").await, "1");
    let tenant = bed.start(conversing(&bed, "umbrella", "ticket 7")).await;
    assert_eq!(heard(&tenant, "hello").await, "1");

    assert_eq!(bed.messages("acme/main", "ticket 7").await.len(), 6);
    assert_eq!(state(&third).await.messages, 6);
    bed.finish().await;
}

/// An input whose model has the tools of facts.
fn with_facts(bed: &Bed, namespace: &str, id: &str) -> AgentInput {
    AgentInput {
        fact_tools: true,
        ..conversing(bed, namespace, id)
    }
}

fn fact_turns() -> Value {
    json!([
        tool_turn(
            "remember",
            "remember",
            json!({"key": "tea", "value": "green, sencha"}),
            "{{last_tool_result}}"
        ),
        tool_turn(
            "recall",
            "recall",
            json!({"query": "sencha"}),
            "{{last_tool_result}}"
        ),
        tool_turn(
            "forget",
            "forget",
            json!({"key": "tea"}),
            "{{last_tool_result}}"
        ),
        tool_turn(
            "blank",
            "remember",
            json!({"key": " ", "value": "x"}),
            "{{last_tool_result}}"
        ),
        tool_turn(
            "odd",
            "recall",
            json!({"words": "x"}),
            "{{last_tool_result}}"
        ),
    ])
}

#[tokio::test]
async fn two_conversations_of_a_tenant_share_facts_and_another_tenant_has_its_own() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &fact_turns()).await;
    let [one, two] = [
        bed.start(with_facts(&bed, "acme", "one")).await,
        bed.start(with_facts(&bed, "acme", "two")).await,
    ];
    let stranger = bed.start(with_facts(&bed, "umbrella", "one")).await;

    let kept = heard(&one, "remember").await;
    assert!(kept.contains(r#""status":"created""#), "{kept}");
    let found = heard(&two, "recall").await;
    assert_eq!(
        found,
        r#"{"facts":[{"key":"tea","value":"green, sencha"}]}"#
    );
    assert_eq!(heard(&stranger, "recall").await, r#"{"facts":[]}"#);
    let again = heard(&two, "remember").await;
    assert!(again.contains(r#""status":"updated""#), "{again}");
    let gone = heard(&one, "forget").await;
    assert!(gone.contains(r#""status":"deleted""#), "{gone}");
    let gone = heard(&one, "forget").await;
    assert!(gone.contains(r#""status":"not_found""#), "{gone}");
    assert_eq!(heard(&two, "recall").await, r#"{"facts":[]}"#);
    bed.finish().await;
}

#[tokio::test]
async fn what_the_model_can_correct_in_a_call_of_a_fact_tool_is_told_and_not_retried() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &fact_turns()).await;
    let agent = bed.start(with_facts(&bed, "acme", "one")).await;

    let blank = heard(&agent, "blank").await;
    assert!(blank.contains("key must have 1 to 500 bytes"), "{blank}");
    let odd = heard(&agent, "odd").await;
    assert!(odd.contains("unknown field `words`"), "{odd}");

    let history = history(&agent).await;
    let remembered = activities_of(&history, "remember").remove(0);
    assert_eq!(remembered.result()["outcome"], "refused");
    assert_eq!(activities_of(&history, "recall").len(), 0);
    let messages = bed.messages("acme/main", "one").await;
    let errors = messages.iter().filter(|it| it["is_error"] == true);
    assert_eq!(errors.count(), 2);
    bed.finish().await;
}

#[tokio::test]
async fn a_tool_of_the_application_with_the_name_of_a_fact_tool_is_refused_only_beside_those() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let turns = json!([tool_turn(
        "go",
        "recall",
        json!({"query": "x"}),
        "{{last_tool_result}}"
    )]);
    let _worker = Worker::serving(&bed, &turns).await;
    let mut tool = application.tool("look_up");
    tool.name = "recall".to_owned();
    let mut input = bed.input("acme");
    input.tools = vec![tool.clone()];
    let own = bed.start(input).await;
    let mut input = with_facts(&bed, "acme", "one");
    input.tools = vec![tool];
    let refused = bed.start(input).await;

    let answer = heard(&own, "go").await;
    assert!(answer.contains("\"got\""), "{answer}");
    let end = ended(&refused).await.expect_err("it is refused");
    let told = format!("{end:?}");
    assert!(told.contains("two tools are named `recall`"), "{told}");
    bed.finish().await;
}

#[tokio::test]
async fn two_workflows_on_one_conversation_see_each_others_turns_whole() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let _worker = Worker::serving(
        &bed,
        &json!([
            tool_turn("wait", "gate", json!({}), "waited among {{message_count}}"),
            turn("hello", "hello among {{message_count}}"),
        ]),
    )
    .await;
    let start = async || -> Agent {
        let mut input = conversing(&bed, "acme", "both");
        input.tools = application.tools();
        bed.start(input).await
    };
    let (one, two) = (start().await, start().await);

    let waiting = begin(&one, "wait").await;
    application.at_the_gate(1).await;
    // The other one talks while this one's exchange isn't stored.
    assert_eq!(heard(&two, "hello").await, "hello among 1");
    application.open_the_gate();
    let waited = reply(waiting).await.expect("a reply").text;
    assert_eq!(heard(&two, "hello").await, "hello among 3");
    let last = heard(&two, "hello").await;

    assert_eq!(
        waited, "waited among 5",
        "the other's two, and its own three"
    );
    assert_eq!(last, "hello among 9", "all that both said");
    let messages = bed.messages("acme/main", "both").await;
    let expected = pairs([
        ("user", "hello"),
        ("assistant", "hello among 1"),
        ("user", "wait"),
        ("assistant", ""),
        ("tool", "passed"),
        ("assistant", "waited among 5"),
        ("user", "hello"),
        ("assistant", "hello among 3"),
        ("user", "hello"),
        ("assistant", "hello among 9"),
    ]);
    assert_eq!(said(&messages), expected);
    bed.finish().await;
}

#[tokio::test]
async fn a_conversation_that_somebody_clears_begins_anew_and_its_facts_stay() {
    let bed = Bed::new().await;
    let mut turns = fact_turns();
    let list = turns.as_array_mut().expect("a list");
    list.push(turn("hello", "{{message_count}}"));
    let _worker = Worker::serving(&bed, &turns).await;
    let agent = bed.start(with_facts(&bed, "acme", "one")).await;
    heard(&agent, "remember").await;
    assert_eq!(heard(&agent, "hello").await, "5");

    let clear = json!({"scope": {"namespace": "acme"}, "conversation": "one"});
    let cleared = bed.call("clear_messages", &clear).await;
    assert_eq!(cleared.result()["cleared"], 6);

    assert_eq!(heard(&agent, "hello").await, "1");
    assert_eq!(heard(&agent, "hello").await, "3");
    let state = state(&agent).await;
    assert_eq!(state.messages, 4);
    let conversation = state.conversation.expect("it is stored");
    assert_eq!((conversation.from, conversation.next), (6, 10));
    assert!(heard(&agent, "recall").await.contains("sencha"));
    bed.finish().await;
}

/// A store of files keeps no transcripts.
#[tokio::test]
async fn what_needs_a_store_with_transcripts_is_refused_where_the_store_keeps_none() {
    let bed = Bed::new().await;
    let notes = bed.path("notes");
    let config = format!(
        "[stores.files]\nkind = 'file'\ndirectory = '{}'",
        notes.display()
    );
    let turns = json!([turn("hello", "{{message_count}}")]);
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&config))],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let on_files = |mut input: AgentInput| {
        input.memories[0].store = "files".to_owned();
        input
    };

    let plain = bed.start(on_files(bed.input("acme"))).await;
    assert_eq!(heard(&plain, "hello").await, "1");
    assert_eq!(heard(&plain, "hello").await, "3");
    assert_eq!(state(&plain).await.conversation, None);

    let mut with_store = on_files(bed.input("acme"));
    with_store.conversation.store = Some("default".to_owned());
    let elsewhere = bed.start(with_store).await;
    assert_eq!(heard(&elsewhere, "hello").await, "1");
    assert_eq!(heard(&elsewhere, "hello").await, "3");
    assert_eq!(bed.messages_of(&elsewhere, "acme").await.len(), 4);

    let named = bed.start(on_files(conversing(&bed, "acme", "one"))).await;
    let failure = say(&named, "hello").await;
    let end = format!("{:?}", ended(&named).await.expect_err("it is refused"));
    assert!(end.contains("Unsupported"), "{end}");
    assert!(end.contains("the input has `conversation.id`"), "{end}");
    if let Err(failure) = failure {
        assert_eq!(failure_type(&failure), "Unsupported");
    }
    bed.finish().await;
}
