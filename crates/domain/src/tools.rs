//! Tools of the memory, as the model sees them: their definitions, and the text of their results.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{MAIN_NOTE, SearchAnswer};

/// Name of the tool and activity that writes.
pub const WRITE_MEMORY: &str = "write_memory";
/// Name of the tool and activity that reads.
pub const READ_MEMORY: &str = "read_memory";
/// Name of the tool and activity that deletes.
pub const DELETE_MEMORY: &str = "delete_memory";
/// Name of the tool and activity that searches.
pub const SEARCH_MEMORY: &str = "search_memory";

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

/// The memory tools, their names after `{prefix}_` where a prefix is set.
pub fn memory_tools(prefix: &str) -> Vec<ToolDefinition> {
    let name = |tool| tool_name(prefix, tool);
    let (write, read, search) = (name(WRITE_MEMORY), name(READ_MEMORY), name(SEARCH_MEMORY));
    let definition = |name: &str, description: String, parameters: Value| ToolDefinition {
        name: name.to_owned(),
        description,
        parameters,
    };
    vec![
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
        definition(
            &read,
            format!(
                "Read a file of your notebook, up to a size limit; {search} finds the file for a \
                 topic. What it says may be out of date: check what could have changed before you \
                 rely on it."
            ),
            file_parameters("Name of the file, as the notebook lists it or a search returns it."),
        ),
        definition(
            &name(DELETE_MEMORY),
            format!(
                "Delete a file of your notebook that is of no more use. {MAIN_NOTE} can't be \
                 deleted; change its text with {write}."
            ),
            file_parameters("Name of the file to delete."),
        ),
        definition(
            &search,
            format!(
                "Search the names and the text of your notebook's files for words, whatever their \
                 case. The files with the most hits come first, each with the text around its \
                 first hit; {read} shows more of a file."
            ),
            search_parameters(),
        ),
    ]
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

/// The result of a memory tool, as far as the model is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ToolResult<'a> {
    /// A write or a deletion.
    Mutation {
        /// Normalised name of the note.
        file: &'a str,
        /// Version that it has now; `None` after a deletion.
        version: Option<&'a str>,
        /// Whether an earlier call did it, and this one only repeats the answer.
        replayed: bool,
        /// Stable code of what was done.
        status: &'a str,
    },
    /// The text of a note.
    Read {
        /// The text, or its first characters.
        content: &'a str,
        /// Whether the note has more text.
        truncated: bool,
    },
    /// Matches.
    Search(&'a SearchAnswer),
}

/// What the model reads as the result of a memory tool: the text of a note as it is stored, with a
/// [`read_truncation_notice`] where there is more, and for the other tools one line of JSON.
pub fn tool_result_text(result: &ToolResult<'_>) -> String {
    match *result {
        ToolResult::Mutation {
            file,
            version,
            replayed,
            status,
        } => one_line(&MutationJson {
            file,
            version,
            replayed,
            status,
        }),
        ToolResult::Read {
            content,
            truncated: false,
        } => content.to_owned(),
        ToolResult::Read {
            content,
            truncated: true,
        } => {
            format!(
                "{content}\n\n{}",
                read_truncation_notice(content.chars().count())
            )
        }
        ToolResult::Search(answer) => one_line(&SearchJson {
            matches: answer
                .matches
                .iter()
                .map(|hit| MatchJson {
                    file: &hit.file,
                    snippet: &hit.snippet,
                    score: hit.score,
                })
                .collect(),
            scanned: answer.scanned,
            truncated: answer.truncated,
        }),
    }
}

/// What follows the first `chars_shown` characters of a note that has more.
pub fn read_truncation_notice(chars_shown: usize) -> String {
    format!("[cut here: these are the first {chars_shown} characters, the file has more]")
}

fn one_line(result: &impl Serialize) -> String {
    serde_json::to_string(result).expect("text, numbers and flags can be written as JSON")
}

/// The fields of a mutation's result, in the order in which the model reads them.
#[derive(Serialize)]
struct MutationJson<'a> {
    file: &'a str,
    version: Option<&'a str>,
    replayed: bool,
    status: &'a str,
}

/// The fields of a search's result, in the order in which the model reads them.
#[derive(Serialize)]
struct SearchJson<'a> {
    matches: Vec<MatchJson<'a>>,
    scanned: usize,
    truncated: bool,
}

#[derive(Serialize)]
struct MatchJson<'a> {
    file: &'a str,
    snippet: &'a str,
    score: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchMatch;

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
    fn mutations_are_told_in_one_line_of_json() {
        let written = ToolResult::Mutation {
            file: "a.md",
            version: Some("17"),
            replayed: false,
            status: "appended",
        };
        assert_eq!(
            tool_result_text(&written),
            r#"{"file":"a.md","version":"17","replayed":false,"status":"appended"}"#
        );
        let deleted = ToolResult::Mutation {
            file: "a.md",
            version: None,
            replayed: true,
            status: "deleted",
        };
        assert_eq!(
            tool_result_text(&deleted),
            r#"{"file":"a.md","version":null,"replayed":true,"status":"deleted"}"#
        );
    }

    #[test]
    fn a_search_is_told_in_one_line_of_json() {
        let answer = SearchAnswer {
            matches: vec![SearchMatch {
                file: "a.md".to_owned(),
                snippet: "thé\n\"noir\"".to_owned(),
                score: 2.0,
            }],
            scanned: 3,
            truncated: false,
        };
        assert_eq!(
            tool_result_text(&ToolResult::Search(&answer)),
            r#"{"matches":[{"file":"a.md","snippet":"thé\n\"noir\"","score":2.0}],"scanned":3,"truncated":false}"#
        );
    }

    #[test]
    fn a_note_is_told_as_it_is_stored() {
        for content in ["", "  a\r\n\n", "<memory>x</memory>", "\u{feff}a"] {
            let read = ToolResult::Read {
                content,
                truncated: false,
            };
            assert_eq!(tool_result_text(&read), content);
        }
    }

    #[test]
    fn a_note_that_was_cut_says_where() {
        let read = ToolResult::Read {
            content: "固👩\u{200d}",
            truncated: true,
        };
        assert_eq!(
            tool_result_text(&read),
            "固👩\u{200d}\n\n[cut here: these are the first 3 characters, the file has more]"
        );
    }
}
