//! `search_memory`: literal search over the notes of a scope.

use notekeeper_contract::{
    MemoryMatch, MemoryMatches, Outcome, RESULT_BYTES_MAX, SearchMemoryInput,
};
use notekeeper_domain::{SearchAnswer, SearchLimits, SearchQuery};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook, bounds,
    encoded::encoded_bytes,
    failure::{Stop, settle},
    span::{operation_span, record_count, record_stop},
};

impl Notebook {
    /// Searches the notes of a scope. Matches that wouldn't fit into a result are left out from
    /// the end, and the answer says so.
    ///
    /// # Errors
    ///
    /// As [`Notebook::write`].
    pub async fn search(
        &self,
        input: SearchMemoryInput,
    ) -> Result<Outcome<MemoryMatches>, Failure> {
        settle(self.try_search(&input).await)
    }

    async fn try_search(&self, input: &SearchMemoryInput) -> Result<MemoryMatches, Stop> {
        let store = self.stores.get(&input.store, input.workspace.as_deref())?;
        let limits = limits(input)?;
        let query = SearchQuery::parse(&input.query)?;
        let scope = input.scope.resolve()?;

        let span = operation_span!(
            "memory.search",
            self,
            store,
            scope,
            memory.matches = Empty,
            memory.scanned = Empty,
            memory.chars = Empty,
            memory.truncated = Empty,
        );
        let search = async { store.open().await?.search(&scope, &query, &limits).await };
        let answer = search
            .instrument(span.clone())
            .await
            .map_err(Stop::from)
            .inspect_err(|stop| record_stop(&span, stop.code()))?;
        let found = within_result(to_wire(answer));
        span.record("memory.outcome", "ok");
        record_count(&span, "memory.matches", found.matches.len());
        record_count(&span, "memory.scanned", found.scanned);
        let snippets = found
            .matches
            .iter()
            .map(|found| found.snippet.chars().count());
        record_count(&span, "memory.chars", snippets.sum());
        span.record("memory.truncated", found.truncated);
        Ok(found)
    }
}

fn limits(input: &SearchMemoryInput) -> Result<SearchLimits, Failure> {
    let checked = bounds::at_least_one;
    Ok(SearchLimits {
        results_max: checked("max_search_results", input.max_search_results)?,
        result_chars_max: checked("max_search_result_chars", input.max_search_result_chars)?,
        files_max: checked("max_search_files", input.max_search_files)?,
        note_chars_max: checked("max_memory_size", input.max_memory_size)?,
    })
}

fn to_wire(answer: SearchAnswer) -> MemoryMatches {
    let matches = answer.matches.into_iter().map(|found| MemoryMatch {
        file: found.file,
        snippet: found.snippet,
        score: found.score,
    });
    MemoryMatches {
        matches: matches.collect(),
        scanned: answer.scanned,
        truncated: answer.truncated,
    }
}

/// Leaves out matches from the end until the whole result fits.
fn within_result(mut found: MemoryMatches) -> MemoryMatches {
    let mut bytes = encoded_bytes(&Outcome::Ok(&found));
    while bytes > RESULT_BYTES_MAX
        && let Some(last) = found.matches.pop()
    {
        // One more for the comma; `true` is shorter than `false`.
        bytes -= encoded_bytes(&last) + 1;
        found.truncated = true;
    }
    found
}
