//! Transcripts as a source.

use std::{
    cmp::Reverse,
    sync::Arc,
    time::{Duration, Instant},
};

use notekeeper_domain::{ConversationId, ITEM_CHARS_MAX, Item, StoredMessage};
use notekeeper_recall::{Source as _, SourceError, TranscriptSource, Written};
use notekeeper_store::{Store, TranscriptStore, conformance::MinimalStore};
use serde_json::{Value, json};

use crate::{
    fixture::{Tenant, item, metadata, opening},
    stores::{Kept, on_each_store},
};

on_each_store!(
    messages_are_ranked_by_the_words_that_they_share_with_the_query,
    one_conversation_is_looked_through_where_it_is_named,
    words_are_found_in_every_script_and_with_their_signs,
    all_dialects_are_read_and_calls_are_not,
    the_newest_thousand_messages_count_however_large_they_are,
    of_many_conversations_the_newest_twenty_count,
);

fn conversation(id: &str) -> ConversationId {
    ConversationId::parse(id).expect("a valid id")
}

async fn add(transcripts: &dyn TranscriptStore, tenant: &Tenant, id: &str, messages: &[Value]) {
    let messages: Vec<StoredMessage> = messages
        .iter()
        .map(|message| StoredMessage::new(message.clone()).expect("a message"))
        .collect();
    for batch in messages.chunks(50) {
        let conversation = conversation(id);
        let added = transcripts.add_messages(&tenant.scope, &conversation, batch, None);
        added.await.expect("added");
    }
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// Conversation and position of a message.
fn place(item: &Item) -> &str {
    let id = item.id.as_deref().expect("an id");
    id.strip_prefix("message:default/").expect("its store")
}

/// The source over all conversations; `None` where the store keeps none.
fn source(kept: &Kept) -> Option<(TranscriptSource, &dyn TranscriptStore)> {
    let transcripts = kept.store.transcripts()?;
    let source = TranscriptSource::new("said", kept.stores(), "default", None);
    Some((source, transcripts))
}

async fn messages_are_ranked_by_the_words_that_they_share_with_the_query(kept: Kept) {
    let Some((source, transcripts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let (tenant, other) = (Tenant::of("john-doe"), Tenant::of("john_doe"));
    let messages = [
        said("user", "When is the REFUND due?"),
        said("assistant", "The refund takes five days."),
        said("user", "thanks"),
        said("user", "five refunds?"),
        said("assistant", "five refund"),
    ];
    add(transcripts, &tenant, "main", &messages).await;
    add(
        transcripts,
        &other,
        "main",
        &[said("user", "refund takes five theirs")],
    )
    .await;

    let found = tenant.found(&source, "refund takes five", 10).await;
    let ranked: Vec<_> = found.iter().map(place).collect();
    assert_eq!(ranked, ["main#1", "main#4", "main#3", "main#0"]);
    assert_eq!(found[0].score(), Some(1.0));
    assert_eq!(found[3].score(), Some(1.0 / 3.0));
    assert_eq!(found[0].content, "The refund takes five days.");
    let known = json!({"conversation": "main", "position": 1, "role": "assistant"});
    assert_eq!(found[0].metadata, metadata(known));
    assert_eq!(found[0].source, "said");

    let first = &tenant.found(&source, "refund", 1).await[0];
    assert_eq!(first.id.as_deref(), Some("message:default/main#4"));
    assert_eq!(tenant.found(&source, "refund", 0).await, []);
    for query in ["absent", "%", "_", "refund_", "refund%"] {
        let found = tenant.found(&source, query, 5).await;
        assert!(
            found
                .iter()
                .all(|item| item.content.to_lowercase().contains("refund")),
            "{query}"
        );
        assert!(!query.contains("absent") || found.is_empty());
    }
    let users = tenant
        .found_where(&source, "refund", 5, json!({"role": "user"}))
        .await;
    assert_eq!(place(&users[0]), "main#0");
    assert_eq!(users.len(), 1);

    // Without words: the newest, unranked.
    let newest = tenant.found(&source, " \n", 2).await;
    let ids: Vec<_> = newest
        .iter()
        .map(|item| (place(item), item.score()))
        .collect();
    assert_eq!(ids, [("main#4", None), ("main#3", None)]);

    let written = tenant.write(&source, &[item("x", json!({}))], "op").await;
    assert_eq!(written.expect("refused"), Written::refused_by("said"));
    assert!(!source.accepts_writes());
}

async fn one_conversation_is_looked_through_where_it_is_named(kept: Kept) {
    let Some((all, transcripts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    for id in ["one", "other", "o%"] {
        add(
            transcripts,
            &tenant,
            id,
            &[said("user", &format!("alpha {id}"))],
        )
        .await;
    }
    let one = Some(conversation("o%"));
    let named = TranscriptSource::new("said", kept.stores(), "default", one);
    let found = tenant.found(&named, "alpha", 5).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].content, "alpha o%");
    assert_eq!(tenant.found(&all, "alpha", 5).await.len(), 3);
    let absent = Some(conversation("absent"));
    let absent = TranscriptSource::new("said", kept.stores(), "default", absent);
    assert_eq!(tenant.found(&absent, "alpha", 5).await, []);
}

async fn words_are_found_in_every_script_and_with_their_signs(kept: Kept) {
    let Some((source, transcripts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    let texts = [
        "Ich wohne in KÖLN.",
        "東京都に住んでいます",
        "C++ and Go",
        "see src/auth.rs, please",
        "c is old",
    ];
    let messages = texts.map(|text| said("user", text));
    add(transcripts, &tenant, "main", &messages).await;
    for (query, text) in [
        ("koln?", 0),
        ("東京", 1),
        ("c++", 2),
        ("src/auth.rs", 3),
        ("auth", 3),
        ("C", 4),
    ] {
        let found = tenant.found(&source, query, 1).await;
        let contents: Vec<_> = found.iter().map(|item| item.content.as_str()).collect();
        assert_eq!(contents, [texts[text]], "{query}");
    }
}

async fn all_dialects_are_read_and_calls_are_not(kept: Kept) {
    let Some((source, transcripts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    let messages = [
        said("user", "alpha plain"),
        json!({"role": "user", "content": [{"type": "text", "text": "alpha theirs"}]}),
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "alpha", "arguments": "{\"alpha\":1}"}}
        ]}),
        json!({"role": "tool", "tool_call_id": "c", "content": "alpha result"}),
        said("user", &"alpha ".repeat(20_000)),
    ];
    add(transcripts, &tenant, "main", &messages).await;
    let found = tenant.found(&source, "alpha", 10).await;
    let contents: Vec<&str> = found.iter().map(|item| item.content.as_str()).collect();
    assert_eq!(contents[0].chars().count(), ITEM_CHARS_MAX);
    let cut = found.iter().map(|item| item.metadata.get("truncated"));
    let cut: Vec<_> = cut.map(|cut| cut.is_some()).collect();
    assert_eq!(cut, [true, false, false, false]);
    assert_eq!(
        contents[1..],
        ["alpha result", "alpha theirs", "alpha plain"]
    );
}

async fn the_newest_thousand_messages_count_however_large_they_are(kept: Kept) {
    let Some((source, transcripts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    // Twenty-one with 100 KB each are more than is read at a time.
    let mut messages = vec![said("user", "early bird")];
    messages.extend((1..980).map(|number| said("user", &format!("alpha {number}"))));
    let large = |number: usize| said("user", &format!("alpha {number} {}", "x".repeat(100_000)));
    messages.extend((980..1_001).map(large));
    add(transcripts, &tenant, "main", &messages).await;
    assert_eq!(tenant.found(&source, "bird", 5).await, []);
    let ids = |items: Vec<Item>| -> Vec<String> {
        items.iter().map(|item| place(item).to_owned()).collect()
    };
    assert_eq!(ids(tenant.found(&source, "1", 5).await), ["main#1"]);
    assert_eq!(
        ids(tenant.found(&source, "alpha", 3).await),
        ["main#1000", "main#999", "main#998"]
    );
}

async fn of_many_conversations_the_newest_twenty_count(kept: Kept) {
    let Some((source, transcripts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    let alpha = [said("user", "alpha")];
    for number in 0..23 {
        add(transcripts, &tenant, &format!("c{number:02}"), &alpha).await;
    }
    let listed = async |tenant: &Tenant| {
        let listed = transcripts.conversations(&tenant.scope, None, 100).await;
        listed.expect("listed").conversations
    };
    // The last by id was added to last, by the store's own clock, which counts in seconds.
    let newest = listed(&tenant).await.into_iter().map(|it| it.updated_at);
    let newest = newest.max().expect("conversations");
    if newest.is_some() {
        let clock = Tenant::of("clock");
        let patience = Instant::now();
        loop {
            add(transcripts, &clock, "main", &alpha).await;
            if listed(&clock).await[0].updated_at > newest {
                break;
            }
            assert!(
                patience.elapsed() < Duration::from_secs(60),
                "no second passed"
            );
            tokio::task::yield_now().await;
        }
        add(transcripts, &tenant, "c22", &alpha).await;
    }
    let mut expected = listed(&tenant).await;
    expected.sort_by_key(|it| (Reverse(it.updated_at.clone()), it.id.as_str().to_owned()));
    let expected: Vec<String> = expected[..20]
        .iter()
        .map(|it| it.id.as_str().to_owned())
        .collect();
    if newest.is_some() {
        assert_eq!(expected[0], "c22");
    }

    let found = tenant.found(&source, "alpha", 100).await;
    let conversations = found
        .iter()
        .map(|item| place(item).split_once('#').expect("both").0);
    let mut conversations: Vec<_> = conversations.collect();
    conversations.dedup();
    assert_eq!(conversations, expected);
}

#[tokio::test]
async fn of_messages_that_are_too_many_bytes_the_newest_are_looked_at() {
    let kept = Kept::in_memory().await;
    let (source, transcripts) = source(&kept).expect("it keeps transcripts");
    let tenant = Tenant::of("acme");
    let large = |number: usize| said("user", &format!("n{number} alpha {}", "x".repeat(300_000)));
    let messages: Vec<Value> = (0..80).map(large).collect();
    add(transcripts, &tenant, "main", &messages).await;
    add(transcripts, &tenant, "other", &messages[..1]).await;
    let found = tenant.found(&source, "alpha", 100).await;
    let positions: Vec<u64> = found
        .iter()
        .map(|item| {
            item.metadata
                .get("position")
                .and_then(Value::as_u64)
                .expect("one")
        })
        .collect();
    let seen = positions.len() as u64;
    // 8 to 16 MiB of 300 kB each, without a gap.
    assert!((28..=56).contains(&seen), "{seen}");
    let newest: Vec<u64> = (80 - seen..80).rev().collect();
    assert_eq!(positions, newest);
}

#[tokio::test]
async fn a_store_without_transcripts_says_so() {
    let store: Arc<dyn Store> = Arc::new(MinimalStore::default());
    let source = TranscriptSource::new("said", opening(&store), "default", None);
    let error = Tenant::of("acme")
        .query(&source, "x", 5)
        .await
        .expect_err("an error");
    assert!(matches!(error, SourceError::Unsupported(_)));
    insta::assert_snapshot!(error, @"the store, of kind `minimal`, keeps no transcripts; name another store");
}
