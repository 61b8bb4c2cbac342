//! Calls at the same time.

use std::collections::HashSet;

use futures::future::{join, join_all};

use super::{
    super::fixture::operation,
    conversation::{Conversation, said},
};
use crate::{MessageSelection, TranscriptStore};

const RACERS: usize = 20;

pub(super) async fn exercise(store: &dyn TranscriptStore) {
    racing_batches_lie_side_by_side(&Conversation::new(store, "t/batches", "main")).await;
    a_repeated_addition_takes_effect_once(&Conversation::new(store, "t/once", "main")).await;
    a_repeated_clearing_takes_effect_once(&Conversation::new(store, "t/cleared", "main")).await;
    each_message_is_cleared_once(&Conversation::new(store, "t/tiles", "main")).await;
    racing_conversations_dont_meet(&Conversation::new(store, "t/many", "main")).await;
}

/// A batch of three that says whose it is.
fn batch(racer: usize) -> [String; 3] {
    ["a", "b", "c"].map(|part| format!("{part} of {racer}"))
}

async fn racing_batches_lie_side_by_side(conversation: &Conversation<'_>) {
    let adders = join_all((0..RACERS).map(async |racer| {
        let batch = batch(racer);
        let own = operation(&format!("add {racer}"), "f");
        let texts = batch.each_ref().map(String::as_str);
        conversation.add(&texts, Some(&own)).await.expect("add")
    }));
    let readers = join_all((0..RACERS).map(async |_| conversation.whole().await));
    let (added, seen) = join(adders, readers).await;
    for part in seen {
        assert_eq!(part.messages.len() % 3, 0, "no batch is seen in part");
        assert_whole_batches(&said(&part));
    }
    let texts = conversation.texts().await;
    assert_eq!(texts.len(), 3 * RACERS, "every batch is there");
    assert_whole_batches(&texts);
    for (racer, added) in added.iter().enumerate() {
        assert_eq!(added.next, added.first + 3);
        let at = added.first as usize..added.next as usize;
        assert_eq!(
            texts[at],
            batch(racer),
            "a batch is where its caller was told"
        );
    }
}

#[track_caller]
fn assert_whole_batches(texts: &[String]) {
    for three in texts.chunks(3) {
        let racer = three[0].strip_prefix("a of ").expect("a batch begins");
        let racer = racer.parse().expect("a number");
        assert_eq!(three, batch(racer), "messages of a batch lie side by side");
    }
}

async fn a_repeated_addition_takes_effect_once(conversation: &Conversation<'_>) {
    let same = operation("same", "f");
    let calls = (0..RACERS).map(async |racer| {
        let own = operation(&format!("own {racer}"), "f");
        let own = conversation.add(&["own"], Some(&own));
        let (same, own) = join(conversation.add(&["same", "same"], Some(&same)), own).await;
        assert!(!own.expect("add").replayed);
        same.expect("add")
    });
    let same = join_all(calls).await;
    assert_eq!(same.iter().filter(|added| !added.replayed).count(), 1);
    let places: HashSet<_> = same.iter().map(|added| (added.first, added.next)).collect();
    assert_eq!(places.len(), 1, "all are told the same");
    let texts = conversation.texts().await;
    let count = |wanted: &str| texts.iter().filter(|text| *text == wanted).count();
    assert_eq!((count("same"), count("own")), (2, RACERS));
}

async fn a_repeated_clearing_takes_effect_once(conversation: &Conversation<'_>) {
    conversation.say(&["before"]).await;
    let clear = operation("clear", "f");
    let calls = (0..RACERS).map(async |_| {
        let cleared = conversation.clear(Some(&clear)).await.expect("clear");
        // What a call adds that has been answered came after the clearing, whoever did it.
        conversation.say(&["after"]).await;
        cleared
    });
    let cleared = join_all(calls).await;
    assert_eq!(cleared.iter().filter(|made| !made.replayed).count(), 1);
    let told: HashSet<_> = cleared.iter().map(|made| (made.first, made.next)).collect();
    assert_eq!(told, HashSet::from([(0, 1)]), "all are told the same");
    assert_eq!(conversation.texts().await, ["after"; RACERS]);
}

async fn each_message_is_cleared_once(conversation: &Conversation<'_>) {
    let adders = join_all((0..RACERS).map(async |racer| {
        let batch = batch(racer);
        let added = conversation
            .say(&batch.each_ref().map(String::as_str))
            .await;
        (added.first, added.next)
    }));
    let clearers = join_all((0..RACERS).map(async |_| {
        let cleared = conversation.clear(None).await.expect("clear");
        (cleared.first, cleared.next)
    }));
    let readers = join_all((0..RACERS).map(async |_| {
        let newest = MessageSelection::Newest(3);
        (
            conversation.whole().await,
            conversation.part(newest, usize::MAX).await,
        )
    }));
    let (mut added, (mut cleared, seen)) = join(adders, join(clearers, readers)).await;
    added.sort_unstable();
    cleared.sort_unstable();
    for (racer, (first, next)) in added.iter().enumerate() {
        let first_of_racer = 3 * racer as u64;
        assert_eq!((*first, *next), (first_of_racer, first_of_racer + 3));
    }
    let rest = conversation.whole().await.bounds;
    let mut from = 0;
    for (first, next) in cleared {
        assert_eq!(first, from, "clearings follow each other without a gap");
        from = next;
    }
    assert_eq!((from, rest.next), (rest.first, 3 * RACERS as u64));
    for (whole, newest) in seen {
        assert_eq!(whole.first % 3, 0, "no batch is cleared in part");
        assert_whole_batches(&said(&whole));
        assert_whole_batches(&said(&newest));
    }
}

async fn racing_conversations_dont_meet(main: &Conversation<'_>) {
    let conversations: Vec<_> = (0..RACERS)
        .map(|racer| main.beside(&racer.to_string()))
        .collect();
    let calls = conversations.iter().map(async |conversation| {
        for text in ["a", "b", "c"] {
            conversation.say(&[text]).await;
        }
        conversation.texts().await
    });
    for texts in join_all(calls).await {
        assert_eq!(texts, ["a", "b", "c"]);
    }
}
