//! Sources as tools of the model.

use notekeeper_contract::ChatMessage;
use notekeeper_domain::Where;
use notekeeper_workflows::{AgentSource, SearchErrors};
use serde_json::{Value, json};
use temporalio_client::WorkflowGetResultOptions;

use super::{SCOPE, grounded, grounding, library::Library, queries};
use crate::support::{
    Agent, Bed, Way, Worker, activities_of, failure_type, history, say, state, transcript,
};

fn source(name: &str) -> AgentSource {
    AgentSource {
        source: name.to_owned(),
        tool: None,
        description: None,
        k: None,
        condition: Where::default(),
        max_tokens: 4_000,
        errors: SearchErrors::Tell,
        namespace: None,
        agent_name: None,
    }
}

/// One answer with these calls of tools, then a text.
fn calls_then_text(prompt: &str, calls: Value, text: &str) -> Value {
    json!({"prompt": prompt, "responses": [{"tool_calls": calls}, {"text": text}]})
}

/// Text of each tool result of the conversation, and whether it tells of an error.
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
async fn the_model_searches_a_source_and_can_correct_what_it_asked() {
    let bed = Bed::new().await;
    let call = |name: &str, arguments: Value| json!({"id": "call_0", "name": name, "arguments": arguments});
    let calls = json!([
        call("look_up", json!({"query": "refunds"})),
        call(
            "look_up",
            json!({"query": "refunds", "namespace": "umbrella"})
        ),
        call("look_up", json!({"limit": 3})),
        call("look_up", json!("{not json")),
        call("look_up", json!({"query": "a\u{0}b"})),
        call(
            "look_up",
            json!(json!({"query": "nothing like it"}).to_string())
        ),
        call("look_up", json!({"query": "refunds ".repeat(3_000)})),
    ]);
    let turns = json!([calls_then_text("go", calls, "{{message_count}}")]);
    let library = Library::open(&bed, &turns).await;
    bed.put(SCOPE, "refunds.md", "Refunds take 5 days.").await;
    bed.put("umbrella/main", "refunds.md", "Refunds of another tenant.")
        .await;
    let mut input = bed.input_by(Way::WorkflowQueue, "acme");
    input.sources = vec![AgentSource {
        tool: Some("look_up".to_owned()),
        description: Some("Look something up.".to_owned()),
        k: Some(3),
        ..source("notes")
    }];
    let agent = bed.start(input).await;

    say(&agent, "go").await.expect("a reply");

    let results = results(&agent).await;
    let found: Value = serde_json::from_str(&results[0].0).expect("JSON");
    let items = found["items"].as_array().expect("items");
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["content"], "Refunds take 5 days.");
    assert_eq!(items[0]["source"], "notes");
    assert_eq!(items[0]["metadata"]["path"], "refunds.md");
    let errors: Vec<_> = results.iter().map(|(_, is_error)| *is_error).collect();
    assert_eq!(errors, [false, true, true, true, true, false, false]);
    for (told, _) in &results[1..5] {
        assert!(
            told.starts_with("the arguments don't fit the tool's schema"),
            "{told}"
        );
    }
    assert_eq!(results[5].0, json!({"items": []}).to_string());
    assert_eq!(results[6].0, results[0].0);
    let queries = queries(&agent).await;
    assert_eq!(queries.len(), 3, "what doesn't fit is asked of nobody");
    assert_eq!(queries[0]["k"], 3);
    let long = queries[2]["query"].as_str().expect("a query");
    assert_eq!(long.chars().count(), 8_192);
    let requests = activities_of(&history(&agent).await, "call_model");
    let offered = requests[0].input["tools"].as_array().expect("tools").iter();
    let offered: Vec<_> = offered.filter(|tool| tool["name"] == "look_up").collect();
    assert_eq!(offered.len(), 1);
    assert_eq!(offered[0]["description"], "Look something up.");
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn one_definition_grounds_the_conversation_and_is_a_tool_of_the_model() {
    let bed = Bed::new().await;
    let calls = json!([
        {"id": "call_0", "name": "search_notes", "arguments": {"query": "tea"}}
    ]);
    let turns = json!([calls_then_text(
        "What of refunds?",
        calls,
        "{{instructions}}|{{last_tool_result}}"
    )]);
    let library = Library::open(&bed, &turns).await;
    bed.put(SCOPE, "refunds.md", "Refunds take 5 days.").await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    bed.put(SCOPE, "refunds-internal.md", "Refunds: ask the boss.")
        .await;
    let mut input = grounded(&bed);
    input.sources = vec![AgentSource {
        condition: Where::of_value(json!({"path": "tea.md"})).expect("an object"),
        ..source("notes")
    }];
    let grounding = input.grounding.as_mut().expect("grounding");
    grounding.condition = Where::of_value(json!({"path": "refunds.md"}));
    let agent = bed.start(input).await;

    let told = say(&agent, "What of refunds?").await.expect("a reply").text;

    let (instructions, result) = told.split_once('|').expect("two parts");
    assert!(
        instructions.ends_with("Relevant context:\n[notes] Refunds take 5 days."),
        "{told}"
    );
    assert!(
        result.contains("Tea is at four.") && !result.contains("Refunds"),
        "{told}"
    );
    let queries = queries(&agent).await;
    assert_eq!(queries.len(), 2);
    assert_eq!(queries[0]["where"], json!({"path": "refunds.md"}));
    assert_eq!(queries[1]["where"], json!({"path": "tea.md"}));
    assert_eq!(queries[0]["scope"], queries[1]["scope"]);
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_search_that_fails_is_told_to_the_model_and_fails_the_message_where_that_is_wanted() {
    let bed = Bed::new().await;
    let calls = json!([
        {"id": "call_0", "name": "search_notes", "arguments": {"query": "tea"}},
        {"id": "call_1", "name": "search_facts", "arguments": {"query": "tea"}},
    ]);
    let turns = json!([calls_then_text("go", calls, "nobody knows")]);
    let library = Library::open(&bed, &turns).await;
    let mut input = bed.input_by(Way::WorkflowQueue, "acme");
    input.sources = vec![source("notes"), source("facts")];
    let telling = bed.start(input.clone()).await;
    input.sources[1].errors = SearchErrors::Fail;
    let failing = bed.start(input).await;

    library.break_down();
    let told = say(&telling, "go").await.expect("a reply").text;
    let failure = say(&failing, "go").await.expect_err("no reply");

    assert_eq!(told, "nobody knows");
    let results = results(&telling).await;
    assert_eq!(results.len(), 2);
    for (told, is_error) in results {
        assert!(
            is_error && told.starts_with("the search failed: Unsupported"),
            "{told}"
        );
    }
    assert_eq!(failure_type(&failure), "Unsupported", "{failure:?}");
    let patience = |history| {
        let asked = activities_of(&history, "query_source").into_iter();
        asked.map(|it| it.close_ms.0).collect::<Vec<_>>()
    };
    assert_eq!(patience(history(&telling).await), [30_000, 30_000]);
    assert_eq!(patience(history(&failing).await), [30_000, 300_000]);
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn facts_are_searched_by_a_tool_under_the_name_of_their_source() {
    let bed = Bed::new().await;
    let call = |name: &str, arguments: Value| json!({"id": "call_0", "name": name, "arguments": arguments});
    let calls = json!([
        call("remember", json!({"key": "tea", "value": "green"})),
        call("search_facts", json!({"query": "tea"})),
    ]);
    let turns = json!([calls_then_text("go", calls, "{{last_tool_result}}")]);
    let library = Library::open(&bed, &turns).await;
    let mut input = bed.input_by(Way::WorkflowQueue, "acme");
    input.fact_tools = true;
    input.sources = vec![source("facts")];
    let agent = bed.start(input).await;

    let told = say(&agent, "go").await.expect("a reply").text;

    let found: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(found["items"][0]["id"], "fact:default/tea");
    assert!(told.contains("green"), "{told}");
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_tool_of_a_taken_name_ends_the_run_at_its_start() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &json!([])).await;
    let mut input = bed.input_by(Way::WorkflowQueue, "acme");
    input.sources = vec![AgentSource {
        tool: Some("search_memory".to_owned()),
        ..source("notes")
    }];
    let agent = bed.start(input).await;

    let end = agent.get_result(WorkflowGetResultOptions::default()).await;

    let told = format!("{:?}", end.expect_err("it is refused"));
    assert!(
        told.contains("two tools are named `search_memory`"),
        "{told}"
    );
    library.close().await;
    bed.finish().await;
}

/// The source that a worker has by itself, under the name that its tool has by itself.
#[tokio::test]
async fn the_search_in_all_ways_is_a_tool_and_grounds_without_any_configuration() {
    let bed = Bed::new().await;
    let calls = json!([
        {"id": "call_0", "name": "hybrid_search", "arguments": {"query": "refnds"}}
    ]);
    let turns = json!([calls_then_text(
        "When do customers get their money back after refunds?",
        calls,
        "{{instructions}}|{{last_tool_result}}"
    )]);
    let _worker = Worker::serving(&bed, &turns).await;
    bed.put(SCOPE, "refunds.md", "Refunds take 5 business days.")
        .await;
    bed.put("umbrella/main", "refunds.md", "Refunds of another tenant.")
        .await;
    let scope = json!({"namespace": "acme"});
    let fact = json!({"scope": scope, "key": "refunds", "value": "only to the card that paid"});
    bed.call("remember", &fact).await.result();
    let mut input = bed.input("acme");
    input.grounding = Some(grounding("hybrid"));
    input.sources = vec![source("hybrid")];
    let agent = bed.start(input).await;

    let told = say(
        &agent,
        "When do customers get their money back after refunds?",
    )
    .await
    .expect("a reply")
    .text;

    let (instructions, found) = told.split_once('|').expect("two parts");
    for part in [
        "Refunds take 5 business days.",
        "only to the card that paid",
    ] {
        assert!(instructions.contains(part), "{instructions}");
        assert!(
            found.contains(part),
            "found by a word that is spelt nearly so: {found}"
        );
    }
    assert!(!told.contains("another tenant"), "{told}");
    bed.finish().await;
}

#[tokio::test]
async fn the_model_is_told_that_a_source_looked_at_a_part_and_grounding_stays() {
    let bed = Bed::new().await;
    let call = json!([{"id": "call_0", "name": "search_notes", "arguments": {"query": "refunds"}}]);
    let turns = json!([calls_then_text("go", call, "{{message_count}}")]);
    let library = Library::open(&bed, &turns).await;
    // Longer than what is looked at of one note.
    let long = format!("Refunds take 5 days.\n\n{}", "x".repeat(70_000));
    bed.put(SCOPE, "refunds.md", &long).await;
    let mut input = grounded(&bed);
    input.sources = vec![source("notes")];
    let agent = bed.start(input).await;

    let reply = say(&agent, "go").await.expect("a reply");

    let results = results(&agent).await;
    let [(told, false)] = &results[..] else {
        panic!("{results:?}");
    };
    let told: Value = serde_json::from_str(told).expect("JSON");
    let content = told["items"][0]["content"].as_str().expect("text");
    assert!(content.starts_with("Refunds take 5 days."), "it was found");
    assert_eq!(told["incomplete"], json!(["notes"]));
    assert_eq!(told.get("unheard"), None, "it was heard");
    assert_eq!(reply.grounding_partial, [""; 0]);
    let grounding = state(&agent).await.grounding.expect("grounding");
    assert!(grounding.grounded, "what was found stays");
    library.close().await;
    bed.finish().await;
}
