//! The tool with which a model asks a source.

use serde_json::json;

use crate::ToolDefinition;

/// Name of the source that searches notes and facts in all the ways there are.
pub const HYBRID_SOURCE: &str = "hybrid";

/// Name of its tool.
pub const HYBRID_SEARCH: &str = "hybrid_search";

/// Longest name of a tool that every model takes, in bytes.
pub const TOOL_NAME_BYTES_MAX: usize = 64;

/// The name that the tool of a source has where none is given: [`HYBRID_SEARCH`] of the source
/// [`HYBRID_SOURCE`], `search_` and the source's name of any other, with `_` for what no tool's name may
/// hold.
///
/// ```
/// use notekeeper_domain::source_tool_name;
///
/// assert_eq!(source_tool_name("hybrid"), "hybrid_search");
/// assert_eq!(source_tool_name("team.handbook"), "search_team_handbook");
/// ```
pub fn source_tool_name(source: &str) -> String {
    match source {
        HYBRID_SOURCE => HYBRID_SEARCH.to_owned(),
        _ => format!("search_{}", source.replace('.', "_")),
    }
}

/// The tool of a source. Without a description of its own it has ours.
pub fn source_tool(source: &str, name: &str, description: Option<&str>) -> ToolDefinition {
    let description = match description {
        Some(description) => description.to_owned(),
        None if source == HYBRID_SOURCE => {
            "Search your notes and what you remember, also by words that are spelt nearly so. Best passages \
             first."
                .to_owned()
        }
        None => format!("Search `{source}` for passages on a topic. Best passages first."),
    };
    ToolDefinition {
        name: name.to_owned(),
        description,
        parameters: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What to look for, in plain words. Nothing in it is syntax."
                }
            },
            "required": ["query"],
            "additionalProperties": false
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_of_the_tools_of_sources_read_well() {
        let tools = [
            source_tool("hybrid", &source_tool_name("hybrid"), None),
            source_tool("handbook", &source_tool_name("handbook"), None),
            source_tool("kb", "look_up", Some("Search what the company wrote.")),
        ];
        insta::assert_snapshot!(serde_json::to_string_pretty(&tools).unwrap());
    }
}
