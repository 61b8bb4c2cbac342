//! One source after the other.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use notekeeper_domain::Item;

use crate::{
    Answer, InvalidSetting, Source, SourceCall, SourceError, SourceQuery, Verb, WriteOperation,
    Written,
    composite::told_by_marker,
    legs::{Hearing, Legs, check_name},
};

/// Asks its legs one after the other until as many items as are wanted are there: so that what is near
/// answers before what is dear. Items come in the order of the legs, and copies stay.
///
/// A leg that fails or is late is listed in the answer, and the next is asked; an error that tells of a
/// boundary between tenants ends the whole query, and a policy before any of them that refuses the scope
/// does before the first is asked. They share [`QUERY_TIMEOUT`](crate::QUERY_TIMEOUT), so one that hangs
/// leaves time for the next. What is written goes to the first leg, and to no other.
///
/// ```
/// # use std::sync::Arc;
/// use notekeeper_recall::{LEG_TIMEOUT_DEFAULT, ScratchpadSource, SequentialSource, Source, VectorSource};
///
/// let near: Arc<dyn Source> = Arc::new(ScratchpadSource::new("scratchpad"));
/// let dear: Arc<dyn Source> = Arc::new(VectorSource::in_memory("handbook"));
/// let chain = SequentialSource::new("chain", vec![near, dear], LEG_TIMEOUT_DEFAULT)?;
/// assert_eq!(chain.name(), "chain");
/// # Ok::<(), notekeeper_recall::InvalidSetting>(())
/// ```
#[derive(Debug)]
pub struct SequentialSource {
    name: String,
    legs: Legs,
}

impl SequentialSource {
    /// A chain of these legs, 1 to [`LEGS_MAX`](crate::LEGS_MAX), whose names differ, each of which has
    /// this much time: 1 ms to [`LEG_TIMEOUT_MS_MAX`](crate::LEG_TIMEOUT_MS_MAX).
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`].
    pub fn new(
        name: &str,
        legs: Vec<Arc<dyn Source>>,
        leg_timeout: Duration,
    ) -> Result<Self, InvalidSetting> {
        check_name(name)?;
        Ok(Self {
            name: name.to_owned(),
            legs: Legs::new(legs, leg_timeout)?,
        })
    }

    fn first(&self) -> &dyn Source {
        // There is one: a chain without legs can't be made.
        self.legs.sources()[0].as_ref()
    }
}

#[async_trait]
impl Source for SequentialSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let patience = self.legs.patience();
        self.admit(Verb::Query, call).await?;
        let legs = self.legs.sources();
        let mut hearing = Hearing::default();
        let mut rest = query.clone();
        for (index, leg) in legs.iter().enumerate() {
            let time = (&patience, legs.len() - index);
            let heard = self.legs.ask(index, &rest, call, time).await?;
            hearing.add(leg.as_ref(), heard);
            rest.limit -= hearing.lists.last().map_or(0, Vec::len);
            if rest.limit == 0 {
                break;
            }
        }
        let items = std::mem::take(&mut hearing.lists).concat();
        hearing.answer(&self.name, items)
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        if items.is_empty() {
            return Ok(Written::default());
        }
        let first = self.first();
        let operation = operation.leg(first.name());
        match first.write(items, &operation, call).await {
            Ok(written) => Ok(told_by_marker(first, written)),
            Err(SourceError::PartialWrite(written)) => {
                let written = told_by_marker(first, *written);
                Err(SourceError::PartialWrite(Box::new(written)))
            }
            Err(error) => Err(error),
        }
    }

    fn accepts_writes(&self) -> bool {
        self.first().accepts_writes()
    }

    /// A query of all legs, whether or not the first ones find enough: who may ask doesn't hang on what is
    /// found.
    async fn admit(&self, verb: Verb, call: &SourceCall<'_>) -> Result<(), SourceError> {
        let legs = match verb {
            Verb::Query => self.legs.sources(),
            Verb::Write => &self.legs.sources()[..1],
        };
        for leg in legs {
            leg.admit(verb, call).await?;
        }
        Ok(())
    }

    fn check_items(&self, items: &[Item], operation: &WriteOperation) -> Result<(), SourceError> {
        self.first().check_items(items, operation)
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        self.legs.sources()
    }
}

#[cfg(test)]
mod tests;
