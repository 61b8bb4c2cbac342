//! A guard between tenants.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use notekeeper_domain::Item;
use tokio::time::timeout;

use crate::{
    Answer, NamespaceRequired, ScopePolicy, Source, SourceCall, SourceError, SourceEvent,
    SourceQuery, Verb, WriteOperation, Written,
};

/// How long a policy may take: it is asked before everything else, and again at each guard on the way.
const POLICY_TIMEOUT: Duration = Duration::from_secs(2);

/// Lets a call at the inner source only where a policy allows its scope. What isn't allowed is refused
/// before the inner source is touched; what is allowed goes through as if no guard were there, name
/// included.
///
/// That a source finds items of the call's scope alone is the source's own duty; this is the second
/// wall, for scopes that are no tenant's, or another's than the source is for.
///
/// ```
/// # use std::sync::Arc;
/// use notekeeper_domain::Scope;
/// use notekeeper_recall::{
///     ScopedSource, Scratchpad, ScratchpadSource, Source, SourceCall, SourceError, SourceEvents, SourceQuery,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let guarded = ScopedSource::new(Arc::new(ScratchpadSource::new("notes")));
/// assert_eq!(guarded.name(), "notes");
///
/// let nobody = Scope::resolve("", "main")?;
/// let (scratchpad, events) = (Scratchpad::new(), SourceEvents::default());
/// let call = SourceCall { scope: &nobody, workspace: None, scratchpad: &scratchpad, events: &events, upkeep: true };
/// let refused = guarded.query(&SourceQuery::new("policy", 5), &call).await;
/// assert!(matches!(refused, Err(SourceError::ScopeRefused { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ScopedSource {
    inner: Arc<dyn Source>,
    policy: Arc<dyn ScopePolicy>,
}

impl ScopedSource {
    /// A guard that wants a namespace, whichever.
    pub fn new(inner: Arc<dyn Source>) -> Self {
        Self::with_policy(inner, Arc::new(NamespaceRequired))
    }

    /// A guard with this policy.
    pub fn with_policy(inner: Arc<dyn Source>, policy: Arc<dyn ScopePolicy>) -> Self {
        Self { inner, policy }
    }

    async fn check(&self, call: &SourceCall<'_>) -> Result<(), SourceError> {
        let allowed = match timeout(POLICY_TIMEOUT, self.policy.allows(call)).await {
            Ok(allowed) => allowed,
            Err(_) => {
                return Err(SourceError::Unavailable(format!(
                    "the policy of source `{}` didn't decide in time whether it lets the scope in",
                    self.name()
                )));
            }
        };
        match allowed {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            // Why may tell of the tenant, so it is for the policy itself to log.
            Err(_) => tracing::warn!(
                memory.source = self.name(),
                "the policy of a source failed, so the scope is refused"
            ),
        }
        Err(SourceError::ScopeRefused {
            source_name: self.name().to_owned(),
            reason: self.policy.requirement(),
        })
    }
}

#[async_trait]
impl Source for ScopedSource {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        self.check(call).await?;
        self.inner.query(query, call).await
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        self.check(call).await?;
        let outcome = self.inner.write(items, operation, call).await;
        let written = match &outcome {
            Ok(written) => Some(written),
            Err(SourceError::PartialWrite(written)) => Some(written.as_ref()),
            Err(_) => None,
        };
        // A write that never happened is nothing to tell of; one that reached some sources is.
        let is_kept = written.is_some_and(|written| !written.accepted.is_empty());
        if self.accepts_writes() && is_kept {
            call.events.tell(SourceEvent::Written {
                source: self.name().to_owned(),
                items: items.len(),
            });
        }
        outcome
    }

    fn accepts_writes(&self) -> bool {
        self.inner.accepts_writes()
    }

    async fn admit(&self, verb: Verb, call: &SourceCall<'_>) -> Result<(), SourceError> {
        self.check(call).await?;
        self.inner.admit(verb, call).await
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        std::slice::from_ref(&self.inner)
    }
}

#[cfg(test)]
mod tests;
