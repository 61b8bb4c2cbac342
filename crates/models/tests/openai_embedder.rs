//! The model of embeddings behind an OpenAI-compatible endpoint, against a real HTTP server.

use std::time::Duration;

use notekeeper_models::{
    ApiKey, EmbeddingModel as _, ModelError, OpenAiEmbedder, OpenAiEmbedderOptions, OpenAiError,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

/// Stands in every secret place; no failure may hold it.
const SECRET: &str = "hunter2";

fn options(base_url: String) -> OpenAiEmbedderOptions {
    OpenAiEmbedderOptions {
        base_url,
        timeout: Duration::from_secs(20),
        ..OpenAiEmbedderOptions::new("test-embedder")
    }
}

fn embedder(options: OpenAiEmbedderOptions) -> OpenAiEmbedder {
    OpenAiEmbedder::new(options).expect("usable options")
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A server that answers everything so, and a model behind it.
async fn server(response: ResponseTemplate) -> (MockServer, OpenAiEmbedder) {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    let embedder = embedder(options(format!("{}/v1", server.uri())));
    (server, embedder)
}

async fn answered(status: u16, body: Value) -> Result<Vec<Vec<f32>>, ModelError> {
    let (_server, embedder) = server(ResponseTemplate::new(status).set_body_json(body)).await;
    embedder.embed(&texts(&[SECRET, "two"])).await
}

/// Whether it is worth another attempt, and what it says.
fn told(error: &ModelError) -> (bool, String) {
    let said = error.to_string();
    assert!(!said.contains(SECRET), "{said}");
    (matches!(error, ModelError::Unavailable { .. }), said)
}

/// Embeds a text as its length, in an order of its own.
fn lengths(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().expect("JSON");
    let input = body["input"].as_array().expect("a list");
    let mut data: Vec<Value> = (0..)
        .zip(input)
        .map(|(index, text): (usize, _)| {
            let length = text.as_str().expect("a text").chars().count();
            json!({"object": "embedding", "index": index, "embedding": [length, 0.5]})
        })
        .collect();
    data.reverse();
    ResponseTemplate::new(200).set_body_json(json!({"object": "list", "data": data}))
}

#[tokio::test]
async fn a_request_has_the_shape_that_endpoints_read() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(lengths)
        .mount(&server)
        .await;
    let bare = embedder(options(format!("{}/v1/", server.uri())));
    let keyed = embedder(OpenAiEmbedderOptions {
        api_key: Some(ApiKey::new("k-1\n")),
        dimensions: Some(2),
        ..options(format!("{}/v1", server.uri()))
    });
    bare.embed(&texts(&["one", ""])).await.expect("embeddings");
    keyed.embed(&texts(&["one"])).await.expect("embeddings");

    let requests = server.received_requests().await.expect("requests");
    let bodies: Vec<Value> = requests
        .iter()
        .map(|request| request.body_json().expect("JSON"))
        .collect();
    assert_eq!(
        bodies,
        [
            json!({"model": "test-embedder", "input": ["one", " "], "encoding_format": "float"}),
            json!({
                "model": "test-embedder",
                "input": ["one"],
                "encoding_format": "float",
                "dimensions": 2,
            }),
        ]
    );
    for request in &requests {
        assert_eq!(request.method.as_str(), "POST");
        assert_eq!(request.url.path(), "/v1/embeddings");
    }
    assert!(!requests[0].headers.contains_key("authorization"));
    assert_eq!(requests[1].headers["authorization"], "Bearer k-1");
    assert_eq!(bare.id(), "test-embedder");
    assert_eq!(keyed.id(), "test-embedder;dimensions=2");
}

#[tokio::test]
async fn many_texts_go_in_batches_and_come_back_in_their_order() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(lengths)
        .mount(&server)
        .await;
    let embedder = embedder(options(server.uri()));
    let many: Vec<String> = (1..=70).map(|length| "x".repeat(length)).collect();
    let found = embedder.embed(&many).await.expect("embeddings");
    let lengths: Vec<f32> = found.iter().map(|embedding| embedding[0]).collect();
    let expected: Vec<f32> = (1..=70_u8).map(f32::from).collect();
    assert_eq!(lengths, expected);
    let requests = server.received_requests().await.expect("requests");
    assert_eq!(requests.len(), 3, "70 texts, 32 at a time");

    assert_eq!(
        embedder.embed(&[]).await.expect("nothing"),
        Vec::<Vec<f32>>::new()
    );
    let requests = server.received_requests().await.expect("requests");
    assert_eq!(requests.len(), 3, "nothing is asked for no texts");
    let too_many = texts(&["x"; 257]);
    let refused = embedder.embed(&too_many).await.expect_err("a refusal");
    let (passing, said) = told(&refused);
    assert!(!passing);
    assert!(
        said.ends_with("257 texts are too many at once; 256 are allowed"),
        "{said}"
    );
}

