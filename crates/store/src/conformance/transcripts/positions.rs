//! Positions: the number of messages ever added before, dense, and never given twice.

use notekeeper_domain::{MESSAGE_BYTES_MAX, MESSAGES_ADDED_MAX};

use super::conversation::{Conversation, added, cleared, message, stored};
use crate::{CONTENT_BYTES_MAX, MessageSelection, MutationError, StoreError, TranscriptStore};

pub(super) async fn exercise(store: &dyn TranscriptStore) {
    a_conversation_begins_empty(&Conversation::new(store, "t/empty", "main")).await;
    positions_count_what_was_added(&Conversation::new(store, "t/count", "main")).await;
    positions_never_come_back(&Conversation::new(store, "t/back", "main")).await;
    clearing_nothing_makes_nothing(&Conversation::new(store, "t/nothing", "main")).await;
    as_many_as_are_allowed_are_added_at_once(&Conversation::new(store, "t/many", "main")).await;
    what_no_store_takes_is_refused(&Conversation::new(store, "t/refused", "main")).await;
}

async fn a_conversation_begins_empty(conversation: &Conversation<'_>) {
    use MessageSelection::{All, Newest, Range};
    for selection in [
        All,
        Newest(0),
        Newest(3),
        Range(0, 0),
        Range(0, 9),
        Range(7, 9),
    ] {
        let part = conversation.part(selection, 1_000).await;
        assert_eq!(part.messages, []);
        assert_eq!((part.bounds.first, part.bounds.next), (0, 0));
        assert_eq!((part.first, part.more), (0, false), "{selection:?}");
    }
    let listed = conversation.listed(None, 10).await;
    assert_eq!(
        listed.conversations,
        [],
        "asking for a conversation doesn't make it"
    );
    assert!(!listed.more);
}

async fn positions_count_what_was_added(conversation: &Conversation<'_>) {
    assert_eq!(conversation.say(&["a", "b", "c"]).await, added(0, 3));
    assert_eq!(conversation.say(&["d"]).await, added(3, 4));
    assert_eq!(
        conversation.say(&["e", "e"]).await,
        added(4, 6),
        "equal messages are two"
    );
    assert_eq!(conversation.bounds().await, (0, 6));
    assert_eq!(
        conversation.texts().await,
        ["a", "b", "c", "d", "e", "e"],
        "messages keep their order"
    );
    let other = conversation.beside("other");
    assert_eq!(
        other.say(&["x"]).await,
        added(0, 1),
        "each conversation counts for itself"
    );
    assert_eq!(conversation.say(&["f"]).await, added(6, 7));
}

async fn positions_never_come_back(conversation: &Conversation<'_>) {
    let clear = async || conversation.clear(None).await.expect("clear");
    conversation.say(&["a", "b", "c"]).await;
    assert_eq!(clear().await, cleared(0, 3));
    assert_eq!(
        conversation.bounds().await,
        (3, 3),
        "clearing leaves positions where they are"
    );
    assert_eq!(clear().await, cleared(3, 3), "there was nothing to clear");
    assert_eq!(conversation.bounds().await, (3, 3));
    assert_eq!(
        conversation.say(&["d", "e"]).await,
        added(3, 5),
        "a position that was cleared is given again"
    );
    assert_eq!(conversation.texts().await, ["d", "e"]);
    assert_eq!(conversation.bounds().await, (3, 5));
    assert_eq!(clear().await, cleared(3, 5));
    assert_eq!(conversation.say(&["f"]).await, added(5, 6));
    assert_eq!(conversation.say(&["g"]).await, added(6, 7));
    assert_eq!(conversation.texts().await, ["f", "g"]);
}

async fn clearing_nothing_makes_nothing(conversation: &Conversation<'_>) {
    let nothing = conversation.clear(None).await.expect("clear");
    assert_eq!(nothing, cleared(0, 0));
    assert_eq!(
        conversation.listed(None, 10).await.conversations,
        [],
        "clearing nothing makes nothing"
    );
    assert_eq!(conversation.say(&["a"]).await, added(0, 1));
}

async fn as_many_as_are_allowed_are_added_at_once(conversation: &Conversation<'_>) {
    let texts: Vec<String> = (0..MESSAGES_ADDED_MAX).map(|n| n.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let most = MESSAGES_ADDED_MAX as u64;
    assert_eq!(conversation.say(&texts).await, added(0, most));
    assert_eq!(conversation.say(&["last"]).await, added(most, most + 1));
    let newest = MessageSelection::Range(0, most);
    let part = conversation.part(newest, usize::MAX).await;
    assert_eq!(super::conversation::said(&part), texts);

    let frame = message("").as_json().len();
    let largest = message(&"x".repeat(MESSAGE_BYTES_MAX - frame));
    assert_eq!(largest.as_json().len(), MESSAGE_BYTES_MAX);
    let pair = [largest.clone(), largest];
    let large = conversation.beside("large");
    let at = large.add_messages(&pair, None).await.expect("add");
    assert_eq!(at, added(0, 2));
    assert_eq!(large.whole().await.messages, pair);
}

async fn what_no_store_takes_is_refused(conversation: &Conversation<'_>) {
    conversation.say(&["there"]).await;
    let assert_invalid = |result: Result<_, MutationError>| {
        assert!(
            matches!(
                result,
                Err(MutationError::Store(StoreError::InvalidValue {
                    field: "messages",
                    ..
                }))
            ),
            "there is no batch of nothing, and none of too many: {result:?}"
        );
    };
    assert_invalid(conversation.add(&[], None).await);
    let too_many = vec!["x"; MESSAGES_ADDED_MAX + 1];
    assert_invalid(conversation.add(&too_many, None).await);
    let large = stored(&format!(
        r#"{{"role":"user","content":"{}"}}"#,
        "x".repeat(MESSAGE_BYTES_MAX - 100)
    ));
    let too_large = vec![large; CONTENT_BYTES_MAX / (MESSAGE_BYTES_MAX - 100) + 1];
    let refused = conversation.add_messages(&too_large, None).await;
    assert!(
        matches!(
            refused,
            Err(MutationError::Store(StoreError::TooLarge {
                field: "messages",
                bytes_max: CONTENT_BYTES_MAX,
                ..
            }))
        ),
        "{refused:?}"
    );
    assert_eq!(conversation.texts().await, ["there"]);
    assert_eq!(conversation.bounds().await, (0, 1));
}
