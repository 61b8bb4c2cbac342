use notekeeper_contract::{ChatToolCall, OperationRef};
use notekeeper_domain::{SummaryPolicy, WindowPolicy};
use serde_json::json;

use super::*;
use crate::agent::exchange::parts;

fn window(messages: u64) -> Vec<HistoryPolicy> {
    vec![HistoryPolicy::Window(WindowPolicy {
        messages: Some(messages),
        turns: None,
    })]
}

fn operation(id: &str) -> OperationRef {
    OperationRef { id: id.to_owned() }
}

fn answer(text: &str) -> ChatMessage {
    ChatMessage::Assistant {
        content: text.to_owned(),
        tool_calls: Vec::new(),
    }
}

fn call(id: &str) -> [ChatMessage; 2] {
    let call = ChatToolCall {
        id: id.to_owned(),
        name: "look_up".to_owned(),
        arguments: json!({}),
    };
    [
        ChatMessage::Assistant {
            content: String::new(),
            tool_calls: vec![call],
        },
        ChatMessage::Tool {
            tool_call_id: id.to_owned(),
            content: "found".to_owned(),
            is_error: false,
        },
    ]
}

fn exchange(messages: Vec<ChatMessage>) -> Exchange {
    Exchange {
        operation: operation("o"),
        messages,
        reply: None,
    }
}

fn said(prompt: &str) -> Exchange {
    exchange(vec![ChatMessage::user(prompt), answer("yes")])
}

/// What a store answers that holds the messages from `oldest` up to `next`, asked from `first` on: users
/// and assistants by turns.
fn answered(oldest: u64, first: u64, next: u64) -> GetMessagesOutput {
    let outlines = (first..next).map(|position| OutlinedMessage {
        role: "any".to_owned(),
        tokens: 10,
        prompt: position % 2 == 0,
        calls: Vec::new(),
        results: Vec::new(),
    });
    GetMessagesOutput {
        messages: Vec::new(),
        outlines: outlines.collect(),
        first,
        next,
        oldest,
        cursor: None,
    }
}

/// A run that has asked, and was answered that.
fn knowing(policies: &[HistoryPolicy], answer: GetMessagesOutput) -> Stored {
    let mut stored = Stored::new(!policies.is_empty());
    let missing = stored.missing().expect("nothing is known at first");
    stored.learn(missing, answer);
    assert_eq!(stored.missing(), None);
    stored
}

fn positions(stored: &Stored) -> Vec<u64> {
    stored.outlines.iter().map(|it| it.position).collect()
}

fn store(stored: &mut Stored, exchange: Exchange, first: u64) {
    let next = first + exchange.messages.len() as u64;
    stored.close_exchange(exchange);
    assert!(stored.stored_at(first, next).is_some());
}

#[test]
fn without_policies_positions_are_asked_for_once_and_no_outlines_ever() {
    let mut stored = Stored::new(false);
    let missing = stored.missing().expect("nothing is known at first");
    assert_eq!((missing.from, missing.limit), (None, Some(0)));
    stored.learn(missing, answered(4, 10, 10));
    assert_eq!((stored.next(), stored.count()), (10, 6));
    assert_eq!(stored.view().from, 4, "what was cleared isn't sent");
    // Others added two messages meanwhile: nothing is missing.
    store(&mut stored, said("a"), 12);
    assert_eq!(stored.missing(), None);
    assert_eq!((stored.next(), stored.view().from), (14, 4));
}

#[test]
fn a_run_asks_for_a_bounded_number_of_outlines_and_looks_at_nothing_before_them() {
    let policies = window(4);
    let missing = Stored::new(true).missing().expect("all");
    assert_eq!((missing.from, missing.limit), (None, Some(OUTLINES_MAX)));
    let stored = knowing(&policies, answered(0, 5_000, 7_000));
    assert_eq!(stored.view().base, 5_000);
    assert_eq!(stored.count(), 7_000);
}

#[test]
fn an_exchange_that_follows_what_is_known_needs_no_question() {
    let policies = window(100);
    let mut stored = knowing(&policies, answered(0, 0, 2));
    store(&mut stored, said("a"), 2);
    assert_eq!(positions(&stored), [0, 1, 2, 3]);
    assert_eq!(stored.missing(), None);
}

