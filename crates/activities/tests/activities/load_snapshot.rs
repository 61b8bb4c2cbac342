use notekeeper_contract::{
    FailureType, LoadSnapshotInput, LoadSnapshotOutput, RESULT_BYTES_MAX, SnapshotAnswer,
};
use notekeeper_domain::snapshot_digest;
use notekeeper_store::{CONTENT_BYTES_MAX, SnapshotStore as _};
use serde_json::{Value, json};

use crate::fixture::{Bench, bench, scope, unavailable, unmigrated};

fn memories(memories: Value) -> LoadSnapshotInput {
    serde_json::from_value(json!({"memories": memories})).unwrap()
}

/// A request for the scope of the tests, with these fields.
fn memory(fields: Value) -> Value {
    let mut memory = json!({"scope": {"namespace": "acme/alice"}});
    memory
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    memory
}

async fn load(bench: &Bench, requests: Value) -> LoadSnapshotOutput {
    let output = bench.notebook.load_snapshot(memories(requests)).await;
    output.expect("the snapshot loads")
}

async fn load_one(bench: &Bench, fields: Value) -> SnapshotAnswer {
    let mut output = load(bench, json!([memory(fields)])).await;
    output.snapshots.remove(0)
}

#[tokio::test]
async fn a_block_comes_inline_with_its_digest_and_stats() {
    let bench = bench();
    bench.put("MEMORY.md", "- tea: green\n").await;
    bench.put("projects.md", "…").await;
    let SnapshotAnswer::Block {
        digest,
        text: Some(text),
        stats,
    } = load_one(&bench, json!({})).await
    else {
        panic!("no block")
    };
    assert_eq!(digest, snapshot_digest(&text));
    assert!(
        text.contains("- tea: green") && text.contains("projects.md"),
        "{text}"
    );
    assert_eq!(stats.chars, text.chars().count());
    assert_eq!(
        (
            stats.lines,
            stats.lines_dropped,
            stats.files,
            stats.truncated
        ),
        (1, 0, 1, false)
    );
    assert_eq!(bench.store.take_calls(), ["notebook"]);
}

#[tokio::test]
async fn what_is_left_out_is_counted() {
    let bench = bench();
    bench.put("MEMORY.md", "one\ntwo\nthree\n").await;
    let render = json!({"render": {"max_lines": 2}});
    let SnapshotAnswer::Block { stats, .. } = load_one(&bench, render).await else {
        panic!("no block")
    };
    assert_eq!(
        (stats.lines, stats.lines_dropped, stats.truncated),
        (2, 1, true)
    );
    let render = json!({"render": {"max_memory_size": 5}});
    let SnapshotAnswer::Block { stats, .. } = load_one(&bench, render).await else {
        panic!("no block")
    };
    assert!(stats.truncated);
}

#[tokio::test]
async fn a_block_that_the_caller_holds_is_unchanged_until_it_changes() {
    let bench = bench();
    bench.put("MEMORY.md", "tea\n").await;
    let SnapshotAnswer::Block { digest, .. } = load_one(&bench, json!({})).await else {
        panic!("no block")
    };
    for delivery in ["inline", "reference"] {
        let held = json!({"held_digest": digest, "delivery": delivery});
        let unchanged = SnapshotAnswer::Unchanged {
            digest: digest.clone(),
        };
        assert_eq!(load_one(&bench, held).await, unchanged);
    }
    assert!(!bench.store.take_calls().contains(&"keep_snapshot"));
    bench.put("MEMORY.md", "coffee\n").await;
    let held = json!({"held_digest": digest});
    let SnapshotAnswer::Block { digest: newer, .. } = load_one(&bench, held).await else {
        panic!("no block")
    };
    assert_ne!(newer, digest);
}

