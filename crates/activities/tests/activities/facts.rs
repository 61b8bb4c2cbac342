//! `remember`, `recall`, `forget`.

use notekeeper_activities::Failure;
use notekeeper_contract::{
    FailureType, Forgotten, ListFactsOutput, Outcome, RESULT_BYTES_MAX, RecallOutput, Remembered,
};
use serde_json::{Value, json};

use crate::fixture::{
    Bench, Watched, bench, bench_over, caller, done, input, refusal, unavailable,
};

async fn remember(bench: &Bench, fields: Value) -> Result<Outcome<Remembered>, Failure> {
    bench.notebook.remember(input(fields), &caller("1")).await
}

async fn forget(bench: &Bench, fields: Value) -> Result<Outcome<Forgotten>, Failure> {
    bench.notebook.forget(input(fields), &caller("1")).await
}

async fn recall(bench: &Bench, fields: Value) -> Result<RecallOutput, Failure> {
    bench.notebook.recall(input(fields)).await
}

async fn list(bench: &Bench, fields: Value) -> Result<ListFactsOutput, Failure> {
    bench.notebook.list_facts(input(fields)).await
}

/// Keeps facts, one after the other.
async fn remember_all(bench: &Bench, facts: &[(&str, &str)]) {
    for (key, value) in facts {
        let fields = json!({"key": key, "value": value, "operation": {"id": format!("op-{key}")}});
        done(remember(bench, fields).await.unwrap());
    }
}

#[tokio::test]
async fn a_fact_is_created_updated_and_deleted_under_its_key() {
    let bench = bench();
    let mut statuses = Vec::new();
    for (value, id) in [("black", "a"), ("green", "b"), ("", "c")] {
        let fields = json!({"key": " Tea ", "value": value, "operation": {"id": id}});
        let kept = done(remember(&bench, fields).await.unwrap());
        assert_eq!((kept.key.as_str(), kept.replayed), (" Tea ", false));
        statuses.push(kept.status);
    }
    assert_eq!(statuses, ["created", "updated", "updated"]);
    assert_eq!(recall(&bench, json!({})).await.unwrap().values, [""]);
    let mut statuses = Vec::new();
    for (key, id) in [("Tea", "d"), (" Tea ", "e"), (" Tea ", "f")] {
        let fields = json!({"key": key, "operation": {"id": id}});
        statuses.push(done(forget(&bench, fields).await.unwrap()).status);
    }
    assert_eq!(statuses, ["not_found", "deleted", "not_found"]);
    assert_eq!(recall(&bench, json!({})).await.unwrap().values, [""; 0]);
}

#[tokio::test]
async fn facts_are_the_scopes_and_stay_when_a_conversation_is_cleared() {
    let bench = bench();
    remember_all(&bench, &[("tea", "green")]).await;
    let other = json!({"scope": {"namespace": "acme/bob"}});
    assert_eq!(recall(&bench, other).await.unwrap().values, [""; 0]);
    let caller = caller("1");
    let cleared = bench.notebook.clear_messages(input(json!({})), &caller);
    cleared.await.unwrap();
    assert_eq!(recall(&bench, json!({})).await.unwrap().values, ["green"]);
}

#[tokio::test]
async fn a_repetition_is_answered_and_other_arguments_are_a_conflict() {
    let bench = bench();
    let first = json!({"key": "tea", "value": "black", "operation": {"id": "a"}});
    let kept = done(remember(&bench, first.clone()).await.unwrap());
    let later = json!({"key": "tea", "value": "green", "operation": {"id": "b"}});
    done(remember(&bench, later).await.unwrap());
    let again = done(remember(&bench, first).await.unwrap());
    assert_eq!(
        again,
        Remembered {
            replayed: true,
            ..kept
        }
    );
    let removal = json!({"key": "tea", "operation": {"id": "c"}});
    done(forget(&bench, removal.clone()).await.unwrap());
    done(
        remember(
            &bench,
            json!({"key": "tea", "value": "mint", "operation": {"id": "d"}}),
        )
        .await
        .unwrap(),
    );
    let again = done(forget(&bench, removal).await.unwrap());
    assert_eq!((again.status.as_str(), again.replayed), ("deleted", true));
    assert_eq!(recall(&bench, json!({})).await.unwrap().values, ["mint"]);

    for other in [
        json!({"key": "tea", "value": "oolong", "operation": {"id": "a"}}),
        json!({"key": "Tea", "value": "black", "operation": {"id": "a"}}),
        json!({"key": "tea", "value": "black", "operation": {"id": "c"}}),
    ] {
        let failure = remember(&bench, other).await.unwrap_err();
        assert_eq!(failure.kind, FailureType::OperationConflict);
    }
    let failure = forget(&bench, json!({"key": "tea", "operation": {"id": "a"}})).await;
    assert_eq!(failure.unwrap_err().kind, FailureType::OperationConflict);
}

