//! Operations on transcripts: each takes effect once.

use notekeeper_domain::Operation;

use super::{
    super::fixture::{assert_operation_conflict, operation},
    conversation::{Conversation, added, cleared},
};
use crate::{DIGEST_BYTES_MAX, MessagesAdded, MessagesCleared, MutationError, TranscriptStore};

pub(super) async fn exercise(store: &dyn TranscriptStore) {
    adding_again_adds_nothing(&Conversation::new(store, "t/again", "main")).await;
    clearing_again_clears_nothing(&Conversation::new(store, "t/later", "main")).await;
    clearing_nothing_is_answered_for_good(&Conversation::new(store, "t/for-good", "main")).await;
    what_is_passed_again_is_the_fingerprints_business(&Conversation::new(
        store, "t/passed", "main",
    ))
    .await;
    other_arguments_are_a_conflict(&Conversation::new(store, "t/other", "main")).await;
    without_an_operation_nothing_is_remembered(&Conversation::new(store, "t/without", "main"))
        .await;
    a_failed_call_leaves_no_receipt(&Conversation::new(store, "t/failed", "main")).await;
    ids_are_exact_and_of_a_scope(store).await;
}

fn replayed_added(first: u64, next: u64) -> MessagesAdded {
    MessagesAdded {
        replayed: true,
        ..added(first, next)
    }
}

fn replayed_cleared(first: u64, next: u64) -> MessagesCleared {
    MessagesCleared {
        replayed: true,
        ..cleared(first, next)
    }
}

async fn adding_again_adds_nothing(conversation: &Conversation<'_>) {
    let (first, second) = (operation("first", "f1"), operation("second", "f2"));
    let add_first = async || {
        conversation
            .add(&["a", "b"], Some(&first))
            .await
            .expect("add")
    };
    let add_second = async || conversation.add(&["c"], Some(&second)).await.expect("add");
    assert_eq!(add_first().await, added(0, 2));
    assert_eq!(add_second().await, added(2, 3));
    for _ in 0..2 {
        assert_eq!(add_first().await, replayed_added(0, 2), "adding again");
        assert_eq!(add_second().await, replayed_added(2, 3), "adding again");
    }
    assert_eq!(
        conversation.texts().await,
        ["a", "b", "c"],
        "adding again adds nothing"
    );
    conversation.clear(None).await.expect("clear");
    assert_eq!(add_first().await, replayed_added(0, 2));
    assert_eq!(
        conversation.texts().await,
        [""; 0],
        "adding again brings nothing back that was cleared"
    );
    assert_eq!(conversation.bounds().await, (3, 3));
}

async fn clearing_again_clears_nothing(conversation: &Conversation<'_>) {
    let clear = operation("clear", "f");
    let again = async || conversation.clear(Some(&clear)).await.expect("clear");
    conversation.say(&["a", "b"]).await;
    assert_eq!(again().await, cleared(0, 2));
    conversation.say(&["later"]).await;
    for _ in 0..2 {
        assert_eq!(again().await, replayed_cleared(0, 2));
        assert_eq!(
            conversation.texts().await,
            ["later"],
            "clearing again clears nothing that came later"
        );
    }
    let other = operation("other clear", "f");
    let cleared_later = conversation.clear(Some(&other)).await.expect("clear");
    assert_eq!(cleared_later, cleared(2, 3));
    assert_eq!(again().await, replayed_cleared(0, 2));
    assert_eq!(conversation.bounds().await, (3, 3));
}

async fn clearing_nothing_is_answered_for_good(conversation: &Conversation<'_>) {
    let clear = operation("clear", "f");
    let again = async || conversation.clear(Some(&clear)).await.expect("clear");
    assert_eq!(again().await, cleared(0, 0));
    conversation.say(&["later"]).await;
    assert_eq!(again().await, replayed_cleared(0, 0));
    assert_eq!(
        conversation.texts().await,
        ["later"],
        "clearing again clears nothing that came later"
    );
}

