//! `get_messages`, `add_messages`, `clear_messages`.

use notekeeper_activities::Failure;
use notekeeper_contract::{
    AddMessagesOutput, ClearMessagesOutput, FailureType, GetMessagesOutput,
    ListConversationsOutput, OutlinedMessage, RESULT_BYTES_MAX,
};
use notekeeper_domain::{MESSAGE_BYTES_MAX, MESSAGES_ADDED_MAX, StoredMessage};
use serde_json::{Value, json};

use crate::fixture::{Bench, Change, Watched, bench, bench_over, caller, input, unavailable};

async fn add(bench: &Bench, fields: Value) -> Result<AddMessagesOutput, Failure> {
    bench
        .notebook
        .add_messages(input(fields), &caller("1"))
        .await
}

async fn clear(bench: &Bench, fields: Value) -> Result<ClearMessagesOutput, Failure> {
    bench
        .notebook
        .clear_messages(input(fields), &caller("1"))
        .await
}

async fn get(bench: &Bench, fields: Value) -> Result<GetMessagesOutput, Failure> {
    bench.notebook.get_messages(input(fields)).await
}

async fn list(bench: &Bench, fields: Value) -> Result<ListConversationsOutput, Failure> {
    bench.notebook.list_conversations(input(fields)).await
}

fn said(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Adds so many messages `0`, `1`, … to the conversation `main`.
async fn add_numbered(bench: &Bench, count: usize) {
    let messages: Vec<Value> = (0..count).map(|n| said(&n.to_string())).collect();
    let fields = json!({"messages": messages, "operation": {"id": "numbered"}});
    add(bench, fields).await.unwrap();
}

/// All pages of a conversation, one after the other.
async fn pages(bench: &Bench, mut fields: Value) -> Vec<GetMessagesOutput> {
    let mut pages = Vec::new();
    loop {
        let page = get(bench, fields.clone()).await.unwrap();
        let cursor = page.cursor.clone();
        pages.push(page);
        match cursor {
            Some(cursor) => fields["cursor"] = json!(cursor),
            None => return pages,
        }
    }
}

#[tokio::test]
async fn messages_come_back_in_their_order_as_the_json_values_they_were() {
    let bench = bench();
    let openai = json!([
        {"role": "developer", "content": "Be kind.", "name": "app"},
        {"role": "user", "content": [{"type": "text", "text": "Tea?"}], "x-own": {"n": 0.5, "big": 18446744073709551615_u64}},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\": 1}"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "green"},
    ]);
    let anthropic = json!([
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": [1, null]}},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "green", "is_error": false}]},
    ]);
    let first = add(
        &bench,
        json!({"messages": openai, "operation": {"id": "a"}}),
    )
    .await;
    assert_eq!(
        first,
        Ok(AddMessagesOutput {
            first: 0,
            next: 4,
            replayed: false
        })
    );
    let second = add(
        &bench,
        json!({"messages": anthropic, "operation": {"id": "b"}}),
    )
    .await;
    assert_eq!(
        second,
        Ok(AddMessagesOutput {
            first: 4,
            next: 6,
            replayed: false
        })
    );
    let got = get(&bench, json!({})).await.unwrap();
    let all = [openai, anthropic].map(|messages| messages.as_array().unwrap().clone());
    assert_eq!(got.messages, all.concat());
    assert_eq!(
        (got.first, got.next, got.oldest, got.cursor),
        (0, 6, 0, None)
    );
}

#[tokio::test]
async fn a_limit_gives_the_most_recent_ones_and_from_none_before_it() {
    let bench = bench();
    let nothing = get(&bench, json!({"limit": 3, "from": 7})).await.unwrap();
    assert_eq!(
        (nothing.messages.len(), nothing.first, nothing.next),
        (0, 0, 0)
    );
    add_numbered(&bench, 5).await;
    for (fields, first, count) in [
        (json!({}), 0, 5),
        (json!({"limit": 2}), 3, 2),
        (json!({"limit": 5}), 0, 5),
        (json!({"limit": u64::MAX}), 0, 5),
        (json!({"from": 3}), 3, 2),
        (json!({"from": 5}), 5, 0),
        (json!({"from": 9}), 5, 0),
        (json!({"from": u64::MAX}), 5, 0),
        (json!({"from": 1, "limit": 2}), 3, 2),
        (json!({"from": 4, "limit": 2}), 4, 1),
        (json!({"from": 9, "limit": 2}), 5, 0),
        (json!({"limit": 0}), 5, 0),
        (json!({"from": 1, "limit": 0}), 5, 0),
    ] {
        let got = get(&bench, fields.clone()).await.unwrap();
        assert_eq!((got.first, got.messages.len()), (first, count), "{fields}");
        assert_eq!(
            (got.next, got.oldest, &got.cursor),
            (5, 0, &None),
            "{fields}"
        );
        if let Some(message) = got.messages.first() {
            assert_eq!(message["content"], first.to_string(), "{fields}");
        }
    }
}

