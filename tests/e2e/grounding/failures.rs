//! Sources that can't be asked, and turns that fail.

use notekeeper_workflows::{AgentInput, InjectionErrors};
use serde_json::{Value, json};
use temporalio_client::WorkflowCancelOptions;

use super::{SCOPE, grounded, library::Library, parrot, queries, regrounded, told};
use crate::support::{
    Bed, activities_of, begin, eventually, failure_type, history, reply, say, state,
};

/// An input that tells by the time of a query which setting it is from. No query of these tests needs it.
fn patient(input: AgentInput) -> AgentInput {
    let mut input = input;
    input.memories[0].activities.snapshot_give_up_ms = 120_000;
    input.memories[0].activities.schedule_to_close_ms = 180_000;
    input
}

#[tokio::test]
async fn a_source_that_stays_away_is_given_up() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &parrot()).await;
    let mut input = grounded(&bed);
    input.memories[0].activities.snapshot_give_up_ms = 1_500;
    let agent = bed.start(input).await;

    library.take_away();
    let without = say(&agent, "What of refunds?").await.expect("a reply");

    assert_eq!(without.text, "Answer from the context.");
    assert!(without.grounding_skipped.is_some(), "{without:?}");
    let asked = activities_of(&history(&agent).await, "query_source");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].close_ms.0, 1_500);
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_source_that_fails_is_passed_over_and_asked_again_with_the_next_message() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &parrot()).await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let agent = bed.start(patient(grounded(&bed))).await;

    library.break_down();
    let without = say(&agent, "What of refunds?").await.expect("a reply");
    let away = state(&agent).await.grounding.expect("grounding");
    library.bring_back();
    let with = say(&agent, "When is tea?").await.expect("a reply");
    let after = say(&agent, "What of refunds?").await.expect("a reply");

    assert_eq!(without.text, "Answer from the context.");
    assert_eq!(without.grounding_skipped.as_deref(), Some("Unsupported"));
    assert_eq!((away.grounded, away.skipped), (false, 1));
    assert!(with.text.ends_with("[notes] Tea is at four."), "{with:?}");
    assert_eq!(with.grounding_skipped, None);
    assert_eq!(after.text, with.text);
    let asked = activities_of(&history(&agent).await, "query_source");
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].close_ms.0, 120_000, "as long as for a snapshot");
    let back = state(&agent).await.grounding.expect("grounding");
    assert_eq!((back.grounded, back.items, back.skipped), (true, 1, 1));
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_source_that_fails_fails_the_message_where_that_is_wanted() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &parrot()).await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let mut input = patient(grounded(&bed));
    let grounding = input.grounding.as_mut().expect("grounding");
    grounding.errors = InjectionErrors::Raise;
    let agent = bed.start(input).await;

    library.break_down();
    let failure = say(&agent, "When is tea?").await.expect_err("no reply");
    library.bring_back();
    let after = told(&agent, "When is tea?").await;

    assert_eq!(failure_type(&failure), "Unsupported", "{failure:?}");
    assert!(after.ends_with("[notes] Tea is at four."), "{after}");
    let history = history(&agent).await;
    assert_eq!(activities_of(&history, "call_model").len(), 1);
    let asked = activities_of(&history, "query_source");
    assert_eq!(asked[0].close_ms.0, 180_000);
    let state = state(&agent).await;
    assert_eq!(
        (state.turns, state.grounding.expect("grounding").skipped),
        (1, 0)
    );
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_source_that_fails_leaves_no_text_of_an_earlier_message_where_each_asks_anew() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &parrot()).await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let agent = bed.start(patient(regrounded(&bed))).await;

    let first = told(&agent, "When is tea?").await;
    library.break_down();
    let second = say(&agent, "And on Sunday?").await.expect("a reply");

    assert!(first.ends_with("[notes] Tea is at four."), "{first}");
    assert_eq!(second.text, "Answer from the context.");
    assert_eq!(second.grounding_skipped.as_deref(), Some("Unsupported"));
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_source_that_the_worker_does_not_have_is_never_passed_over() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &parrot()).await;
    let mut input = grounded(&bed);
    let grounding = input.grounding.as_mut().expect("grounding");
    "nowhere".clone_into(&mut grounding.source);
    let agent = bed.start(input).await;

    let failure = say(&agent, "When is tea?").await.expect_err("no reply");

    assert_eq!(failure_type(&failure), "InvalidArgument", "{failure:?}");
    assert!(
        failure.message.contains("names no configured source"),
        "{failure:?}"
    );
    assert_eq!(
        activities_of(&history(&agent).await, "query_source")[0].attempt,
        1
    );
    library.close().await;
    bed.finish().await;
}

/// What was found for a message of which nothing is kept doesn't stand before the next one.
#[tokio::test]
async fn a_message_that_fails_before_anything_of_it_is_kept_grounds_nothing() {
    let bed = Bed::new().await;
    let refused = json!({"failure": {"kind": "refused"}});
    let turns = json!([
        {"prompt": "What of refunds?", "responses": [refused]},
        {"prompt_contains": "", "responses": [{"text": "{{instructions}}"}]},
    ]);
    let library = Library::open(&bed, &turns).await;
    bed.put(SCOPE, "refunds.md", "Refunds take 5 days.").await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let agent = bed.start(grounded(&bed)).await;

    let failure = say(&agent, "What of refunds?").await.expect_err("no reply");
    let told = told(&agent, "When is tea?").await;

    assert_eq!(failure_type(&failure), "ModelRefused", "{failure:?}");
    assert!(told.ends_with("[notes] Tea is at four."), "{told}");
    let queries = queries(&agent).await;
    assert_eq!(queries.len(), 2);
    library.close().await;
    bed.finish().await;
}

