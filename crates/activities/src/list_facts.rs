//! `list_facts`: the facts of a scope, by key.

use notekeeper_contract::{ListFactsInput, ListFactsOutput, ListedFact as WireFact};
use notekeeper_domain::{FactKey, Scope};
use notekeeper_store::Facts;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook, StoreAt,
    encoded::{as_many_as_fit, encoded_bytes},
    span::{operation_span, record_count, record_stop},
    transcripts::{check_keeps_facts, facts, listed_limit},
};

/// Which facts.
enum Wanted {
    /// The one of a key.
    One(FactKey),
    /// Those after a key, at most so many.
    After(Option<FactKey>, usize),
}

impl Notebook {
    /// Lists facts by key. Those that wouldn't fit into a result are left for a call that goes on
    /// behind the last one.
    ///
    /// # Errors
    ///
    /// As [`Notebook::recall`], and `InvalidArgument` for a key that no fact can have.
    pub async fn list_facts(&self, input: ListFactsInput) -> Result<ListFactsOutput, Failure> {
        let at = self.stores.get(&input.store, input.workspace.as_deref())?;
        check_keeps_facts(&at)?;
        let limit = listed_limit(input.limit)?;
        let wanted = match &input.key {
            Some(_) if input.after.is_some() => {
                return Err(Failure::invalid(
                    "`key` and `after` are given; leave one of them out",
                ));
            }
            Some(key) => Wanted::One(fact_key("key", key)?),
            None => {
                let after = input.after.as_deref();
                let after = after.map(|key| fact_key("after", key)).transpose()?;
                Wanted::After(after, limit)
            }
        };
        let scope = input.scope.resolve()?;

        let span = operation_span!(
            "memory.list_facts",
            self,
            at,
            scope,
            memory.facts = Empty,
            memory.truncated = Empty,
        );
        let found = wanted
            .find(&at, &scope)
            .instrument(span.clone())
            .await
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        let output = within_result(found);
        span.record("memory.outcome", "ok");
        record_count(&span, "memory.facts", output.facts.len());
        span.record("memory.truncated", output.more);
        Ok(output)
    }
}

impl Wanted {
    async fn find(&self, at: &StoreAt<'_>, scope: &Scope) -> Result<Facts, Failure> {
        let store = at.open().await?;
        let facts = facts(at, store.as_ref())?;
        Ok(match self {
            Self::One(key) => Facts {
                facts: facts.fact(scope, key).await?.into_iter().collect(),
                more: false,
            },
            Self::After(after, limit) => facts.facts(scope, after.as_ref(), *limit).await?,
        })
    }
}

fn fact_key(field: &str, key: &str) -> Result<FactKey, Failure> {
    FactKey::parse(key).map_err(|error| Failure::invalid(format!("`{field}`: {error}")))
}

/// Leaves out facts from the end until the whole result fits.
fn within_result(found: Facts) -> ListFactsOutput {
    let facts = found.facts.into_iter().map(|listed| WireFact {
        key: listed.fact.key.as_str().to_owned(),
        value: listed.fact.value().to_owned(),
        age_seconds: listed.age_seconds,
    });
    // Counted as if there were no more, whose text is the longer one.
    let other_bytes = encoded_bytes(&ListFactsOutput::default());
    let (facts, left_out) = as_many_as_fit(facts, other_bytes);
    ListFactsOutput {
        facts,
        more: left_out || found.more,
    }
}

#[cfg(test)]
mod tests {
    use notekeeper_contract::RESULT_BYTES_MAX;
    use notekeeper_domain::{FACT_VALUE_CHARS_MAX, Fact};
    use notekeeper_store::ListedFact;

    use super::*;

    #[test]
    fn what_one_result_cannot_carry_is_left_for_the_next() {
        let value = "\u{1}".repeat(FACT_VALUE_CHARS_MAX);
        let fact = |number: usize| ListedFact {
            scope: "acme/main".to_owned(),
            fact: Fact::new(&format!("{number:04}"), value.clone()).unwrap(),
            order: 0,
            age_seconds: u64::MAX,
        };
        let found = Facts {
            facts: (0..20).map(fact).collect(),
            more: false,
        };
        let output = within_result(found);
        assert!(output.more);
        assert_eq!(output.facts.len(), 10);
        assert!(encoded_bytes(&output) <= RESULT_BYTES_MAX);
    }
}
