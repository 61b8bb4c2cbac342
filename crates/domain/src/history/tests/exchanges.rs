use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::random::{conversation, pairs};
use crate::{
    Message, MessageOutline, ToolCall, deadline::within_a_minute, outline_of, whole_exchanges,
};

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        name: "probe".to_owned(),
        arguments: Value::Null,
    };
    Message::Assistant {
        text: String::new(),
        tool_calls: ids.iter().map(call).collect(),
    }
}

fn result(id: &str, content: &str) -> Message {
    Message::Tool {
        tool_call_id: id.to_owned(),
        content: content.to_owned(),
        is_error: false,
    }
}

fn unanswered(id: &str) -> Message {
    Message::Tool {
        tool_call_id: id.to_owned(),
        content: "there is no result of this call; it may or may not have taken effect".to_owned(),
        is_error: true,
    }
}

#[test]
fn whole_exchanges_stay_as_they_are() {
    let messages = vec![
        Message::System {
            text: "be brief".to_owned(),
        },
        Message::user("one"),
        calls(&["a", "b"]),
        result("a", "A"),
        result("b", "B"),
        calls(&["a"]),
        result("a", "again"),
        Message::user("two"),
    ];
    assert_eq!(whole_exchanges(messages.clone()), messages);
}

#[test]
fn a_result_without_its_call_is_dropped() {
    assert_eq!(
        whole_exchanges(vec![
            result("a", "A"),
            Message::user("one"),
            calls(&["b"]),
            result("b", "B"),
            result("b", "twice"),
            result("c", "C"),
        ]),
        [Message::user("one"), calls(&["b"]), result("b", "B")]
    );
}

#[test]
fn a_call_without_its_result_is_closed_with_an_error() {
    assert_eq!(
        whole_exchanges(vec![
            calls(&["a", "b"]),
            result("b", "B"),
            Message::user("two")
        ]),
        [
            calls(&["a", "b"]),
            unanswered("a"),
            result("b", "B"),
            Message::user("two")
        ]
    );
}

#[test]
fn results_stand_in_the_order_of_their_calls_right_behind_them() {
    assert_eq!(
        whole_exchanges(vec![
            calls(&["a", "b"]),
            Message::user("somebody else"),
            result("b", "B"),
            calls(&["c"]),
            result("a", "A"),
            result("c", "C"),
        ]),
        [
            calls(&["a", "b"]),
            result("a", "A"),
            result("b", "B"),
            Message::user("somebody else"),
            calls(&["c"]),
            result("c", "C"),
        ]
    );
}

#[test]
fn ids_that_are_empty_or_repeat_are_paired_by_order_within_a_message_and_told_apart() {
    assert_eq!(
        whole_exchanges(vec![
            calls(&["", "x", "", "x", "x#3"]),
            result("", "1"),
            result("x", "2"),
            result("x", "4"),
            result("", "3"),
            result("x#3", "5"),
        ]),
        [
            calls(&["#0", "x", "#2", "x#3#3", "x#3"]),
            result("#0", "1"),
            result("x", "2"),
            result("#2", "3"),
            result("x#3#3", "4"),
            result("x#3", "5"),
        ]
    );
}

#[test]
fn a_result_belongs_to_the_latest_call_with_its_id_that_is_open() {
    assert_eq!(
        whole_exchanges(vec![
            Message::user("one"),
            calls(&["call_0"]),
            calls(&["call_0"]),
            result("call_0", "second"),
            result("call_0", "first"),
            calls(&["call_0"]),
            Message::user("two"),
            calls(&["call_0"]),
            result("call_0", "of the second turn"),
            result("call_0", "of nothing any more"),
        ]),
        [
            Message::user("one"),
            calls(&["call_0"]),
            result("call_0", "first"),
            calls(&["call_0"]),
            result("call_0", "second"),
            calls(&["call_0"]),
            unanswered("call_0"),
            Message::user("two"),
            calls(&["call_0"]),
            result("call_0", "of the second turn"),
        ]
    );
}

