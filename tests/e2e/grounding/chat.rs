//! What a person at `notekeeper chat` is told of a source that wasn't heard.

use std::time::Duration;

use notekeeper_workflows::AgentInput;
use serde_json::json;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::{SCOPE, grounding, parrot};
use crate::support::{Bed, Talk, Worker, WorkerOptions};

/// A search service that answers this.
async fn service(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

/// A worker with the sources `broken`, which fails for good, and `kb`: notes, and a leg that is late.
async fn worker(bed: &Bed, broken: &MockServer, late: &MockServer) -> Worker {
    let sources = format!(
        "[sources.broken]\nkind = 'tool'\nurl = '{}'\n\
         [sources.kb]\nkind = 'composite'\nleg_timeout_ms = 60000\nsources = [\n\
         {{ kind = 'notes' }},\n\
         {{ kind = 'composite', name = 'slow', leg_timeout_ms = 500, sources = [\n\
         {{ kind = 'tool', name = 'late', url = '{}' }}, {{ kind = 'scratchpad' }}] }},\n]\n",
        broken.uri(),
        late.uri()
    );
    let options = WorkerOptions {
        script: Some(bed.script(&parrot())),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&sources))],
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// A conversation on one of these sources, which nobody has said anything in.
async fn begun(bed: &Bed, source: &str) -> String {
    let mut input = AgentInput {
        instructions: "Answer from the context.".to_owned(),
        grounding: Some(grounding(source)),
        ..bed.input("acme")
    };
    input.memories[0].guidance = Some(String::new());
    input.memories[0].inject_memory = false;
    // Longer than a busy machine takes for a leg that is given up.
    input.memories[0].activities.start_to_close_ms = 60_000;
    input.memories[0].activities.snapshot_give_up_ms = 120_000;
    let agent = bed.start(input).await;
    agent.info().workflow_id.clone()
}

#[tokio::test]
async fn a_chat_says_what_an_answer_had_to_do_without() {
    let bed = Bed::new().await;
    let broken = service(ResponseTemplate::new(401)).await;
    let late = service(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    let _worker = worker(&bed, &broken, &late).await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let skipped =
        "answered without what grounds the conversation, whose source failed: Unsupported";
    let partial = "answered without what these sources know, which weren't heard: late";
    for (source, answer, line) in [
        ("broken", "Answer from the context.", skipped),
        (
            "kb",
            "Answer from the context.\n\nRelevant context:\n[notes] Tea is at four.",
            partial,
        ),
    ] {
        let id = begun(&bed, source).await;
        let ended = Talk::of(&bed, &[&id, "--namespace", "acme"], "When is tea?\n").await;

        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(0), format!("{answer}\n").as_str()),
            "{ended:?}"
        );
        let lines: Vec<_> = ended.stderr.lines().collect();
        assert_eq!(
            lines.iter().filter(|it| **it == line).count(),
            1,
            "{ended:?}"
        );

        let mut talk = Talk::in_terminal(&bed, &[&begun(&bed, source).await]);
        talk.hears("> ").await;
        talk.write("When is tea?\r");
        // In the terminal it stands over the answer.
        talk.hears(line).await;
        talk.hears("Answer from the context.").await;
        talk.hears("> ").await;
        talk.write("/quit\r");
        assert_eq!(talk.ended().await.code, Some(0));
    }
    bed.finish().await;
}

/// A source that answers is nothing to speak of.
#[tokio::test]
async fn a_chat_says_nothing_of_sources_that_were_heard() {
    let bed = Bed::new().await;
    let answer = || ResponseTemplate::new(200).set_body_json(json!([]));
    let (one, other) = (service(answer()).await, service(answer()).await);
    let _worker = worker(&bed, &one, &other).await;
    for source in ["broken", "kb"] {
        let id = begun(&bed, source).await;
        let ended = Talk::of(&bed, &[&id, "--namespace", "acme"], "When is tea?\n").await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!ended.stderr.contains("answered without"), "{ended:?}");
    }
    bed.finish().await;
}
