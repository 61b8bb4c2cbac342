//! Search tools as sources.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use notekeeper_domain::{ITEM_CHARS_MAX, Item};
use notekeeper_recall::{
    SearchTool, Source as _, SourceCall, SourceError, SourceQuery, ToolCallError, ToolSource,
    VectorSource, Written,
};
use serde_json::{Map, Value, json};

use crate::fixture::{Tenant, item, metadata, wanting};

/// Answers the same to everything, and says what it was asked.
#[derive(Debug)]
struct Echo {
    answer: Result<Value, ToolCallError>,
    asked: Mutex<Vec<(String, Map<String, Value>)>>,
}

#[async_trait]
impl SearchTool for Echo {
    async fn call(
        &self,
        arguments: Map<String, Value>,
        call: &SourceCall<'_>,
    ) -> Result<Value, ToolCallError> {
        let asked = (call.scope.as_str().to_owned(), arguments);
        self.asked.lock().expect("no panic").push(asked);
        self.answer.clone()
    }
}

fn answering(answer: Result<Value, ToolCallError>) -> (Arc<Echo>, ToolSource) {
    let tool = Arc::new(Echo {
        answer,
        asked: Mutex::default(),
    });
    (tool.clone(), ToolSource::new("handbook", tool, "query"))
}

async fn items(answer: Value) -> Vec<Item> {
    let (_, source) = answering(Ok(answer));
    Tenant::of("acme").found(&source, "deploy policy", 20).await
}

fn contents(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item.content.as_str()).collect()
}

#[tokio::test]
async fn the_keys_of_results_become_metadata() {
    let found = items(json!([
        {"content": "Deploys freeze on Fridays.", "url": "/handbook/deploys", "score": 0.9},
        {"content": "Rollbacks need two approvers.", "url": "/handbook/rollback", "score": 0.7},
    ]))
    .await;
    let expected = [
        ("Deploys freeze on Fridays.", 0.9, "/handbook/deploys"),
        ("Rollbacks need two approvers.", 0.7, "/handbook/rollback"),
    ];
    let expected = expected.map(|(content, score, url)| {
        let known = metadata(json!({"url": url}));
        Item::new(content, "handbook")
            .with_score(score)
            .with_metadata(known)
    });
    assert_eq!(found, expected);
}

#[tokio::test]
async fn lists_objects_with_results_and_texts_are_read_whatever_their_names() {
    for (answer, expected) in [
        (
            json!({"results": [{"text": "a"}, {"snippet": "b"}], "total": 2}),
            vec!["a", "b"],
        ),
        (json!({"results": ["a", "b"]}), vec!["a", "b"]),
        (json!({"results": []}), vec![]),
        (json!(["a", "b"]), vec!["a", "b"]),
        (json!([]), vec![]),
        (
            json!("one\nline\n\n\n two \n \t\nthree"),
            vec!["one\nline", "two", "three"],
        ),
        (json!("one\r\n\r\ntwo\n"), vec!["one", "two"]),
        (json!(""), vec![]),
        (json!(["", " \n", "a"]), vec!["a"]),
        (json!([{"content": " "}, {"content": "a"}]), vec!["a"]),
        (json!(null), vec![]),
        (json!("a\0b"), vec!["a\u{fffd}b"]),
    ] {
        assert_eq!(contents(&items(answer.clone()).await), expected, "{answer}");
    }
}