#[test]
fn a_result_may_come_after_another_prompt_but_not_one_without_an_id() {
    assert_eq!(
        whole_exchanges(vec![
            calls(&["a", ""]),
            Message::user("two"),
            result("a", "A"),
            result("", "whose?"),
        ]),
        [
            calls(&["a", "#1"]),
            result("a", "A"),
            unanswered("#1"),
            Message::user("two")
        ]
    );
}

#[test]
fn many_calls_of_one_id_cost_linear_time() {
    within_a_minute(|| {
        let ids = vec!["x"; 20_000];
        let mut messages = vec![calls(&ids)];
        messages.extend((0..20_000).map(|n: usize| result("x", &n.to_string())));
        assert_eq!(whole_exchanges(messages).len(), 20_001);
    });
}

/// A conversation that has these outlines. Each result says which one it is.
fn messages(outlines: &[MessageOutline]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (index, outline) in outlines.iter().enumerate() {
        let ids: Vec<&str> = outline.calls.iter().map(String::as_str).collect();
        if outline.role == "assistant" {
            messages.push(calls(&ids));
        }
        for (nth, id) in outline.results.iter().enumerate() {
            messages.push(result(id, &format!("{index}.{nth}")));
        }
        if outline.prompt {
            messages.push(Message::user("text"));
        }
    }
    messages
}

proptest! {
    #[test]
    fn every_call_has_its_one_result_behind_it_and_nothing_else_is_lost(all in conversation(0)) {
        let given = messages(&all);
        let whole = whole_exchanges(given.clone());
        prop_assert_eq!(&whole_exchanges(whole.clone()), &whole);

        let is_tool = |message: &&Message| matches!(message, Message::Tool { .. });
        let others = |messages: &[Message]| {
            let kept = messages.iter().filter(|message| !is_tool(message));
            let kept = kept.map(|message| match message {
                Message::Assistant { tool_calls, .. } => format!("{} calls", tool_calls.len()),
                other => format!("{other:?}"),
            });
            kept.collect::<Vec<_>>()
        };
        prop_assert_eq!(others(&whole), others(&given));

        let mut rest = &whole[..];
        let mut answered = 0;
        while let [message, after @ ..] = rest {
            rest = after;
            prop_assert!(!is_tool(&message));
            let Message::Assistant { tool_calls, .. } = message else { continue };
            let ids: BTreeSet<&str> = tool_calls.iter().map(|call| call.id.as_str()).collect();
            prop_assert!(ids.len() == tool_calls.len() && !ids.contains(""));
            let results;
            (results, rest) = rest.split_at(tool_calls.len());
            for (call, result) in tool_calls.iter().zip(results) {
                match result {
                    Message::Tool { tool_call_id, is_error, .. } => {
                        prop_assert_eq!(tool_call_id, &call.id);
                        answered += usize::from(!is_error);
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
        prop_assert_eq!(answered, pairs(&all).len());
    }

    #[test]
    fn what_outlines_hold_together_is_what_requests_put_together(all in conversation(0)) {
        let given = messages(&all);
        // One message of the transcript may be several of the request.
        let mut of_message = Vec::new();
        for (index, outline) in all.iter().enumerate() {
            let parts = usize::from(outline.role == "assistant") + outline.results.len()
                + usize::from(outline.prompt);
            of_message.extend(std::iter::repeat_n(index, parts));
        }
        let paired: BTreeSet<(usize, (usize, usize))> = pairs(&all).into_iter().collect();
        let outlines: Vec<MessageOutline> = given
            .iter()
            .map(|message| outline_of(0, "any", std::slice::from_ref(message)))
            .collect();
        let of_request: BTreeSet<(usize, (usize, usize))> = pairs(&outlines)
            .into_iter()
            .map(|(result, (call, nth))| (of_message[result], (of_message[call], nth)))
            .collect();
        prop_assert_eq!(paired, of_request);
    }
}
