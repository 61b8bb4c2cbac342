//! What a source's handle does: one activity each.

use std::future::Future;

use notekeeper_contract::{
    OperationRef, QuerySource, QuerySourceInput, WriteSource, WriteSourceInput, WrittenItem,
};
use notekeeper_domain::{Item, OperationId, SOURCE_QUERY_CHARS_MAX, Where, char_prefix};
use serde_json::{Map, Value};
use temporalio_workflow::WorkflowContext;

use super::{Found, Kept, Recall};
use crate::{
    CallFailure,
    activity_call::{CallOptions, call, json_bytes},
};

impl Recall {
    /// The items that the source finds most relevant to a text, best first: as many as the settings want,
    /// under their conditions. Nothing in the text is syntax; of a longer one its first 8,192 characters
    /// count.
    ///
    /// # Errors
    ///
    /// The activity's failure: `InvalidArgument` where the worker has no such source; `Unavailable` where
    /// no source of a composition answers.
    pub fn query<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        text: impl AsRef<str>,
    ) -> impl Future<Output = Result<Found, CallFailure>> + 'c {
        let settings = self.settings();
        self.query_with(ctx, text, settings.k, &settings.condition)
    }

    /// As [`Recall::query`], for at most `k` items, 1 to 100, under these conditions alone.
    ///
    /// # Errors
    ///
    /// As [`Recall::query`], and `InvalidArgument` where `k` is out of bounds.
    pub fn query_with<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        text: impl AsRef<str>,
        k: usize,
        condition: &Where,
    ) -> impl Future<Output = Result<Found, CallFailure>> + 'c {
        self.ask(ctx, text.as_ref(), k, condition, None, self.options())
    }

    /// `chars_max` is the most that is of use of all contents together, in characters.
    pub(super) fn ask<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        text: &str,
        k: usize,
        condition: &Where,
        chars_max: Option<usize>,
        options: CallOptions,
    ) -> impl Future<Output = Result<Found, CallFailure>> + use<'c, W> {
        let input = QuerySourceInput {
            source: self.settings().source.clone(),
            scope: self.scope_ref(),
            workspace: self.workspace(),
            query: char_prefix(text, SOURCE_QUERY_CHARS_MAX).0.to_owned(),
            k,
            condition: conditions(condition),
            scratchpad: self.scratchpad().into_iter().collect(),
            chars_max,
        };
        let session = &self.inner.session;
        session.count_searched(json_bytes(&input));
        let scheduled = call(ctx, QuerySource, input, options);
        async move {
            let output = scheduled.await?;
            session.count_searched(json_bytes(&output));
            Ok(Found::from(output))
        }
    }

    /// Has the source keep items: at most 100. The id of an item, or a text under `id` in its metadata, is
    /// its id in the source, where it takes the place of one from before; two that differ are refused. An item
    /// without one gets an id of its own. What an item says in `source`, and its score, is passed over.
    ///
    /// The operation is drawn when the call is made, and a workflow reset to a point before it draws anew: an
    /// item without an id is then kept twice. Give items ids, or name the operation with
    /// [`Recall::write_with`].
    ///
    /// Where a composition's sources come to different ends, the result says so. What the source has for
    /// the scratchpad is in it afterwards; a value that is no text stays one that is none where the item is what
    /// was found of it.
    ///
    /// # Errors
    ///
    /// The activity's failure: `ReadOnly` where the source refuses writes; `InvalidArgument` for an item that
    /// can't be kept; `TooLarge`, also for what no payload holds, in which case nothing is scheduled.
    pub fn write<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        items: impl IntoIterator<Item = Item>,
    ) -> impl Future<Output = Result<Kept, CallFailure>> + 'c {
        let operation = self.new_operation(ctx);
        self.write_with(ctx, operation, items)
    }

    /// As [`Recall::write`], under an operation that follows from what is written, such as
    /// `OperationId::from_parts(&["import", order])`. Whoever writes the same items under it again, after a
    /// workflow reset or in another run, changes nothing.
    ///
    /// # Errors
    ///
    /// As [`Recall::write`], and `OperationConflict` where other items were written under it.
    pub fn write_with<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        operation: OperationId,
        items: impl IntoIterator<Item = Item>,
    ) -> impl Future<Output = Result<Kept, CallFailure>> + 'c {
        let input = WriteSourceInput {
            source: self.settings().source.clone(),
            scope: self.scope_ref(),
            workspace: self.workspace(),
            items: items.into_iter().map(written).collect(),
            operation: Some(OperationRef {
                id: operation.as_str().to_owned(),
            }),
        };
        let scheduled = call(ctx, WriteSource, input, self.options());
        async move {
            let mut output = scheduled.await?;
            for (key, value) in std::mem::take(&mut output.scratchpad) {
                self.put_written(key, value);
            }
            Ok(output.into())
        }
    }

    /// The operation of a write that is made now.
    fn new_operation<W>(&self, ctx: &WorkflowContext<W>) -> OperationId {
        let drawn: u128 = ctx.random_stream("notekeeper").random();
        let drawn = format!("{drawn:032x}");
        let place = [self.scope().as_str(), self.settings().source.as_str()];
        OperationId::from_parts(&[&["write_source", drawn.as_str()][..], &place].concat())
    }
}

fn conditions(condition: &Where) -> Map<String, Value> {
    let conditions = condition.conditions();
    conditions
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect()
}

fn written(item: Item) -> WrittenItem {
    // Beside an `id` of the metadata, so that the activity refuses two that differ.
    WrittenItem {
        content: item.content,
        id: item.id,
        metadata: item.metadata.to_object(),
    }
}

#[cfg(test)]
mod tests {
    use notekeeper_domain::ItemMetadata;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_of_an_item_hides_none_that_stands_in_its_metadata() {
        for known in [json!({"id": "old", "tier": "public"}), json!({"id": 7})] {
            let metadata = ItemMetadata::of_value(known.clone()).unwrap();
            let item = Item::new("text", "passed over").with_score(0.5);
            let plain = written(item.clone().with_metadata(metadata.clone()));
            assert_eq!(
                (plain.id, Value::Object(plain.metadata)),
                (None, known.clone())
            );
            let own = written(item.with_metadata(metadata).with_id("7"));
            assert_eq!(own.id.as_deref(), Some("7"));
            assert_eq!(Value::Object(own.metadata), known);
            assert_eq!(own.content, "text");
        }
    }
}
