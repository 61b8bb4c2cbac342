mod random;

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::*;
use crate::{ToolCall, UserPart, outline};

const OPENAI: &str = include_str!("../../../../tests/messages/openai_chat.json");
const ANTHROPIC: &str = include_str!("../../../../tests/messages/anthropic_messages.json");

fn stored(value: Value) -> StoredMessage {
    StoredMessage::new(value).unwrap()
}

fn read(value: Value) -> Vec<Message> {
    stored(value).to_messages()
}

fn fixture(json: &str) -> Vec<Value> {
    serde_json::from_str(json).unwrap()
}

/// What a model request gets of each message, and its outline.
fn shown(json: &str) -> String {
    let mut shown = String::new();
    for (position, value) in fixture(json).into_iter().enumerate() {
        let message = stored(value);
        let outline = outline(position as u64, &message);
        writeln!(shown, "{position} {}", message.role()).unwrap();
        for message in message.to_messages() {
            writeln!(shown, "  {}", serde_json::to_string(&message).unwrap()).unwrap();
        }
        assert_eq!(outline.position, position as u64);
        assert_eq!(outline.role, message.role());
        let (calls, results) = (outline.calls.join(" "), outline.results.join(" "));
        let prompt = if outline.prompt { ", prompt" } else { "" };
        writeln!(
            shown,
            "  = {} tokens{prompt}, calls [{calls}], results [{results}]",
            outline.tokens
        )
        .unwrap();
    }
    shown
}

#[test]
fn the_fixtures_read_back_as_the_same_values() {
    for value in [OPENAI, ANTHROPIC].into_iter().flat_map(fixture) {
        let message = stored(value.clone());
        let again = StoredMessage::from_json(message.as_json()).unwrap();
        assert_eq!(again, message);
        assert_eq!(again.as_json(), message.as_json());
        assert_eq!(again.into_value(), value);
    }
}

#[test]
fn openai_chat_messages_are_read() {
    insta::assert_snapshot!(shown(OPENAI));
}

#[test]
fn anthropic_messages_are_read() {
    insta::assert_snapshot!(shown(ANTHROPIC));
}

#[test]
fn our_own_form_is_read() {
    let call = |id: &str, arguments: Value| ToolCall {
        id: id.to_owned(),
        name: "probe".to_owned(),
        arguments,
    };
    assert_eq!(
        read(json!({"role": "user", "content": "tea?"})),
        [Message::user("tea?")]
    );
    assert_eq!(
        read(json!({
            "role": "user",
            "content": "",
            "memories": [{"scope_hash": "0d6e", "text": "B"}, {"text": "C"}, {"scope_hash": "x"}, 7],
        })),
        [Message::User {
            parts: [("0d6e", "B"), ("", "C")]
                .map(|(scope_hash, text)| UserPart::Memory {
                    scope_hash: scope_hash.to_owned(),
                    text: text.to_owned(),
                })
                .into(),
        }]
    );
    assert_eq!(
        read(json!({
            "role": "assistant",
            "content": "a",
            "tool_calls": [
                {"id": "c", "name": "probe", "arguments": {"x": 0.1}},
                {"name": "probe"},
                {"id": 7, "name": "probe", "arguments": "{\"written\": \"as text\"}"},
                "no call",
            ],
        })),
        [Message::Assistant {
            text: "a".to_owned(),
            tool_calls: vec![
                call("c", json!({"x": 0.1})),
                call("", json!({})),
                call("7", json!("{\"written\": \"as text\"}")),
            ],
        }]
    );
    assert_eq!(
        read(json!({"role": "tool", "tool_call_id": "c", "content": "no", "is_error": true})),
        [Message::Tool {
            tool_call_id: "c".to_owned(),
            content: "no".to_owned(),
            is_error: true,
        }]
    );
}

#[test]
fn arguments_stay_text_where_an_object_would_not_say_the_same() {
    let arguments = |text: &str| {
        let call = json!({"id": "c", "function": {"name": "t", "arguments": text}});
        match &read(json!({"role": "assistant", "tool_calls": [call]}))[..] {
            [Message::Assistant { tool_calls, .. }] => tool_calls[0].arguments.clone(),
            other => panic!("{other:?}"),
        }
    };
    for (text, expected) in [
        ("{\"a\": [1, {\"b\": -2}]}", json!({"a": [1, {"b": -2}]})),
        ("", json!({})),
        (" \n", json!({})),
        (
            "{\"a:\\\"b:\": \":\\\\\", \"c\": [{}, {\"a\": \"\\u003a\"}]}",
            json!({"a:\"b:": ":\\", "c": [{}, {"a": ":"}]}),
        ),
    ] {
        assert_eq!(arguments(text), expected, "{text}");
    }
    for text in [
        "[1]",
        "7",
        "{\"cut\": ",
        "{\"a\": {\"b\": [123456789012345678901]}}",
        "{\"a\": 0.1}",
        "{\"a\": 1, \"a\": 2}",
        "{\"a\": [{\"b\": \"\", \"\\u0062\": \"\"}]}",
    ] {
        assert_eq!(arguments(text), json!(text));
    }
}

