//! What is said in each conversation, and what the scripted model does about it.

use std::collections::BTreeMap;

use anyhow::Context as _;
use notekeeper_domain::{Edit, NOTE_CHARS_MAX_DEFAULT, NoteName};
use serde_json::{Value, json};

/// One message of the user: what the model does, then what it says.
struct Turn {
    message: &'static str,
    /// Responses with tool calls, one after the other.
    responses: &'static [&'static [Call]],
    reply: &'static str,
}

/// A tool call of the model. All of them carry the id `call_0`, as some models do.
enum Call {
    Append {
        file: &'static str,
        content: &'static str,
    },
    Replace {
        file: &'static str,
        old_text: &'static str,
        content: &'static str,
    },
    Delete {
        file: &'static str,
    },
    Read {
        file: &'static str,
    },
    Search {
        query: &'static str,
    },
    Remember {
        key: &'static str,
        value: &'static str,
    },
    Recall {
        query: &'static str,
    },
}

const PLAN: [Turn; 11] = [
    Turn {
        message: "Good morning. What do you know about me?",
        responses: &[],
        reply: "I have read your notebook.",
    },
    Turn {
        message: "I moved to Lisbon; remember that.",
        responses: &[&[Call::Append {
            file: "MEMORY.md",
            content: "- Moved to Lisbon (demonstration).",
        }]],
        reply: "I will remember Lisbon.",
    },
    Turn {
        message: "Thanks.",
        responses: &[],
        reply: "You are welcome.",
    },
    Turn {
        message: "Start a note on the move, and look up what I wrote on travel.",
        responses: &[&[
            Call::Append {
                file: "demo-move.md",
                content: "# The move\n\n- Boxes: 40\n- Van: not booked",
            },
            Call::Search { query: "travel" },
        ]],
        reply: "The note on the move is there.",
    },
    Turn {
        message: "The van is booked now.",
        responses: &[
            &[Call::Read {
                file: "demo-move.md",
            }],
            &[Call::Replace {
                file: "demo-move.md",
                old_text: "Van: not booked",
                content: "Van: booked",
            }],
        ],
        reply: "Corrected.",
    },
    Turn {
        message: "Keep a scratch list for today.",
        responses: &[&[Call::Append {
            file: "demo-scratch.md",
            content: "- buy tape",
        }]],
        reply: "Started.",
    },
    Turn {
        message: "Done with the list, throw it away.",
        responses: &[&[Call::Delete {
            file: "demo-scratch.md",
        }]],
        reply: "Gone.",
    },
    Turn {
        message: "I can't eat peanuts; keep that in mind.",
        responses: &[&[Call::Remember {
            key: "food",
            value: "can't eat peanuts",
        }]],
        reply: "I will keep that in mind.",
    },
    Turn {
        message: "Is there anything that I can't eat?",
        responses: &[&[Call::Recall { query: "eat" }]],
        reply: "Peanuts.",
    },
    Turn {
        message: "Anything else on your mind?",
        responses: &[],
        reply: "Nothing else.",
    },
    Turn {
        message: "Good night.",
        responses: &[],
        reply: "Good night.",
    },
];

/// What the users say, in order.
pub(super) fn messages() -> impl Iterator<Item = &'static str> {
    PLAN.iter().map(|turn| turn.message)
}

/// What the model answers to each message, in order.
pub(super) fn replies() -> impl Iterator<Item = &'static str> {
    PLAN.iter().map(|turn| turn.reply)
}

/// The script of the model.
pub(super) fn script() -> Value {
    let turns: Vec<_> = PLAN
        .iter()
        .map(|turn| {
            let calls = turn.responses.iter().map(
                |calls| json!({"tool_calls": calls.iter().map(Call::to_json).collect::<Vec<_>>()}),
            );
            let responses: Vec<_> = calls.chain([json!({"text": turn.reply})]).collect();
            json!({"prompt": turn.message, "responses": responses})
        })
        .collect();
    json!({ "turns": turns })
}

/// The facts of a tenant after the whole conversation.
pub(super) fn facts_after() -> Vec<(&'static str, &'static str)> {
    calls()
        .filter_map(|call| match call {
            Call::Remember { key, value } => Some((*key, *value)),
            _ => None,
        })
        .collect()
}

/// Messages of the whole conversation: what users say, what the model answers, and results of tools.
pub(super) fn transcript_messages() -> usize {
    let said = PLAN.iter().map(|turn| turn.responses.len() + 2);
    said.sum::<usize>() + calls().count()
}

fn calls() -> impl Iterator<Item = &'static Call> {
    let calls = PLAN.iter().flat_map(|turn| turn.responses);
    calls.flat_map(|calls| calls.iter())
}

/// The notes of a tenant after the whole conversation, from those before it: every operation
/// applied once, in order.
pub(super) fn notes_after(
    before: &BTreeMap<NoteName, String>,
) -> anyhow::Result<BTreeMap<NoteName, String>> {
    let mut notes = before.clone();
    for call in calls() {
        let Some((file, edit)) = call.edit()? else {
            continue;
        };
        let name = NoteName::from_tool(file)?;
        match edit {
            Some(edit) => {
                let current = notes.get(&name).map(String::as_str);
                let applied = edit
                    .apply(current, NOTE_CHARS_MAX_DEFAULT)
                    .with_context(|| format!("the plan's edit of {file}"))?;
                notes.insert(name, applied.text);
            }
            None => {
                notes.remove(&name);
            }
        }
    }
    Ok(notes)
}

impl Call {
    fn to_json(&self) -> Value {
        let (name, arguments) = match self {
            Self::Append { file, content } => {
                ("write_memory", json!({"file": file, "content": content}))
            }
            Self::Replace {
                file,
                old_text,
                content,
            } => (
                "write_memory",
                json!({"file": file, "old_text": old_text, "content": content}),
            ),
            Self::Delete { file } => ("delete_memory", json!({"file": file})),
            Self::Read { file } => ("read_memory", json!({"file": file})),
            Self::Search { query } => ("search_memory", json!({"query": query})),
            Self::Remember { key, value } => ("remember", json!({"key": key, "value": value})),
            Self::Recall { query } => ("recall", json!({"query": query})),
        };
        json!({"id": "call_0", "name": name, "arguments": arguments})
    }

    /// The note that the call changes, and how; no edit means that it is deleted.
    fn edit(&self) -> anyhow::Result<Option<(&'static str, Option<Edit>)>> {
        Ok(match *self {
            Self::Append { file, content } => {
                Some((file, Some(Edit::new(content.to_owned(), None)?)))
            }
            Self::Replace {
                file,
                old_text,
                content,
            } => Some((
                file,
                Some(Edit::new(content.to_owned(), Some(old_text.to_owned()))?),
            )),
            Self::Delete { file } => Some((file, None)),
            Self::Read { .. }
            | Self::Search { .. }
            | Self::Remember { .. }
            | Self::Recall { .. } => None,
        })
    }
}
