//! Scopes and conversations: no operation on one sees or changes another.

use notekeeper_domain::{CONVERSATION_ID_BYTES_MAX, OPERATION_ID_CHARS_MAX};

use super::{
    super::{
        fixture::{longest_scope, noise, operation},
        tenants::LOOK_ALIKES,
    },
    conversation::{Conversation, added, cleared},
};
use crate::TranscriptStore;

pub(super) async fn exercise(store: &dyn TranscriptStore) {
    look_alike_scopes_are_apart(store).await;
    look_alike_conversations_are_apart(store).await;
    a_scope_and_an_id_dont_run_together(store).await;
    the_longest_scope_and_id_work(store).await;
}

/// Conversations that a pattern, a case rule, a normalisation or a separator could take for each
/// other.
const LOOK_ALIKE_IDS: [&str; 21] = [
    "main",
    "Main",
    "MAIN",
    "main ",
    " main",
    "ma_n",
    "ma%",
    "%",
    "_",
    "*",
    "main*",
    "main\\",
    "\\",
    "main.",
    "main/main",
    "m\u{e4}in",
    "ma\u{308}in",
    "\u{ff4d}ain",
    "ma\u{200d}in",
    "'main'",
    "$1",
];

async fn look_alike_scopes_are_apart(store: &dyn TranscriptStore) {
    let conversations = LOOK_ALIKES.map(|scope| Conversation::new(store, scope, "main"));
    assert_apart(&conversations, |_| "add".to_owned()).await;
}

async fn look_alike_conversations_are_apart(store: &dyn TranscriptStore) {
    let conversations = LOOK_ALIKE_IDS.map(|id| Conversation::new(store, "t/alike", id));
    // Ids of operations are the scope's, so each has its own.
    assert_apart(&conversations, |index| format!("add {index}")).await;
    let listed = conversations[0].listed(None, 100).await;
    assert_eq!(
        listed.conversations.len(),
        LOOK_ALIKE_IDS.len(),
        "cleared conversations stay listed"
    );
}

async fn assert_apart(conversations: &[Conversation<'_>], id: impl Fn(usize) -> String) {
    for (index, conversation) in conversations.iter().enumerate() {
        let own = format!("of {index}");
        let add = operation(&id(index), "f");
        let first = conversation.add(&[&own, &own], Some(&add)).await;
        assert_eq!(
            first.expect("add"),
            added(0, 2),
            "`{}` in `{}` is a conversation of its own",
            conversation.id,
            conversation.scope.as_str()
        );
    }
    let (changed, others) = conversations.split_first().expect("there are some");
    for (index, conversation) in conversations.iter().enumerate() {
        let own = format!("of {index}");
        assert_eq!(
            conversation.texts().await,
            [own.as_str(), &own],
            "messages of `{}` in `{}` alone",
            conversation.id,
            conversation.scope.as_str()
        );
    }
    changed.say(&["more"]).await;
    let all = changed.clear(None).await.expect("clear");
    assert_eq!(all, cleared(0, 3));
    for (index, conversation) in others.iter().enumerate() {
        let own = format!("of {}", index + 1);
        assert_eq!(
            conversation.texts().await,
            [own.as_str(), &own],
            "clearing `{}` in `{}` clears nothing of `{}` in `{}`",
            changed.id,
            changed.scope.as_str(),
            conversation.id,
            conversation.scope.as_str()
        );
        assert_eq!(conversation.bounds().await, (0, 2));
    }
}

async fn a_scope_and_an_id_dont_run_together(store: &dyn TranscriptStore) {
    let pairs = [
        ("t/run", "to/gether"),
        ("t/run/to", "gether"),
        ("t/run", "to-gether"),
        ("t/run-to", "gether"),
    ];
    let conversations = pairs.map(|(scope, id)| Conversation::new(store, scope, id));
    for conversation in &conversations {
        assert_eq!(conversation.say(&["x"]).await, added(0, 1));
    }
}

async fn the_longest_scope_and_id_work(store: &dyn TranscriptStore) {
    let id = noise(1, CONVERSATION_ID_BYTES_MAX / 2, '\u{430}'..='\u{44f}');
    let conversation = Conversation::new(store, &longest_scope(), &id);
    let add = operation(&noise(2, OPERATION_ID_CHARS_MAX, '0'..='z'), "f");
    conversation.add(&["x"], Some(&add)).await.expect("add");
    assert_eq!(conversation.texts().await, ["x"]);
    let listed = conversation.listed(None, 1).await;
    assert_eq!(listed.conversations[0].id, conversation.id);
    conversation.clear(None).await.expect("clear");
}