/// Calls that were carried out stay in the conversation, and so does what they were grounded on.
#[tokio::test]
async fn a_message_that_fails_after_its_calls_are_kept_grounds_what_follows() {
    let bed = Bed::new().await;
    let turns = json!([
        {"prompt": "What of refunds?", "responses": [
            {"tool_calls": [
                {"id": "call_0", "name": "search_memory", "arguments": {"query": "refunds"}}
            ]},
            {"failure": {"kind": "refused"}},
        ]},
        {"prompt_contains": "", "responses": [{"text": "{{instructions}}"}]},
    ]);
    let library = Library::open(&bed, &turns).await;
    bed.put(SCOPE, "refunds.md", "Refunds take 5 days.").await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let agent = bed.start(grounded(&bed)).await;

    say(&agent, "What of refunds?").await.expect_err("no reply");
    let told = told(&agent, "When is tea?").await;

    assert!(told.ends_with("[notes] Refunds take 5 days."), "{told}");
    assert_eq!(queries(&agent).await.len(), 1);
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn where_some_of_several_sources_answer_the_others_are_named() {
    let bed = Bed::new().await;
    let turns = json!([
        {"prompt": "When is tea?", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "search_kb", "arguments": {"query": "tea"}}]},
            {"text": "{{instructions}}|{{last_tool_result}}"},
        ]},
        {"prompt_contains": "", "responses": [{"text": "{{instructions}}"}]},
    ]);
    let library = Library::open(&bed, &turns).await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let mut input = grounded(&bed);
    let grounding = input.grounding.as_mut().expect("grounding");
    "kb".clone_into(&mut grounding.source);
    input.sources = serde_json::from_value(json!([{"source": "kb"}])).expect("a list of sources");
    let agent = bed.start(input).await;

    library.take_away();
    let reply = say(&agent, "When is tea?").await.expect("a reply");

    let (instructions, found) = reply.text.split_once('|').expect("two parts");
    assert!(
        instructions.ends_with("[notes] Tea is at four."),
        "{reply:?}"
    );
    let found: Value = serde_json::from_str(found).expect("JSON");
    assert_eq!(found["items"][0]["content"], "Tea is at four.");
    assert_eq!(found["unheard"], json!(["facts"]));
    assert_eq!(reply.grounding_skipped, None, "something was found");
    let grounding = state(&agent).await.grounding.expect("grounding");
    assert_eq!(grounding.unheard, ["facts"]);
    assert_eq!((grounding.grounded, grounding.items), (false, 1));
    assert_eq!(reply.grounding_partial, ["facts"]);
    library.close().await;
    bed.finish().await;
}

/// An answer of a part of the sources, also an empty one, is for its message alone; the whole one stays.
#[tokio::test]
async fn a_partial_answer_does_not_stay_and_a_whole_one_does() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &parrot()).await;
    bed.put(SCOPE, "tea.md", "Tea is at four.").await;
    let mut input = grounded(&bed);
    let grounding = input.grounding.as_mut().expect("grounding");
    "kb".clone_into(&mut grounding.source);
    let agent = bed.start(input).await;

    library.take_away();
    let nothing = say(&agent, "Refunds?").await.expect("a reply");
    let tea = say(&agent, "When is tea?").await.expect("a reply");
    library.bring_back();
    let whole = say(&agent, "When is tea?").await.expect("a reply");
    library.take_away();
    let stays = say(&agent, "Refunds?").await.expect("a reply");

    for (partial, ends_with) in [
        (&nothing, "the context."),
        (&tea, "[notes] Tea is at four."),
    ] {
        assert_eq!(partial.grounding_partial, ["facts"], "{partial:?}");
        assert!(partial.text.ends_with(ends_with), "{partial:?}");
    }
    for reply in [whole, stays] {
        assert_eq!(reply.grounding_partial, [""; 0]);
        assert!(reply.text.ends_with("[notes] Tea is at four."), "{reply:?}");
    }
    assert_eq!(queries(&agent).await.len(), 3);
    let grounding = state(&agent).await.grounding.expect("grounding");
    assert!(grounding.grounded);
    library.close().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_cancellation_is_no_source_that_is_away() {
    let bed = Bed::new().await;
    let library = Library::open(&bed, &parrot()).await;
    let mut input = grounded(&bed);
    input.memories[0].activities.snapshot_give_up_ms = 600_000;
    let agent = bed.start(input).await;

    library.take_away();
    let pending = begin(&agent, "When is tea?").await;
    eventually("the source is asked", async || {
        let asked = activities_of(&history(&agent).await, "query_source");
        asked.first().map(|_| ())
    })
    .await;
    let asked = agent.cancel(WorkflowCancelOptions::default()).await;
    asked.expect("ask for the cancellation");

    let failure = reply(pending).await.expect_err("no reply");
    assert_eq!(failure_type(&failure), "Cancelled", "{failure:?}");
    let history = history(&agent).await;
    assert_eq!(activities_of(&history, "call_model").len(), 0);
    library.close().await;
    bed.finish().await;
}
