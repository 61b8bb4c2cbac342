//! Messages of any form come back as they were.

use notekeeper_domain::{MESSAGE_LEVELS_MAX, StoredMessage};
use serde_json::Value;

use super::conversation::{Conversation, stored};
use crate::TranscriptStore;

pub(super) async fn exercise(store: &dyn TranscriptStore) {
    let any: Vec<StoredMessage> = MESSAGES
        .map(stored)
        .into_iter()
        .chain([deepest()])
        .collect();
    messages_come_back_as_they_were(&Conversation::new(store, "t/forms", "any"), &any).await;
    for (dialect, file) in DIALECTS {
        let conversation = Conversation::new(store, "t/forms", dialect);
        messages_come_back_as_they_were(&conversation, &messages(file)).await;
    }
}

/// Conversations in the form of two interfaces of models, as they are sent over them.
const DIALECTS: [(&str, &str); 2] = [
    (
        "openai",
        include_str!("../../../../../tests/messages/openai_chat.json"),
    ),
    (
        "anthropic",
        include_str!("../../../../../tests/messages/anthropic_messages.json"),
    ),
];

fn messages(file: &str) -> Vec<StoredMessage> {
    let messages: Vec<Value> = serde_json::from_str(file).expect("the file is a list");
    let message = |value: Value| {
        let message = StoredMessage::new(value.clone()).expect("the file has valid messages");
        assert_eq!(message.clone().into_value(), value);
        message
    };
    messages.into_iter().map(message).collect()
}

/// Whatever fields they have, known or not, and whatever is in them.
const MESSAGES: [&str; 19] = [
    r#"{"role":"user"}"#,
    r#"{"role":"x","content":null}"#,
    r#"{"content":"the role comes last","role":"user"}"#,
    r#"{"role":"user","content":"","":"a key without a name"}"#,
    r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]}"#,
    r#"{"role":"tool","tool_call_id":"c1","content":"42","is_error":false}"#,
    r#"{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:,x"}}]}"#,
    r#"{"role":"user","content":[],"of_tomorrow":{"deep":[[[[{"er":[]}]]]]}}"#,
    r#"{"role":"user","numbers":[0,-1,1.5,1e300,-2.5e-8,9007199254740993,18446744073709551615,-9223372036854775808,0.1,1.0,100.0,-0.0]}"#,
    r#"{"role":"user","fractions":[-4.253750880391422e-93,0.30000000000000004,5e-324,1.7976931348623157e308]}"#,
    r#"{"role":"user","flags":[true,false,null]}"#,
    "{\"role\":\"user\",\"content\":\"固 é e\u{301} 👩\u{200d}👩 \u{feff}\u{202e}\u{ffff}\u{10ffff}\"}",
    "{\"role\":\"固\",\"ключ\":\"значение\",\"\u{200d}\":\"\u{2028}\u{2029}\u{85}\u{a0}\"}",
    r#"{"role":"user","content":"\b\f\n\r\t\u0001\u001f\u007f \" \\ \/ '"}"#,
    r#"{"role":"user","content":"'; drop table messages; -- $1 ?1 :a @b %s {} ${x} \\x00 \\u0000"}"#,
    r#"{"role":"user","content":"  white space at its ends\n "}"#,
    r#"{"role":"user","Role":"another","ROLE":3}"#,
    r#"{"role":"user","$serde_json::private::Number":"1","__proto__":{"a":1}}"#,
    r#"{"role":"user","content":"{\"role\":\"user\"}","position":7,"scope":"x","first":0}"#,
];

/// Lists in one another, as many as a message may hold. A store whose reader of JSON doesn't go so far
/// could never return what comes after.
fn deepest() -> StoredMessage {
    let lists = MESSAGE_LEVELS_MAX - 1;
    let (begin, end) = ("[".repeat(lists), "]".repeat(lists));
    stored(&format!(r#"{{"role":"user","deep":{begin}{end}}}"#))
}

async fn messages_come_back_as_they_were(
    conversation: &Conversation<'_>,
    messages: &[StoredMessage],
) {
    let together = conversation.add_messages(messages, None).await;
    together.expect("add");
    let apart = conversation.beside(&format!("{} apart", conversation.id));
    for message in messages {
        let one = std::slice::from_ref(message);
        apart.add_messages(one, None).await.expect("add");
    }
    for conversation in [conversation, &apart] {
        let found = conversation.whole().await.messages;
        assert_eq!(found.len(), messages.len());
        for (found, message) in found.iter().zip(messages) {
            assert_eq!(found, message, "a message comes back as it was");
            assert_eq!(found.as_json(), message.as_json());
        }
    }
}
