//! A person at `notekeeper chat` whose answers can't be stored for a while.

use serde_json::json;

use super::{LOCK, pairs, said, turn};
use crate::support::{Bed, Talk, Worker};

/// What stands under an answer that isn't in the transcript.
const TOLD: &str = "the answer couldn't be stored yet";

#[tokio::test]
async fn an_answer_that_cannot_be_stored_yet_is_shown_with_a_line_that_says_so() {
    let bed = Bed::new().await;
    let turns = json!([
        turn("one", "first of {{message_count}}"),
        turn("two", "second of {{message_count}}"),
    ]);
    let _worker = Worker::serving(&bed, &turns).await;
    let id = format!("chat-{:016x}", rand::random::<u64>());
    for statement in LOCK.split_inclusive("$$;") {
        bed.execute(statement).await;
    }

    let left = Talk::of(&bed, &[&id], "one\n").await;
    let mut talk = Talk::start(&bed, &[&id, "--last", "0"]);
    talk.write("two\n");
    talk.is_told("error: ").await;
    bed.execute("drop trigger locked on messages").await;
    talk.write("two\n");
    talk.hears("second of 3").await;
    let ended = talk.ended().await;

    assert_eq!(
        (left.code, left.stdout.as_str()),
        (Some(1), "first of 1\n"),
        "{left:?}"
    );
    assert_eq!(left.stderr.matches(TOLD).count(), 1, "{left:?}");
    assert!(!left.stderr.contains("error"), "{left:?}");
    // What is told of an answer that was stored is nothing.
    assert!(!ended.stderr.contains(TOLD), "{ended:?}");
    assert_eq!(ended.code, Some(1), "one message had no answer: {ended:?}");
    let expected = pairs([
        ("user", "one"),
        ("assistant", "first of 1"),
        ("user", "two"),
        ("assistant", "second of 3"),
    ]);
    assert_eq!(said(&bed.messages("chat/main", &id).await), expected);
    bed.finish().await;
}

#[tokio::test]
async fn a_pipe_whose_answers_are_stored_in_the_end_ends_well() {
    let bed = Bed::new().await;
    let turns = json!([turn("one", "first"), turn("two", "second")]);
    let _worker = Worker::serving(&bed, &turns).await;
    let id = format!("chat-{:016x}", rand::random::<u64>());
    for statement in LOCK.split_inclusive("$$;") {
        bed.execute(statement).await;
    }

    let mut talk = Talk::in_terminal(&bed, &[&id]);
    talk.hears("> ").await;
    talk.write("one\r");
    talk.hears("first").await;
    talk.hears(TOLD).await;
    talk.hears("> ").await;
    talk.write("/quit\r");
    talk.ended().await;
    let mut talk = Talk::start(&bed, &[&id]);
    bed.execute("drop trigger locked on messages").await;
    talk.write("two\n");
    let ended = talk.ended().await;

    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "second\n"),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("> one\nfirst\n"), "{ended:?}");
    assert_eq!(bed.messages("chat/main", &id).await.len(), 4);
    bed.finish().await;
}
