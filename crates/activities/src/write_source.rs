//! `write_source`: items for a source to keep.

use std::{sync::Arc, time::Duration};

use notekeeper_contract::{
    FailureType, SourceEvent as ToldEvent, WriteSourceInput, WriteSourceOutput, WrittenItem,
};
use notekeeper_domain::{ITEMS_WRITTEN_MAX, InvalidItem, Item, ItemMetadata, Scope, taken_id};
use notekeeper_recall::{
    Scratchpad, Source, SourceCall, SourceError, SourceEvent, SourceEvents, WriteOperation, Written,
};
use serde_json::Value;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Caller, Failure, Notebook,
    encoded::{check_encoded, encoded_bytes},
    fault,
    notebook::operation_id,
    source_call::failed_source,
    span::{record_count, record_stop, source_span},
};

/// Largest JSON of the items of one write, in bytes. A scratchpad gets its items back in the result, which
/// may have 1 MiB; the rest is for names and events.
const ITEMS_BYTES_MAX: usize = 768 * 1024;

/// How often a write is tried again that some sources have taken and others may take later.
const REPEATS_MAX: u32 = 3;

/// Pause before the first repetition; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

impl Notebook {
    /// Gives items to a source to keep.
    ///
    /// A write that some sources of a composition have taken and others may take later is tried again a
    /// few times; what then isn't done is told in the result.
    ///
    /// # Errors
    ///
    /// A [`Failure`]: a scope that is none, before anything else is looked at; an unknown source; an item
    /// that can't be kept, by its index; and what the source fails with.
    pub async fn write_source(
        &self,
        input: WriteSourceInput,
        caller: &Caller,
    ) -> Result<WriteSourceOutput, Failure> {
        let scope = input.scope.resolve()?;
        let source = self.sources.get(&input.source)?;
        let items = checked(&input.source, &input.items)?;
        let operation = WriteOperation::new(operation_id(input.operation.as_ref(), caller)?);

        let span = source_span!(
            "memory.write_source",
            self,
            input.source,
            scope,
            memory.items = Empty,
            memory.sources_accepted = Empty,
            memory.sources_refused = Empty,
            memory.sources_failed = Empty,
        );
        record_count(&span, "memory.items", items.len());
        let write = Write {
            source,
            items: &items,
            operation: &operation,
            scope: &scope,
            workspace: input.workspace.as_deref(),
        };
        let output = write
            .run()
            .instrument(span.clone())
            .await
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        span.record("memory.outcome", "ok");
        record_count(&span, "memory.sources_accepted", output.accepted.len());
        record_count(&span, "memory.sources_refused", output.refused.len());
        record_count(&span, "memory.sources_failed", output.failed.len());
        Ok(output)
    }
}

struct Write<'a> {
    source: &'a Arc<dyn Source>,
    items: &'a [Item],
    operation: &'a WriteOperation,
    scope: &'a Scope,
    workspace: Option<&'a str>,
}

impl Write<'_> {
    async fn run(&self) -> Result<WriteSourceOutput, Failure> {
        fault::reach(fault::WRITE_SOURCE_BEFORE_COMMIT)?;
        let (result, events) = self.tried().await;
        for event in &events {
            tell(event);
        }
        let written = result?;
        fault::reach(fault::WRITE_SOURCE_AFTER_COMMIT)?;
        let output = told(written, events);
        check_encoded(&output, "the answer", "write fewer items at a time")?;
        Ok(output)
    }

    /// What the last attempt came to: it speaks of all sources, since those that kept the items before
    /// answer the repetition.
    async fn tried(&self) -> (Result<Written, SourceError>, Vec<SourceEvent>) {
        let mut pause = FIRST_PAUSE;
        for _ in 0..REPEATS_MAX {
            match self.once().await {
                (Ok(written), _) if is_worth_repeating(&written) => {
                    tracing::debug!("a write that not all sources took is repeated");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                done => return done,
            }
        }
        self.once().await
    }

    async fn once(&self) -> (Result<Written, SourceError>, Vec<SourceEvent>) {
        let (events, scratchpad) = (SourceEvents::default(), Scratchpad::new());
        let call = SourceCall {
            scope: self.scope,
            workspace: self.workspace,
            scratchpad: &scratchpad,
            events: &events,
            upkeep: true,
        };
        let written = self.source.write(self.items, self.operation, &call).await;
        // An operation that was used for other items fails as a whole, whoever kept these: what a source
        // without receipts takes, or one that is asked for the first time, isn't what the others have.
        let written = match written {
            Err(error) if error.is_conflict() => Err(error),
            Err(SourceError::PartialWrite(written)) => Ok(*written),
            other => other,
        };
        // Where nothing was kept, and not because nothing may be, there is nothing to tell but failures.
        let written = written.and_then(|written| {
            match written.accepted.is_empty() && !written.failed.is_empty() {
                true => Err(SourceError::PartialWrite(Box::new(written))),
                false => Ok(written),
            }
        });
        (written, events.take())
    }
}

