//! A source that looks at a part alone of what it is over says so, and one that looks at all of it doesn't.

use std::sync::Arc;

use notekeeper_domain::{ConversationId, FACT_VALUE_CHARS_MAX, Item, StoredMessage};
use notekeeper_models::HashingEmbedder;
use notekeeper_recall::{
    Answer, FactsSource, FileSource, HybridLeg, HybridSource, JournalSource, NotesSource, Source,
    SourceQuery, TranscriptSource,
};
use notekeeper_store::Store;
use serde_json::{Value, json};

use crate::{
    fixture::{Tenant, opening, wanting},
    notes::{put, remember},
    odd_store::OddStore,
    stores::Kept,
};

/// Hybrid search by words alone: embeddings of so much take long.
fn words(kept: &Kept) -> HybridSource {
    let embedder = Arc::new(HashingEmbedder::default());
    HybridSource::new("hybrid", kept.stores(), "default", embedder).with_legs(&[HybridLeg::Words])
}

/// Each source over notes.
fn of_notes(kept: &Kept) -> [Arc<dyn Source>; 3] {
    [
        Arc::new(FileSource::new("file", kept.stores(), "default")),
        Arc::new(NotesSource::new("notes", kept.stores(), "default")),
        Arc::new(words(kept)),
    ]
}

async fn asked(source: &dyn Source, tenant: &Tenant, text: &str, limit: usize) -> Answer {
    let answer = tenant.query(source, text, limit).await.expect("an answer");
    assert!(answer.is_whole(), "every source was heard");
    answer
}

/// Asserts that a query finds something, and says that it looked at a part, or that it didn't.
async fn assert_looks(source: &dyn Source, tenant: &Tenant, in_part: bool, why: &str) {
    let answer = asked(source, tenant, "alpha", 5).await;
    assert!(!answer.items.is_empty(), "{}: {why}", source.name());
    let names: &[&str] = if in_part { &[source.name()] } else { &[] };
    assert_eq!(answer.incomplete, names, "{}: {why}", source.name());
}

#[tokio::test]
async fn of_more_notes_than_a_thousand_a_part_is_looked_at() {
    let (kept, tenant) = (Kept::in_memory().await, Tenant::of("acme"));
    for number in 0..1_000 {
        put(&*kept.store, &tenant, &format!("{number:04}.md"), "alpha").await;
    }
    for source in of_notes(&kept) {
        assert_looks(&*source, &tenant, false, "a thousand are all looked at").await;
    }
    put(&*kept.store, &tenant, "9999.md", "alpha and omega").await;
    for source in of_notes(&kept) {
        assert_looks(&*source, &tenant, true, "one is left out").await;
        let missed = asked(&*source, &tenant, "omega", 5).await;
        assert_eq!(missed.items, []);
        assert_eq!(
            missed.incomplete,
            [source.name()],
            "so nothing found is no answer"
        );
        let other = asked(&*source, &Tenant::of("other"), "alpha", 5).await;
        assert_eq!(other, Answer::default(), "another tenant has nothing");
    }
}

#[tokio::test]
async fn of_notes_that_are_too_large_together_a_part_is_looked_at() {
    let (kept, tenant) = (Kept::in_memory().await, Tenant::of("acme"));
    let text = format!("alpha\n{}", "x".repeat(60_000));
    for number in 0..70 {
        put(&*kept.store, &tenant, &format!("{number:04}.md"), &text).await;
    }
    for source in of_notes(&kept) {
        assert_looks(&*source, &tenant, false, "4 MB are all looked at").await;
    }
    for number in 70..170 {
        put(&*kept.store, &tenant, &format!("{number:04}.md"), &text).await;
    }
    for source in of_notes(&kept) {
        assert_looks(&*source, &tenant, true, "of 10 MB some are left out").await;
    }
}

