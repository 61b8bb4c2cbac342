//! Calls that are given up: a repetition finds out whether they took effect, and sees to it that they
//! did once.

use std::pin::pin;

use futures::future::{Either, select};

use super::{
    facts::FactsOfScope,
    fixture::operation,
    transcripts::Conversation,
    vectors::{Collection, chunk},
};
use crate::Store;

/// How many turns other tasks get before a call is given up: from before it began to after it ended.
const TURNS: [usize; 12] = [0, 1, 2, 3, 5, 8, 20, 50, 100, 300, 1_000, 3_000];

pub(super) async fn exercise<S: Store>(store: &S) {
    if let Some(transcripts) = store.transcripts() {
        additions_and_clearings_take_effect_once(&Conversation::new(transcripts, "g/t", "main"))
            .await;
    }
    if let Some(facts) = store.facts() {
        remembering_and_forgetting_take_effect_once(&FactsOfScope::new(facts, "g/f")).await;
    }
    if let Some(vectors) = store.vectors() {
        keeping_takes_effect_once(&Collection::new(vectors, "g/v")).await;
    }
}

/// Polls a call for some turns and drops it then.
async fn give_up_after<T>(turns: usize, call: impl Future<Output = T>) -> Option<T> {
    let wait = async {
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    };
    match select(pin!(call), pin!(wait)).await {
        Either::Left((answer, _)) => Some(answer),
        Either::Right(_) => None,
    }
}

async fn additions_and_clearings_take_effect_once(conversation: &Conversation<'_>) {
    let mut next = 0;
    for turns in TURNS {
        let texts = ["a", "b"].map(|part| format!("{part} after {turns}"));
        let texts = texts.each_ref().map(String::as_str);
        let add = operation(&format!("add {turns}"), "f");
        give_up_after(turns, conversation.add(&texts, Some(&add))).await;
        let added = conversation.add(&texts, Some(&add)).await.expect("add");
        assert_eq!(
            (added.first, added.next),
            (next, next + 2),
            "an addition that was given up and repeated takes effect once"
        );
        assert_eq!(conversation.texts().await, texts);
        next += 2;

        let clear = operation(&format!("clear {turns}"), "f");
        give_up_after(turns, conversation.clear(Some(&clear))).await;
        let cleared = conversation.clear(Some(&clear)).await.expect("clear");
        assert_eq!((cleared.first, cleared.next), (next - 2, next));
        assert_eq!(conversation.texts().await, [""; 0]);
    }
}

async fn remembering_and_forgetting_take_effect_once(facts: &FactsOfScope<'_>) {
    for turns in TURNS {
        let remember = operation(&format!("remember {turns}"), "f");
        let word = format!("word{turns}x");
        give_up_after(turns, facts.remember("key", &word, Some(&remember))).await;
        let kept = facts.remember("key", &word, Some(&remember)).await;
        assert!(
            !kept.expect("remember").existed,
            "a remembering that was given up and repeated takes effect once"
        );
        assert_eq!(facts.keys(&word).await, ["key"]);

        let forget = operation(&format!("forget {turns}"), "f");
        give_up_after(turns, facts.forget("key", Some(&forget))).await;
        let forgotten = facts.forget("key", Some(&forget)).await;
        assert!(
            forgotten.expect("forget").existed,
            "a forgetting that was given up and repeated takes effect once"
        );
        assert_eq!(facts.value("key").await, None);
        assert_eq!(facts.keys(&word).await, [""; 0]);
    }
}

async fn keeping_takes_effect_once(collection: &Collection<'_>) {
    for turns in TURNS {
        let ids = ["a", "b"].map(|part| format!("{part} after {turns}"));
        let chunks = ids.each_ref().map(|id| chunk(id, &[1.0]));
        let keep = operation(&format!("keep {turns}"), "f");
        give_up_after(turns, collection.keep(&chunks, Some(&keep))).await;
        let there = collection.all().await;
        assert!(
            there.is_empty() || there == ids,
            "all of a call that was given up is there, or nothing: {there:?}"
        );
        collection.keep(&chunks, Some(&keep)).await.expect("keep");
        assert_eq!(collection.all().await, ids);
        collection.remove(&ids.each_ref().map(String::as_str)).await;
        let again = collection.keep(&chunks, Some(&keep)).await;
        assert!(
            again.expect("replay").replayed,
            "a keeping that was given up and repeated takes effect once"
        );
        assert_eq!(collection.all().await, [""; 0]);
    }
}