fn is_worth_repeating(written: &Written) -> bool {
    let errors = || written.failed.iter().map(|failed| &failed.error);
    errors().any(|error| error.is_passing()) && !errors().any(|error| error.is_of_scope())
}

/// The items of an input, as they are to be kept. `source` is the name of the source.
fn checked(source: &str, given: &[WrittenItem]) -> Result<Vec<Item>, Failure> {
    if given.len() > ITEMS_WRITTEN_MAX {
        return Err(Failure::new(
            FailureType::TooLarge,
            format!(
                "`items` has {} items, {ITEMS_WRITTEN_MAX} are allowed; write them in several calls",
                given.len()
            ),
        ));
    }
    let bytes = encoded_bytes(&given);
    if bytes > ITEMS_BYTES_MAX {
        return Err(Failure::new(
            FailureType::TooLarge,
            format!(
                "`items` has {bytes} bytes as JSON, {ITEMS_BYTES_MAX} are allowed; write them in several calls"
            ),
        ));
    }
    let items = given.iter().enumerate();
    items
        .map(|(index, item)| checked_item(source, item).map_err(|why| why.at(index)))
        .collect()
}

/// What is wrong with an item.
enum Wrong {
    Id,
    TwoIds,
    Item(InvalidItem),
}

impl Wrong {
    fn at(&self, index: usize) -> Failure {
        let kind = match self {
            Self::Item(InvalidItem::TooLong { .. } | InvalidItem::MetadataTooLarge { .. }) => {
                FailureType::TooLarge
            }
            Self::Id | Self::TwoIds | Self::Item(_) => FailureType::InvalidArgument,
        };
        let said = match self {
            Self::Id => "has an `id` in its metadata that is no text; give a text, or leave it out"
                .to_owned(),
            Self::TwoIds => {
                "has one `id` in its metadata and another beside it; leave one of them out"
                    .to_owned()
            }
            Self::Item(error) => error.to_string(),
        };
        Failure::new(kind, format!("`items[{index}]` {said}"))
    }
}

fn checked_item(source: &str, given: &WrittenItem) -> Result<Item, Wrong> {
    if given.metadata.get("id").is_some_and(|id| !id.is_string()) {
        return Err(Wrong::Id);
    }
    let mut metadata = given.metadata.clone();
    // An empty id is none, wherever it stands.
    if let Some(id) = given.id.as_deref().filter(|id| !id.is_empty()) {
        let other = metadata.insert("id".to_owned(), Value::from(id));
        let other = other.as_ref().and_then(Value::as_str).unwrap_or_default();
        if !other.is_empty() && other != id {
            return Err(Wrong::TwoIds);
        }
    }
    let metadata = ItemMetadata::new(metadata);
    let item = taken_id(Item::new(given.content.clone(), source).with_metadata(metadata));
    item.check().map_err(Wrong::Item)?;
    Ok(item)
}

/// Says in the log what happened.
fn tell(event: &SourceEvent) {
    let name = event.name();
    match event {
        SourceEvent::Written { source, items } => {
            tracing::info!(
                memory.source = source.as_str(),
                memory.items = items,
                "{name}"
            );
        }
        SourceEvent::WriteRefused {
            source,
            items,
            policy,
        } => tracing::info!(
            memory.source = source.as_str(),
            memory.items = items,
            policy,
            "{name}"
        ),
    }
}

fn told(written: Written, events: Vec<SourceEvent>) -> WriteSourceOutput {
    let scratchpad = written.scratchpad.into_iter();
    WriteSourceOutput {
        accepted: written.accepted,
        refused: written.refused,
        failed: written.failed.into_iter().map(failed_source).collect(),
        events: events.into_iter().map(told_event).collect(),
        scratchpad: scratchpad.collect::<serde_json::Map<String, Value>>(),
    }
}

fn told_event(event: SourceEvent) -> ToldEvent {
    let name = event.name().to_owned();
    match event {
        SourceEvent::Written { source, items } => ToldEvent {
            event: name,
            source,
            items,
            policy: None,
        },
        SourceEvent::WriteRefused {
            source,
            items,
            policy,
        } => ToldEvent {
            event: name,
            source,
            items,
            policy: Some(policy.to_owned()),
        },
    }
}
