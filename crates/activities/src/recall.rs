//! `recall`: free-text search over facts.

use notekeeper_contract::{RecallForm, RecallInput, RecallOutput, RecalledFact as FoundFact};
use notekeeper_domain::{RECALL_LIMIT_MAX, RecallQuery, RecalledFact};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook,
    encoded::{as_many_as_fit, encoded_bytes},
    span::{operation_span, record_count, record_stop},
    transcripts::{check_keeps_facts, facts},
};

impl Notebook {
    /// Looks for facts. Those that wouldn't fit into a result are left out from the end, and the
    /// answer says so.
    ///
    /// # Errors
    ///
    /// As [`Notebook::remember`]; there is nothing in a query that the model has to correct.
    pub async fn recall(&self, input: RecallInput) -> Result<RecallOutput, Failure> {
        let at = self.stores.get(&input.store, input.workspace.as_deref())?;
        check_keeps_facts(&at)?;
        if !(1..=RECALL_LIMIT_MAX).contains(&input.limit) {
            return Err(Failure::invalid(format!(
                "`limit` must be 1 to {RECALL_LIMIT_MAX}"
            )));
        }
        let query = RecallQuery::parse(&input.query);
        let scope = input.scope.resolve()?;

        let span = operation_span!(
            "memory.recall",
            self,
            at,
            scope,
            memory.matches = Empty,
            memory.chars = Empty,
            memory.truncated = Empty,
        );
        let recall = async {
            let store = at.open().await?;
            let facts = facts(&at, store.as_ref())?;
            Ok(facts.recall(&scope, &query, input.limit).await?)
        };
        let found = recall
            .instrument(span.clone())
            .await
            .inspect_err(|failure: &Failure| record_stop(&span, failure.kind.as_str()))?;
        let output = within_result(found, input.form);
        span.record("memory.outcome", "ok");
        let values = output.facts.iter().map(|fact| &fact.value);
        let values = values.chain(&output.values);
        record_count(&span, "memory.matches", values.clone().count());
        let chars = values.map(|value| value.chars().count());
        record_count(&span, "memory.chars", chars.sum());
        span.record("memory.truncated", output.truncated);
        Ok(output)
    }
}

/// Leaves out facts from the end until the whole result fits.
fn within_result(found: Vec<RecalledFact>, form: RecallForm) -> RecallOutput {
    let mut output = RecallOutput {
        values: Vec::new(),
        facts: Vec::new(),
        // Counted as if it stood there.
        truncated: true,
    };
    // The empty list of facts isn't written, a full one is.
    let other_bytes = encoded_bytes(&output) + r#","facts":[]"#.len();
    match form {
        RecallForm::Values => {
            let values = found.into_iter().map(|fact| fact.value);
            (output.values, output.truncated) = as_many_as_fit(values, other_bytes);
        }
        RecallForm::Facts => {
            let facts = found.into_iter().map(|fact| FoundFact {
                key: fact.key,
                value: fact.value,
                score: fact.score,
                age_seconds: fact.age_seconds,
            });
            (output.facts, output.truncated) = as_many_as_fit(facts, other_bytes);
        }
    }
    output
}
