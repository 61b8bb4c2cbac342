//! `forget`: no fact under a key any more.

use notekeeper_contract::{ForgetInput, Forgotten, Outcome};
use notekeeper_domain::{FactKey, Fingerprint, Operation, Refusal, Scope};
use notekeeper_store::FactForgotten;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Caller, Failure, Notebook, StoreAt,
    failure::{Stop, settle},
    fault,
    notebook::operation_id,
    span::{operation_span, record_done, record_stop},
    transcripts::{check_keeps_facts, facts},
};

impl Notebook {
    /// Removes the fact of a key. Where there is none it is `not_found`, which is done, not refused.
    ///
    /// # Errors
    ///
    /// As [`Notebook::remember`].
    pub async fn forget(
        &self,
        input: ForgetInput,
        caller: &Caller,
    ) -> Result<Outcome<Forgotten>, Failure> {
        settle(self.try_forget(input, caller).await)
    }

    async fn try_forget(&self, input: ForgetInput, caller: &Caller) -> Result<Forgotten, Stop> {
        let at = self.stores.get(&input.store, input.workspace.as_deref())?;
        check_keeps_facts(&at)?;
        let key = FactKey::parse(&input.key).map_err(Refusal::from)?;
        let scope = input.scope.resolve()?;
        let operation = Operation {
            id: operation_id(input.operation.as_ref(), caller)?,
            fingerprint: Fingerprint::of_forgotten(&key),
        };

        let span = operation_span!("memory.forget", self, at, scope, memory.replayed = Empty);
        let forgotten = commit(&at, &scope, &key, &operation)
            .instrument(span.clone())
            .await
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        let status = if forgotten.existed {
            "deleted"
        } else {
            "not_found"
        };
        record_done(&span, forgotten.replayed, status);
        Ok(Forgotten {
            key: input.key,
            status: status.to_owned(),
            replayed: forgotten.replayed,
        })
    }
}

async fn commit(
    at: &StoreAt<'_>,
    scope: &Scope,
    key: &FactKey,
    operation: &Operation,
) -> Result<FactForgotten, Failure> {
    fault::reach(fault::FORGET_BEFORE_COMMIT)?;
    let store = at.open().await?;
    let forgotten = facts(at, store.as_ref())?
        .forget(scope, key, Some(operation))
        .await?;
    fault::reach(fault::FORGET_AFTER_COMMIT)?;
    Ok(forgotten)
}
