//! Keeps the spans of a future.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    instrument::WithSubscriber as _,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

/// Longest wait for spans to end once their future has: the driver of SQLite lets go of one in a
/// thread of its own.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a future came to, and its spans.
pub(super) struct Recorded<T> {
    value: T,
    spans: Value,
}

impl<T> Recorded<T> {
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Recorded<U> {
        Recorded {
            value: change(self.value),
            spans: self.spans,
        }
    }

    /// The value, and a list of spans with their names and complete attributes.
    pub(super) fn into_parts(self) -> (T, Value) {
        (self.value, self.spans)
    }
}

/// Runs a future and keeps the spans of operations that it leaves, in the order in which they end.
pub(super) async fn recorded<T>(future: impl Future<Output = T>) -> Recorded<T> {
    let recorder = Recorder::default();
    let subscriber = Registry::default().with(recorder.clone());
    let value = future.with_subscriber(subscriber).await;
    let mut open = recorder.open.subscribe();
    let ended = tokio::time::timeout(PATIENCE, open.wait_for(|open| *open == 0)).await;
    ended.expect("the spans end").expect("the sender is here");
    let spans = std::mem::take(&mut *recorder.ended.lock().expect("nothing panics in it"));
    Recorded {
        value,
        spans: Value::Array(spans),
    }
}

#[derive(Clone, Default)]
struct Recorder {
    ended: Arc<Mutex<Vec<Value>>>,
    /// Spans of operations that haven't ended.
    open: watch::Sender<usize>,
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, json!(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!(value));
    }

    // Whole numbers without a sign become text in an export, and here: no case accepts that.
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
            if is_of_operation(span.name()) {
                self.open.send_modify(|open| *open += 1);
            }
        }
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            record.record(fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        if !is_of_operation(span.name()) {
            return;
        }
        let fields = span.extensions_mut().remove::<Fields>().unwrap_or_default();
        let span = json!({"name": span.name(), "attributes": fields.0});
        self.ended.lock().expect("nothing panics in it").push(span);
        self.open.send_modify(|open| *open -= 1);
    }
}

fn is_of_operation(name: &str) -> bool {
    name.starts_with("memory.")
}
