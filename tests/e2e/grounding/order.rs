//! The order of what a request is made of: history policies, grounding, memory blocks.

use notekeeper_domain::{HistoryPolicy, SummaryPolicy};
use serde_json::json;

use super::{SCOPE, library::Library, regrounded};
use crate::support::{Bed, activities, history, say};

#[tokio::test]
async fn a_request_has_its_summary_then_its_grounding_then_its_block() {
    let bed = Bed::new().await;
    let turns = json!([
        {"prompt_contains": "<context>", "responses": [{"text": "They counted."}]},
        {"prompt_contains": "", "responses": [
            {"text": "{{instructions}}|{{summary}}|{{memory}}|{{message_count}}"},
        ]},
    ]);
    let library = Library::open(&bed, &turns).await;
    bed.put(SCOPE, "MEMORY.md", "- likes tea\n").await;
    bed.put(SCOPE, "hours.md", "Tea is at four.").await;
    let mut input = regrounded(&bed);
    input.memories[0].inject_memory = true;
    input.history = vec![HistoryPolicy::Summary(SummaryPolicy {
        over_messages: Some(6),
        keep_messages: Some(2),
        ..SummaryPolicy::default()
    })];
    let agent = bed.start(input).await;

    let mut last = String::new();
    for prompt in ["tea one", "tea two", "tea three", "tea at four"] {
        last = say(&agent, prompt).await.expect("a reply").text;
    }

    let [instructions, summary, block, messages] = last.split('|').collect::<Vec<_>>()[..] else {
        panic!("four parts: {last}");
    };
    assert!(instructions.starts_with("Answer from the context.\n\nRelevant context:\n"));
    assert!(
        instructions.contains("[notes] Tea is at four."),
        "{instructions}"
    );
    assert!(summary.contains("They counted."), "{summary}");
    assert!(block.contains("- likes tea"), "{block}");
    // The summary, one earlier exchange, and the prompt with its block.
    assert_eq!(messages, "4");
    let kinds: Vec<_> = activities(&history(&agent).await)
        .into_iter()
        .map(|activity| activity.name)
        .collect();
    let one = [
        "query_source",
        "load_snapshot",
        "call_model",
        "add_messages",
    ];
    let mut expected = vec!["describe_memory", "get_messages"];
    for _ in 0..3 {
        expected.extend(one);
    }
    expected.push("summarize_messages");
    expected.extend(one);
    assert_eq!(kinds, expected);
    library.close().await;
    bed.finish().await;
}