#[test]
fn messages_of_others_before_an_exchange_are_asked_for_and_later_ones_are_left_for_the_next() {
    let policies = window(100);
    let mut stored = knowing(&policies, answered(0, 0, 2));
    store(&mut stored, said("a"), 4);
    let missing = stored.missing().expect("the gap");
    assert_eq!((missing.from, missing.limit), (Some(2), None));
    // Meanwhile somebody added two more.
    stored.learn(missing, answered(0, 2, 8));
    assert_eq!(positions(&stored), [0, 1, 2, 3, 4, 5]);
    assert_eq!(stored.next(), 6);
    store(&mut stored, said("b"), 8);
    assert!(stored.missing().is_some());
}

#[test]
fn an_exchange_that_was_stored_by_an_attempt_nobody_heard_of_is_known_by_its_position() {
    let policies = window(100);
    let mut stored = knowing(&policies, answered(0, 0, 2));
    stored.close_exchange(said("a"));
    assert_eq!(stored.unstored_count(), 1, "it timed out");
    // The same operation again; the receipt answers with where it was.
    stored.stored_at(2, 4);
    assert_eq!(positions(&stored), [0, 1, 2, 3]);
    assert_eq!(stored.unstored_count(), 0);
}

#[test]
fn an_exchange_that_was_stored_with_other_results_makes_the_end_unknown() {
    let policies = window(100);
    let mut stored = knowing(&policies, answered(0, 0, 2));
    stored.close_exchange(said("a"));
    assert!(stored.stored_otherwise().is_some());
    let missing = stored.missing().expect("the end");
    assert_eq!(missing.from, Some(2));
    stored.learn(missing, answered(0, 2, 9));
    assert_eq!(stored.next(), 9, "all that is there");
    assert_eq!(positions(&stored).len(), 9);
}

/// A workflow reset that kept the model's answer, in a conversation that went on before it.
#[test]
fn an_exchange_that_was_stored_with_other_results_is_found_and_nothing_after_it_is_sent() {
    for policies in [window(100), Vec::new()] {
        let mut stored = knowing(&policies, answered(0, 0, 2));
        let [calls, result] = call("a");
        stored.close_exchange(exchange(vec![ChatMessage::user("go"), calls, result]));
        stored.stored_otherwise();
        let missing = stored.missing().expect("where it is");
        assert_eq!((missing.from, missing.limit), (Some(2), None));
        let mut found = answered(0, 2, 9);
        let of = |role: &str, calls: &[&str], results: &[&str]| OutlinedMessage {
            role: role.to_owned(),
            tokens: 1,
            prompt: role == "user",
            calls: calls.iter().map(ToString::to_string).collect(),
            results: results.iter().map(ToString::to_string).collect(),
        };
        found.outlines[2] = of("user", &[], &[]);
        found.outlines[3] = of("assistant", &["a"], &[]);
        found.outlines[4] = of("tool", &[], &["a"]);
        stored.learn(missing, found);
        assert_eq!(stored.next(), 7);
        assert_eq!(stored.missing(), None);
        let known = if policies.is_empty() { 0 } else { 7 };
        assert_eq!(positions(&stored).len(), known);
    }
}

#[test]
fn a_conversation_that_was_cleared_has_neither_summary_nor_outlines_from_before() {
    let policies = window(100);
    let mut stored = knowing(&policies, answered(0, 0, 10));
    let summary = Summary {
        text: "old".to_owned(),
        digest: "d".to_owned(),
        kept: true,
    };
    stored.summarized(4, 1, summary);
    store(&mut stored, said("a"), 10);
    assert!(stored.summary.is_some());
    assert_eq!(stored.said().count(), 2);

    stored.cleared(10);

    assert!(stored.summary.is_none() && stored.view().summary.is_none());
    assert_eq!(positions(&stored), [10, 11]);
    assert_eq!((stored.view().from, stored.count()), (10, 2));
    assert_eq!(stored.said().count(), 0);
    stored.cleared(3);
    assert_eq!(stored.ends().0, 10, "what is cleared never comes back");
}

#[test]
fn a_store_that_was_put_back_to_an_earlier_state_is_taken_as_it_is() {
    let policies = window(100);
    let mut stored = knowing(&policies, answered(0, 0, 10));
    stored.close_exchange(said("a"));
    stored.forget_end();
    let missing = stored.missing().expect("the end");
    stored.learn(missing, answered(0, 4, 4));
    let missing = stored.missing().expect("all of it");
    assert_eq!((missing.from, missing.limit), (None, Some(OUTLINES_MAX)));
    stored.learn(missing, answered(0, 0, 4));
    assert_eq!((stored.next(), positions(&stored).len()), (4, 4));
    assert_eq!(stored.unstored_count(), 1);
    assert_eq!(stored.missing(), None);
    assert!(stored.handed_over("main".to_owned()).lost);
    assert!(stored.take_lost());
    assert!(!stored.take_lost(), "it is told once");
}

