//! `remember`: a fact under a key.

use notekeeper_contract::{Outcome, RememberInput, Remembered};
use notekeeper_domain::{Fact, Fingerprint, Operation, Refusal, Scope};
use notekeeper_store::FactKept;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Caller, Failure, Notebook, StoreAt,
    failure::{Stop, settle},
    fault,
    notebook::operation_id,
    span::{operation_span, record_count, record_done, record_stop},
    transcripts::{check_keeps_facts, facts},
};

impl Notebook {
    /// Keeps a fact, in the place of the one that has its key.
    ///
    /// # Errors
    ///
    /// A [`Failure`] for what the model can't correct; what it can correct is a refusal.
    pub async fn remember(
        &self,
        input: RememberInput,
        caller: &Caller,
    ) -> Result<Outcome<Remembered>, Failure> {
        settle(self.try_remember(input, caller).await)
    }

    async fn try_remember(
        &self,
        input: RememberInput,
        caller: &Caller,
    ) -> Result<Remembered, Stop> {
        let at = self.stores.get(&input.store, input.workspace.as_deref())?;
        check_keeps_facts(&at)?;
        let fact = Fact::new(&input.key, input.value).map_err(Refusal::from)?;
        let scope = input.scope.resolve()?;
        let operation = Operation {
            id: operation_id(input.operation.as_ref(), caller)?,
            fingerprint: Fingerprint::of_remembered(&fact),
        };

        let span = operation_span!(
            "memory.remember",
            self,
            at,
            scope,
            memory.chars = Empty,
            memory.replayed = Empty,
        );
        let kept = commit(&at, &scope, &fact, &operation)
            .instrument(span.clone())
            .await
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        record_done(&span, kept.replayed, "ok");
        record_count(&span, "memory.chars", fact.value().chars().count());
        let status = if kept.existed { "updated" } else { "created" };
        Ok(Remembered {
            key: input.key,
            status: status.to_owned(),
            replayed: kept.replayed,
        })
    }
}

async fn commit(
    at: &StoreAt<'_>,
    scope: &Scope,
    fact: &Fact,
    operation: &Operation,
) -> Result<FactKept, Failure> {
    fault::reach(fault::REMEMBER_BEFORE_COMMIT)?;
    let store = at.open().await?;
    let kept = facts(at, store.as_ref())?
        .remember(scope, fact, Some(operation))
        .await?;
    fault::reach(fault::REMEMBER_AFTER_COMMIT)?;
    Ok(kept)
}