/// It looks where the conversation ends, and then reads what is before that.
#[tokio::test]
async fn what_is_added_while_a_limit_is_counted_from_the_end_is_left_to_the_next_call() {
    for (limit, expected) in [(2, 3..5), (9, 1..5), (0, 5..5)] {
        let bench = bench();
        add_numbered(&bench, 5).await;
        let added = StoredMessage::new(said("later")).unwrap();
        bench.store.change_after_read(Change::Add(added));
        let got = get(&bench, json!({"from": 1, "limit": limit})).await;
        let got = got.unwrap();
        let expected: Vec<Value> = expected.map(|n: usize| said(&n.to_string())).collect();
        assert_eq!(got.messages, expected, "at most {limit}");
        assert_eq!((got.next, got.cursor), (5, None), "at most {limit}");
    }
}

#[tokio::test]
async fn conversations_and_scopes_have_messages_of_their_own() {
    let bench = bench();
    for (place, id) in [
        (json!({}), "a"),
        (json!({"conversation": "other"}), "b"),
        (json!({"scope": {"namespace": "acme/bob"}}), "a"),
        (json!({"store": "other"}), "a"),
    ] {
        let mut fields = place.clone();
        fields["messages"] = json!([said(&place.to_string())]);
        fields["operation"] = json!({"id": id});
        assert_eq!(add(&bench, fields).await.unwrap().next, 1);
        let got = get(&bench, place.clone()).await.unwrap();
        assert_eq!(got.messages, [said(&place.to_string())]);
    }
    clear(&bench, json!({})).await.unwrap();
    let got = get(&bench, json!({"conversation": "other"})).await.unwrap();
    assert_eq!(got.messages.len(), 1);
}

#[tokio::test]
async fn what_one_result_cannot_carry_comes_page_by_page_as_it_was_at_the_first() {
    let bench = bench();
    let text = "\"\u{1}\u{56fa}".repeat(4_000);
    for batch in 0..6 {
        let messages: Vec<Value> = (0..20)
            .map(|n| said(&format!("{batch}/{n} {text}")))
            .collect();
        let fields = json!({"messages": messages, "operation": {"id": batch.to_string()}});
        add(&bench, fields).await.unwrap();
    }
    let first = get(&bench, json!({"limit": 110})).await.unwrap();
    add(
        &bench,
        json!({"messages": [said("later")], "operation": {"id": "later"}}),
    )
    .await
    .unwrap();
    let cursor = first.cursor.clone().expect("more than one result carries");
    let rest = pages(&bench, json!({"cursor": cursor, "limit": 3, "from": 119})).await;
    let pages = [vec![first], rest].concat();
    assert!(pages.len() > 3, "{}", pages.len());
    let mut next = 10;
    for page in &pages {
        assert!(serde_json::to_string(page).unwrap().len() <= RESULT_BYTES_MAX);
        assert_eq!((page.first, page.next, page.oldest), (next, 120, 0));
        for message in &page.messages {
            let begin = format!("{}/{} ", next / 20, next % 20);
            assert!(message["content"].as_str().unwrap().starts_with(&begin));
            next += 1;
        }
    }
    assert_eq!(next, 120);
}

#[tokio::test]
async fn a_page_after_the_conversation_was_cleared_is_refused_and_not_an_end() {
    let bench = bench();
    let large = said(&"x".repeat(500_000));
    let fields = json!({"messages": [large, large, large], "operation": {"id": "a"}});
    add(&bench, fields).await.unwrap();
    let first = get(&bench, json!({})).await.unwrap();
    assert_eq!(first.messages.len(), 2);
    clear(&bench, json!({"operation": {"id": "b"}}))
        .await
        .unwrap();
    add(
        &bench,
        json!({"messages": [said("new")], "operation": {"id": "c"}}),
    )
    .await
    .unwrap();
    let failure = get(&bench, json!({"cursor": first.cursor}))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureType::InvalidArgument);
    assert!(failure.message.contains("was cleared since"), "{failure}");
    let anew = get(&bench, json!({})).await.unwrap();
    assert_eq!((anew.messages.len(), anew.first, anew.next), (1, 3, 4));
}