#[tokio::test]
async fn of_a_long_text_the_front_is_sent() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(lengths)
        .mount(&server)
        .await;
    let embedder = embedder(options(server.uri()));
    let found = embedder.embed(&["é".repeat(50_000)]).await;
    assert_eq!(found.expect("an embedding"), [[6_000.0, 0.5]]);
}

#[tokio::test]
async fn answers_without_indexes_are_taken_in_their_order() {
    let found = answered(
        200,
        json!({"data": [{"embedding": [1, 0]}, {"embedding": [0.25, -1e-3]}]}),
    );
    assert_eq!(
        found.await.expect("embeddings"),
        [[1.0, 0.0], [0.25, -1e-3]]
    );
}

#[tokio::test]
async fn answers_that_are_no_embeddings_of_the_texts_are_refused() {
    let of = |data: Value| json!({"data": data});
    let answers = [
        json!({}),
        json!("text"),
        of(json!({})),
        of(json!([])),
        of(json!([{"embedding": [1]}])),
        of(json!([{"embedding": [1]}, {"embedding": [1]}, {"embedding": [1]}])),
        of(json!([{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}])),
        of(json!([{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}])),
        of(json!([{"index": 0, "embedding": [1]}, {"embedding": [1]}])),
        of(json!([{"embedding": []}, {"embedding": []}])),
        of(json!([{"embedding": [1, 2]}, {"embedding": [1]}])),
        of(json!([{"embedding": [null]}, {"embedding": [1]}])),
        of(json!([{"embedding": [1e300]}, {"embedding": [1]}])),
        of(json!([{"embedding": "AACAPw=="}, {"embedding": "AACAPw=="}])),
        of(json!([{"embedding": vec![0; 4_097]}, {"embedding": vec![0; 4_097]}])),
        json!({"error": {"code": "model_not_found", "message": SECRET}}),
        json!({"error": {"code": 503, "message": SECRET}}),
    ];
    let mut said = Vec::new();
    for answer in answers {
        let short: String = answer.to_string().chars().take(60).collect();
        let error = answered(200, answer).await.expect_err(&short);
        let (passing, text) = told(&error);
        said.push(format!("{short}\n  passing: {passing}; {text}"));
    }
    insta::assert_snapshot!(said.join("\n").replace(SECRET, "[secret]"));
}

#[tokio::test]
async fn dimensions_that_the_model_does_not_keep_to_are_told() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(lengths)
        .mount(&server)
        .await;
    let embedder = embedder(OpenAiEmbedderOptions {
        dimensions: Some(256),
        ..options(server.uri())
    });
    let error = embedder.embed(&texts(&["a"])).await.expect_err("a refusal");
    let (passing, said) = told(&error);
    assert!(!passing);
    let expected = "the endpoint's embeddings have 2 numbers, `dimensions` asks for 256; leave it out \
                    where the model doesn't know it";
    assert!(said.ends_with(expected), "{said}");
}

