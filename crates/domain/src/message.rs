//! Messages of a conversation, in the form that transcripts and model requests carry.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::summary_text;

/// One message. The JSON form is stable: transcripts and histories hold it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the application tells the model in the course of a conversation. It is no prompt.
    System {
        /// The text.
        text: String,
    },
    /// What the user said, and memory blocks beside it.
    User {
        /// The parts in order.
        parts: Vec<UserPart>,
    },
    /// What the model answered.
    Assistant {
        /// Text of the answer; empty where it only calls tools.
        #[serde(default)]
        text: String,
        /// Tool calls of the answer, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// What a tool call came to.
    Tool {
        /// The call that is answered.
        tool_call_id: String,
        /// Text for the model.
        content: String,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// One part of a user message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UserPart {
    /// Text of the user.
    Text {
        /// The text.
        text: String,
    },
    /// A memory block. It belongs to one request and is never kept in a transcript.
    Memory {
        /// Which memory it shows: the scope hash; empty where nobody knows any more.
        scope_hash: String,
        /// The delimited block.
        text: String,
    },
    /// A summary that stands for the messages before. It belongs to one request and is nobody's
    /// prompt.
    Summary {
        /// The delimited text, as [`summary_text`](crate::summary_text) makes it.
        text: String,
    },
}

impl UserPart {
    /// Its text as the model reads it, whoever it comes from.
    pub fn text(&self) -> &str {
        match self {
            Self::Text { text } | Self::Memory { text, .. } | Self::Summary { text } => text,
        }
    }
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id that the model gave; it may repeat across responses, or be empty.
    #[serde(default)]
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments, as the model gave them.
    #[serde(default)]
    pub arguments: Value,
}

/// Ids for the calls of one answer, so that none is empty and no two share one: a call whose id is empty,
/// or was seen before, gets `{id}#{index}`.
///
/// What is stored, what is sent to a model and what a call's operation is derived from must agree on them.
pub fn distinct_call_ids<'a>(ids: impl IntoIterator<Item = &'a str> + Clone) -> Vec<String> {
    let given: BTreeSet<&str> = ids.clone().into_iter().collect();
    let mut used: BTreeSet<String> = BTreeSet::new();
    let ids = ids.into_iter().enumerate().map(|(index, given_id)| {
        let mut id = given_id.to_owned();
        if id.is_empty() || used.contains(&id) {
            id = format!("{given_id}#{index}");
            while used.contains(&id) || given.contains(id.as_str()) {
                id.push_str(&format!("#{index}"));
            }
        }
        used.insert(id.clone());
        id
    });
    ids.collect()
}

impl Message {
    /// Whether a user said something in this message. One that only ever held memory blocks or a
    /// summary is no prompt.
    pub fn is_user_prompt(&self) -> bool {
        match self {
            Self::User { parts } => parts
                .iter()
                .any(|part| matches!(part, UserPart::Text { .. })),
            Self::System { .. } | Self::Assistant { .. } | Self::Tool { .. } => false,
        }
    }

    /// The message that leads a request in place of the messages that `summary` stands for. The
    /// text is delimited and escaped here.
    pub fn summary(summary: &str) -> Self {
        Self::User {
            parts: vec![UserPart::Summary {
                text: summary_text(summary),
            }],
        }
    }

    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            parts: vec![UserPart::Text { text: text.into() }],
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation() -> Vec<Message> {
        vec![
            Message::User {
                parts: vec![
                    UserPart::Text {
                        text: "hi".to_owned(),
                    },
                    UserPart::Memory {
                        scope_hash: "0d6e4079e36703eb".to_owned(),
                        text: "<memory>\n- a\n</memory>".to_owned(),
                    },
                ],
            },
            Message::Assistant {
                text: String::new(),
                tool_calls: vec![ToolCall {
                    id: "c0".to_owned(),
                    name: "write_memory".to_owned(),
                    arguments: json!({"content": "b"}),
                }],
            },
            Message::Tool {
                tool_call_id: "c0".to_owned(),
                content: "done".to_owned(),
                is_error: false,
            },
            Message::Tool {
                tool_call_id: "c1".to_owned(),
                content: "refused".to_owned(),
                is_error: true,
            },
            Message::Assistant {
                text: "noted".to_owned(),
                tool_calls: Vec::new(),
            },
            Message::System {
                text: "be brief".to_owned(),
            },
            Message::summary("They met."),
        ]
    }

    #[test]
    fn the_json_form_of_messages_is_stable() {
        insta::assert_json_snapshot!(conversation());
    }

    #[test]
    fn messages_read_back_as_they_were_written() {
        let text = serde_json::to_string(&conversation()).unwrap();
        assert_eq!(
            serde_json::from_str::<Vec<Message>>(&text).unwrap(),
            conversation()
        );
    }

    #[test]
    fn what_a_writer_may_leave_out_has_a_default() {
        let read = |value| serde_json::from_value::<Message>(value).unwrap();
        assert_eq!(
            read(json!({"role": "assistant", "tool_calls": [{"name": "t"}], "later_field": 1})),
            Message::Assistant {
                text: String::new(),
                tool_calls: vec![ToolCall {
                    id: String::new(),
                    name: "t".to_owned(),
                    arguments: Value::Null,
                }],
            }
        );
        assert_eq!(
            read(json!({"role": "tool", "tool_call_id": "c", "content": ""})),
            Message::Tool {
                tool_call_id: "c".to_owned(),
                content: String::new(),
                is_error: false,
            }
        );
    }

    #[test]
    fn only_words_of_the_user_make_a_prompt() {
        let of = |parts| Message::User { parts };
        let block = UserPart::Memory {
            scope_hash: "h".to_owned(),
            text: "t".to_owned(),
        };
        assert!(Message::user("").is_user_prompt());
        assert!(
            of(vec![
                block.clone(),
                UserPart::Text {
                    text: "a".to_owned()
                }
            ])
            .is_user_prompt()
        );
        assert!(!of(vec![block]).is_user_prompt());
        assert!(!Message::summary("They met.").is_user_prompt());
        let system = Message::System {
            text: "be brief".to_owned(),
        };
        assert!(!system.is_user_prompt());
        assert!(!of(Vec::new()).is_user_prompt());
        assert!(
            conversation()[1..]
                .iter()
                .all(|message| !message.is_user_prompt())
        );
    }
}
