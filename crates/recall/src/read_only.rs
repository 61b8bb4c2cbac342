//! A source that may not be written to, whatever it could keep.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use notekeeper_domain::Item;
use serde::{Deserialize, Serialize};

use crate::{
    Answer, Source, SourceCall, SourceError, SourceEvent, SourceQuery, Verb, WriteOperation,
    Written,
};

/// What becomes of a write that isn't allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnWrite {
    /// It fails with [`SourceError::WriteRefused`].
    #[default]
    Refuse,
    /// It is dropped, and listed in [`Written::refused`].
    Ignore,
}

impl OnWrite {
    /// As settings and events name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Ignore => "ignore",
        }
    }
}

/// Passes queries through to the inner source, and no write: for what an agent may read and must not
/// extend.
///
/// It turns away the attempt, not what is in it: an empty write as well, and before any other policy is
/// asked. In a composition a refusal counts as a failure of that leg; `ignore` is for compositions whose
/// other legs are to keep what is written.
///
/// ```
/// # use std::sync::Arc;
/// use notekeeper_domain::{Item, OperationId, Scope};
/// use notekeeper_recall::{
///     OnWrite, ReadOnlySource, Scratchpad, Source, SourceCall, SourceEvents, VectorSource, WriteOperation,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = ReadOnlySource::new(Arc::new(VectorSource::in_memory("registry")), OnWrite::Ignore);
/// assert!(!registry.accepts_writes());
///
/// let scope = Scope::resolve("acme", "main")?;
/// let (scratchpad, events) = (Scratchpad::new(), SourceEvents::default());
/// let call = SourceCall { scope: &scope, workspace: None, scratchpad: &scratchpad, events: &events, upkeep: true };
/// let operation = WriteOperation::new(OperationId::parse("guess-1")?);
/// let written = registry.write(&[Item::new("I think it is eu-west-2.", "")], &operation, &call).await?;
/// assert_eq!(written.refused, ["registry"]);
/// assert_eq!(registry.refused_writes(), 1);
/// assert_eq!(events.take()[0].name(), "memory.write_refused");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ReadOnlySource {
    inner: Arc<dyn Source>,
    on_write: OnWrite,
    refused_writes: AtomicU64,
}

impl ReadOnlySource {
    /// The inner source, read-only.
    pub fn new(inner: Arc<dyn Source>, on_write: OnWrite) -> Self {
        Self {
            inner,
            on_write,
            refused_writes: AtomicU64::new(0),
        }
    }

    /// How many writes were turned away, since the source was made.
    pub fn refused_writes(&self) -> u64 {
        self.refused_writes.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Source for ReadOnlySource {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        self.inner.query(query, call).await
    }

    async fn write(
        &self,
        items: &[Item],
        _operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        self.refused_writes.fetch_add(1, Ordering::Relaxed);
        call.events.tell(SourceEvent::WriteRefused {
            source: self.name().to_owned(),
            items: items.len(),
            policy: self.on_write.as_str(),
        });
        match self.on_write {
            OnWrite::Refuse => Err(SourceError::WriteRefused {
                source_name: self.name().to_owned(),
                items: items.len(),
            }),
            OnWrite::Ignore => Ok(Written::refused_by(self.name())),
        }
    }

    fn accepts_writes(&self) -> bool {
        false
    }

    /// A write is turned away as such, before anybody is asked whose it is.
    async fn admit(&self, verb: Verb, call: &SourceCall<'_>) -> Result<(), SourceError> {
        match verb {
            Verb::Query => self.inner.admit(verb, call).await,
            Verb::Write => Ok(()),
        }
    }

    /// Whatever they are, nothing is kept of them.
    fn check_items(&self, _: &[Item], _: &WriteOperation) -> Result<(), SourceError> {
        Ok(())
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        std::slice::from_ref(&self.inner)
    }
}

#[cfg(test)]
mod tests;
