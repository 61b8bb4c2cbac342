//! Lists of conversations.

use super::conversation::Conversation;
use crate::TranscriptStore;

pub(super) async fn exercise(store: &dyn TranscriptStore) {
    conversations_are_listed_by_code_point(&Conversation::new(store, "t/list", "main")).await;
    cleared_ones_stay_listed(&Conversation::new(store, "t/listed", "main")).await;
}

/// Ascending by code point: not as a language sorts, nor as UTF-16 does.
const IDS: [&str; 11] = [
    "%",
    "1",
    "10",
    "2",
    "B",
    "_",
    "a",
    "a b",
    "\u{e9}",
    "\u{ff5e}",
    "\u{1f600}",
];

async fn conversations_are_listed_by_code_point(main: &Conversation<'_>) {
    for id in IDS.iter().rev() {
        main.beside(id).say(&["x"]).await;
    }
    let other_scope = Conversation::new(main.store, "t/list/below", "of another scope");
    other_scope.say(&["x"]).await;
    let ids = async |after: Option<&str>, most| {
        let listed = main.listed(after, most).await;
        for conversation in &listed.conversations {
            if let Some(time) = &conversation.updated_at {
                let form = time.replace(|c: char| c.is_ascii_digit(), "0");
                assert_eq!(form, "0000-00-00T00:00:00Z");
            }
        }
        let ids = listed.conversations.iter();
        let ids: Vec<_> = ids.map(|listed| listed.id.as_str().to_owned()).collect();
        (ids, listed.more)
    };
    let of = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        ids(None, 100).await,
        (of(&IDS), false),
        "conversations are listed by code point"
    );
    assert_eq!(ids(None, usize::MAX).await, (of(&IDS), false));
    assert_eq!(ids(None, IDS.len()).await, (of(&IDS), false));
    assert_eq!(ids(None, 0).await, (vec![], true));
    for page in 1..IDS.len() {
        assert_eq!(ids(None, page).await, (of(&IDS[..page]), true));
        let (mut found, mut after) = (Vec::new(), None::<String>);
        loop {
            let (listed, more) = ids(after.as_deref(), page).await;
            after = listed.last().cloned();
            found.extend(listed);
            assert!(
                found.len() <= IDS.len(),
                "a page comes after the one before it"
            );
            if !more {
                break;
            }
        }
        assert_eq!(found, IDS, "in pages of {page}");
    }
    // After what isn't there, and after the last.
    assert_eq!(ids(Some("C"), 2).await, (of(&["_", "a"]), true));
    assert_eq!(ids(Some("a"), 1).await, (of(&["a b"]), true));
    assert_eq!(ids(Some("\u{1f600}"), 3).await, (vec![], false));
    assert_eq!(ids(Some("\u{10ffff}"), 0).await, (vec![], false));
}

async fn cleared_ones_stay_listed(main: &Conversation<'_>) {
    main.say(&["a", "b"]).await;
    main.clear(None).await.expect("clear");
    let other = main.beside("other");
    other.say(&["c"]).await;
    other.clear(None).await.expect("clear");
    other.say(&["d", "e"]).await;
    let listed = main.listed(None, 10).await.conversations;
    let listed: Vec<_> = listed
        .iter()
        .map(|listed| (listed.id.as_str(), listed.bounds.first, listed.bounds.next))
        .collect();
    assert_eq!(
        listed,
        [("main", 2, 2), ("other", 1, 3)],
        "cleared conversations stay listed"
    );
}