#[tokio::test]
async fn what_has_none_of_the_shapes_is_one_item_with_its_text() {
    for answer in [
        json!({"answer": 42, "Straße": "Köln"}),
        json!({"results": "none"}),
        json!([1, "a"]),
        json!([{"content": "a"}, "b"]),
        json!([["a"]]),
        json!(7),
        json!(true),
    ] {
        let found = items(answer.clone()).await;
        assert_eq!(contents(&found), [answer.to_string()]);
        assert!(found[0].metadata.is_empty());
    }
    // An object of a list that has no text is its own.
    let found = items(json!([{"title": "a", "score": 1}])).await;
    assert_eq!(contents(&found), [r#"{"score":1,"title":"a"}"#]);
}

#[tokio::test]
async fn ids_scores_and_metadata_are_taken_where_they_are_what_their_names_say() {
    let found = items(json!([
        {"content": "a", "id": "x", "score": 2, "metadata": {"url": "inner", "n": 1}, "url": "outer"},
        {"content": "b", "id": 7, "score": "high", "metadata": "odd"},
        {"content": "c", "text": "t", "id": "", "score": null},
        {"content": {"no": "text"}, "snippet": "d", "id": 1.5},
        {"content": "e", "dedupe_sources": ["x", "y"], "dedupe_count": 99},
        {"content": "f", "id": "y", "metadata": {"id": 7, "n": 2}},
        {"content": "g", "metadata": {"id": "z"}},
    ]))
    .await;
    let said: Vec<_> = found
        .iter()
        .map(|item| {
            (
                item.content.as_str(),
                item.id.as_deref(),
                item.score(),
                &item.metadata,
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            (
                "a",
                Some("x"),
                Some(2.0),
                &metadata(json!({"url": "inner", "n": 1}))
            ),
            (
                "b",
                Some("7"),
                None,
                &metadata(json!({"score": "high", "metadata": "odd"}))
            ),
            (
                "c",
                None,
                None,
                &metadata(json!({"text": "t", "score": null}))
            ),
            (
                "d",
                None,
                None,
                &metadata(json!({"content": {"no": "text"}, "id": 1.5}))
            ),
            ("e", None, None, &metadata(json!({}))),
            ("f", Some("y"), None, &metadata(json!({"n": 2}))),
            ("g", None, None, &metadata(json!({"id": "z"}))),
        ]
    );
    // What has an id has one, so that a source which keeps things takes it.
    let kept = VectorSource::in_memory("kept");
    let tenant = Tenant::of("acme");
    let with_ids: Vec<Item> = found.into_iter().filter(|item| item.id.is_some()).collect();
    tenant.write(&kept, &with_ids, "op").await.expect("written");
    let mut ids: Vec<_> = tenant
        .found(&kept, "a b f", 10)
        .await
        .into_iter()
        .filter_map(|item| item.id)
        .collect();
    ids.sort();
    assert_eq!(ids, ["7", "x", "y"]);
}

#[tokio::test]
async fn a_tool_is_asked_for_the_query_the_limit_and_the_conditions_which_count_more() {
    let (tool, source) = answering(Ok(json!(["a", "b", "c"])));
    let tenant = Tenant::of("acme");
    let found = tenant.found(&source, "deploy policy", 2).await;
    // Whatever it gives, no more than was asked for is passed on.
    assert_eq!(contents(&found), ["a", "b"]);
    let query =
        SourceQuery::new("text", 2).with_condition(wanting(json!({"limit": 50, "tier": "public"})));
    let answer = source
        .query(&query, &tenant.call())
        .await
        .expect("an answer");
    assert_eq!(answer.items.len(), 2);
    tenant.found(&source, "nothing", 0).await;
    let asked = tool.asked.lock().expect("no panic").clone();
    let arguments: Vec<Value> = asked.iter().map(|(_, asked)| json!(asked)).collect();
    assert_eq!(
        arguments,
        [
            json!({"query": "deploy policy", "limit": 2}),
            json!({"query": "text", "limit": 50, "tier": "public"}),
        ]
    );
    assert!(asked.iter().all(|(scope, _)| scope == "acme/main"));
}

#[tokio::test]
async fn a_tool_is_never_written_to() {
    let (tool, source) = answering(Ok(json!([])));
    let tenant = Tenant::of("acme");
    let items = [item("x", json!({}))];
    let written = tenant.write(&source, &items, "op").await.expect("refused");
    assert_eq!(written, Written::refused_by("handbook"));
    let nothing = tenant.write(&source, &[], "op").await.expect("nothing");
    assert_eq!(nothing, Written::default());
    assert!(!source.accepts_writes());
    assert!(tool.asked.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn what_a_tool_fails_with_says_whether_to_ask_again() {
    let tenant = Tenant::of("acme");
    let (_, source) = answering(Err(ToolCallError::unavailable(
        "it took too long".to_owned(),
    )));
    let error = tenant.query(&source, "x", 5).await.expect_err("an error");
    assert!(
        error.is_passing() && error.retry_after().is_none(),
        "{error}"
    );
    let busy = ToolCallError::Unavailable {
        message: "it answers 429".to_owned(),
        retry_after: Some(std::time::Duration::from_secs(7)),
    };
    let (_, source) = answering(Err(busy));
    let error = tenant.query(&source, "x", 5).await.expect_err("an error");
    assert_eq!(error.retry_after().map(|it| it.as_secs()), Some(7));
    let (_, source) = answering(Err(ToolCallError::Refused("404".to_owned())));
    let error = tenant.query(&source, "x", 5).await.expect_err("an error");
    assert!(matches!(error, SourceError::Tool(ToolCallError::Refused(_))) && !error.is_passing());
    assert_eq!(error.to_string(), "the search tool refused: 404");
}

#[tokio::test]
async fn whatever_a_tool_answers_its_items_can_be_kept() {
    let long = "x".repeat(ITEM_CHARS_MAX + 1);
    let found = items(json!([
        {"content": "a", "id": "x\0", "k": "\0", "\0": 1, "url": "/a"},
        {"content": long, "id": "y".repeat(401), "much": "z".repeat(20_000), "url": "/b"},
        {"content": "\u{1c} \u{a0}", "id": "blank"},
        {"content": "c", "id": "fine", "metadata": {"deep": [[{"n": [1]}]]}},
    ]))
    .await;
    let ids: Vec<_> = found.iter().map(|item| item.id.as_deref()).collect();
    assert_eq!(ids, [None, None, Some("fine")]);
    assert_eq!(found[0].metadata, metadata(json!({"url": "/a"})));
    assert_eq!(found[1].content.chars().count(), ITEM_CHARS_MAX);
    let known = json!({"truncated": true, "url": "/b"});
    assert_eq!(found[1].metadata, metadata(known));
    for item in found {
        assert_eq!(item.check(), Ok(()));
    }
}
