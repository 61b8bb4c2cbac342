//! Conversations whose store was erased, or put back, while their workflows run.

use serde_json::json;

use super::{conversing, heard, pairs, said, turn};
use crate::support::{Bed, Talk, Worker, say, state};

/// Deletes all that the bed's store keeps, as an administrator does who erases a tenant.
pub(super) async fn erase(bed: &Bed) {
    for table in [
        "notes",
        "conversations",
        "messages",
        "facts",
        "fact_terms",
        "chunks",
        "receipts",
        "snapshots",
    ] {
        bed.execute(&format!("delete from {table}")).await;
    }
}

/// What a chat says of a conversation that was erased.
const TOLD: &str = "what was said before isn't in its store any more";

#[tokio::test]
async fn the_message_after_an_erasure_is_answered_and_its_reply_says_that_the_rest_is_gone() {
    let bed = Bed::new().await;
    let turns = json!([
        turn("one", "first of {{message_count}}"),
        turn("two", "second of {{message_count}}"),
        turn("three", "third of {{message_count}}"),
    ]);
    let _worker = Worker::serving(&bed, &turns).await;
    bed.put("acme/main", "MEMORY.md", "- Likes tea.").await;
    let agent = bed.start(conversing(&bed, "acme", "one")).await;
    assert_eq!(heard(&agent, "one").await, "first of 1");
    assert_eq!(heard(&agent, "two").await, "second of 3");

    erase(&bed).await;

    let first = say(&agent, "three").await.expect("an answer");
    let second = say(&agent, "one").await.expect("an answer");
    assert_eq!(
        (first.text.as_str(), first.begun_anew),
        ("third of 1", true)
    );
    assert_eq!(
        (second.text.as_str(), second.begun_anew),
        ("first of 3", false)
    );
    let expected = pairs([
        ("user", "three"),
        ("assistant", "third of 1"),
        ("user", "one"),
        ("assistant", "first of 3"),
    ]);
    assert_eq!(said(&bed.messages("acme/main", "one").await), expected);
    assert_eq!(state(&agent).await.messages, 4);
    bed.finish().await;
}

#[tokio::test]
async fn a_chat_says_once_that_what_was_said_before_is_gone() {
    let bed = Bed::new().await;
    let turns = json!([turn("one", "first"), turn("two", "of {{message_count}}")]);
    let _worker = Worker::serving(&bed, &turns).await;
    let id = format!("chat-{:016x}", rand::random::<u64>());
    let mut talk = Talk::start(&bed, &[&id]);
    talk.write("one\n");
    talk.hears("first").await;

    erase(&bed).await;
    talk.write("two\ntwo\n");
    talk.hears("of 1\nof 3\n").await;
    let ended = talk.ended().await;

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.matches(TOLD).count(), 1, "{ended:?}");
    bed.finish().await;
}
