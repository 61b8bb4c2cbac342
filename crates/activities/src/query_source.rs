//! `query_source`: items that a source finds relevant.

use notekeeper_contract::{FoundItem, QuerySourceInput, QuerySourceOutput, RESULT_BYTES_MAX};
use notekeeper_domain::{
    ITEM_CHARS_MAX, InvalidWhere, Item, ItemMetadata, SOURCE_LIMIT_MAX, Where, char_prefix,
};
use notekeeper_recall::{Answer, Scratchpad, SourceCall, SourceEvents, SourceQuery};
use serde_json::{Map, Value};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook,
    bounds::without_nul,
    encoded::{check_encoded, encoded_bytes},
    source_call::{failed_source, invalid_values},
    span::{record_count, record_stop, source_span},
};

impl Notebook {
    /// Asks a source for items. Long contents are cut, and items that wouldn't fit into a result are left
    /// out; the answer says so, and how many.
    ///
    /// # Errors
    ///
    /// A [`Failure`]: a scope that is none, before anything else is looked at; an unknown source, a
    /// number or value out of bounds; and what the source fails with.
    pub async fn query_source(
        &self,
        input: QuerySourceInput,
    ) -> Result<QuerySourceOutput, Failure> {
        let scope = input.scope.resolve()?;
        let source = self.sources.get(&input.source)?;
        let query = checked(&input)?;
        let chars_max = input.chars_max.unwrap_or(usize::MAX);
        let scratchpad: Scratchpad = input.scratchpad.into_iter().collect();

        let span = source_span!(
            "memory.query_source",
            self,
            input.source,
            scope,
            memory.matches = Empty,
            memory.chars = Empty,
            memory.truncated = Empty,
            memory.sources_timed_out = Empty,
            memory.sources_failed = Empty,
            memory.sources_incomplete = Empty,
        );
        let events = SourceEvents::default();
        let call = SourceCall {
            scope: &scope,
            workspace: input.workspace.as_deref(),
            scratchpad: &scratchpad,
            events: &events,
            upkeep: self.upkeep,
        };
        let answer = source
            .query(&query, &call)
            .instrument(span.clone())
            .await
            .map_err(Failure::from)
            .and_then(|answer| within_result(answer, query.limit, chars_max))
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        span.record("memory.outcome", "ok");
        record_count(&span, "memory.matches", answer.items.len());
        let chars = answer.items.iter().map(|item| item.content.chars().count());
        record_count(&span, "memory.chars", chars.sum());
        span.record("memory.truncated", answer.truncated);
        record_count(&span, "memory.sources_timed_out", answer.timed_out.len());
        record_count(&span, "memory.sources_failed", answer.failed.len());
        record_count(&span, "memory.sources_incomplete", answer.incomplete.len());
        Ok(answer)
    }
}

/// The query of an input, with all values in their bounds.
fn checked(input: &QuerySourceInput) -> Result<SourceQuery, Failure> {
    if !(1..=SOURCE_LIMIT_MAX).contains(&input.k) {
        return Err(Failure::invalid(format!(
            "`k` must be 1 to {SOURCE_LIMIT_MAX}"
        )));
    }
    if input.chars_max == Some(0) {
        return Err(Failure::invalid(
            "`chars_max` must be at least 1; leave it out for as much as a result carries",
        ));
    }
    without_nul("query", &input.query)?;
    let condition = Where::new(input.condition.clone());
    condition.check().map_err(|error| match error {
        InvalidWhere::Values(error) => invalid_values("where", &error),
        error @ InvalidWhere::TooManyValues { .. } => Failure::invalid(format!("`where` {error}")),
    })?;
    check_scratchpad(&input.scratchpad)?;
    let query = SourceQuery::new(&input.query, input.k);
    Ok(query.with_condition(condition))
}

/// A scratchpad may hold more than the metadata of one item: Temporal bounds the whole input.
fn check_scratchpad(scratchpad: &Map<String, Value>) -> Result<(), Failure> {
    let values = ItemMetadata::new(scratchpad.clone()).check_values();
    values.map_err(|error| invalid_values("scratchpad", &error))
}

/// Cuts contents, those that are too long for any item and where `chars_max` is reached, and leaves out
/// items that don't fit into what is left of a result. A smaller one behind such an item may fit.
fn within_result(
    answer: Answer,
    limit: usize,
    chars_max: usize,
) -> Result<QuerySourceOutput, Failure> {
    let mut output = QuerySourceOutput {
        items: Vec::new(),
        // Counted as if they stood there.
        truncated: true,
        omitted: usize::MAX,
        timed_out: answer.timed_out,
        failed: answer.failed.into_iter().map(failed_source).collect(),
        incomplete: answer.incomplete,
    };
    check_encoded(
        &output,
        "what is told of sources that failed, or looked at a part alone",
        "part the composition",
    )?;
    let mut bytes = encoded_bytes(&output);
    let (mut chars, mut omitted, mut is_cut) = (chars_max, 0, false);
    for item in answer.items.into_iter().take(limit) {
        if chars == 0 {
            omitted += 1;
            continue;
        }
        let mut item = found(item);
        let (start, is_longer) = char_prefix(&item.content, chars.min(ITEM_CHARS_MAX));
        if is_longer {
            item.content = start.to_owned();
            // Who writes the item back must not lose the rest.
            item.metadata.insert("truncated".to_owned(), true.into());
        }
        let with_item = bytes + 1 + encoded_bytes(&item);
        if with_item > RESULT_BYTES_MAX {
            omitted += 1;
            continue;
        }
        bytes = with_item;
        chars -= item.content.chars().count();
        is_cut |= is_longer;
        output.items.push(item);
    }
    Ok(QuerySourceOutput {
        truncated: is_cut || omitted > 0,
        omitted,
        ..output
    })
}