#[tokio::test]
async fn a_block_by_reference_is_kept_before_the_answer() {
    let bench = bench();
    bench.put("MEMORY.md", "tea\n").await;
    let SnapshotAnswer::Block { digest, text, .. } =
        load_one(&bench, json!({"delivery": "reference"})).await
    else {
        panic!("no block")
    };
    assert_eq!(text, None);
    assert_eq!(bench.store.take_calls(), ["notebook", "keep_snapshot"]);
    let kept = bench
        .store
        .inner
        .snapshot(&scope(), &digest)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(snapshot_digest(&kept), digest);
    assert!(kept.contains("tea"));
}

#[tokio::test]
async fn nothing_stored_and_no_room_are_empty_and_told_apart() {
    let bench = bench();
    let empty = SnapshotAnswer::Empty {
        budget_exhausted: false,
    };
    assert_eq!(load_one(&bench, json!({})).await, empty);
    bench.put("MEMORY.md", "tea\n").await;
    let no_room = json!({"render": {"max_tokens": 100, "guidance_chars": 400}});
    let exhausted = SnapshotAnswer::Empty {
        budget_exhausted: true,
    };
    assert_eq!(load_one(&bench, no_room).await, exhausted);
}

#[tokio::test]
async fn neither_a_note_nor_a_listing_is_ever_asked_for_without_a_bound() {
    let bench = bench();
    let of = |render: Value| memory(json!({ "render": render }));
    let largest = json!({"max_tokens": usize::MAX, "max_memory_size": usize::MAX});
    let requests = json!([
        of(json!({})),
        of(json!({"max_tokens": 600, "max_memory_size": 7, "max_lines": 0})),
        of(largest),
    ]);
    load(&bench, requests).await;
    let asked = bench.store.take_bounds();
    let asked: Vec<_> = asked
        .iter()
        .map(|it| (it.main_chars_max, it.names_max))
        .collect();
    // A listed name takes six characters at least, and the budget has four for each token.
    assert_eq!(asked[..2], [(65_536, 1_333), (7, 400)]);
    let most = i32::MAX as usize;
    assert!(asked[2].0 <= most && asked[2].1 <= most, "{asked:?}");
}

#[tokio::test]
async fn a_heading_stands_over_the_block_and_notices_name_the_tools_of_the_memory() {
    let bench = bench();
    bench.put("MEMORY.md", "- old\n- new\n").await;
    let render = json!({
        "heading": "Org notes", "max_lines": 1,
        "reader": "org_read_memory", "searcher": "org_search_memory",
    });
    let SnapshotAnswer::Block {
        text: Some(text), ..
    } = load_one(&bench, json!({ "render": render })).await
    else {
        panic!("no block")
    };
    assert!(text.starts_with("<memory>\n## Org notes\n"), "{text}");
    assert!(text.contains("org_read_memory"), "{text}");
    assert!(text.contains("- new") && !text.contains("- old"), "{text}");
}

#[tokio::test]
async fn a_store_that_fails_for_good_leaves_the_other_memories_alone() {
    let bench = bench();
    bench.put("MEMORY.md", "tea\n").await;
    bench.other.fail_with(unmigrated);
    let requests = json!([memory(json!({"store": "other"})), memory(json!({}))]);
    let output = load(&bench, requests).await;
    assert_eq!(
        output.snapshots[0],
        SnapshotAnswer::Error {
            error_type: "Unmigrated".to_owned(),
            message: "database is at migration 0, this program needs 1; run `notekeeper migrate`"
                .to_owned(),
        }
    );
    assert!(matches!(output.snapshots[1], SnapshotAnswer::Block { .. }));
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_fails_the_activity_which_is_tried_again() {
    let bench = bench();
    bench.other.fail_with(unavailable);
    let requests = json!([memory(json!({})), memory(json!({"store": "other"}))]);
    let failure = bench
        .notebook
        .load_snapshot(memories(requests))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureType::Unavailable);
}

