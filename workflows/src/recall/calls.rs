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
    activity_call::{CallOptions, call},
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
        self.ask(ctx, text.as_ref(), k, condition, self.options())
    }

    pub(super) fn ask<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        text: &str,
        k: usize,
        condition: &Where,
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
            chars_max: None,
        };
        let scheduled = call(ctx, QuerySource, input, options);
        async move { scheduled.await.map(Found::from) }
    }

    /// Has the source keep items: at most 100. The id of an item, or a text under `id` in its metadata, is
    /// its id in the source, where it takes the place of one from before; an item without one gets an
    /// id of its own. What an item says in `source`, and its score, is passed over.
    ///
    /// Where a composition's sources come to different ends, the result says so. What the source has for
    /// the scratchpad is in it afterwards.
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
        let input = WriteSourceInput {
            source: self.settings().source.clone(),
            scope: self.scope_ref(),
            workspace: self.workspace(),
            items: items.into_iter().map(written).collect(),
            operation: Some(self.new_operation(ctx)),
        };
        let scheduled = call(ctx, WriteSource, input, self.options());
        async move {
            let mut output = scheduled.await?;
            for (key, value) in std::mem::take(&mut output.scratchpad) {
                self.put(key, value);
            }
            Ok(output.into())
        }
    }

    /// The operation of a write that is made now.
    fn new_operation<W>(&self, ctx: &WorkflowContext<W>) -> OperationRef {
        let drawn: u128 = ctx.random_stream("notekeeper").random();
        let drawn = format!("{drawn:032x}");
        let place = [self.scope().as_str(), self.settings().source.as_str()];
        let id = OperationId::from_parts(&[&["write_source", drawn.as_str()][..], &place].concat());
        OperationRef {
            id: id.as_str().to_owned(),
        }
    }
}

fn conditions(condition: &Where) -> Map<String, Value> {
    let conditions = condition.conditions();
    conditions
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect()
}

fn written(item: Item) -> WrittenItem {
    let metadata = match item.id {
        Some(id) => item.metadata.with("id", Value::String(id)),
        None => item.metadata,
    };
    WrittenItem {
        content: item.content,
        metadata: metadata.to_object(),
        ..WrittenItem::default()
    }
}

#[cfg(test)]
mod tests {
    use notekeeper_domain::ItemMetadata;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_of_an_item_goes_where_the_activity_looks_for_it() {
        let metadata = ItemMetadata::of_value(json!({"id": "old", "tier": "public"})).unwrap();
        let item = Item::new("text", "passed over").with_score(0.5);
        let plain = written(item.clone().with_metadata(metadata.clone()));
        assert_eq!(
            Value::Object(plain.metadata),
            json!({"id": "old", "tier": "public"})
        );
        let own = written(item.with_metadata(metadata).with_id("7"));
        assert_eq!(
            Value::Object(own.metadata),
            json!({"id": "7", "tier": "public"})
        );
        assert_eq!(own.content, "text");
    }
}