fn found(item: Item) -> FoundItem {
    FoundItem {
        score: item.score(),
        metadata: item.metadata.to_object(),
        content: item.content,
        source: item.source,
        id: item.id,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn within(items: Vec<Item>, chars_max: usize) -> QuerySourceOutput {
        let limit = items.len();
        let output = within_result(Answer::of(items), limit, chars_max).unwrap();
        assert!(encoded_bytes(&output) <= RESULT_BYTES_MAX);
        output
    }

    fn contents(output: &QuerySourceOutput) -> Vec<&str> {
        let items = output.items.iter();
        items.map(|item| item.content.as_str()).collect()
    }

    #[test]
    fn what_one_result_cannot_carry_is_left_out_and_counted() {
        let item = |number: usize| Item::new("\u{1}".repeat(20_000), format!("s{number}"));
        let answer = Answer::of((0..20).map(item).collect());
        let output = within_result(answer, 15, usize::MAX).unwrap();
        assert!(output.truncated);
        assert_eq!((output.items.len(), output.omitted), (8, 7));
        assert!(encoded_bytes(&output) <= RESULT_BYTES_MAX);
        let fits = within((0..8).map(item).collect(), usize::MAX);
        assert_eq!(
            (fits.items.len(), fits.truncated, fits.omitted),
            (8, false, 0)
        );
    }

    fn with_metadata(chars: usize) -> Item {
        let metadata = ItemMetadata::of_value(json!({"text": "x".repeat(chars)})).unwrap();
        Item::new("large", "s").with_metadata(metadata)
    }

    #[test]
    fn who_looked_at_a_part_alone_is_told() {
        let answer = Answer {
            incomplete: vec!["file".to_owned(), "transcript".to_owned()],
            ..Answer::of(vec![Item::new("a", "file")])
        };
        let output = within_result(answer, 5, usize::MAX).unwrap();
        assert_eq!(output.incomplete, ["file", "transcript"]);
        assert!(!output.truncated && output.failed.is_empty() && output.timed_out.is_empty());
    }

    #[test]
    fn an_item_that_fits_exactly_stays() {
        let base = encoded_bytes(&QuerySourceOutput {
            truncated: true,
            omitted: usize::MAX,
            ..QuerySourceOutput::default()
        });
        let of_item = encoded_bytes(&found(with_metadata(0)));
        let room = RESULT_BYTES_MAX - base - of_item - 1;
        for (chars, kept) in [(room, 1), (room + 1, 0)] {
            let output = within(vec![with_metadata(chars)], usize::MAX);
            assert_eq!((output.items.len(), output.omitted), (kept, 1 - kept));
        }
    }

    #[test]
    fn an_item_that_no_result_carries_hides_no_other() {
        let items = vec![
            Item::new("first", "s"),
            with_metadata(RESULT_BYTES_MAX),
            Item::new("last", "s"),
        ];
        let output = within(items, usize::MAX);
        assert_eq!(contents(&output), ["first", "last"]);
        assert_eq!((output.truncated, output.omitted), (true, 1));
    }

    #[test]
    fn a_content_that_is_too_long_for_an_item_is_cut() {
        let items = vec![
            Item::new("é".repeat(2 * RESULT_BYTES_MAX), "s"),
            Item::new("é".repeat(ITEM_CHARS_MAX), "s"),
        ];
        let output = within(items, usize::MAX);
        let whole = "é".repeat(ITEM_CHARS_MAX);
        assert_eq!(contents(&output), [whole.as_str(), whole.as_str()]);
        assert_eq!((output.truncated, output.omitted), (true, 0));
        let marks: Vec<_> = output
            .items
            .iter()
            .map(|item| item.metadata.get("truncated"))
            .collect();
        assert_eq!(marks, [Some(&json!(true)), None]);
        let fits = within(vec![Item::new(whole, "s")], usize::MAX);
        assert!(!fits.truncated);
    }

    #[test]
    fn contents_have_as_many_characters_together_as_are_wanted() {
        let items = ["äöü", "abc", "def"].map(|text| Item::new(text, "s"));
        for (chars_max, told, omitted) in [
            (1, &["ä"][..], 2),
            (3, &["äöü"], 2),
            (4, &["äöü", "a"], 1),
            (8, &["äöü", "abc", "de"], 0),
            (9, &["äöü", "abc", "def"], 0),
        ] {
            let output = within(items.to_vec(), chars_max);
            assert_eq!(contents(&output), told);
            assert_eq!((output.truncated, output.omitted), (chars_max < 9, omitted));
        }
    }
}
