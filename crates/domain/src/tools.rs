//! Tools of the memory, as the model sees them: their definitions, and the text of their results.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::MAIN_NOTE;

/// Name of the tool and activity that writes.
pub const WRITE_MEMORY: &str = "write_memory";
/// Name of the tool and activity that reads.
pub const READ_MEMORY: &str = "read_memory";
/// Name of the tool and activity that deletes.
pub const DELETE_MEMORY: &str = "delete_memory";
/// Name of the tool and activity that searches.
pub const SEARCH_MEMORY: &str = "search_memory";
/// Name of the tool and activity that keeps a fact.
pub const REMEMBER: &str = "remember";
/// Name of the tool and activity that searches facts.
pub const RECALL: &str = "recall";
/// Name of the tool and activity that removes a fact.
pub const FORGET: &str = "forget";

/// A tool as a model request offers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Name, unique in a request.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// The name of a memory tool as the model sees it: `{prefix}_{tool}`, or `tool` where the prefix
/// is empty.
pub fn tool_name(prefix: &str, tool: &str) -> String {
    if prefix.is_empty() {
        tool.to_owned()
    } else {
        format!("{prefix}_{tool}")
    }
}

/// Which of the memory tools a request offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferedTools {
    /// Those that change notes.
    pub writing: bool,
    /// The one that reads a note.
    pub reading: bool,
}

impl OfferedTools {
    /// All of them.
    pub const ALL: Self = Self {
        writing: true,
        reading: true,
    };

    /// Whether the tool of this name, without any prefix, is among them.
    pub fn has(self, tool: &str) -> bool {
        match tool {
            WRITE_MEMORY | DELETE_MEMORY => self.writing,
            READ_MEMORY => self.reading,
            _ => tool == SEARCH_MEMORY,
        }
    }
}

/// The memory tools, their names after `{prefix}_` where a prefix is set.
pub fn memory_tools(prefix: &str) -> Vec<ToolDefinition> {
    offered_memory_tools(prefix, OfferedTools::ALL)
}

/// Those of the memory tools that are offered. None of them mentions one that isn't.
pub fn offered_memory_tools(prefix: &str, offered: OfferedTools) -> Vec<ToolDefinition> {
    let name = |tool| tool_name(prefix, tool);
    let (write, read, search) = (name(WRITE_MEMORY), name(READ_MEMORY), name(SEARCH_MEMORY));
    let definition = |name: &str, description: String, parameters: Value| ToolDefinition {
        name: name.to_owned(),
        description,
        parameters,
    };
    let more_of_a_file = match offered.reading {
        true => format!("; {read} shows more of a file"),
        false => String::new(),
    };
    let tools = [
        (
            WRITE_MEMORY,
            definition(
                &write,
                format!(
                    "Write to a file of your notebook. Without old_text, content is added at the end, \
                 and a file that doesn't exist is made. With old_text, content takes the place of \
                 that passage; empty content removes it. Keep short, lasting facts in {MAIN_NOTE} \
                 and longer topics in files of their own, and change what no longer holds instead \
                 of adding its opposite."
                ),
                write_parameters(),
            ),
        ),
        (
            READ_MEMORY,
            definition(
                &read,
                format!(
                    "Read a file of your notebook, up to a size limit; {search} finds the file for a \
                 topic. What it says may be out of date: check what could have changed before you \
                 rely on it."
                ),
                file_parameters(
                    "Name of the file, as the notebook lists it or a search returns it.",
                ),
            ),
        ),
        (
            DELETE_MEMORY,
            definition(
                &name(DELETE_MEMORY),
                format!(
                    "Delete a file of your notebook that is of no more use. {MAIN_NOTE} can't be \
                 deleted; change its text with {write}."
                ),
                file_parameters("Name of the file to delete."),
            ),
        ),
        (
            SEARCH_MEMORY,
            definition(
                &search,
                format!(
                    "Search the names and the text of your notebook's files for words, whatever their \
                 case. The files with the most hits come first, each with the text around its \
                 first hit{more_of_a_file}."
                ),
                search_parameters(),
            ),
        ),
    ];
    let offered = tools.into_iter().filter(|(tool, _)| offered.has(tool));
    offered.map(|(_, definition)| definition).collect()
}

fn write_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "content": {
                "type": "string",
                "description": "Text to add, or to put in the place of old_text.",
            },
            "file": {
                "type": "string",
                "default": MAIN_NOTE,
                "description": "Name of the file; `.md` is added where it is missing.",
            },
            "old_text": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": null,
                "description": "The passage to replace, copied exactly. It must occur once.",
            },
        },
        "required": ["content"],
        "additionalProperties": false,
    })
}

fn file_parameters(description: &str) -> Value {
    json!({
        "type": "object",
        "properties": {"file": {"type": "string", "description": description}},
        "required": ["file"],
        "additionalProperties": false,
    })
}

fn search_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "Words to look for, taken literally, with spaces between them.",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

