//! The part of model requests that rarely changes: instructions and tools, kept once and named by
//! digest from then on.

use notekeeper_domain::{canonical_json, snapshot_digest};
use serde::Deserialize;
use serde_json::json;

use crate::ChatToolDefinition;

/// Instructions and tools as one text, and its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preamble {
    text: String,
    digest: String,
}

#[derive(Deserialize)]
struct Kept {
    instructions: String,
    tools: Vec<ChatToolDefinition>,
}

impl Preamble {
    /// The preamble of a request with these instructions and tools. The same ones give the same text
    /// everywhere: canonical JSON, with keys sorted and without spaces.
    pub fn new(instructions: &str, tools: &[ChatToolDefinition]) -> Self {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                })
            })
            .collect();
        let text = canonical_json(&json!({"instructions": instructions, "tools": tools}));
        let digest = snapshot_digest(&text);
        Self { text, digest }
    }

    /// The text that is kept.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the text, lower-case hexadecimal.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Instructions and tools of a kept text; `None` where it is no preamble.
    pub fn read(text: &str) -> Option<(String, Vec<ChatToolDefinition>)> {
        let kept: Kept = serde_json::from_str(text).ok()?;
        Some((kept.instructions, kept.tools))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(parameters: serde_json::Value) -> ChatToolDefinition {
        ChatToolDefinition {
            name: "look_up".to_owned(),
            description: "Looks \"it\" up \u{56fa}.".to_owned(),
            parameters,
        }
    }

    #[test]
    fn a_preamble_is_canonical_json_under_its_digest_and_reads_back() {
        let tools = [tool(json!({"type": "object", "maximum": 0.5}))];
        let preamble = Preamble::new("Be kind.", &tools);
        assert_eq!(
            preamble.text(),
            r#"{"instructions":"Be kind.","tools":[{"description":"Looks \"it\" up \u56fa.","name":"look_up","parameters":{"maximum":0.5,"type":"object"}}]}"#
        );
        assert_eq!(preamble.digest(), snapshot_digest(preamble.text()));
        let read = Preamble::read(preamble.text());
        assert_eq!(read, Some(("Be kind.".to_owned(), tools.to_vec())));
    }

    #[test]
    fn other_instructions_or_tools_are_another_preamble() {
        let of = |instructions: &str, tools: &[ChatToolDefinition]| {
            Preamble::new(instructions, tools).digest().to_owned()
        };
        let digests = [
            of("", &[]),
            of("a", &[]),
            of("a", &[tool(json!({}))]),
            of("a", &[tool(json!({"type": "object"}))]),
            of("a", &[tool(json!({})), tool(json!({}))]),
        ];
        let different: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(different.len(), digests.len());
    }

    #[test]
    fn another_text_is_no_preamble() {
        for text in [
            "",
            "<memory>\n</memory>",
            "{}",
            r#"{"instructions":1,"tools":[]}"#,
        ] {
            assert_eq!(Preamble::read(text), None, "{text}");
        }
    }
}
