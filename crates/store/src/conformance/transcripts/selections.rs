//! Selections: which of the messages, and how many of them fit.

use notekeeper_domain::StoredMessage;

use super::conversation::{Conversation, message, said, stored};
use crate::{MessageSelection, TranscriptStore};
use MessageSelection::{All, Newest, Range};

pub(super) async fn exercise(store: &dyn TranscriptStore) {
    selections_are_of_what_is_there(&Conversation::new(store, "t/select", "main")).await;
    nothing_is_selected_of_a_cleared_one(&Conversation::new(store, "t/gone", "main")).await;
    as_many_come_as_fit(&Conversation::new(store, "t/fit", "main")).await;
    one_comes_that_fits_nowhere(&Conversation::new(store, "t/one", "main")).await;
    pages_are_the_whole(&Conversation::new(store, "t/pages", "main")).await;
}

const FAR: u64 = u64::MAX;

/// Selection, first position, and what was said there, of messages `3` to `7`.
const CASES: [(MessageSelection, u64, &[&str]); 26] = [
    (All, 3, &["3", "4", "5", "6", "7"]),
    (Newest(0), 8, &[]),
    (Newest(1), 7, &["7"]),
    (Newest(4), 4, &["4", "5", "6", "7"]),
    (Newest(5), 3, &["3", "4", "5", "6", "7"]),
    (Newest(6), 3, &["3", "4", "5", "6", "7"]),
    (Newest(9), 3, &["3", "4", "5", "6", "7"]),
    (Newest(FAR), 3, &["3", "4", "5", "6", "7"]),
    (Range(3, 8), 3, &["3", "4", "5", "6", "7"]),
    (Range(4, 6), 4, &["4", "5"]),
    (Range(7, 8), 7, &["7"]),
    // Partly, or wholly, where nothing is any more.
    (Range(0, 5), 3, &["3", "4"]),
    (Range(0, 3), 3, &[]),
    (Range(1, 2), 3, &[]),
    // Partly, or wholly, where nothing is yet.
    (Range(6, 100), 6, &["6", "7"]),
    (Range(6, FAR), 6, &["6", "7"]),
    (Range(8, 9), 8, &[]),
    (Range(100, 200), 8, &[]),
    (Range(FAR - 1, FAR), 8, &[]),
    (Range(0, FAR), 3, &["3", "4", "5", "6", "7"]),
    // Empty, or the wrong way round.
    (Range(5, 5), 5, &[]),
    (Range(0, 0), 3, &[]),
    (Range(FAR, FAR), 8, &[]),
    (Range(6, 4), 4, &[]),
    (Range(100, 5), 5, &[]),
    (Range(FAR, 0), 3, &[]),
];

async fn selections_are_of_what_is_there(conversation: &Conversation<'_>) {
    conversation.say(&["0", "1", "2"]).await;
    conversation.clear(None).await.expect("clear");
    conversation.say(&["3", "4"]).await;
    conversation.say(&["5", "6", "7"]).await;
    for (selection, first, texts) in CASES {
        for bytes_max in [1_000, usize::MAX] {
            let part = conversation.part(selection, bytes_max).await;
            assert_eq!(said(&part), texts, "{selection:?}");
            assert_eq!(part.first, first, "{selection:?}");
            assert!(!part.more, "{selection:?} has no more than these");
            assert_eq!((part.bounds.first, part.bounds.next), (3, 8));
        }
    }
}

async fn nothing_is_selected_of_a_cleared_one(conversation: &Conversation<'_>) {
    conversation.say(&["0", "1"]).await;
    conversation.clear(None).await.expect("clear");
    for selection in [All, Newest(1), Range(0, 2), Range(0, FAR), Range(2, 3)] {
        let part = conversation.part(selection, 0).await;
        assert_eq!((said(&part).len(), part.first, part.more), (0, 2, false));
        assert_eq!((part.bounds.first, part.bounds.next), (2, 2));
    }
}

/// How many of `messages` fit, by the plainest rule.
fn fitting(messages: &[StoredMessage], bytes_max: usize) -> usize {
    let mut bytes = 0;
    for (index, message) in messages.iter().enumerate() {
        bytes += message.as_json().len();
        if bytes > bytes_max {
            return index.max(1);
        }
    }
    messages.len()
}

async fn as_many_come_as_fit(conversation: &Conversation<'_>) {
    // Bytes and not characters, of the JSON and not of the text.
    let texts = [
        "a",
        "\u{56fa}",
        "",
        "\u{1f469}\u{200d}\u{1f469}",
        "longer",
        "b",
    ];
    conversation.say(&texts).await;
    let all = conversation.whole().await.messages;
    let bytes: usize = all.iter().map(|message| message.as_json().len()).sum();
    for (selection, range) in [
        (All, 0..6),
        (Newest(4), 2..6),
        (Range(1, 4), 1..4),
        (Range(5, 9), 5..6),
    ] {
        let selected = &all[range.clone()];
        for bytes_max in 0..=bytes + 1 {
            let part = conversation.part(selection, bytes_max).await;
            let count = fitting(selected, bytes_max);
            assert_eq!(
                part.messages,
                selected[..count],
                "{selection:?} in {bytes_max} bytes"
            );
            assert_eq!(part.first, range.start as u64);
            assert_eq!(
                part.more,
                count < selected.len(),
                "{selection:?} in {bytes_max} bytes: whether there are more"
            );
        }
    }
    let nothing = conversation.part(Newest(0), 0).await;
    assert_eq!((nothing.messages.len(), nothing.more), (0, false));
}

async fn one_comes_that_fits_nowhere(conversation: &Conversation<'_>) {
    let large = message(&"x".repeat(100_000));
    let messages = [message("a"), large, message("b")];
    let added = conversation.add_messages(&messages, None).await;
    added.expect("add");
    for (from, count) in [(0, 1), (1, 1), (2, 1)] {
        let part = conversation.part(Range(from, FAR), 1_000).await;
        assert_eq!(part.messages.len(), count, "from {from}");
        assert_eq!(part.messages[0], messages[from as usize]);
        assert_eq!(part.more, from < 2);
    }
}

async fn pages_are_the_whole(conversation: &Conversation<'_>) {
    let messages: Vec<_> = (0..40_usize)
        .map(|n| {
            stored(&format!(
                r#"{{"role":"user","content":{n},"more":"{}"}}"#,
                "x".repeat(n * 7 % 50)
            ))
        })
        .collect();
    for batch in messages.chunks(7) {
        conversation.add_messages(batch, None).await.expect("add");
    }
    for bytes_max in [0, 100, 500, 5_000] {
        let mut found = Vec::new();
        loop {
            let part = conversation
                .part(Range(found.len() as u64, FAR), bytes_max)
                .await;
            assert_eq!(part.first, found.len() as u64);
            assert!(
                !part.messages.is_empty(),
                "a page that isn't the end has one"
            );
            found.extend(part.messages);
            if !part.more {
                break;
            }
        }
        assert_eq!(found, messages, "in pages of {bytes_max} bytes");
    }
}