/// The tools of facts, their names after `{prefix}_` where a prefix is set.
pub fn fact_tools(prefix: &str) -> Vec<ToolDefinition> {
    let name = |tool| tool_name(prefix, tool);
    let recall = name(RECALL);
    vec![
        ToolDefinition {
            name: name(REMEMBER),
            description: "Keep a fact under a key, for this conversation and all later ones. A fact that \
                          has the key already is replaced, so use a key that says what the fact is \
                          about, such as `favourite_tea`, and one key for each fact."
                .to_owned(),
            parameters: remember_parameters(),
        },
        ToolDefinition {
            name: recall.clone(),
            description: "Search the keys and the values of the facts that are kept for words; the best \
                          match comes first. With an empty query the facts that were kept last come."
                .to_owned(),
            parameters: recall_parameters(),
        },
        ToolDefinition {
            name: name(FORGET),
            description: format!(
                "Remove the fact that is kept under a key. {recall} tells the keys. A key that no fact \
                 has is no mistake."
            ),
            parameters: forget_parameters(),
        },
    ]
}

fn remember_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "key": {"type": "string", "description": "What the fact is found and replaced by."},
            "value": {"type": "string", "description": "The fact."},
        },
        "required": ["key", "value"],
        "additionalProperties": false,
    })
}

fn recall_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "default": "",
                "description": "Words to look for, taken literally, with spaces between them.",
            },
        },
        "additionalProperties": false,
    })
}

fn forget_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "key": {"type": "string", "description": "Key of the fact, exactly as it was kept."},
        },
        "required": ["key"],
        "additionalProperties": false,
    })
}

/// What the model reads of a note: its text as it is stored, and where it was cut, if it was.
pub fn read_result_text(content: &str, truncated: bool) -> String {
    if !truncated {
        return content.to_owned();
    }
    let shown = content.chars().count();
    format!("{content}\n\n[cut here: these are the first {shown} characters, the file has more]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'t>(tools: &'t [ToolDefinition], name: &str) -> &'t ToolDefinition {
        tools
            .iter()
            .find(|tool| tool.name == name)
            .expect("the tool is defined")
    }

    /// A schema without the words for the model.
    fn shape(schema: &Value) -> Value {
        match schema {
            Value::Object(map) => map
                .iter()
                .filter(|(key, value)| *key != "description" || !value.is_string())
                .map(|(key, value)| (key.clone(), shape(value)))
                .collect(),
            other => other.clone(),
        }
    }

    #[test]
    fn the_definitions_read_well() {
        insta::assert_json_snapshot!(memory_tools(""));
    }

    #[test]
    fn the_schemas_have_the_documented_shape() {
        let tools = memory_tools("");
        let shape_of = |name| shape(&find(&tools, name).parameters);
        assert_eq!(
            shape_of(WRITE_MEMORY),
            json!({
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "file": {"type": "string", "default": "MEMORY.md"},
                    "old_text": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
                },
                "required": ["content"],
                "additionalProperties": false,
            })
        );
        for (name, argument) in [
            (READ_MEMORY, "file"),
            (DELETE_MEMORY, "file"),
            (SEARCH_MEMORY, "query"),
        ] {
            assert_eq!(
                shape_of(name),
                json!({
                    "type": "object",
                    "properties": {argument: {"type": "string"}},
                    "required": [argument],
                    "additionalProperties": false,
                })
            );
        }
    }

    #[test]
    fn a_prefix_reaches_the_names_and_every_mention_of_them() {
        let tools = memory_tools("org");
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "org_write_memory",
                "org_read_memory",
                "org_delete_memory",
                "org_search_memory"
            ]
        );
        for tool in &tools {
            let mentions = tool.description.matches("_memory").count();
            assert_eq!(
                tool.description.matches("org_").count(),
                mentions,
                "{}",
                tool.description
            );
        }
        assert!(
            find(&tools, "org_delete_memory")
                .description
                .contains("org_write_memory")
        );
    }

    #[test]
    fn what_is_not_offered_is_not_mentioned_either() {
        let cases = [
            (false, true, ["read_memory", "search_memory"].as_slice()),
            (
                true,
                false,
                &["write_memory", "delete_memory", "search_memory"],
            ),
            (false, false, &["search_memory"]),
        ];
        for (writing, reading, names) in cases {
            let tools = offered_memory_tools("", OfferedTools { writing, reading });
            let offered: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(offered, names);
            let all = [WRITE_MEMORY, READ_MEMORY, DELETE_MEMORY, SEARCH_MEMORY];
            for hidden in all.iter().filter(|name| !names.contains(name)) {
                for tool in &tools {
                    assert!(!tool.description.contains(hidden), "{}", tool.description);
                }
            }
        }
    }

    #[test]
    fn the_definitions_of_the_fact_tools_read_well() {
        insta::assert_json_snapshot!(fact_tools(""));
    }

    #[test]
    fn a_prefix_reaches_the_fact_tools_and_every_mention_of_them() {
        let tools = fact_tools("org");
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["org_remember", "org_recall", "org_forget"]);
        assert!(
            find(&tools, "org_forget")
                .description
                .contains("org_recall tells")
        );
    }

    #[test]
    fn a_note_is_told_as_it_is_stored() {
        for content in ["", "  a\r\n\n", "<memory>x</memory>", "\u{feff}a"] {
            assert_eq!(read_result_text(content, false), content);
        }
    }

    #[test]
    fn a_note_that_was_cut_says_where() {
        assert_eq!(
            read_result_text("固👩\u{200d}", true),
            "固👩\u{200d}\n\n[cut here: these are the first 3 characters, the file has more]"
        );
    }
}