/// One answer of outlines takes several reads.
#[tokio::test]
async fn outlines_of_a_conversation_that_is_cleared_between_two_reads_are_no_whole_answer() {
    for later in [None, Some(said("new"))] {
        let bench = bench();
        let large = said(&"x".repeat(500_000));
        for batch in 0..4 {
            let fields = json!({
                "messages": [large, large, large],
                "operation": {"id": batch.to_string()},
            });
            add(&bench, fields).await.unwrap();
        }
        bench.store.change_after_read(Change::Clear);
        let fields = json!({"form": "outline"});
        let first = get(&bench, fields.clone()).await.unwrap();
        assert!((1..12).contains(&first.outlines.len()), "{first:?}");
        assert_eq!((first.first, first.next, first.oldest), (0, 12, 0));
        if let Some(later) = later {
            add(
                &bench,
                json!({"messages": [later], "operation": {"id": "later"}}),
            )
            .await
            .unwrap();
        }
        let cursor = first.cursor.expect("there were more");
        let failure = get(&bench, json!({"form": "outline", "cursor": cursor})).await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.kind, FailureType::InvalidArgument);
        assert!(failure.message.contains("was cleared since"), "{failure}");
    }
}

#[tokio::test]
async fn the_largest_message_fits_into_an_answer_whole_and_in_outline() {
    let bench = bench();
    let frame = said("").to_string().len();
    let whole = said(&"x".repeat(MESSAGE_BYTES_MAX - frame));
    assert_eq!(whole.to_string().len(), MESSAGE_BYTES_MAX);
    let calls: Vec<Value> = (0..5_000)
        .map(|n| json!({"id": format!("{n:050}"), "name": "n", "arguments": 0}))
        .collect();
    let calling = json!({"role": "assistant", "tool_calls": calls});
    assert!(calling.to_string().len() <= MESSAGE_BYTES_MAX);
    let fields = json!({"messages": [whole, calling], "operation": {"id": "a"}});
    add(&bench, fields).await.unwrap();
    let whole_pages = pages(&bench, json!({})).await;
    let got: Vec<Value> = whole_pages
        .into_iter()
        .flat_map(|page| page.messages)
        .collect();
    assert_eq!(got, [whole, calling]);
    let outlines = pages(&bench, json!({"form": "outline"})).await;
    assert_eq!(outlines[0].outlines[1].calls.len(), 5_000);
}

#[tokio::test]
async fn outlines_say_what_policies_look_at_and_nothing_that_was_said() {
    let bench = bench();
    let messages = json!([
        said("Where do I live?"),
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "look", "arguments": {}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "Kiel"},
    ]);
    add(&bench, json!({"messages": messages})).await.unwrap();
    let got = get(&bench, json!({"form": "outline", "from": 1}))
        .await
        .unwrap();
    assert_eq!((got.first, got.next, got.messages.len()), (1, 3, 0));
    let outline = |role: &str, tokens, calls: &[&str], results: &[&str]| OutlinedMessage {
        role: role.to_owned(),
        tokens,
        prompt: false,
        calls: calls.iter().map(ToString::to_string).collect(),
        results: results.iter().map(ToString::to_string).collect(),
    };
    let expected = [
        outline("assistant", got.outlines[0].tokens, &["c1"], &[]),
        outline("tool", 1, &[], &["c1"]),
    ];
    assert_eq!(got.outlines, expected);
    let got = get(&bench, json!({"form": "outline"})).await.unwrap();
    assert!(got.outlines[0].prompt);
    assert_eq!(got.outlines[0].tokens, 4);
    assert!(!serde_json::to_string(&got).unwrap().contains("Kiel"));
}

#[tokio::test]
async fn outlines_of_many_messages_take_few_answers() {
    let bench = bench();
    for batch in 0..10 {
        let messages: Vec<Value> = (0..1_000).map(|_| said(&"x".repeat(1_000))).collect();
        let fields = json!({"messages": messages, "operation": {"id": batch.to_string()}});
        add(&bench, fields).await.unwrap();
    }
    let pages = pages(&bench, json!({"form": "outline"})).await;
    assert_eq!(pages.len(), 1);
    assert_eq!(pages[0].outlines.len(), 10_000);
}

