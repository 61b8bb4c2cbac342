//! The protocol: one trait, what goes in and what comes out.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use async_trait::async_trait;
use notekeeper_domain::{Item, OperationId, SOURCE_QUERY_CHARS_MAX, Scope, Where, char_prefix};
use notekeeper_store::Store;
use serde_json::Value;

use crate::{FailedLeg, SourceError, SourceEvents};

/// Something that can be queried for items, and mostly written to.
///
/// A call is dropped when the activity that made it is cancelled or timed out: a source holds nothing
/// that has to be given back by hand.
#[async_trait]
pub trait Source: Send + Sync + Debug {
    /// A stable label; each item that the source finds carries it in `source`. Decorators have the name
    /// of what they decorate.
    fn name(&self) -> &str;

    /// The items that are most relevant to the query, best first: at most [`SourceQuery::limit`], of the
    /// call's scope and of no other.
    ///
    /// # Errors
    ///
    /// [`SourceError`], by what the caller may do.
    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError>;

    /// Keeps items for later queries, once for each operation however often it is repeated. One that
    /// can't be written to does nothing, and says so in [`Written`].
    ///
    /// # Errors
    ///
    /// [`SourceError`], by what the caller may do.
    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError>;

    /// Whether something that is written may be kept.
    fn accepts_writes(&self) -> bool {
        true
    }

    /// Whether a query or a write for the scope of this call gets past the policies that stand before the
    /// source and its [members](Self::members); nothing is asked or written. A composition wants it of all
    /// its legs before it turns to any of them, so that no leg finds or keeps what another refuses the
    /// tenant.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query) or [`write`](Self::write) for the same scope.
    async fn admit(&self, verb: Verb, call: &SourceCall<'_>) -> Result<(), SourceError> {
        for member in self.members() {
            member.admit(verb, call).await?;
        }
        Ok(())
    }

    /// Whether it could keep these items, as far as they alone tell. A composition asks all its members before
    /// it writes to any, so that an item that one of them can't keep is kept by none.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), for the first item that can't be kept.
    fn check_items(&self, items: &[Item], operation: &WriteOperation) -> Result<(), SourceError> {
        let mut members = self.members().iter();
        members.try_for_each(|member| member.check_items(items, operation))
    }

    /// What it is made of: the legs of a composition, in their order, or what a decorator decorates.
    fn members(&self) -> &[Arc<dyn Source>] {
        &[]
    }
}

/// What somebody wants of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// [`Source::query`].
    Query,
    /// [`Source::write`].
    Write,
}

/// What a source is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceQuery {
    /// What to look for: text, and no syntax.
    pub text: String,
    /// Most items, 1 to [`SOURCE_LIMIT_MAX`](notekeeper_domain::SOURCE_LIMIT_MAX).
    pub limit: usize,
    /// What the metadata of the items must be.
    pub condition: Where,
}

impl SourceQuery {
    /// A query without conditions. Of a longer text the first
    /// [`SOURCE_QUERY_CHARS_MAX`](notekeeper_domain::SOURCE_QUERY_CHARS_MAX) characters count.
    pub fn new(text: &str, limit: usize) -> Self {
        Self {
            text: char_prefix(text, SOURCE_QUERY_CHARS_MAX).0.to_owned(),
            limit,
            condition: Where::default(),
        }
    }

    /// The same with conditions.
    #[must_use]
    pub fn with_condition(mut self, condition: Where) -> Self {
        self.condition = condition;
        self
    }
}

/// Values by key that a workflow holds and sends with a call.
pub type Scratchpad = BTreeMap<String, Value>;

/// Whom a call is for, and what came with it.
#[derive(Debug, Clone, Copy)]
pub struct SourceCall<'a> {
    /// Whose items. Always resolved: there is no call without one.
    pub scope: &'a Scope,
    /// The run's workspace, for stores that keep their files there.
    pub workspace: Option<&'a str>,
    /// What the workflow's scratchpad holds.
    pub scratchpad: &'a Scratchpad,
    /// Where it is told that something was written or refused.
    pub events: &'a SourceEvents,
    /// Whether a query may keep up what makes it find more, such as embeddings of what changed. Who only
    /// looks says no: then nothing changes by it.
    pub upkeep: bool,
}

/// Identity of a write: the same for its repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOperation {
    root: OperationId,
    leg: OperationId,
}

impl WriteOperation {
    /// The identity of a whole write.
    pub fn new(id: OperationId) -> Self {
        Self {
            root: id.clone(),
            leg: id,
        }
    }

    /// The id under which the source at hand keeps its receipt.
    pub fn id(&self) -> &OperationId {
        &self.leg
    }