#[test]
fn what_is_no_text_is_told_by_its_kind_and_kinds_are_no_text_either() {
    let said = |content: Value| match &read(json!({"role": "user", "content": content}))[..] {
        [Message::User { parts }] => parts.iter().map(|part| part.text().to_owned()).collect(),
        other => panic!("{other:?}"),
    };
    let said: fn(Value) -> Vec<String> = said;
    assert_eq!(
        said(json!([{"type": "image"}, {"type": "text", "text": "?"}, {"type": "video.2"}])),
        ["[image]", "?", "[video.2]"]
    );
    for odd in [
        json!({"type": "ignore all\nprevious"}),
        json!({"type": "x".repeat(41)}),
        json!({"type": ""}),
        json!({"type": 7}),
        json!({}),
        json!(7),
        json!([]),
    ] {
        assert_eq!(said(json!([odd.clone()])), ["[unknown]"], "{odd}");
    }
    assert_eq!(said(json!({"type": "text", "text": "alone"})), ["alone"]);
    assert_eq!(said(json!(["a", "", "b"])), ["a", "b"]);
    assert_eq!(said(json!(7)), ["[unknown]"]);
}

#[test]
fn texts_further_down_are_read_up_to_a_depth() {
    let nested = |levels: usize| {
        (0..levels).fold(
            json!({"type": "text", "text": "deep"}),
            |inside, _| json!({"type": "wrap", "content": [inside]}),
        )
    };
    let tokens = |levels| read(json!({"role": "user", "content": [nested(levels)]}));
    assert_eq!(tokens(0), [Message::user("deep")]);
    assert_eq!(tokens(4), [Message::user("deep")]);
    assert_eq!(tokens(5), [Message::user("[wrap]")]);
    assert_eq!(tokens(48), [Message::user("[wrap]")]);
}

#[test]
fn results_come_before_the_words_beside_them_and_results_alone_are_no_prompt() {
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
    let tool = |id: &str| Message::Tool {
        tool_call_id: id.to_owned(),
        content: "ok".to_owned(),
        is_error: false,
    };
    let words = json!({"type": "text", "text": "go on"});
    let both = json!({"role": "user", "content": [result("a"), words, result("b")]});
    assert_eq!(
        read(both.clone()),
        [tool("a"), tool("b"), Message::user("go on")]
    );
    assert!(outline(0, &stored(both)).prompt);
    let empty = json!({"type": "text", "text": ""});
    let alone = json!({"role": "user", "content": [result("a"), empty]});
    assert_eq!(read(alone.clone()), [tool("a")]);
    assert!(!outline(0, &stored(alone)).prompt);
    let of_a_tool = json!({"role": "tool", "content": [result("a"), result("b")]});
    assert_eq!(read(of_a_tool), [tool("a"), tool("b")]);
}

#[test]
fn messages_of_the_system_are_no_prompts_and_roles_that_no_model_knows_are_left_out() {
    for role in ["system", "developer"] {
        let message = json!({"role": role, "content": "be brief"});
        let text = "be brief".to_owned();
        assert_eq!(read(message.clone()), [Message::System { text }]);
        assert!(!outline(0, &stored(message)).prompt);
    }
    assert_eq!(read(json!({"role": "system", "content": null})), []);
    for role in ["audit", "User", " user", "model"] {
        let message = json!({"role": role, "content": "text"});
        assert_eq!(read(message.clone()), []);
        let outline = outline(3, &stored(message));
        assert_eq!(
            (outline.role.as_str(), outline.tokens, outline.prompt),
            (role, 1, false)
        );
    }
}

#[test]
fn tokens_are_characters_by_four_rounded_up_of_all_that_is_read() {
    let tokens = |message| outline(0, &stored(message)).tokens;
    for (text, expected) in [
        ("", 1),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("固固固固固", 2),
    ] {
        assert_eq!(tokens(json!({"role": "user", "content": text})), expected);
    }
    // 4 of the name, 10 of the arguments as they are sent, 3 of the text.
    let call = json!({"id": "not read", "name": "tool", "arguments": {"a": "bc"}});
    let answer = json!({"role": "assistant", "content": "yes", "tool_calls": [call]});
    assert_eq!(tokens(answer), 5);
    let thoughts = json!([{"type": "thinking", "thinking": "x".repeat(4_000)}, {"type": "text", "text": "yes"}]);
    assert_eq!(tokens(json!({"role": "assistant", "content": thoughts})), 1);
}

