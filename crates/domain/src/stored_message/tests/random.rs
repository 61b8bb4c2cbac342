//! Any message that may be stored.

use proptest::prelude::*;

use super::*;

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<f64>()
            .prop_filter("JSON has no other", |number| number.is_finite())
            .prop_map(Value::from),
        (-1e6..1e6).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
    ]
}

/// Keys and values that mean something in one of the dialects, and others, anywhere.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "text",
        "tool_use",
        "tool_result",
        "image",
        "thinking",
        "document",
        "user",
        "a",
        "",
        "固",
        "{\"a\":1}",
        "refusal",
        "search_result",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "text",
            "content",
            "id",
            "tool_use_id",
            "name",
            "input",
            "function",
            "arguments",
            "source",
            "data",
            "is_error",
            "tool_calls",
            "custom",
            "refusal",
            "other",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6).prop_map(|fields| {
                fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

fn any_message() -> impl Strategy<Value = Value> {
    let role = prop::sample::select(vec![
        "user",
        "assistant",
        "tool",
        "system",
        "developer",
        "function",
        "other",
    ]);
    let key = prop::sample::select(vec![
        "content",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "memories",
        "audio",
        "refusal",
        "is_error",
        "name",
        "other",
    ]);
    (role, prop::collection::btree_map(key, any_json(), 0..6)).prop_map(|(role, fields)| {
        let fields = fields
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        fields
            .chain([("role".to_owned(), Value::from(role))])
            .collect()
    })
}

proptest! {
    #[test]
    fn whatever_is_stored_reads_back_the_same(value in any_message()) {
        let message = stored(value.clone());
        let again = StoredMessage::from_json(message.as_json()).unwrap();
        prop_assert_eq!(again.as_json(), message.as_json());
        prop_assert_eq!(&again, &message);
        prop_assert_eq!(again.into_value(), value);
    }

    #[test]
    fn every_message_has_a_reading_that_its_outline_agrees_with(value in any_message()) {
        let message = stored(value);
        let outline = outline(5, &message);
        prop_assert!(outline.tokens >= 1);
        // Of a message no more is read than it holds, but for marks and text in place of thoughts.
        prop_assert!(outline.tokens <= message.as_json().chars().count() as u64 + 1);
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for read in message.to_messages() {
            match read {
                Message::Assistant { tool_calls, .. } => {
                    prop_assert_eq!(message.role(), "assistant");
                    calls.extend(tool_calls.into_iter().map(|call| call.id));
                }
                Message::Tool { tool_call_id, .. } => results.push(tool_call_id),
                Message::User { parts } => {
                    prop_assert!(!parts.is_empty());
                    prop_assert_eq!(message.role(), "user");
                }
                Message::System { text } => prop_assert!(!text.is_empty()),
            }
        }
        prop_assert_eq!((calls, results), (outline.calls, outline.results));
    }
}