#[tokio::test]
async fn without_an_operation_the_activity_is_the_identity() {
    let bench = bench();
    let fields = || input(json!({"key": "tea", "value": "green"}));
    let mut statuses = Vec::new();
    for activity in ["1", "1", "2"] {
        let kept = bench.notebook.remember(fields(), &caller(activity)).await;
        let kept = done(kept.unwrap());
        statuses.push((kept.status, kept.replayed));
    }
    let expected = [("created", false), ("created", true), ("updated", false)];
    assert_eq!(
        statuses,
        expected.map(|(status, replayed)| (status.to_owned(), replayed))
    );
}

#[tokio::test]
async fn what_the_model_can_correct_is_a_refusal_and_nothing_is_kept() {
    let bench = bench();
    let (long_key, long_value) = ("k".repeat(501), "v".repeat(16_385));
    for (key, value, reason) in [
        ("", "v", "invalid_key"),
        (" \n", "v", "invalid_key"),
        (long_key.as_str(), "v", "invalid_key"),
        ("k\u{0}", "v", "nul"),
        ("k", "v\u{0}", "nul"),
        ("k", long_value.as_str(), "too_large"),
    ] {
        let fields = json!({"key": key, "value": value, "operation": {"id": "a"}});
        assert_eq!(refusal(remember(&bench, fields).await.unwrap()), reason);
        if reason != "too_large" && value == "v" {
            let fields = json!({"key": key, "operation": {"id": "a"}});
            assert_eq!(refusal(forget(&bench, fields).await.unwrap()), reason);
        }
    }
    assert!(bench.store.take_calls().is_empty());
    // What was refused leaves the id free.
    let fields = json!({"key": "k", "value": "v", "operation": {"id": "a"}});
    assert!(!done(remember(&bench, fields).await.unwrap()).replayed);
}

#[tokio::test]
async fn an_empty_query_gives_the_latest_facts_up_to_the_limit_in_either_form() {
    let bench = bench();
    remember_all(&bench, &[("a", "1"), ("b", "2"), ("c", "3")]).await;
    let fields = json!({"key": "a", "value": "4", "operation": {"id": "again"}});
    done(remember(&bench, fields).await.unwrap());
    let latest = recall(&bench, json!({"limit": 2})).await.unwrap();
    assert_eq!(
        (latest.values.as_slice(), latest.truncated),
        (&["4".to_owned(), "3".to_owned()][..], false)
    );
    assert!(latest.facts.is_empty());
    let latest = recall(&bench, json!({"query": " ", "form": "facts"}))
        .await
        .unwrap();
    assert!(latest.values.is_empty());
    let facts: Vec<_> = latest
        .facts
        .iter()
        .map(|fact| (fact.key.as_str(), fact.value.as_str(), fact.score))
        .collect();
    assert_eq!(facts, [("a", "4", 0.0), ("c", "3", 0.0), ("b", "2", 0.0)]);
}

#[tokio::test]
async fn a_limit_out_of_bounds_is_refused() {
    let bench = bench();
    remember_all(&bench, &[("a", "1")]).await;
    for limit in [0, 1_001] {
        let failure = recall(&bench, json!({"limit": limit})).await.unwrap_err();
        assert_eq!(failure.kind, FailureType::InvalidArgument);
        assert_eq!(failure.message, "`limit` must be 1 to 1000");
    }
    for limit in [1, 1_000] {
        assert_eq!(
            recall(&bench, json!({"limit": limit}))
                .await
                .unwrap()
                .values,
            ["1"]
        );
    }
}

#[tokio::test]
async fn facts_that_do_not_fit_into_a_result_are_left_out_and_it_says_so() {
    let bench = bench();
    let value = "\u{1}".repeat(16_384);
    for n in 0..12 {
        let fields =
            json!({"key": n.to_string(), "value": value, "operation": {"id": n.to_string()}});
        done(remember(&bench, fields).await.unwrap());
    }
    for (form, count) in [("values", 10), ("facts", 10)] {
        let found = recall(&bench, json!({"limit": 1_000, "form": form}))
            .await
            .unwrap();
        assert!(serde_json::to_string(&found).unwrap().len() <= RESULT_BYTES_MAX);
        assert_eq!(
            (found.values.len() + found.facts.len(), found.truncated),
            (count, true)
        );
        let found = recall(&bench, json!({"limit": count, "form": form}))
            .await
            .unwrap();
        assert_eq!(
            (found.values.len() + found.facts.len(), found.truncated),
            (count, false)
        );
    }
}