    /// The identity of what one of several sources does of it.
    #[must_use]
    pub fn leg(&self, source: &str) -> Self {
        Self {
            root: self.root.clone(),
            leg: OperationId::from_parts(&["leg", self.leg.as_str(), source]),
        }
    }

    /// The identity of one of the changes that the source at hand makes.
    pub fn part(&self, index: usize) -> OperationId {
        OperationId::from_parts(&["part", self.leg.as_str(), &index.to_string()])
    }

    /// Id of the item at this index with this content, where it brings none: the same in each source, and
    /// whenever the write is repeated. Of another content it is another one, so that an id of an operation
    /// that was used before takes nothing's place.
    pub fn item_id(&self, index: usize, content: &str) -> String {
        OperationId::from_parts(&["item", self.root.as_str(), &index.to_string(), content])
            .as_str()
            .to_owned()
    }
}

/// What a query came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// What was found, best first.
    pub items: Vec<Item>,
    /// Names of sources that weren't ready in time, in the order of the composition.
    pub timed_out: Vec<String>,
    /// Sources that failed, where others answered.
    pub failed: Vec<FailedLeg>,
    /// Names of sources that looked at a part alone of what they are over, because that is more than one query
    /// looks through: there may be more to find. Each once, in the order of the composition.
    pub incomplete: Vec<String>,
}

impl Answer {
    /// An answer that is whole.
    pub fn of(items: Vec<Item>) -> Self {
        Self {
            items,
            ..Self::default()
        }
    }

    /// The same, of the source that is called so, where that looked at a part alone of what it is over.
    #[must_use]
    pub fn looked_in_part(mut self, source: &str, is_part: bool) -> Self {
        if is_part && !self.incomplete.iter().any(|name| name == source) {
            self.incomplete.push(source.to_owned());
        }
        self
    }

    /// Whether every source was heard. One that looked at a part alone was.
    pub fn is_whole(&self) -> bool {
        self.timed_out.is_empty() && self.failed.is_empty()
    }
}

/// What a write came to, by the names of the sources that are no compositions, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Written {
    /// Those that kept the items.
    pub accepted: Vec<String>,
    /// Those that can't be written to, or may not be.
    pub refused: Vec<String>,
    /// Those that failed.
    pub failed: Vec<FailedLeg>,
    /// What the workflow is to put into its scratchpad.
    pub scratchpad: Scratchpad,
}

impl Written {
    /// The source kept the items.
    pub fn accepted_by(source: &str) -> Self {
        Self {
            accepted: vec![source.to_owned()],
            ..Self::default()
        }
    }

    /// The source can't be written to.
    pub fn refused_by(source: &str) -> Self {
        Self {
            refused: vec![source.to_owned()],
            ..Self::default()
        }
    }

    /// What a source does that can't be written to: it turns the items away, if there are any.
    pub fn nothing_of(items: &[Item], source: &str) -> Self {
        match items {
            [] => Self::default(),
            _ => Self::refused_by(source),
        }
    }

    /// Adds what another source did.
    pub fn add(&mut self, other: Self) {
        self.accepted.extend(other.accepted);
        self.refused.extend(other.refused);
        self.failed.extend(other.failed);
        self.scratchpad.extend(other.scratchpad);
    }
}

/// The stores that sources work on, by name.
#[async_trait]
pub trait OpenStores: Send + Sync + Debug {
    /// The store with this name, in the workspace of the call.
    ///
    /// # Errors
    ///
    /// [`SourceError::Invalid`] where there is none, or what stands in the way.
    async fn open(&self, store: &str, call: &SourceCall<'_>)
    -> Result<Arc<dyn Store>, SourceError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_items_follow_from_the_whole_write_and_receipts_from_the_leg() {
        let write = WriteOperation::new(OperationId::parse("op").unwrap());
        let (one, other) = (write.leg("one"), write.leg("other"));
        assert_eq!(one.item_id(3, "a"), other.item_id(3, "a"));
        assert_ne!(one.item_id(3, "a"), one.item_id(4, "a"));
        assert_ne!(one.item_id(3, "a"), one.item_id(3, "b"));
        assert_ne!(one.id(), other.id());
        assert_ne!(one.part(0), other.part(0));
        // A source may be called by a number, or as the other ids are derived.
        assert_ne!(write.leg("0").id(), &write.part(0));
        assert_ne!(write.leg("0").id().as_str(), write.item_id(0, "a"));
        assert_eq!(write.id().as_str(), "op");
    }

    #[test]
    fn of_a_long_query_its_beginning_counts() {
        let query = SourceQuery::new(&"é".repeat(SOURCE_QUERY_CHARS_MAX + 1), 5);
        assert_eq!(query.text.chars().count(), SOURCE_QUERY_CHARS_MAX);
    }
}