#[tokio::test]
async fn a_cursor_that_no_answer_gave_here_is_refused() {
    let bench = bench();
    let large = said(&"x".repeat(500_000));
    let fields = json!({"messages": [large, large, large]});
    add(&bench, fields).await.unwrap();
    // The same conversation in another store holds other messages.
    let fields = json!({"store": "other", "messages": [large, large, large, large]});
    add(&bench, fields).await.unwrap();
    let cursor = get(&bench, json!({})).await.unwrap().cursor.unwrap();
    let others = get(&bench, json!({"store": "other"})).await.unwrap();
    let others = others.cursor.unwrap();
    let tampered = cursor.replacen('2', "0", 1);
    assert_ne!(tampered, cursor);
    for fields in [
        json!({"cursor": tampered}),
        json!({"cursor": ""}),
        json!({"cursor": "\u{0}"}),
        json!({"cursor": cursor, "conversation": "other"}),
        json!({"cursor": cursor, "scope": {"namespace": "acme/bob"}}),
        json!({"cursor": cursor, "store": "other"}),
        json!({"cursor": others}),
    ] {
        let failure = get(&bench, fields).await.unwrap_err();
        assert_eq!(failure.kind, FailureType::InvalidArgument);
        assert!(failure.message.starts_with("`cursor` "), "{failure}");
    }
    let more = get(&bench, json!({"cursor": others, "store": "other"})).await;
    assert_eq!(more.unwrap().next, 4);
}

#[tokio::test]
async fn no_messages_change_nothing_and_tell_the_end() {
    let bench = bench();
    add_numbered(&bench, 3).await;
    let fields = |messages| json!({"messages": messages, "operation": {"id": "a"}});
    let end = AddMessagesOutput {
        first: 3,
        next: 3,
        replayed: false,
    };
    for _ in 0..2 {
        assert_eq!(add(&bench, fields(json!([]))).await.as_ref(), Ok(&end));
    }
    let added = add(&bench, fields(json!([said("x")]))).await.unwrap();
    assert_eq!((added.first, added.replayed), (3, false));
}

#[tokio::test]
async fn a_bad_message_is_named_and_nothing_is_added() {
    let bench = bench();
    let good = said("good");
    let large = said(&"x".repeat(MESSAGE_BYTES_MAX));
    for (bad, kind, message) in [
        (
            json!({"role": "user", "content": "SECRET\u{0}"}),
            FailureType::InvalidArgument,
            "`messages[1].content` contains a NUL character (U+0000); leave it out",
        ),
        (
            json!({"role": "user", "content": [{"type": "text"}, {"type": "text", "text": "\u{0}"}]}),
            FailureType::InvalidArgument,
            "`messages[1].content[1].text` contains a NUL character (U+0000); leave it out",
        ),
        (
            json!({"role": "user", "SECRET": {"SECRET": "\u{0}"}}),
            FailureType::InvalidArgument,
            "`messages[1]` contains a NUL character (U+0000); leave it out",
        ),
        (
            json!({"role": "user", "SECRET\u{0}": 1}),
            FailureType::InvalidArgument,
            "`messages[1]` contains a NUL character (U+0000); leave it out",
        ),
        (
            json!({"role": "assistant", "tool_calls": [{"arguments": {"SECRET": "\u{0}"}}]}),
            FailureType::InvalidArgument,
            "`messages[1].tool_calls[0].arguments` contains a NUL character (U+0000); leave it out",
        ),
        (
            json!({"role": "assistant\u{0}", "content": ""}),
            FailureType::InvalidArgument,
            "`messages[1].role` contains a NUL character (U+0000); leave it out",
        ),
        (
            json!("SECRET"),
            FailureType::InvalidArgument,
            "`messages[1]` must be a JSON object",
        ),
        (
            json!({"content": "SECRET"}),
            FailureType::InvalidArgument,
            "`messages[1]` needs `role`, a text of 1 to 64 bytes, such as `user`",
        ),
        (
            json!({"role": 7}),
            FailureType::InvalidArgument,
            "`messages[1]` needs `role`, a text of 1 to 64 bytes, such as `user`",
        ),
        (
            large,
            FailureType::TooLarge,
            "`messages[1]` has 524316 bytes as JSON, 524288 are allowed; split it, or keep a reference to what is large",
        ),
    ] {
        let fields = json!({"messages": [good, bad, good]});
        let failure = add(&bench, fields).await.unwrap_err();
        assert_eq!((failure.kind, failure.message.as_str()), (kind, message));
    }
    let many: Vec<Value> = vec![good; MESSAGES_ADDED_MAX + 1];
    let failure = add(&bench, json!({"messages": many})).await.unwrap_err();
    assert_eq!(failure.kind, FailureType::InvalidArgument);
    assert_eq!(
        failure.message,
        "`messages` has 1001 messages, 1000 are allowed; add them in several calls"
    );
    assert!(bench.store.take_calls().is_empty());
}

