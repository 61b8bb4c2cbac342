//! Searches of one turn that find very much.

use notekeeper_contract::{ChatMessage, RESULT_BYTES_MAX};
use notekeeper_workflows::{AgentSource, TRANSCRIPT_BYTES_MAX};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use crate::support::{
    Agent, Bed, Worker, WorkerOptions, activities_of, history_of_run, run_id, say, say_much,
};

/// A search service that answers with a hundred passages whose metadata come to 1.2 MiB.
async fn library() -> MockServer {
    let passage = |number: usize| {
        json!({
            "content": format!("Passage {number} on refunds."),
            "metadata": {"page": number, "scan": "x".repeat(12 * 1024)},
        })
    };
    let passages: Vec<Value> = (0..100).map(passage).collect();
    let answer = ResponseTemplate::new(200).set_body_json(passages);
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

async fn worker(bed: &Bed, library: &MockServer, turns: &Value) -> Worker {
    let sources = format!(
        "[sources.library]\nkind = 'tool'\nurl = '{}'\n",
        library.uri()
    );
    let options = WorkerOptions {
        script: Some(bed.script(turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&sources))],
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// A conversation whose model searches the library this often in one answer, and says something then.
async fn searching(bed: &Bed, tool: Value) -> Agent {
    let mut input = bed.input("acme");
    let source: AgentSource = serde_json::from_value(tool).expect("a source");
    input.sources = vec![source];
    bed.start(input).await
}

fn turns(searches: usize) -> Value {
    let call = |number: usize| {
        json!({
            "id": format!("call_{number}"),
            "name": "search_library",
            "arguments": {"query": format!("refunds {number}")},
        })
    };
    let calls: Vec<Value> = (0..searches).map(call).collect();
    json!([
        {"prompt": "go", "responses": [{"tool_calls": calls}, {"text": "found, {{message_count}}"}]},
        {"prompt": "and then?", "responses": [{"text": "that was all, {{message_count}}"}]},
    ])
}

/// Text of each tool result that is stored, and whether it tells of an error.
async fn results(bed: &Bed, agent: &Agent) -> Vec<(String, bool)> {
    let stored = bed.messages_of(agent, "acme").await.into_iter();
    let messages = stored.map(|it| serde_json::from_value(it).expect("one of our messages"));
    let results = messages.filter_map(|message| match message {
        ChatMessage::Tool {
            content, is_error, ..
        } => Some((content, is_error)),
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn a_turn_with_searches_that_find_a_mebibyte_each_goes_on_with_what_the_model_can_read() {
    let bed = Bed::new().await;
    let library = library().await;
    let _worker = worker(&bed, &library, &turns(12)).await;
    let tool = json!({"source": "library", "k": 100, "max_tokens": 16_000});
    let agent = searching(&bed, tool).await;

    let run = run_id(&agent).await;

    let reply = say_much(&agent, "go").await.expect("a reply");
    let after = say(&agent, "and then?").await.expect("a reply");

    assert_eq!(reply.text, "found, 14");
    assert_eq!(after.text, "that was all, 16");
    let results = results(&bed, &agent).await;
    assert_eq!(results.len(), 12);
    let told = results.iter().filter(|(_, is_error)| !is_error);
    let told: Vec<Value> = told
        .map(|(told, _)| serde_json::from_str(told).expect("JSON"))
        .collect();
    assert!((2..12).contains(&told.len()), "{} of them fit", told.len());
    for told in &told {
        let items = told["items"].as_array().expect("items");
        let chars = told["items"].to_string().chars().count();
        assert!(chars <= 64_000, "{chars}");
        assert_eq!(items[0]["content"], "Passage 0 on refunds.");
        assert_eq!(told["omitted"].as_u64(), Some(100 - items.len() as u64));
    }
    for (told, _) in results.iter().filter(|(_, is_error)| *is_error) {
        assert!(told.contains("too large beside the others"), "{told}");
    }
    let bytes: usize = results.iter().map(|(told, _)| told.len()).sum();
    assert!(bytes <= TRANSCRIPT_BYTES_MAX, "{bytes}");
    let searches = activities_of(&history_of_run(&bed, &agent, &run).await, "query_source");
    assert_eq!(searches.len(), 12);
    for search in searches {
        let bytes = search.result().to_string().len();
        let near = RESULT_BYTES_MAX * 9 / 10..=RESULT_BYTES_MAX;
        assert!(near.contains(&bytes), "{bytes}");
    }
    bed.finish().await;
}

/// Temporal ends a run whose history passes 50 MiB.
#[tokio::test]
async fn searches_of_one_turn_end_before_the_history_is_full_and_the_turn_goes_on() {
    let bed = Bed::new().await;
    let library = library().await;
    let _worker = worker(&bed, &library, &turns(60)).await;
    let tool = json!({"source": "library", "k": 100, "max_tokens": 600});
    let agent = searching(&bed, tool).await;

    let reply = say_much(&agent, "go").await.expect("a reply");
    let after = say(&agent, "and then?").await.expect("a reply");

    assert_eq!(reply.text, "found, 62");
    assert_eq!(after.text, "that was all, 64");
    let results = results(&bed, &agent).await;
    assert_eq!(results.len(), 60);
    let made = library.received_requests().await.expect("requests").len();
    assert!((24..=32).contains(&made), "{made} searches");
    for (place, (told, is_error)) in results.iter().enumerate() {
        assert_eq!(*is_error, place >= made, "{place}: {told}");
        if *is_error {
            assert!(
                told.starts_with("not carried out, because earlier calls"),
                "{told}"
            );
        }
    }
    bed.finish().await;
}