async fn what_is_passed_again_is_the_fingerprints_business(conversation: &Conversation<'_>) {
    let (add, clear) = (operation("add", "f"), operation("clear", "f"));
    conversation.add(&["a"], Some(&add)).await.expect("add");
    conversation.clear(Some(&clear)).await.expect("clear");
    conversation.say(&["b"]).await;
    let other = conversation.beside("other");
    other.say(&["c"]).await;
    let again = other.add(&["x", "y"], Some(&add)).await.expect("replay");
    assert_eq!(again, replayed_added(0, 1));
    let again = other.clear(Some(&clear)).await.expect("replay");
    assert_eq!(again, replayed_cleared(0, 1));
    assert_eq!(conversation.texts().await, ["b"]);
    assert_eq!(other.texts().await, ["c"]);
}

async fn other_arguments_are_a_conflict(conversation: &Conversation<'_>) {
    conversation
        .add(&["a"], Some(&operation("add", "f1")))
        .await
        .expect("add");
    let other = operation("add", "f2");
    assert_operation_conflict(conversation.add(&["a"], Some(&other)).await);
    assert_operation_conflict(conversation.add(&["b"], Some(&other)).await);
    assert_operation_conflict(conversation.clear(Some(&other)).await);
    assert_eq!(conversation.texts().await, ["a"]);

    let clear = operation("clear", "f1");
    conversation.clear(Some(&clear)).await.expect("clear");
    conversation.say(&["b"]).await;
    let other = operation("clear", "f2");
    assert_operation_conflict(conversation.clear(Some(&other)).await);
    assert_operation_conflict(conversation.add(&["c"], Some(&other)).await);
    assert_eq!(conversation.texts().await, ["b"]);
    assert_eq!(conversation.bounds().await, (1, 2));
}

async fn without_an_operation_nothing_is_remembered(conversation: &Conversation<'_>) {
    assert_eq!(conversation.say(&["a"]).await, added(0, 1));
    assert_eq!(
        conversation.say(&["a"]).await,
        added(1, 2),
        "without an operation the same is added again"
    );
    let first = conversation.clear(None).await.expect("clear");
    conversation.say(&["b"]).await;
    let second = conversation.clear(None).await.expect("clear");
    assert_eq!((first, second), (cleared(0, 2), cleared(2, 3)));
}

async fn a_failed_call_leaves_no_receipt(conversation: &Conversation<'_>) {
    let add = operation("id", "f1");
    let refused = conversation.add(&[], Some(&add)).await;
    assert!(refused.is_err(), "{refused:?}");
    for odd in ["a\0b", &"d".repeat(DIGEST_BYTES_MAX + 1)] {
        let odd = operation("id", odd);
        assert_refuses_fingerprint(conversation.add(&["a"], Some(&odd)).await);
        assert_refuses_fingerprint(conversation.clear(Some(&odd)).await);
    }
    assert_eq!(conversation.bounds().await, (0, 0));
    let longest = operation("id", &"d".repeat(DIGEST_BYTES_MAX));
    let applied = conversation.add(&["a"], Some(&longest)).await;
    assert_eq!(applied.expect("the id is free"), added(0, 1));
}

#[track_caller]
fn assert_refuses_fingerprint<T: std::fmt::Debug>(result: Result<T, MutationError>) {
    match result {
        Err(MutationError::Store(error)) => {
            super::super::refusing::assert_invalid_value::<T>(Err(error), "fingerprint");
        }
        other => panic!("expected the fingerprint to be refused, found {other:?}"),
    }
}

async fn ids_are_exact_and_of_a_scope(store: &dyn TranscriptStore) {
    let ids = ["id", "ID", " id", "id ", "i%", "i_", "'", "\\"];
    let longest = "i".repeat(notekeeper_domain::OPERATION_ID_CHARS_MAX);
    for scope in ["t/ids", "t/ids/below"] {
        let conversation = Conversation::new(store, scope, "main");
        for id in ids.iter().copied().chain([longest.as_str()]) {
            let own: Operation = operation(id, "f");
            let applied = conversation.add(&["x"], Some(&own)).await;
            assert!(
                !applied.expect("add").replayed,
                "`{id}` in `{scope}` is an id of its own"
            );
        }
    }
}
