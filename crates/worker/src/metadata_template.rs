//! Write metadata from texts of the configuration: fixed ones, and ones with places for what is
//! known of a write.

use std::collections::BTreeMap;

use anyhow::bail;
use async_trait::async_trait;
use notekeeper_activities::{MetadataResolver, ResolverError, WriteCall};
use notekeeper_domain::WriteMetadata;

/// What is known of a write, by the names of its places.
const PLACES: [&str; 10] = [
    "store",
    "namespace",
    "agent_name",
    "note",
    "operation_id",
    "temporal_namespace",
    "workflow_id",
    "run_id",
    "activity_id",
    "activity_type",
];

/// Texts by name, with places such as `{workflow_id}` in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetadataTemplate {
    entries: BTreeMap<String, Vec<Piece>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// One of [`PLACES`].
    Place(&'static str),
}

impl MetadataTemplate {
    /// Reads texts. What could never be kept is refused now.
    pub(crate) fn parse(texts: &BTreeMap<String, String>) -> anyhow::Result<Self> {
        let mut entries = BTreeMap::new();
        for (key, text) in texts {
            let pieces = pieces(text)
                .map_err(|error| error.context(format!("the text of `{key}` can't be used")))?;
            entries.insert(key.clone(), pieces);
        }
        let template = Self { entries };
        WriteMetadata::new(template.filled(|_| Some("")))?;
        Ok(template)
    }

    /// The texts with their places filled. A text with a place that has no value is left out.
    fn filled<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> BTreeMap<String, String> {
        let filled = |pieces: &[Piece]| {
            pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => Some(text.as_str()),
                    Piece::Place(place) => value(place),
                })
                .collect::<Option<String>>()
        };
        self.entries
            .iter()
            .filter_map(|(key, pieces)| Some((key.clone(), filled(pieces)?)))
            .collect()
    }
}

/// Takes a text apart at its places; `{{` and `}}` stand for braces.
fn pieces(text: &str) -> anyhow::Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(index) = rest.find(['{', '}']) {
        plain.push_str(&rest[..index]);
        let brace = &rest[index..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            plain.push_str(&brace[..1]);
            rest = &brace[2..];
            continue;
        }
        let Some((name, after)) = brace.strip_prefix('{').and_then(|b| b.split_once('}')) else {
            bail!("a brace stands alone; write it twice for one that is meant");
        };
        let Some(place) = PLACES.into_iter().find(|place| *place == name) else {
            let known: Vec<String> = PLACES
                .iter()
                .map(|place| format!("`{{{place}}}`"))
                .collect();
            bail!(
                "there is no place `{{{name}}}`; known: {}",
                known.join(", ")
            );
        };
        pieces.push(Piece::Text(std::mem::take(&mut plain)));
        pieces.push(Piece::Place(place));
        rest = after;
    }
    plain.push_str(rest);
    pieces.push(Piece::Text(plain));
    Ok(pieces)
}

#[async_trait]
impl MetadataResolver for MetadataTemplate {
    async fn resolve(&self, write: &WriteCall<'_>) -> Result<Option<WriteMetadata>, ResolverError> {
        let filled = self.filled(|place| {
            let caller = write.caller;
            let value = match place {
                "store" => write.store,
                "namespace" => write.scope.namespace(),
                "agent_name" => write.scope.agent_name(),
                "note" => write.note.as_str(),
                "operation_id" => write.operation.as_str(),
                "temporal_namespace" => &caller.temporal_namespace,
                "workflow_id" => caller.workflow_id.as_deref()?,
                // Of a standalone activity it is a time, which is nobody's run.
                "run_id" => caller
                    .workflow_id
                    .as_ref()
                    .map(|_| caller.run_id.as_str())?,
                "activity_id" => &caller.activity_id,
                _ => &caller.activity_type,
            };
            Some(value)
        });
        Ok(WriteMetadata::new(filled)?)
    }
}