#[tokio::test]
async fn of_a_note_that_is_too_long_a_part_is_looked_at() {
    let (kept, tenant) = (Kept::in_memory().await, Tenant::of("acme"));
    let longest = format!("alpha {}", "x".repeat(65_536 - 6));
    put(&*kept.store, &tenant, "a.md", &longest).await;
    for source in of_notes(&kept) {
        assert_looks(&*source, &tenant, false, "it is looked at to its end").await;
    }
    put(&*kept.store, &tenant, "a.md", &format!("{longest} omega")).await;
    for source in of_notes(&kept) {
        assert_looks(&*source, &tenant, true, "its end is left out").await;
        assert_eq!(asked(&*source, &tenant, "omega", 5).await.items, []);
    }
}

#[tokio::test]
async fn of_more_facts_than_two_thousand_hybrid_search_looks_at_a_part() {
    let (kept, tenant) = (Kept::in_memory().await, Tenant::of("acme"));
    for number in 0..2_000 {
        remember(&*kept.store, &tenant, &format!("{number:04}"), "alpha").await;
    }
    assert_looks(
        &words(&kept),
        &tenant,
        false,
        "two thousand are all looked at",
    )
    .await;
    remember(&*kept.store, &tenant, "9999", "alpha").await;
    assert_looks(&words(&kept), &tenant, true, "one is left out").await;

    let large = Tenant::of("large");
    let value = format!("alpha {}", "x".repeat(FACT_VALUE_CHARS_MAX - 6));
    let count = 8 * 1024 * 1024 / FACT_VALUE_CHARS_MAX;
    for number in 0..count {
        remember(&*kept.store, &large, &format!("{number:04}"), &value).await;
    }
    assert_looks(&words(&kept), &large, true, "of 8 MiB some are left out").await;
}

#[tokio::test]
async fn facts_that_meet_a_condition_are_looked_for_in_a_part_where_more_than_a_thousand_match() {
    let (kept, tenant) = (Kept::in_memory().await, Tenant::of("acme"));
    let source = FactsSource::new("facts", kept.stores(), "default");
    let of_key = async |key: &str| {
        let query = SourceQuery::new("alpha", 1).with_condition(wanting(json!({"key": key})));
        source
            .query(&query, &tenant.call())
            .await
            .expect("an answer")
    };
    for number in 0..1_000 {
        remember(&*kept.store, &tenant, &format!("{number:04}"), "alpha").await;
    }
    // Of those that match as well the newest come first.
    for key in ["0000", "0999", "none"] {
        let answer = of_key(key).await;
        assert_eq!(answer.items.len(), usize::from(key != "none"), "{key}");
        assert_eq!(answer.incomplete, [""; 0], "{key}: all were looked at");
    }
    remember(&*kept.store, &tenant, "1000", "alpha").await;
    let missed = of_key("0000").await;
    assert_eq!(
        (missed.items, missed.incomplete),
        (vec![], vec!["facts".to_owned()])
    );
    let found = of_key("0999").await;
    assert_eq!(found.items.len(), 1);
    assert_eq!(found.incomplete, [""; 0], "it is all that was wanted");
    let answer = asked(&source, &tenant, "alpha", 5).await;
    assert_eq!(answer.items.len(), 5);
    assert_eq!(answer.incomplete, [""; 0], "the best of all were found");
}

#[tokio::test]
async fn a_journal_says_where_it_did_not_go_back_to_its_beginning() {
    let store: Arc<dyn Store> = Arc::new(OddStore::with_endless_journal());
    let source = JournalSource::new("journal", opening(&store), "default");
    let tenant = Tenant::of("acme");
    let newest = asked(&source, &tenant, "", 5).await;
    assert_eq!(newest.items.len(), 5);
    assert_eq!(newest.incomplete, [""; 0], "the newest are what is wanted");
    let of_note =
        |note: &str| SourceQuery::new("", 5).with_condition(wanting(json!({"note": note})));
    let found = source.query(&of_note("a.md"), &tenant.call()).await;
    assert_eq!(found.expect("an answer").incomplete, [""; 0]);
    let missed = source.query(&of_note("b.md"), &tenant.call()).await;
    let missed = missed.expect("an answer");
    assert_eq!(
        (missed.items, missed.incomplete),
        (vec![], vec!["journal".to_owned()])
    );
}

