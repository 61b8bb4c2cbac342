//! Spans: what each operation came to, without content, names or namespaces.

use notekeeper_store::Receipt;
use tracing::Span;

use crate::failure::Stop;

/// Opens the span of one operation: its literal name, the notebook, the store, the scope, then the
/// fields of its own, as `tracing` takes them.
macro_rules! operation_span {
    ($name:literal, $notebook:expr, $store:expr, $scope:expr, $($fields:tt)*) => {
        tracing::info_span!(
            $name,
            memory.backend = $store.kind(),
            memory.scope_hash = $notebook.scope_hash(&$scope),
            memory.outcome = tracing::field::Empty,
            memory.exception_type = tracing::field::Empty,
            $($fields)*
        )
    };
}

/// Opens the span of one operation on a source: its literal name, the notebook, the source's
/// configured name, the scope, then the fields of its own.
macro_rules! source_span {
    ($name:literal, $notebook:expr, $source:expr, $scope:expr, $($fields:tt)*) => {
        tracing::info_span!(
            $name,
            memory.backend = "source",
            memory.source = $source.as_str(),
            memory.scope_hash = $notebook.scope_hash(&$scope),
            memory.outcome = tracing::field::Empty,
            memory.exception_type = tracing::field::Empty,
            $($fields)*
        )
    };
}

pub(crate) use {operation_span, source_span};

/// Records a count. Exporters know whole numbers with a sign and would make text of others.
pub(crate) fn record_count(span: &Span, field: &str, count: usize) {
    span.record(field, i64::try_from(count).unwrap_or(i64::MAX));
}

/// Records that an operation was stopped, by what.
pub(crate) fn record_stop(span: &Span, code: &str) {
    span.record("memory.outcome", "error");
    span.record("memory.exception_type", code);
}

/// Records that a change of messages or facts took effect, before or, as `done` says, now.
pub(crate) fn record_done(span: &Span, replayed: bool, done: &str) {
    span.record("memory.outcome", if replayed { "replayed" } else { done });
    span.record("memory.replayed", replayed);
}

/// Records what a mutation came to. `done` is the outcome of one that took effect now.
pub(crate) fn record_mutation(span: &Span, result: &Result<Receipt, Stop>, done: &str) {
    match result {
        Ok(receipt) => {
            let outcome = if receipt.replayed { "replayed" } else { done };
            span.record("memory.outcome", outcome);
            span.record("memory.replayed", receipt.replayed);
            if let Some(chars) = receipt.chars {
                record_count(span, "memory.chars", chars);
            }
        }
        Err(stop) => record_stop(span, stop.code()),
    }
}