#[tokio::test]
async fn failures_are_told_apart_by_their_status_and_never_quote_the_endpoint() {
    let mut said = Vec::new();
    for (status, code) in [
        (301, None),
        (400, None),
        (400, Some("context_length_exceeded")),
        (401, Some("invalid_api_key")),
        (404, Some("model_not_found")),
        (413, None),
        (429, None),
        (429, Some("insufficient_quota")),
        (500, None),
        (503, None),
    ] {
        let error = json!({"error": {"message": SECRET, "type": SECRET, "code": code}});
        let error = answered(status, error).await.expect_err("a failure");
        let (passing, text) = told(&error);
        said.push(format!("{status}: passing: {passing}; {text}"));
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test]
async fn the_wait_that_an_endpoint_asks_for_is_passed_on() {
    let (_server, embedder) =
        server(ResponseTemplate::new(429).insert_header("retry-after", "7")).await;
    let error = embedder.embed(&texts(&["a"])).await.expect_err("a failure");
    assert_eq!(
        match error {
            ModelError::Unavailable { retry_after, .. } => retry_after,
            ModelError::Refused(_) => None,
        },
        Some(Duration::from_secs(7))
    );
}

#[tokio::test]
async fn an_endpoint_that_hangs_up_or_says_nothing_is_unavailable() {
    for (stays, timeout) in [(false, 20), (true, 1)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        let serving = tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let _ = connection.read(&mut vec![0; 64 * 1024]).await;
                let half = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"data\": [";
                let _ = connection.write_all(half).await;
                if stays {
                    // Until the client hangs up.
                    let _ = connection.read_to_end(&mut Vec::new()).await;
                }
            }
        });
        let embedder = embedder(OpenAiEmbedderOptions {
            timeout: Duration::from_secs(timeout),
            ..options(base_url)
        });
        let error = embedder
            .embed(&texts(&[SECRET]))
            .await
            .expect_err("a failure");
        assert!(told(&error).0, "{error}");
        serving.abort();
    }
}

#[test]
fn options_that_cannot_be_used_are_told_and_nothing_shows_the_key() {
    let with = |change: fn(&mut OpenAiEmbedderOptions)| {
        let mut options = options("http://localhost:1/v1".to_owned());
        options.api_key = Some(ApiKey::new(SECRET));
        change(&mut options);
        assert!(!format!("{options:?}").contains(SECRET));
        OpenAiEmbedder::new(options)
            .map(|embedder| {
                assert!(!format!("{embedder:?}").contains(SECRET));
            })
            .inspect_err(|error| {
                assert!(!error.to_string().contains(SECRET));
            })
    };
    assert_eq!(with(|_| ()), Ok(()));
    assert_eq!(with(|o| o.model = " ".to_owned()), Err(OpenAiError::Model));
    for name in ["x".repeat(151), "a\nb".to_owned()] {
        let options = OpenAiEmbedderOptions {
            model: name,
            ..options("http://localhost:1".to_owned())
        };
        assert_eq!(
            OpenAiEmbedder::new(options).map(|_| ()),
            Err(OpenAiError::ModelName)
        );
    }
    assert_eq!(
        with(|o| o.timeout = Duration::ZERO),
        Err(OpenAiError::Timeout)
    );
    for (dimensions, expected) in [(0, Some(0)), (1, None), (4_096, None), (4_097, Some(4_097))] {
        let options = OpenAiEmbedderOptions {
            dimensions: Some(dimensions),
            ..options("http://localhost:1".to_owned())
        };
        assert_eq!(
            OpenAiEmbedder::new(options).err(),
            expected.map(OpenAiError::Dimensions)
        );
    }
    assert_eq!(
        with(|o| o.base_url = format!("https://h/{SECRET}/embeddings")),
        Err(OpenAiError::BaseUrl(
            "ends with `/embeddings`, which is added to it; give what stands before"
        ))
    );
    assert_eq!(
        with(|o| o.api_key = Some(ApiKey::new("a\nb"))),
        Err(OpenAiError::ApiKey)
    );
}