#[tokio::test]
async fn an_invalid_request_fails_before_any_store_is_asked() {
    let bench = bench();
    let render = |field: &str, value: Value| json!({"render": {field: value}});
    let cases = [
        (
            json!({"store": "nowhere"}),
            FailureType::InvalidArgument,
            "`store`",
        ),
        (
            json!({"scope": {"namespace": "/"}}),
            FailureType::InvalidScope,
            "namespace",
        ),
        (
            render("max_tokens", json!(0)),
            FailureType::InvalidArgument,
            "`memories[1].render.max_tokens`",
        ),
        (
            render("max_memory_size", json!(0)),
            FailureType::InvalidArgument,
            "`memories[1].render.max_memory_size`",
        ),
        (
            render("heading", json!("\u{0}")),
            FailureType::InvalidArgument,
            "`memories[1].render.heading`",
        ),
        (
            render("reader", json!("\u{0}")),
            FailureType::InvalidArgument,
            "`memories[1].render.reader`",
        ),
        (
            render("searcher", json!("\u{0}")),
            FailureType::InvalidArgument,
            "`memories[1].render.searcher`",
        ),
        (
            render("location", json!("\u{0}")),
            FailureType::InvalidArgument,
            "`memories[1].render.location`",
        ),
    ];
    for (fields, kind, place) in cases {
        let requests = memories(json!([memory(json!({})), memory(fields)]));
        let failure = bench.notebook.load_snapshot(requests).await.unwrap_err();
        assert_eq!(failure.kind, kind);
        assert!(failure.message.contains(place), "{}", failure.message);
    }
    assert!(bench.store.take_calls().is_empty());
}

#[tokio::test]
async fn snapshots_over_the_limit_of_a_result_fail_and_by_reference_they_do_not() {
    let bench = bench();
    bench.put("MEMORY.md", &"\u{1}\n".repeat(200_000)).await;
    let fields = |delivery: &str| {
        json!([memory(json!({"delivery": delivery, "render": {
            "max_tokens": 1_000_000, "max_lines": 1_000_000, "max_memory_size": 1_000_000,
        }}))])
    };
    let failure = bench
        .notebook
        .load_snapshot(memories(fields("inline")))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureType::TooLarge);
    for part in [&RESULT_BYTES_MAX.to_string(), "max_tokens", "reference"] {
        assert!(failure.message.contains(part), "{}", failure.message);
    }
    let output = load(&bench, fields("reference")).await;
    assert!(matches!(
        output.snapshots[0],
        SnapshotAnswer::Block { text: None, .. }
    ));
}

/// The note just fits its store, and the block around it doesn't.
#[tokio::test]
async fn a_block_over_the_limit_of_its_store_is_too_large_and_says_what_to_do() {
    let bench = bench();
    bench.put("MEMORY.md", &"x".repeat(CONTENT_BYTES_MAX)).await;
    let most = usize::MAX;
    let fields = json!({"delivery": "reference", "render": {
        "max_tokens": most, "max_lines": most, "max_memory_size": most,
    }});
    let SnapshotAnswer::Error {
        error_type,
        message,
    } = load_one(&bench, fields).await
    else {
        panic!("the store took it")
    };
    assert_eq!(error_type, "TooLarge");
    let bytes = message
        .split(' ')
        .find_map(|word| word.parse::<usize>().ok());
    assert!(bytes > Some(CONTENT_BYTES_MAX), "{message}");
    for part in [&CONTENT_BYTES_MAX.to_string(), "lower `max_tokens`"] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn the_largest_settings_are_settings_like_others() {
    let bench = bench();
    bench.put("MEMORY.md", "tea\n").await;
    let most = usize::MAX;
    let render = json!({"render": {
        "max_tokens": most, "max_lines": most, "max_memory_size": most, "guidance_chars": 7,
    }});
    assert!(matches!(
        load_one(&bench, render).await,
        SnapshotAnswer::Block { .. }
    ));
    let render = json!({"render": {"guidance_chars": most}});
    let exhausted = SnapshotAnswer::Empty {
        budget_exhausted: true,
    };
    assert_eq!(load_one(&bench, render).await, exhausted);
}