#[cfg(test)]
mod tests {
    use notekeeper_activities::Caller;
    use notekeeper_domain::{NoteName, OperationId, Scope};

    use super::*;

    fn template(texts: &[(&str, &str)]) -> anyhow::Result<MetadataTemplate> {
        let texts = texts.iter();
        let texts = texts.map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        MetadataTemplate::parse(&texts.collect())
    }

    async fn resolved(
        texts: &[(&str, &str)],
        workflow_id: Option<&str>,
    ) -> Result<Option<WriteMetadata>, ResolverError> {
        let scope = Scope::resolve("acme/ada", "main").expect("valid scope");
        let caller = Caller {
            temporal_namespace: "default".to_owned(),
            workflow_id: workflow_id.map(str::to_owned),
            run_id: "run-7".to_owned(),
            activity_id: "nk.1".to_owned(),
            activity_type: "write_memory".to_owned(),
            is_local: false,
        };
        let write = WriteCall {
            store: "eu",
            scope: &scope,
            note: &NoteName::main(),
            operation: &OperationId::parse("op-1").expect("valid id"),
            caller: &caller,
        };
        let template = template(texts).expect("a usable template");
        template.resolve(&write).await
    }

    async fn json(texts: &[(&str, &str)], workflow_id: Option<&str>) -> String {
        let metadata = resolved(texts, workflow_id).await.expect("an answer");
        metadata.map_or_else(|| "none".to_owned(), |metadata| metadata.to_json())
    }

    #[tokio::test]
    async fn places_are_filled_with_what_is_known_of_the_write() {
        let texts = [
            ("updated_by", "agent"),
            ("place", "{store}:{namespace}/{agent_name}/{note}"),
            ("operation", "<{operation_id}>"),
            (
                "call",
                "{temporal_namespace} {workflow_id} {run_id} {activity_id} {activity_type}",
            ),
            ("braces", "{{workflow_id}} }}{{"),
            ("empty", ""),
        ];
        assert_eq!(
            json(&texts, Some("chat-7")).await,
            "{\"braces\":\"{workflow_id} }{\",\"call\":\"default chat-7 run-7 nk.1 write_memory\",\
             \"empty\":\"\",\"operation\":\"<op-1>\",\"place\":\"eu:acme/ada/main/MEMORY.md\",\
             \"updated_by\":\"agent\"}"
        );
    }

    #[tokio::test]
    async fn a_text_with_a_place_that_has_no_value_is_left_out() {
        let texts = [
            ("by", "{workflow_id}"),
            ("run", "r {run_id}"),
            ("kind", "x"),
        ];
        assert_eq!(json(&texts, None).await, "{\"kind\":\"x\"}");
        assert_eq!(json(&texts[..2], None).await, "none");
        assert_eq!(json(&[], Some("chat-7")).await, "none");
    }

    #[tokio::test]
    async fn what_grows_too_long_when_it_is_filled_is_refused_for_good() {
        let long = format!("{}{{workflow_id}}", "x".repeat(4_080));
        let error = resolved(&[("a", &long)], Some("a long name")).await;
        let error = error.expect_err("too long");
        assert!(!error.is_passing());
        assert!(error.to_string().contains("4096 are allowed"), "{error}");
    }

    #[test]
    fn what_can_never_be_filled_or_kept_is_told_at_the_start() {
        let told = |text: &str| format!("{:#}", template(&[("by", text)]).expect_err("unusable"));
        assert!(told("{workflw_id}").contains(
            "the text of `by` can't be used: there is no place `{workflw_id}`; known: `{store}`"
        ));
        for alone in ["{", "}", "a { b", "{workflow_id", "workflow_id}"] {
            assert!(told(alone).contains("a brace stands alone"), "{alone}");
        }
        assert!(told(&"x".repeat(5_000)).contains("4096 are allowed"));
        assert!(told("a\0b").contains("NUL"));
    }
}