#[tokio::test]
async fn a_repetition_adds_nothing_twice_and_other_arguments_are_a_conflict() {
    let bench = bench();
    let fields =
        json!({"messages": [said("x"), {"role": "user", "at": 1.5}], "operation": {"id": "a"}});
    let first = add(&bench, fields.clone()).await.unwrap();
    add(
        &bench,
        json!({"messages": [said("y")], "operation": {"id": "b"}}),
    )
    .await
    .unwrap();
    let again = add(&bench, fields).await.unwrap();
    assert_eq!(
        again,
        AddMessagesOutput {
            replayed: true,
            ..first
        }
    );
    for other in [
        json!({"messages": [said("x")], "operation": {"id": "a"}}),
        json!({"messages": [said("x"), {"role": "user", "at": 1.25}], "operation": {"id": "a"}}),
        json!({"messages": [said("y")], "operation": {"id": "a"}, "conversation": "other"}),
    ] {
        let failure = add(&bench, other).await.unwrap_err();
        assert_eq!(failure.kind, FailureType::OperationConflict);
    }
    let failure = clear(&bench, json!({"operation": {"id": "a"}}))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureType::OperationConflict);
    let write = json!({"content": "tea", "operation": {"id": "b"}});
    let failure = bench.notebook.write(input(write), &caller("1")).await;
    assert_eq!(failure.unwrap_err().kind, FailureType::OperationConflict);
    assert_eq!(get(&bench, json!({})).await.unwrap().next, 3);
}

#[tokio::test]
async fn without_an_operation_the_activity_is_the_identity() {
    let bench = bench();
    let fields = || input(json!({"messages": [said("x")]}));
    for (activity, next, replayed) in [("1", 1, false), ("1", 1, true), ("2", 2, false)] {
        let caller = caller(activity);
        let added = bench.notebook.add_messages(fields(), &caller);
        let added = added.await.unwrap();
        assert_eq!((added.next, added.replayed), (next, replayed));
    }
    let mut cleared = Vec::new();
    for activity in ["3", "3", "4"] {
        let caller = caller(activity);
        let done = bench.notebook.clear_messages(input(json!({})), &caller);
        let done = done.await.unwrap();
        cleared.push((done.cleared, done.replayed));
    }
    assert_eq!(cleared, [(2, false), (2, true), (0, false)]);
}

#[tokio::test]
async fn a_repeated_clear_leaves_what_came_later() {
    let bench = bench();
    add_numbered(&bench, 3).await;
    let fields = json!({"operation": {"id": "clear"}});
    let first = clear(&bench, fields.clone()).await.unwrap();
    let expected = ClearMessagesOutput {
        cleared: 3,
        next: 3,
        replayed: false,
    };
    assert_eq!(first, expected);
    add(&bench, json!({"messages": [said("later")]}))
        .await
        .unwrap();
    let again = clear(&bench, fields).await.unwrap();
    assert_eq!(
        again,
        ClearMessagesOutput {
            replayed: true,
            ..expected
        }
    );
    let got = get(&bench, json!({})).await.unwrap();
    assert_eq!(got.messages, [said("later")]);
    assert_eq!((got.first, got.next, got.oldest), (3, 4, 3));
}

#[tokio::test]
async fn places_and_ids_that_are_none_are_refused_before_the_store_is_asked() {
    let bench = bench();
    let long = "x".repeat(201);
    for (fields, kind) in [
        (json!({"store": "nowhere"}), FailureType::InvalidArgument),
        (json!({"conversation": ""}), FailureType::InvalidArgument),
        (
            json!({"conversation": "a\u{0}"}),
            FailureType::InvalidArgument,
        ),
        (json!({"conversation": long}), FailureType::InvalidArgument),
        (
            json!({"scope": {"namespace": ".."}}),
            FailureType::InvalidScope,
        ),
    ] {
        let mut adding = fields.clone();
        adding["messages"] = json!([said("x")]);
        assert_eq!(add(&bench, adding).await.unwrap_err().kind, kind);
        assert_eq!(clear(&bench, fields.clone()).await.unwrap_err().kind, kind);
        assert_eq!(get(&bench, fields).await.unwrap_err().kind, kind);
    }
    let bad_operation = json!({"messages": [], "operation": {"id": "é"}});
    let failure = add(&bench, bad_operation).await.unwrap_err();
    assert_eq!(failure.kind, FailureType::InvalidArgument);
    assert!(bench.store.take_calls().is_empty());
}

