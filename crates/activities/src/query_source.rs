//! `query_source`: items that a source finds relevant.

use notekeeper_contract::{FoundItem, QuerySourceInput, QuerySourceOutput, RESULT_BYTES_MAX};
use notekeeper_domain::{Item, ItemMetadata, SOURCE_LIMIT_MAX, Where};
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
    /// Asks a source for items. Those that wouldn't fit into a result are left out from the end, and
    /// the answer says how many.
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
        );
        let events = SourceEvents::default();
        let call = SourceCall {
            scope: &scope,
            workspace: input.workspace.as_deref(),
            scratchpad: &scratchpad,
            events: &events,
        };
        let answer = source
            .query(&query, &call)
            .instrument(span.clone())
            .await
            .map_err(Failure::from)
            .and_then(|answer| within_result(answer, query.limit))
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        span.record("memory.outcome", "ok");
        record_count(&span, "memory.matches", answer.items.len());
        let chars = answer.items.iter().map(|item| item.content.chars().count());
        record_count(&span, "memory.chars", chars.sum());
        span.record("memory.truncated", answer.truncated);
        record_count(&span, "memory.sources_timed_out", answer.timed_out.len());
        record_count(&span, "memory.sources_failed", answer.failed.len());
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
    without_nul("query", &input.query)?;
    let condition = ItemMetadata::new(input.condition.clone());
    condition
        .check()
        .map_err(|error| invalid_values("where", &error))?;
    check_scratchpad(&input.scratchpad)?;
    let query = SourceQuery::new(&input.query, input.k);
    Ok(query.with_condition(Where::new(input.condition.clone())))
}

/// A scratchpad may hold more than the metadata of one item: Temporal bounds the whole input.
fn check_scratchpad(scratchpad: &Map<String, Value>) -> Result<(), Failure> {
    for (key, value) in scratchpad {
        let one = ItemMetadata::default().with(key, value.clone());
        match one.check() {
            Ok(()) | Err(notekeeper_domain::InvalidItem::MetadataTooLarge { .. }) => {}
            Err(error) => return Err(invalid_values("scratchpad", &error)),
        }
    }
    Ok(())
}

/// Leaves out items from the end until the whole result fits.
fn within_result(answer: Answer, limit: usize) -> Result<QuerySourceOutput, Failure> {
    let mut output = QuerySourceOutput {
        items: Vec::new(),
        // Counted as if they stood there.
        truncated: true,
        omitted: usize::MAX,
        timed_out: answer.timed_out,
        failed: answer.failed.into_iter().map(failed_source).collect(),
    };
    check_encoded(
        &output,
        "what is told of sources that failed",
        "part the composition",
    )?;
    let mut bytes = encoded_bytes(&output);
    let mut items = answer.items.into_iter().take(limit);
    while let Some(item) = items.next() {
        let item = found(item);
        bytes += 1 + encoded_bytes(&item);
        if bytes > RESULT_BYTES_MAX {
            output.omitted = 1 + items.count();
            return Ok(output);
        }
        output.items.push(item);
    }
    Ok(QuerySourceOutput {
        truncated: false,
        omitted: 0,
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
    use super::*;

    #[test]
    fn what_one_result_cannot_carry_is_left_out_from_the_end_and_counted() {
        let item = |number: usize| Item::new("\u{1}".repeat(20_000), format!("s{number}"));
        let output = within_result(Answer::of((0..20).map(item).collect()), 15).unwrap();
        assert!(output.truncated);
        assert_eq!((output.items.len(), output.omitted), (8, 7));
        assert!(encoded_bytes(&output) <= RESULT_BYTES_MAX);
        let fits = within_result(Answer::of((0..8).map(item).collect()), 8).unwrap();
        assert_eq!(
            (fits.items.len(), fits.truncated, fits.omitted),
            (8, false, 0)
        );
    }

    #[test]
    fn an_item_that_fits_exactly_stays() {
        let base = encoded_bytes(&QuerySourceOutput {
            truncated: true,
            omitted: usize::MAX,
            ..QuerySourceOutput::default()
        });
        let of_item = encoded_bytes(&found(Item::new("", "s")));
        let room = RESULT_BYTES_MAX - base - of_item - 1;
        for (chars, kept) in [(room, 1), (room + 1, 0)] {
            let item = Item::new("x".repeat(chars), "s");
            let output = within_result(Answer::of(vec![item]), 5).unwrap();
            assert_eq!((output.items.len(), output.omitted), (kept, 1 - kept));
        }
    }
}
