//! What queries and writes come to.

use notekeeper_contract::{
    FailedSource, FoundItem, QuerySourceOutput, SourceEvent, WriteSourceOutput,
};
use notekeeper_domain::{Item, ItemMetadata};

/// What a query came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// What was found, best first.
    pub items: Vec<Item>,
    /// How many more were found that one result can't carry, from the end.
    pub omitted: usize,
    /// Sources of a composition that weren't ready in time.
    pub timed_out: Vec<String>,
    /// Sources of a composition that failed while others answered.
    pub failed: Vec<FailedSource>,
    /// Sources that looked at a part alone of what they are over, because that is more than one query looks
    /// through.
    pub incomplete: Vec<String>,
}

impl Found {
    /// Whether every source was heard, and everything came along that they found. One that had more to look
    /// through than it does for one query was heard.
    pub fn is_whole(&self) -> bool {
        self.omitted == 0 && self.timed_out.is_empty() && self.failed.is_empty()
    }

    /// The names of the sources that weren't heard.
    pub fn unheard(&self) -> Vec<String> {
        let failed = self.failed.iter().map(|failed| &failed.source);
        self.timed_out.iter().chain(failed).cloned().collect()
    }
}

impl From<QuerySourceOutput> for Found {
    fn from(output: QuerySourceOutput) -> Self {
        Self {
            items: output.items.into_iter().map(item).collect(),
            omitted: output.omitted,
            timed_out: output.timed_out,
            failed: output.failed,
            incomplete: output.incomplete,
        }
    }
}

fn item(found: FoundItem) -> Item {
    let item = Item::new(found.content, found.source)
        .with_id(found.id.unwrap_or_default())
        .with_metadata(ItemMetadata::new(found.metadata));
    match found.score {
        Some(score) => item.with_score(score),
        None => item,
    }
}

/// What a write came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    /// Sources that kept the items.
    pub accepted: Vec<String>,
    /// Sources that can't be written to, or may not be: nothing was kept there.
    pub refused: Vec<String>,
    /// Sources of a composition that failed while others kept the items.
    pub failed: Vec<FailedSource>,
    /// What happened, without content.
    pub events: Vec<SourceEvent>,
}

impl From<WriteSourceOutput> for Kept {
    fn from(output: WriteSourceOutput) -> Self {
        Self {
            accepted: output.accepted,
            refused: output.refused,
            failed: output.failed,
            events: output.events,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_found_has_all_that_came() {
        let output: QuerySourceOutput = serde_json::from_value(json!({
            "items": [
                {"content": "a", "source": "kb", "id": "1", "score": 0.5, "metadata": {"path": "/a"}},
                {"content": "b", "source": "kb", "id": ""},
            ],
            "truncated": true,
            "omitted": 2,
            "timed_out": ["slow"],
            "failed": [{"source": "broken", "type": "Unavailable", "message": "it is away"}],
            "incomplete": ["notes"],
        }))
        .unwrap();
        let found = Found::from(output);
        let metadata = ItemMetadata::of_value(json!({"path": "/a"})).unwrap();
        let first = Item::new("a", "kb").with_id("1").with_score(0.5);
        assert_eq!(
            found.items,
            [first.with_metadata(metadata), Item::new("b", "kb")]
        );
        assert_eq!(found.omitted, 2);
        assert!(!found.is_whole());
        assert_eq!(found.unheard(), ["slow", "broken"]);
        assert_eq!(found.incomplete, ["notes"]);
        let in_part = QuerySourceOutput {
            incomplete: vec!["notes".to_owned()],
            ..QuerySourceOutput::default()
        };
        let in_part = Found::from(in_part);
        assert!(in_part.is_whole(), "it was heard");
        assert_eq!(in_part.unheard(), [""; 0]);
        assert!(Found::from(QuerySourceOutput::default()).is_whole());
    }
}