#[tokio::test]
async fn what_is_wrong_otherwise_is_a_failure_that_holds_no_content() {
    let bench = bench();
    let alone = bench_over(Watched::of_notes_alone());
    let transcripts = bench_over(Watched::without_facts());
    let place = json!({"key": "SECRET", "value": "SECRET", "query": "SECRET"});
    let with = |more: Value| {
        let mut fields = place.clone();
        let more = more.as_object().unwrap().clone();
        fields.as_object_mut().unwrap().extend(more);
        fields
    };
    for (bench, fields, kind) in [
        (
            &bench,
            with(json!({"store": "SECRET"})),
            FailureType::InvalidArgument,
        ),
        (
            &bench,
            with(json!({"scope": {"namespace": "SECRET/.."}})),
            FailureType::InvalidScope,
        ),
        (&alone, with(json!({})), FailureType::Unsupported),
        (&transcripts, with(json!({})), FailureType::Unsupported),
    ] {
        let failures = [
            remember(bench, fields.clone()).await.unwrap_err(),
            forget(bench, fields.clone()).await.unwrap_err(),
            recall(bench, fields.clone()).await.unwrap_err(),
            list(bench, fields).await.unwrap_err(),
        ];
        for failure in failures {
            assert_eq!(failure.kind, kind);
            assert!(!failure.message.contains("SECRET"), "{failure}");
        }
    }
    bench.store.fail_with(unavailable);
    let failures = [
        remember(&bench, place.clone()).await.unwrap_err(),
        forget(&bench, place.clone()).await.unwrap_err(),
        recall(&bench, place.clone()).await.unwrap_err(),
        list(&bench, place).await.unwrap_err(),
    ];
    for failure in failures {
        assert_eq!(failure.kind, FailureType::Unavailable);
    }
}

#[tokio::test]
async fn facts_are_listed_by_key_from_any_place_and_one_by_its_key() {
    let bench = bench();
    remember_all(&bench, &[("b", "2"), ("Z", "4"), ("a", "1"), ("c", "3")]).await;
    let keys = |listed: &ListFactsOutput| -> Vec<String> {
        let facts = listed.facts.iter();
        facts
            .map(|fact| format!("{}={}", fact.key, fact.value))
            .collect()
    };
    let all = list(&bench, json!({})).await.unwrap();
    assert_eq!(keys(&all), ["Z=4", "a=1", "b=2", "c=3"]);
    assert!(!all.more);
    let two = list(&bench, json!({"limit": 2})).await.unwrap();
    assert_eq!(keys(&two), ["Z=4", "a=1"]);
    assert!(two.more);
    let rest = json!({"limit": 2, "after": "a"});
    let rest = list(&bench, rest).await.unwrap();
    assert_eq!(keys(&rest), ["b=2", "c=3"]);
    assert!(!rest.more);
    let behind = list(&bench, json!({"after": "aa"})).await.unwrap();
    assert_eq!(keys(&behind), ["b=2", "c=3"]);
    let one = list(&bench, json!({"key": "c"})).await.unwrap();
    assert_eq!(keys(&one), ["c=3"]);
    for fields in [
        json!({"key": "C"}),
        json!({"scope": {"namespace": "acme/bob"}}),
    ] {
        assert_eq!(
            list(&bench, fields).await.unwrap(),
            ListFactsOutput::default()
        );
    }
    for fields in [
        json!({"limit": 0}),
        json!({"limit": 1_001}),
        json!({"key": " "}),
        json!({"after": "SECRET\u{0}"}),
        json!({"key": "a", "after": "SECRET"}),
    ] {
        let failure = list(&bench, fields).await.unwrap_err();
        assert_eq!(failure.kind, FailureType::InvalidArgument);
        assert!(!failure.message.contains("SECRET"), "{failure}");
    }
}

#[tokio::test]
async fn a_store_with_facts_alone_keeps_them() {
    let bench = bench_over(Watched::without_transcripts());
    remember_all(&bench, &[("food", "no peanuts")]).await;
    let found = recall(&bench, json!({"query": "peanuts"})).await.unwrap();
    assert_eq!(found.values, ["no peanuts"]);
    assert_eq!(list(&bench, json!({})).await.unwrap().facts.len(), 1);
    let forgotten = done(forget(&bench, json!({"key": "food"})).await.unwrap());
    assert_eq!(forgotten.status, "deleted");
}
