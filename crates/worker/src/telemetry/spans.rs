//! Spans for a collector.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    resource::{EnvResourceDetector, TelemetryResourceDetector},
    trace::{SdkTracerProvider, Tracer},
};
use tracing::{Metadata, level_filters::LevelFilter, subscriber::Interest};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, Filter},
    reload,
};

use super::collector::Collector;
use crate::config::CollectorConfig;

/// Name of this service where its user gives none.
const SERVICE: &str = "notekeeper";

/// Variable that gives it another.
const SERVICE_VARIABLE: &str = "OTEL_SERVICE_NAME";

/// The crate whose spans are exported, and what their names begin with.
const EXPORTED: (&str, &str) = ("notekeeper_activities", "memory.");

/// Longest wait for spans that are left when a worker ends. A collector that answers takes
/// milliseconds; for one that doesn't, no supervisor should lose its patience.
const FINISH_MAX: Duration = Duration::from_secs(2);

/// Shortest wait, where the time of a drain is over: one request to a collector close by.
const FINISH_MIN: Duration = Duration::from_millis(300);

type Exporting = Option<OpenTelemetryLayer<Registry, Tracer>>;

/// Where [`SpanExport::start`] puts what exports.
static SLOT: OnceLock<reload::Handle<Exporting, Registry>> = OnceLock::new();

/// Whether spans are exported. Where they aren't, nothing has to make them.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// The layer of spans, which passes them on once an export has started.
pub(super) fn layer() -> impl Layer<Registry> {
    let (layer, handle) = reload::Layer::new(None);
    // The second of two in one process would have no subscriber either.
    let _ = SLOT.set(handle);
    layer.with_filter(OfOperations)
}

/// Lets spans of operations through, once an export has started.
struct OfOperations;

impl<S> Filter<S> for OfOperations {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        IS_ON.load(Ordering::Relaxed) && is_exported(metadata)
    }

    /// Never `always`: then nothing would be asked any more before a span, and where a library has
    /// asked whether something is enabled and then recorded nothing, the answer that it got would
    /// stand for the next span of its thread, which would be passed over.
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        match is_exported(metadata) {
            true => Interest::sometimes(),
            false => Interest::never(),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }
}

/// Our spans of operations, and no events: those are the log's.
fn is_exported(metadata: &Metadata<'_>) -> bool {
    let (ours, memory) = EXPORTED;
    metadata.is_span() && metadata.target().starts_with(ours) && metadata.name().starts_with(memory)
}

/// The export of spans, from start to finish.
#[derive(Debug)]
#[must_use = "spans that are left are sent when it is finished"]
pub(crate) struct SpanExport(Option<SdkTracerProvider>);

impl SpanExport {
    /// Begins to export to this collector; without one nothing is exported. Nothing is sent yet, so
    /// a collector that can't be reached is no error here or later. To be called in a runtime, which
    /// sends what other threads hand over.
    ///
    /// # Errors
    ///
    /// Settings of OpenTelemetry's own that can't be used, and a machine without root certificates
    /// where TLS is asked for.
    pub(crate) fn start(config: Option<&CollectorConfig>) -> anyhow::Result<Self> {
        let Some(config) = config else {
            return Ok(Self(None));
        };
        let provider = provider(config).context("spans can't be exported")?;
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer(SERVICE))
            // What a span says is in its attributes: nothing of threads and lines of code.
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_context_activation(false);
        IS_ON.store(true, Ordering::Relaxed);
        if let Some(slot) = SLOT.get() {
            slot.reload(Some(layer))
                .map_err(|error| anyhow!("spans can't be exported: {error}"))?;
        }
        Ok(Self(Some(provider)))
    }

    /// Sends what is left, for no longer than `left` of a drain, and within bounds of its own.
    pub(crate) async fn finish(self, left: Duration) {
        let Some(provider) = self.0 else {
            return;
        };
        let timeout = left.clamp(FINISH_MIN, FINISH_MAX);
        // It waits for a thread of its own, whose requests this runtime has to send meanwhile.
        let finished =
            tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(timeout)).await;
        if !matches!(finished, Ok(Ok(()))) {
            tracing::warn!("spans that were left are lost: the collector took none in {timeout:?}");
        }
    }
}

fn provider(config: &CollectorConfig) -> anyhow::Result<SdkTracerProvider> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(config.url.as_str())
        .with_http_client(Collector::new(config)?)
        .build()?;
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource())
        .build())
}

/// What the spans are of: this service, unless its user gives another name or attributes.
fn resource() -> Resource {
    let resource = Resource::builder_empty()
        .with_attributes([
            KeyValue::new("service.name", SERVICE),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        ])
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_detector(Box::new(EnvResourceDetector::new()));
    match std::env::var(SERVICE_VARIABLE) {
        Ok(name) if !name.is_empty() => resource.with_service_name(name).build(),
        _ => resource.build(),
    }
}
