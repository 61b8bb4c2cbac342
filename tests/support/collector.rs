//! A collector that takes spans over OTLP, on a port of its own.

use std::io::Read as _;

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value as AnyValue},
    resource::v1::Resource,
    trace::v1::Span,
};
use prost::Message as _;
use serde_json::{Map, Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

use super::eventually;

/// A collector.
pub(crate) struct Collector {
    server: MockServer,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let server = MockServer::start().await;
        Mock::given(any())
            .respond_with(ResponseTemplate::new(200))
            .mount(&server)
            .await;
        Self { server }
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        self.server.uri()
    }

    /// `host:port`.
    pub(crate) fn address(&self) -> String {
        self.server.address().to_string()
    }

    /// All that was sent to it so far, as it came.
    pub(crate) async fn requests(&self) -> Vec<Request> {
        self.server.received_requests().await.expect("requests")
    }

    /// The spans so far.
    pub(crate) async fn spans(&self) -> Vec<Span> {
        let exports = self.exports().await;
        let resources = exports.into_iter().flat_map(|export| export.resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// What the spans are said to be of, for each request.
    pub(crate) async fn resources(&self) -> Vec<Resource> {
        let exports = self.exports().await;
        let resources = exports.into_iter().flat_map(|export| export.resource_spans);
        resources.filter_map(|spans| spans.resource).collect()
    }

    async fn exports(&self) -> Vec<ExportTraceServiceRequest> {
        let requests = self.requests().await;
        let exports = requests.into_iter().map(|request| {
            assert_eq!(request.url.path(), "/v1/traces");
            ExportTraceServiceRequest::decode(body(&request).as_slice()).expect("an export")
        });
        exports.collect()
    }

    /// Waits until it has so many spans of this name.
    pub(crate) async fn has(&self, name: &str, count: usize) {
        eventually(&format!("there are {count} spans `{name}`"), || async {
            let spans = self.spans().await;
            let found = spans.iter().filter(|span| span.name == name).count();
            (found >= count).then_some(())
        })
        .await;
    }
}

/// The body, inflated where it came with gzip.
fn body(request: &Request) -> Vec<u8> {
    if !request.headers.contains_key("content-encoding") {
        return request.body.clone();
    }
    let mut inflated = Vec::new();
    flate2::read::GzDecoder::new(request.body.as_slice())
        .read_to_end(&mut inflated)
        .expect("gzip");
    inflated
}

/// Attributes as JSON, each with the type that it was sent as.
pub(crate) fn attributes(attributes: &[KeyValue]) -> Map<String, Value> {
    let attributes = attributes.iter().map(|attribute| {
        let value = attribute.value.as_ref().and_then(|any| any.value.as_ref());
        let value = match value {
            Some(AnyValue::StringValue(text)) => json!(text),
            Some(AnyValue::IntValue(number)) => json!(number),
            Some(AnyValue::BoolValue(flag)) => json!(flag),
            other => panic!("`{}` is {other:?}", attribute.key),
        };
        (attribute.key.clone(), value)
    });
    attributes.collect()
}