/// Adds as many messages to a conversation.
async fn say(kept: &Kept, tenant: &Tenant, conversation: &str, texts: &[String]) {
    let transcripts = kept.store.transcripts().expect("it keeps transcripts");
    let conversation = ConversationId::parse(conversation).expect("a valid id");
    let messages = texts.iter().map(|text| {
        let message: Value = json!({"role": "user", "content": text});
        StoredMessage::new(message).expect("a message")
    });
    let messages: Vec<StoredMessage> = messages.collect();
    for batch in messages.chunks(50) {
        let added = transcripts.add_messages(&tenant.scope, &conversation, batch, None);
        added.await.expect("added");
    }
}

async fn clear(kept: &Kept, tenant: &Tenant, conversation: &str) {
    let transcripts = kept.store.transcripts().expect("it keeps transcripts");
    let conversation = ConversationId::parse(conversation).expect("a valid id");
    let cleared = transcripts.clear_messages(&tenant.scope, &conversation, None);
    cleared.await.expect("cleared");
}

fn said(kept: &Kept) -> TranscriptSource {
    TranscriptSource::new("said", kept.stores(), "default", None)
}

/// What the newest messages say, where nothing is looked for: no older one would come before them.
async fn assert_newest_are_enough(kept: &Kept, tenant: &Tenant) {
    let newest = asked(&said(kept), tenant, "", 5).await;
    assert_eq!(newest.items.len(), 5);
    assert_eq!(newest.incomplete, [""; 0]);
}

#[tokio::test]
async fn of_a_long_conversation_a_part_is_looked_through() {
    let (kept, tenant) = (Kept::in_memory().await, Tenant::of("acme"));
    let texts: Vec<String> = (0..1_000).map(|n| format!("alpha {n}")).collect();
    say(&kept, &tenant, "talk", &texts).await;
    assert_looks(&said(&kept), &tenant, false, "a thousand are all looked at").await;
    say(&kept, &tenant, "talk", &["alpha".to_owned()]).await;
    assert_looks(&said(&kept), &tenant, true, "the first one is left out").await;
    assert_newest_are_enough(&kept, &tenant).await;
    // Positions don't begin anew.
    clear(&kept, &tenant, "talk").await;
    say(&kept, &tenant, "talk", &texts[..10]).await;
    assert_looks(&said(&kept), &tenant, false, "the others are gone").await;

    let large = Tenant::of("large");
    let texts = vec![format!("alpha {}", "x".repeat(300_000)); 80];
    say(&kept, &large, "talk", &texts[..10]).await;
    assert_looks(&said(&kept), &large, false, "3 MB are all looked at").await;
    say(&kept, &large, "talk", &texts).await;
    assert_looks(&said(&kept), &large, true, "of 27 MB some are left out").await;
    assert_newest_are_enough(&kept, &large).await;
}

#[tokio::test]
async fn of_many_conversations_a_part_is_looked_through() {
    let (kept, tenant) = (Kept::in_memory().await, Tenant::of("acme"));
    let text = ["alpha".to_owned()];
    for number in 0..20 {
        say(&kept, &tenant, &format!("{number:05}"), &text).await;
    }
    assert_looks(
        &said(&kept),
        &tenant,
        false,
        "twenty are all looked through",
    )
    .await;
    say(&kept, &tenant, "00020", &text).await;
    assert_looks(&said(&kept), &tenant, true, "one is left out").await;
    assert_newest_are_enough(&kept, &tenant).await;
    // In this store, which keeps no times, the first by id count as newer.
    clear(&kept, &tenant, "00020").await;
    assert_looks(
        &said(&kept),
        &tenant,
        false,
        "nothing is in the one that is left out",
    )
    .await;
    for number in 21..10_001 {
        say(&kept, &tenant, &format!("{number:05}"), &text).await;
    }
    let newest = asked(&said(&kept), &tenant, "", 5).await;
    assert_eq!(
        newest
            .items
            .iter()
            .filter(|item: &&Item| item.score().is_none())
            .count(),
        5
    );
    assert_eq!(
        newest.incomplete,
        ["said"],
        "of ten thousand and one nobody knows which is the newest"
    );
}