#[test]
fn a_prompt_of_somebody_else_does_not_cut_the_turn_under_way() {
    let policies = window(2);
    let mut stored = knowing(&policies, answered(0, 0, 2));
    stored.begin_turn();
    let [calls, result] = call("a");
    store(
        &mut stored,
        exchange(vec![ChatMessage::user("mine"), calls, result]),
        2,
    );
    // Somebody asks something at position 6, before the next exchange of this turn.
    store(&mut stored, exchange(call("b").into()), 7);
    let missing = stored.missing().expect("the gap");
    let mut gap = answered(0, 5, 9);
    let prompts: Vec<_> = gap.outlines.iter().map(|it| it.prompt).collect();
    assert_eq!(prompts, [false, true, false, true]);
    gap.outlines[3].prompt = false;
    stored.learn(missing, gap);
    assert_eq!(
        stored.plan(&policies, &[]).view.from,
        2,
        "the turn's own prompt"
    );
    stored.begin_turn();
    let next = [ChatMessage::user("next")];
    let view = stored.plan(&policies, &next).view;
    assert_eq!(view.from, 9, "a new turn");
}

#[test]
fn a_prompt_that_is_not_stored_counts_in_the_plan() {
    let policies = window(3);
    let mut stored = knowing(&policies, answered(0, 0, 6));
    let view = stored.plan(&policies, &[ChatMessage::user("next")]).view;
    assert_eq!(view.from, 4);
    stored.show(view);
    let conversation = crate::Session::new()
        .converse(crate::ConversationSettings::default(), &(), |()| "acme")
        .expect("a conversation");
    let range = stored.range(&conversation);
    assert_eq!((range.from, range.to), (4, 6));
}

#[test]
fn a_summary_is_sent_by_its_digest_until_that_is_gone() {
    let policies = vec![HistoryPolicy::Summary(SummaryPolicy {
        over_messages: Some(4),
        keep_messages: Some(2),
        ..SummaryPolicy::default()
    })];
    let mut stored = knowing(&policies, answered(0, 0, 6));
    let range = {
        let plan = stored.plan(&policies, &[ChatMessage::user("next")]);
        plan.summarize.expect("a summary is due").range
    };
    assert_eq!(range, 0..4);
    let summary = Summary {
        text: "they talked".to_owned(),
        digest: "d".to_owned(),
        kept: true,
    };
    stored.summarized(range.end, 3, summary);
    let plan = stored.plan(&policies, &[ChatMessage::user("next")]);
    assert_eq!(plan.summarize, None);
    let conversation = crate::Session::new()
        .converse(crate::ConversationSettings::default(), &(), |()| "acme")
        .expect("a conversation");
    let sent = |stored: &Stored| stored.range(&conversation).summary;
    let digest = "d".to_owned();
    assert_eq!(
        sent(&stored),
        Some(ConversationSummary::Reference { digest })
    );
    stored.preambles.insert("p".to_owned());
    stored.send_texts();
    assert!(stored.preambles.is_empty());
    let text = "they talked".to_owned();
    assert_eq!(sent(&stored), Some(ConversationSummary::Inline { text }));
}

#[test]
fn what_a_run_hands_over_is_small_whatever_the_transcript_and_goes_on_where_it_was() {
    let policies = window(4);
    let size = |messages: u64| {
        let mut stored = knowing(&policies, answered(0, 0, 0));
        for first in (0..messages).step_by(2) {
            let pending = said(&"x".repeat(100));
            let view = stored.plan(&policies, &pending.messages).view;
            stored.show(view);
            store(&mut stored, pending, first);
        }
        let handed_over = stored.handed_over("main".to_owned());
        let json = serde_json::to_string(&handed_over).expect("JSON");
        assert!(!json.contains("xxx"), "{json}");
        let again = Stored::resume(true, serde_json::from_str(&json).expect("read"));
        let missing = again.missing().expect("outlines");
        assert_eq!(missing.from, Some(messages - 4));
        assert_eq!(again.next(), messages);
        json.len()
    };
    let (small, large) = (size(10), size(10_000));
    assert!(large < 200 && large - small < 20, "{small}, {large}");
}

