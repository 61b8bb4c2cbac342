//! Grounding over continue-as-new.

use notekeeper_workflows::AgentInput;
use serde_json::{Value, json};

use super::{SCOPE, grounded, library::Library, queries, regrounded, told};
use crate::support::{Agent, Bed, eventually, run_id, say, state};

/// The model tells what it was told, and fills the history when it is told to.
fn turns() -> Value {
    let reads: Vec<_> = (0..17)
        .map(|n| json!({"id": format!("call_{n}"), "name": "read_memory", "arguments": {"file": "none"}}))
        .collect();
    json!([
        {"prompt": "fill", "responses": [{"tool_calls": reads}, {"text": "filled"}]},
        {"prompt_contains": "", "responses": [{"text": "{{instructions}}"}]},
    ])
}

fn short_runs(input: AgentInput) -> AgentInput {
    AgentInput {
        continue_as_new_events: Some(100),
        ..input
    }
}

/// Makes the run continue as new, and waits until the next one is there.
async fn continue_as_new(agent: &Agent) {
    let before = run_id(agent).await;
    say(agent, "fill").await.expect("a reply");
    eventually("the conversation has continued as a new run", || async {
        (run_id(agent).await != before).then_some(())
    })
    .await;
}

/// Also where no store keeps the transcript.
#[tokio::test]
async fn a_continued_run_has_the_same_text_and_asks_nothing() {
    for store in ["default", "files"] {
        let bed = Bed::new().await;
        let library = Library::open(&bed, &turns()).await;
        bed.put(SCOPE, "tea.md", "Tea is at four.").await;
        let mut input = short_runs(grounded(&bed));
        store.clone_into(&mut input.memories[0].store);
        let agent = bed.start(input).await;

        let before = told(&agent, "When is tea?").await;
        let of_before = state(&agent).await;
        bed.put(SCOPE, "tea.md", "Tea is at five.").await;
        continue_as_new(&agent).await;
        let after = told(&agent, "When is tea?").await;
        continue_as_new(&agent).await;
        let last = told(&agent, "When is tea?").await;

        assert!(before.ends_with("[notes] Tea is at four."), "{before}");
        assert_eq!(after, before, "{store}");
        assert_eq!(last, before, "{store}");
        assert_eq!(queries(&agent).await, Vec::<Value>::new());
        let state = state(&agent).await;
        assert_eq!(state.grounding, of_before.grounding);
        assert_eq!(state.conversation.is_some(), store == "default");
        library.close().await;
        bed.finish().await;
    }
}

#[tokio::test]
async fn a_continued_run_keeps_to_it_that_nothing_was_found() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &turns()).await;
    let agent = bed.start(short_runs(grounded(&bed))).await;

    told(&agent, "When is tea?").await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    continue_as_new(&agent).await;
    let after = told(&agent, "When is tea?").await;

    assert_eq!(after, "Answer from the context.");
    assert_eq!(queries(&agent).await, Vec::<Value>::new());
    let grounding = state(&agent).await.grounding.expect("grounding");
    assert_eq!((grounding.grounded, grounding.items), (true, 0));
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_continued_run_asks_anew_where_each_message_does() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &turns()).await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let agent = bed.start(short_runs(regrounded(&bed))).await;

    told(&agent, "When is tea?").await;
    bed.put(SCOPE, "tea.md", "Tea is at five.").await;
    continue_as_new(&agent).await;
    let after = told(&agent, "When is tea?").await;

    assert!(after.ends_with("[notes] Tea is at five."), "{after}");
    assert_eq!(queries(&agent).await.len(), 1);
    library.close().await;
    bed.finish().await;
}
