//! Write metadata: what is recorded of a write beside its text, and who says so.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use notekeeper_contract::{FailureType, MetadataSource};
use notekeeper_domain::{InvalidMetadata, NoteName, Operation, OperationId, Scope, WriteMetadata};
use notekeeper_store::Receipt;

use crate::{Caller, Failure, Notebook, StoreAt, failure::Stop};

/// Says what is recorded of a write, such as who made it.
///
/// A worker has resolvers by name ([`Notebook::with_metadata_resolver`]), and a write names one. It
/// is asked inside the activity, once for each write: after it is known that the write is no
/// repetition of one that took effect, and before the note is read, so also for an edit that is
/// then refused. It may read clocks and call other services; what it answers is kept with the note
/// and nowhere else, and no replay asks it again. Where an attempt ends before the note is written,
/// the next attempt asks again.
///
/// ```
/// use async_trait::async_trait;
/// use notekeeper_activities::{MetadataResolver, ResolverError, WriteCall};
/// use notekeeper_domain::WriteMetadata;
///
/// /// Records which conversation wrote.
/// #[derive(Debug)]
/// struct ByConversation;
///
/// #[async_trait]
/// impl MetadataResolver for ByConversation {
///     async fn resolve(&self, write: &WriteCall<'_>) -> Result<Option<WriteMetadata>, ResolverError> {
///         let Some(conversation) = &write.caller.workflow_id else {
///             return Ok(None);
///         };
///         let entries = [("updated_by", "agent"), ("conversation", conversation)];
///         let entries = entries.map(|(key, value)| (key.to_owned(), value.to_owned()));
///         Ok(WriteMetadata::new(entries.into())?)
///     }
/// }
/// ```
#[async_trait]
pub trait MetadataResolver: Send + Sync + Debug {
    /// The metadata of a write; `None` for none.
    ///
    /// # Errors
    ///
    /// [`ResolverError`], which ends the activity; it says whether another attempt may do.
    async fn resolve(&self, write: &WriteCall<'_>) -> Result<Option<WriteMetadata>, ResolverError>;
}

/// The write that a resolver is asked about.
#[derive(Debug, Clone, Copy)]
pub struct WriteCall<'a> {
    /// Name of the store.
    pub store: &'a str,
    /// Whose note.
    pub scope: &'a Scope,
    /// The note.
    pub note: &'a NoteName,
    /// Identity of the write.
    pub operation: &'a OperationId,
    /// The activity that writes.
    pub caller: &'a Caller,
}

/// Why a resolver has no answer.
///
/// The message ends up in histories and logs, so it should hold no content and name nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ResolverError {
    message: String,
    is_passing: bool,
}

impl ResolverError {
    /// Another attempt may have an answer.
    pub fn passing(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_passing: true,
        }
    }

    /// No attempt will have one.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_passing: false,
        }
    }

    /// Whether another attempt may have an answer.
    pub fn is_passing(&self) -> bool {
        self.is_passing
    }
}

impl From<InvalidMetadata> for ResolverError {
    fn from(error: InvalidMetadata) -> Self {
        Self::lasting(error.to_string())
    }
}

/// Where the metadata of one write comes from, checked.
pub(crate) enum Source<'n> {
    /// Known already; `None` for none.
    Known(Option<WriteMetadata>),
    /// To be asked for; a failure where the worker has no such resolver, which is no matter where the
    /// write took effect before.
    Resolver(Result<&'n Arc<dyn MetadataResolver>, Failure>),
}

/// What is known before the store is asked to write.
pub(crate) enum Resolved {
    /// The write took effect before.
    Repetition(Receipt),
    /// What it records.
    Metadata(Option<WriteMetadata>),
}

impl Notebook {
    /// Checks where metadata comes from, and that the store keeps it.
    pub(crate) fn metadata_source(
        &self,
        given: Option<MetadataSource>,
        store: &StoreAt<'_>,
    ) -> Result<Source<'_>, Failure> {
        let source = match given {
            None => Source::Known(None),
            Some(MetadataSource::Fixed(entries)) => Source::Known(WriteMetadata::new(entries)?),
            Some(MetadataSource::Resolver(name)) => Source::Resolver(self.resolvers.get(&name)),
        };
        if !matches!(source, Source::Known(None)) {
            check_kept(store)?;
        }
        Ok(source)
    }
}

/// Metadata is never dropped: a store that doesn't keep it gets none.
pub(crate) fn check_kept(store: &StoreAt<'_>) -> Result<(), Failure> {
    if store.keeps_metadata() {
        return Ok(());
    }
    Err(Failure::new(
        FailureType::Unsupported,
        format!(
            "the store, of kind `{}`, keeps no write metadata; leave `write_metadata` out, or name \
             another store",
            store.kind()
        ),
    ))
}

impl Source<'_> {
    /// Asks the resolver, unless the write took effect before. Without one nothing is asked, also
    /// not for the receipt: the store looks for that itself.
    pub(crate) async fn resolved(
        self,
        store: &StoreAt<'_>,
        write: &WriteCall<'_>,
        operation: &Operation,
    ) -> Result<Resolved, Stop> {
        match self {
            Self::Known(metadata) => Ok(Resolved::Metadata(metadata)),
            Self::Resolver(resolver) => {
                match store.open().await?.receipt(write.scope, operation).await? {
                    Some(receipt) => Ok(Resolved::Repetition(receipt)),
                    None => Ok(Resolved::Metadata(
                        resolver?.resolve(write).await.map_err(Failure::from)?,
                    )),
                }
            }
        }
    }
}