#[test]
fn an_exchange_that_is_not_stored_yet_is_handed_over() {
    let mut stored = knowing(&[], answered(0, 0, 0));
    stored.close_exchange(said("a"));
    let handed_over = stored.handed_over("main".to_owned());
    let again = Stored::resume(false, handed_over);
    assert_eq!(again.unstored(), Some(&said("a")));
    assert_eq!(again.said().count(), 2);
}

/// A prompt that nothing fits beside, and that the model refuses.
#[test]
fn what_was_left_out_for_a_prompt_that_got_no_answer_is_sent_again() {
    let policies = window(3);
    let mut stored = knowing(&policies, answered(0, 0, 6));
    stored.begin_turn();
    let view = stored.plan(&policies, &said("no").messages).view;
    stored.show(view);
    assert_eq!(stored.view().from, 6);

    stored.take_back();

    assert_eq!((stored.view().from, positions(&stored).len()), (0, 6));
    let view = stored.plan(&policies, &[ChatMessage::user("next")]).view;
    assert_eq!(view.from, 4, "as if it had never been asked");
    assert_eq!(stored.handed_over("main".to_owned()).view.from, 0);
}

#[test]
fn what_was_left_out_for_an_exchange_that_is_kept_stays_left_out_though_the_turn_fails_later() {
    let policies = window(4);
    let mut stored = knowing(&policies, answered(0, 0, 6));
    stored.begin_turn();
    let [calls, result] = call("a");
    let first = exchange(vec![ChatMessage::user("go"), calls, result]);
    stored.show(stored.plan(&policies, &first.messages).view);
    store(&mut stored, first, 6);
    let from = stored.view().from;
    assert!(from > 0);
    assert_eq!(positions(&stored).first(), Some(&from));
    stored.show(stored.plan(&policies, &call("b")).view);
    stored.take_back();
    assert_eq!(stored.view().from, from);
}

#[test]
fn a_summary_that_was_made_for_a_turn_that_failed_stays() {
    let policies = window(3);
    let mut stored = knowing(&policies, answered(0, 0, 6));
    let summary = Summary {
        text: "they talked".to_owned(),
        digest: "d".to_owned(),
        kept: true,
    };
    stored.summarized(2, 3, summary);
    stored.show(stored.plan(&policies, &said("no").messages).view);
    stored.take_back();
    assert_eq!(stored.view().from, 2);
    assert!(stored.view().summary.is_some() && stored.summary.is_some());
    assert_eq!(positions(&stored), [2, 3, 4, 5]);
}

#[test]
fn a_summary_that_could_not_be_made_is_remembered_by_the_next_run_until_one_is_made() {
    let mut stored = knowing(&window(100), answered(0, 0, 40));
    assert_eq!(stored.skips_summary(3), None);
    stored.skip_summary("ModelRefused", 0, 3);
    assert_eq!(stored.skips_summary(3), Some("ModelRefused"));
    let json = serde_json::to_string(&stored.handed_over("main".to_owned())).expect("JSON");
    let resumed = serde_json::from_str(&json).expect("read");
    let mut again = Stored::resume(true, resumed);
    assert_eq!(again.skips_summary(4), Some("ModelRefused"));
    assert_eq!(again.skips_summary(8), None, "five turns later");
    let summary = Summary {
        text: "they talked".to_owned(),
        digest: "d".to_owned(),
        kept: true,
    };
    again.summarized(20, 3, summary);
    assert_eq!(again.skips_summary(3), None);
    stored.cleared(40);
    assert_eq!(stored.skips_summary(3), None, "there is nothing of it");
}

#[test]
fn only_what_an_exchange_holds_is_a_reason_to_drop_it() {
    let failing = |kind| CallFailure::new(kind, "no");
    let mut stored = knowing(&[], answered(0, 0, 0));
    stored.close_exchange(said("a"));
    for kind in notekeeper_contract::FailureType::ALL {
        // Nothing is wrong with the messages: a store that the worker doesn't know, for one.
        if kind != notekeeper_contract::FailureType::TooLarge {
            assert!(!stored.drop_refused(&failing(kind)), "{kind}");
        }
    }
    assert_eq!(stored.unstored_count(), 1);
    assert!(stored.drop_refused(&failing(notekeeper_contract::FailureType::TooLarge)));
    let large = answer(&"x".repeat(600_000));
    stored.close_exchange(exchange(vec![ChatMessage::user("a"), large]));
    let invalid = failing(notekeeper_contract::FailureType::InvalidArgument);
    assert!(stored.drop_refused(&invalid));
    assert_eq!(stored.unstored_count(), 0);
}

