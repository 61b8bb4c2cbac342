use serde_json::{Value, json};

use crate::{HistoryPolicy, SummaryPolicy, check_policies};

const DOCS: &str = include_str!("../../../../../docs/history.md");

fn read(policies: Value) -> Result<Vec<HistoryPolicy>, serde_json::Error> {
    serde_json::from_value(policies)
}

fn refused(policies: Value) -> String {
    check_policies(&read(policies).unwrap())
        .unwrap_err()
        .to_string()
}

fn summary(policy: Value) -> SummaryPolicy {
    serde_json::from_value(policy).unwrap()
}

#[test]
fn policies_read_back_from_their_json() {
    let policies = json!([
        {"window": {"messages": 40}},
        {"window": {"turns": 20}},
        {"tokens": {"max_tokens": 8000}},
        {"summary": {
            "over_tokens": 6000,
            "keep_messages": 20,
            "max_tokens": 500,
            "model": "small",
            "instructions": "Keep the numbers of orders.",
        }},
    ]);
    let read = read(policies.clone()).unwrap();
    assert_eq!(check_policies(&read), Ok(()));
    assert_eq!(serde_json::to_value(&read).unwrap(), policies);
    assert_eq!(check_policies(&[]), Ok(()));
}

#[test]
fn what_a_summary_leaves_out_has_a_default_that_fits_its_threshold() {
    let defaults = |policy| {
        let policy = summary(policy);
        check_policies(&[HistoryPolicy::Summary(policy.clone())]).unwrap();
        (policy.keep_messages(), policy.max_tokens())
    };
    assert_eq!(defaults(json!({"over_tokens": 6000})), (20, 500));
    assert_eq!(defaults(json!({"over_tokens": 400})), (20, 100));
    assert_eq!(defaults(json!({"over_messages": 100})), (20, 500));
    assert_eq!(defaults(json!({"over_messages": 10})), (5, 500));
    assert_eq!(
        defaults(json!({"over_messages": 4, "over_tokens": 4})),
        (2, 1)
    );
}

#[test]
fn unknown_keys_and_policies_are_refused() {
    for policies in [
        json!([{"window": {"message": 40}}]),
        json!([{"tokens": {"max_tokens": 1, "min_tokens": 1}}]),
        json!([{"tokens": {}}]),
        json!([{"summary": {"over_token": 6000}}]),
        json!([{"windows": {"messages": 40}}]),
        json!([{"window": {"messages": 40}, "tokens": {"max_tokens": 1}}]),
        json!([{"window": {"messages": -1}}]),
        json!([{"window": {"messages": 1.5}}]),
        json!([{"window": {"messages": "40"}}]),
        json!(["window"]),
        json!({"window": {"messages": 40}}),
    ] {
        assert!(read(policies.clone()).is_err(), "{policies}");
    }
}

#[test]
fn what_is_out_of_bounds_is_refused_with_its_place() {
    let long = "x".repeat(4_001);
    let many = vec![json!({"window": {"turns": 1}}); 9];
    let refusals = [
        json!([{"window": {}}]),
        json!([{"window": {"messages": 1, "turns": 1}}]),
        json!([{"window": {"messages": 0}}]),
        json!([{"tokens": {"max_tokens": 5}}, {"window": {"turns": 100_001}}]),
        json!([{"tokens": {"max_tokens": 0}}]),
        json!([{"tokens": {"max_tokens": 10_000_001}}]),
        json!([{"summary": {}}]),
        json!([{"summary": {"over_tokens": 3}}]),
        json!([{"summary": {"over_messages": 3}}]),
        json!([{"summary": {"over_messages": 30, "keep_messages": 16}}]),
        json!([{"summary": {"over_tokens": 6000, "keep_messages": 100_001}}]),
        json!([{"summary": {"over_tokens": 6000, "max_tokens": 1501}}]),
        json!([{"summary": {"over_tokens": 6000, "max_tokens": 0}}]),
        json!([{"summary": {"over_tokens": 6000, "model": " "}}]),
        json!([{"summary": {"over_tokens": 6000, "instructions": ""}}]),
        json!([{"summary": {"over_tokens": 6000, "instructions": long}}]),
        json!([{"summary": {"over_tokens": 6000, "instructions": "a\0"}}]),
        json!([{"summary": {"over_tokens": 9}}, {"summary": {"over_tokens": 9}}]),
        Value::from(many),
    ];
    insta::assert_snapshot!(refusals.map(refused).join("\n"));
}

#[test]
fn the_bounds_themselves_are_allowed() {
    for policies in [
        json!([{"window": {"messages": 1}}, {"window": {"turns": 20_000}}]),
        json!([{"tokens": {"max_tokens": 1}}, {"tokens": {"max_tokens": 2_000_000}}]),
        json!([{"summary": {"over_tokens": 4, "max_tokens": 1, "keep_messages": 0}}]),
        json!([{"summary": {"over_tokens": 2_000_000, "over_messages": 20_000, "keep_messages": 10_000}}]),
        json!([{"summary": {"over_messages": 4, "keep_messages": 2, "instructions": "é".repeat(4_000)}}]),
        Value::from(vec![json!({"window": {"turns": 1}}); 8]),
    ] {
        assert_eq!(check_policies(&read(policies).unwrap()), Ok(()));
    }
}

/// The JSON examples of a page.
fn examples(page: &str) -> Vec<Value> {
    let mut blocks = page.split("```json\n").skip(1);
    let blocks = blocks
        .by_ref()
        .map(|rest| rest.split_once("```").unwrap().0);
    blocks
        .map(|json| serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}")))
        .collect()
}

#[test]
fn every_example_of_the_page_on_history_is_one() {
    let (mut lists, mut messages) = (0, 0);
    for example in examples(DOCS) {
        if let Value::Array(list) = &example
            && list.iter().all(|item| item.get("role").is_some())
        {
            for message in list {
                crate::StoredMessage::new(message.clone()).unwrap();
                messages += 1;
            }
            continue;
        }
        let policies = read(example.clone()).unwrap_or_else(|error| panic!("{error}: {example}"));
        check_policies(&policies).unwrap();
        lists += 1;
    }
    assert!(lists >= 4 && messages >= 6, "{lists} {messages}");
}