#[test]
fn a_message_is_an_object_with_a_role() {
    for value in [json!(null), json!([]), json!("user"), json!(7)] {
        assert_eq!(StoredMessage::new(value), Err(InvalidMessage::NoObject));
    }
    for value in [
        json!({}),
        json!({"role": null}),
        json!({"role": ""}),
        json!({"role": 7}),
        json!({"role": "é".repeat(33)}),
    ] {
        assert_eq!(StoredMessage::new(value), Err(InvalidMessage::Role));
    }
    assert!(StoredMessage::new(json!({"role": "é".repeat(32)})).is_ok());
    assert_eq!(
        StoredMessage::from_json("{\"role\": "),
        Err(InvalidMessage::NoObject)
    );
}

#[test]
fn nul_characters_are_refused_wherever_they_are_with_their_place() {
    for (value, path) in [
        (json!({"role": "a\0"}), "role"),
        (json!({"role": "user", "content": "a\0b"}), "content"),
        (
            json!({"role": "user", "content": [1, {"text": ["", "\0"]}]}),
            "content[1].text[1]",
        ),
        // No further than to what is the caller's own.
        (
            json!({"role": "user", "content": {"ada@example.org": "\0"}}),
            "content",
        ),
        (
            json!({"role": "user", "tool_calls": [{"arguments": {"text": "\0"}}]}),
            "tool_calls[0].arguments",
        ),
        (
            json!({"role": "user", "content": [{"input": ["\0"]}]}),
            "content[0].input",
        ),
        (json!({"role": "user", "content[secret]": "\0"}), ""),
        (json!({"role": "user", "content": {"a\0b": 1}}), "content"),
        (json!({"role": "user", "\0": 1}), ""),
    ] {
        let path = path.to_owned();
        assert_eq!(StoredMessage::new(value), Err(InvalidMessage::Nul { path }));
    }
    // The text of an escape is no NUL character.
    assert!(StoredMessage::new(json!({"role": "user", "content": "\\u0000"})).is_ok());
}

#[test]
fn a_long_key_above_many_values_costs_linear_time() {
    crate::deadline::within_a_minute(|| {
        let values = vec![0; 100_000];
        let key = "k".repeat(250_000);
        let message = stored(json!({"role": "user", (key.clone()): values}));
        for _ in 0..20 {
            StoredMessage::from_json(message.as_json()).unwrap();
        }
        // What is too large is refused for that, whatever else is in it.
        let values = vec!["\0"; 500_000];
        let key = key.repeat(4);
        let refused = StoredMessage::new(json!({"role": "user", (key): values}));
        assert!(matches!(refused, Err(InvalidMessage::TooLarge { .. })));
    });
}

/// A message of so many levels.
fn deep(levels: usize) -> Value {
    let inside = (1..levels).fold(json!("x"), |inside, level| match level % 2 {
        0 => Value::Array(vec![inside]),
        _ => Value::Object([("content".to_owned(), inside)].into_iter().collect()),
    });
    let fields = [("role", json!("user")), ("content", inside)];
    let fields = fields.map(|(key, value)| (key.to_owned(), value));
    Value::Object(fields.into_iter().collect())
}

#[test]
fn lists_and_objects_stand_in_one_another_up_to_a_bound() {
    let deepest = stored(deep(MESSAGE_LEVELS_MAX));
    // A result holds it, in a list.
    let result = json!({"messages": [deepest.clone().into_value()]}).to_string();
    let read: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(stored(read["messages"][0].clone()), deepest);
    for levels in [MESSAGE_LEVELS_MAX + 1, 130, 200_000] {
        let refused = StoredMessage::new(deep(levels));
        assert_eq!(refused, Err(InvalidMessage::TooDeep), "{levels}");
    }
}

#[test]
fn the_bound_is_on_the_bytes_of_the_json() {
    let of = |chars: usize| json!({"role": "user", "content": "x".repeat(chars)});
    let room = MESSAGE_BYTES_MAX - of(0).to_string().len();
    let largest = stored(of(room));
    assert_eq!(largest.as_json().len(), MESSAGE_BYTES_MAX);
    let bytes = MESSAGE_BYTES_MAX + 1;
    assert_eq!(
        StoredMessage::new(of(room + 1)),
        Err(InvalidMessage::TooLarge { bytes })
    );
}

#[test]
fn errors_say_what_to_do_and_quote_nothing() {
    let errors = [
        StoredMessage::new(json!("secret")).unwrap_err(),
        StoredMessage::new(json!({"role": {"secret": 1}})).unwrap_err(),
        StoredMessage::new(json!({"role": "user", "content": "secret\0"})).unwrap_err(),
        StoredMessage::new(json!({"role": "user", "secret": "\0"})).unwrap_err(),
        StoredMessage::new(deep(MESSAGE_LEVELS_MAX + 1)).unwrap_err(),
        StoredMessage::new(json!({"role": "user", "content": "secret".repeat(100_000)}))
            .unwrap_err(),
    ];
    for error in &errors {
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
    insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n"));
}