#[test]
fn a_carried_transcript_is_stored_in_parts_that_begin_with_prompts() {
    let turn = |n: usize| {
        let mut turn = vec![ChatMessage::user(n.to_string())];
        turn.extend(call("a"));
        turn
    };
    let messages: Vec<_> = (0..700).flat_map(turn).collect();
    let mut stored = Stored::default();
    stored.import(messages.clone(), |number, messages| {
        operation(&format!("{number}/{}", messages.len()))
    });
    let operations: Vec<_> = stored
        .unstored
        .iter()
        .map(|it| it.operation.id.as_str())
        .collect();
    assert_eq!(operations, ["0/999", "1/999", "2/102"]);
    let parts: Vec<_> = stored.unstored.iter().map(|it| it.messages.len()).collect();
    assert_eq!(parts, [999, 999, 102]);
    let all: Vec<_> = stored.said().cloned().collect();
    assert_eq!(all, messages);
    assert!(stored.unstored.iter().all(|it| is_prompt(&it.messages[0])));
}

#[test]
fn one_long_turn_is_stored_in_parts_and_no_messages_make_none() {
    assert_eq!(parts(Vec::new()), Vec::<Vec<ChatMessage>>::new());
    let long: Vec<_> = (0..2_500).map(|_| answer("a")).collect();
    let lengths: Vec<_> = parts(long).iter().map(Vec::len).collect();
    assert_eq!(lengths, [1_000, 1_000, 500]);
}

#[test]
fn no_nul_reaches_the_store() {
    let exchange = exchange(vec![
        ChatMessage::Assistant {
            content: "a\0b".to_owned(),
            tool_calls: vec![ChatToolCall {
                id: "\0".to_owned(),
                name: "write_memory".to_owned(),
                arguments: json!({"con\0tent": ["\0", 1, null]}),
            }],
        },
        answer("fine"),
    ]);
    let values = exchange.values();
    assert_eq!(
        values,
        [
            json!({
                "role": "assistant",
                "content": "a\u{fffd}b",
                "tool_calls": [{
                    "id": "\u{fffd}",
                    "name": "write_memory",
                    "arguments": {"con\u{fffd}tent": ["\u{fffd}", 1, null]},
                }],
            }),
            json!({"role": "assistant", "content": "fine"}),
        ]
    );
}

#[test]
fn arguments_that_are_nested_too_deep_for_the_store_become_text() {
    let mut arguments = json!("deep");
    for _ in 0..110 {
        arguments = json!([arguments]);
    }
    let call = ChatToolCall {
        id: "a".to_owned(),
        name: "look_up".to_owned(),
        arguments: arguments.clone(),
    };
    let shallow = ChatToolCall {
        arguments: json!({"key": 1}),
        ..call.clone()
    };
    let message = |call| ChatMessage::Assistant {
        content: String::new(),
        tool_calls: vec![call],
    };
    let values = exchange(vec![message(call), message(shallow)]).values();
    let stored = |value: &serde_json::Value| value["tool_calls"][0]["arguments"].clone();
    assert_eq!(stored(&values[0]), json!(arguments.to_string()));
    assert_eq!(stored(&values[1]), json!({"key": 1}));
    for value in values {
        notekeeper_domain::StoredMessage::new(value).expect("it can be stored");
    }
}

#[test]
fn parts_of_a_carried_transcript_have_the_operations_that_they_had_before_a_reset() {
    let operations = || {
        let conversation = crate::Session::new()
            .converse(crate::ConversationSettings::default(), &(), |()| "acme")
            .expect("a conversation");
        let operation = |number: usize, messages: &[ChatMessage]| {
            crate::agent::keeping::operation_of_part(&conversation, number, messages)
        };
        let mut stored = Stored::default();
        stored.import((0..1_500).map(|_| answer("a")).collect(), operation);
        let operations = stored.unstored.iter().map(|it| it.operation.id.clone());
        operations.collect::<Vec<_>>()
    };
    let first = operations();
    assert_eq!(first, operations());
    assert_eq!(first.len(), 2);
    assert_ne!(first[0], first[1]);
}