#[tokio::test]
async fn a_store_of_notes_alone_says_what_to_do() {
    for store in [Watched::of_notes_alone(), Watched::without_transcripts()] {
        let bench = bench_over(store);
        let failures = [
            add(&bench, json!({"messages": []})).await.unwrap_err(),
            clear(&bench, json!({})).await.unwrap_err(),
            get(&bench, json!({})).await.unwrap_err(),
            list(&bench, json!({})).await.unwrap_err(),
        ];
        for failure in failures {
            assert_eq!(failure.kind, FailureType::Unsupported);
            assert_eq!(
                failure.message,
                "`store` is of the kind `watched`, which keeps no transcripts; name one that does, \
                 such as one of the kind `postgres` or `sqlite`"
            );
        }
        assert!(bench.store.take_calls().is_empty());
    }
}

#[tokio::test]
async fn a_store_with_transcripts_alone_keeps_them() {
    let bench = bench_over(Watched::without_facts());
    add_numbered(&bench, 2).await;
    let got = get(&bench, json!({})).await.unwrap();
    assert_eq!(got.messages, [said("0"), said("1")]);
    let listed = list(&bench, json!({})).await.unwrap();
    assert_eq!(listed.conversations.len(), 1);
    assert_eq!(clear(&bench, json!({})).await.unwrap().cleared, 2);
}

#[test]
fn what_a_store_keeps_beside_notes_is_described_one_by_one() {
    for (store, expected) in [
        (Watched::of_notes_alone(), (false, false)),
        (Watched::without_facts(), (true, false)),
        (Watched::without_transcripts(), (false, true)),
        (Watched::default(), (true, true)),
    ] {
        let bench = bench_over(store);
        let asked = serde_json::from_value(json!({"memories": [{}]})).unwrap();
        let described = bench.notebook.describe(&asked).unwrap().memories;
        let kept = (described[0].keeps_transcripts, described[0].keeps_facts());
        assert_eq!(kept, expected);
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_tried_again() {
    let bench = bench();
    bench.store.fail_with(unavailable);
    let failures = [
        add(&bench, json!({"messages": [said("x")]}))
            .await
            .unwrap_err(),
        add(&bench, json!({"messages": []})).await.unwrap_err(),
        clear(&bench, json!({})).await.unwrap_err(),
        get(&bench, json!({})).await.unwrap_err(),
    ];
    for failure in failures {
        assert_eq!(failure.kind, FailureType::Unavailable);
    }
}

#[tokio::test]
async fn conversations_are_listed_by_id_with_their_bounds_also_where_they_were_cleared() {
    let bench = bench();
    for (conversation, id) in [("b", "1"), ("a", "2"), ("c", "3"), ("b", "4")] {
        let fields = json!({
            "conversation": conversation, "messages": [said("x")], "operation": {"id": id},
        });
        add(&bench, fields).await.unwrap();
    }
    let cleared = json!({"conversation": "b", "operation": {"id": "5"}});
    clear(&bench, cleared).await.unwrap();
    let found = |listed: &ListConversationsOutput| -> Vec<(String, u64, u64)> {
        let all = listed.conversations.iter();
        all.map(|it| (it.conversation.clone(), it.first, it.next))
            .collect()
    };
    let of = |id: &str, first, next| (id.to_owned(), first, next);
    let all = list(&bench, json!({})).await.unwrap();
    assert_eq!(found(&all), [of("a", 0, 1), of("b", 2, 2), of("c", 0, 1)]);
    assert!(!all.more);
    let two = list(&bench, json!({"limit": 2})).await.unwrap();
    assert_eq!((found(&two).len(), two.more), (2, true));
    let rest = list(&bench, json!({"after": "b"})).await.unwrap();
    assert_eq!((found(&rest), rest.more), (vec![of("c", 0, 1)], false));
    let other = list(&bench, json!({"scope": {"namespace": "acme/bob"}})).await;
    assert_eq!(other.unwrap(), ListConversationsOutput::default());
    for fields in [
        json!({"limit": 0}),
        json!({"limit": 1_001}),
        json!({"after": ""}),
        json!({"after": "a\n"}),
    ] {
        let failure = list(&bench, fields).await.unwrap_err();
        assert_eq!(failure.kind, FailureType::InvalidArgument);
    }
}
