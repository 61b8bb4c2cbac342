use notekeeper_contract::{FailureType, MemoryContent, Outcome, RESULT_BYTES_MAX};
use serde_json::{Value, json};

use crate::fixture::{Bench, bench, done, input, refusal};

async fn read(bench: &Bench, fields: Value) -> Outcome<MemoryContent> {
    bench
        .notebook
        .read(input(fields))
        .await
        .expect("the read doesn't fail")
}

fn bytes(content: MemoryContent) -> usize {
    serde_json::to_vec(&Outcome::Ok(content)).unwrap().len()
}

#[tokio::test]
async fn a_read_is_cut_to_its_bound_and_says_so() {
    let bench = bench();
    bench.put("n.md", "0123456789").await;
    let whole = done(read(&bench, json!({"file": "n", "max_memory_size": 10})).await);
    assert_eq!(
        (whole.content.as_str(), whole.truncated),
        ("0123456789", false)
    );
    let cut = done(read(&bench, json!({"file": "n", "max_memory_size": 9})).await);
    assert_eq!((cut.content.as_str(), cut.truncated), ("012345678", true));
    assert_eq!((cut.file.as_str(), cut.version), ("n.md", whole.version));
}

#[tokio::test]
async fn refusals_and_failures_of_a_read() {
    let bench = bench();
    assert_eq!(
        refusal(read(&bench, json!({"file": "n"})).await),
        "not_found"
    );
    assert_eq!(
        refusal(read(&bench, json!({"file": ""})).await),
        "invalid_path"
    );
    let cases = [
        (
            json!({"file": "n", "max_memory_size": 0}),
            FailureType::InvalidArgument,
        ),
        (
            json!({"file": "n", "store": ""}),
            FailureType::InvalidArgument,
        ),
        (
            json!({"file": "n", "scope": {"agent_name": "a/b"}}),
            FailureType::InvalidScope,
        ),
    ];
    for (fields, kind) in cases {
        assert_eq!(
            bench.notebook.read(input(fields)).await.unwrap_err().kind,
            kind
        );
    }
}

#[tokio::test]
async fn a_default_read_of_control_characters_fits_whole() {
    let bench = bench();
    bench.put("n.md", &"\u{1}".repeat(65_536)).await;
    let content = done(read(&bench, json!({"file": "n"})).await);
    assert_eq!(
        (content.content.chars().count(), content.truncated),
        (65_536, false)
    );
    assert!(bytes(content) <= RESULT_BYTES_MAX);
}

#[tokio::test]
async fn a_read_that_would_not_fit_into_a_result_is_cut_between_characters() {
    let bench = bench();
    let texts = ["\u{1}", "x", "\"", "固", "\u{1f600}\u{200d}", "a\u{7}é"];
    for text in texts {
        bench
            .put("n.md", &text.repeat(1_200_000 / text.len()))
            .await;
        let fields = json!({"file": "n", "max_memory_size": 1_200_000});
        let content = done(read(&bench, fields).await);
        assert!(content.truncated, "{text:?}");
        assert!(content.content.starts_with(text));
        let bytes = bytes(content);
        assert!(bytes <= RESULT_BYTES_MAX, "{text:?}: {bytes}");
        assert!(
            bytes > RESULT_BYTES_MAX - 8,
            "{text:?}: {bytes} leaves room"
        );
    }
}

#[tokio::test]
async fn a_million_characters_that_fit_are_read_whole() {
    let bench = bench();
    bench.put("n.md", &"x".repeat(1_000_000)).await;
    let content = done(read(&bench, json!({"file": "n", "max_memory_size": 1_000_000})).await);
    assert_eq!(
        (content.content.len(), content.truncated),
        (1_000_000, false)
    );
}
