//! Operations on facts: each takes effect once.

use super::{
    super::{
        fixture::{assert_operation_conflict, operation},
        refusing::assert_invalid_value,
    },
    of_scope::{FactsOfScope, forgotten, kept},
};
use crate::{DIGEST_BYTES_MAX, FactForgotten, FactKept, FactStore, MutationError};

pub(super) async fn exercise(store: &dyn FactStore) {
    remembering_again_changes_nothing(&FactsOfScope::new(store, "o/remember")).await;
    forgetting_again_forgets_nothing(&FactsOfScope::new(store, "o/forget")).await;
    what_is_passed_again_is_the_fingerprints_business(&FactsOfScope::new(store, "o/passed")).await;
    other_arguments_are_a_conflict(&FactsOfScope::new(store, "o/other")).await;
    a_failed_call_leaves_no_receipt(&FactsOfScope::new(store, "o/failed")).await;
    ids_are_exact_and_of_a_scope(store).await;
}

const fn replayed_kept(existed: bool) -> FactKept {
    FactKept {
        existed,
        replayed: true,
    }
}

const fn replayed_forgotten(existed: bool) -> FactForgotten {
    FactForgotten {
        existed,
        replayed: true,
    }
}

async fn remembering_again_changes_nothing(facts: &FactsOfScope<'_>) {
    let (green, black) = (operation("green", "f1"), operation("black", "f2"));
    let remember = async |value: &str, operation| {
        let kept = facts.remember("tea", value, Some(operation)).await;
        kept.expect("remember")
    };
    assert_eq!(remember("green", &green).await, kept(false));
    assert_eq!(remember("black", &black).await, kept(true));
    let order = facts.order("tea").await;
    facts.put("milk", "oat").await;
    for _ in 0..2 {
        assert_eq!(remember("black", &black).await, replayed_kept(true));
        assert_eq!(remember("green", &green).await, replayed_kept(false));
    }
    assert_eq!(
        facts.value("tea").await.as_deref(),
        Some("black"),
        "remembering again doesn't bring an old value back"
    );
    assert_eq!(facts.order("tea").await, order, "nor is it news");
    assert_eq!(facts.keys("").await, ["milk", "tea"]);
    facts.forget("tea", None).await.expect("forget");
    assert_eq!(remember("black", &black).await, replayed_kept(true));
    assert_eq!(
        facts.value("tea").await,
        None,
        "remembering again doesn't bring back what was forgotten"
    );
    assert_eq!(facts.keys("black").await, [""; 0]);
    assert_eq!(facts.keys("").await, ["milk"]);
}

async fn forgetting_again_forgets_nothing(facts: &FactsOfScope<'_>) {
    let (early, late) = (operation("early", "f1"), operation("late", "f2"));
    let forget = async |operation| {
        let forgotten = facts.forget("tea", Some(operation)).await;
        forgotten.expect("forget")
    };
    assert_eq!(forget(&early).await, forgotten(false));
    facts.put("tea", "green").await;
    assert_eq!(forget(&early).await, replayed_forgotten(false));
    assert_eq!(
        facts.value("tea").await.as_deref(),
        Some("green"),
        "forgetting again doesn't forget what was remembered since"
    );
    assert_eq!(forget(&late).await, forgotten(true));
    facts.put("tea", "black").await;
    for _ in 0..2 {
        assert_eq!(forget(&late).await, replayed_forgotten(true));
        assert_eq!(
            facts.value("tea").await.as_deref(),
            Some("black"),
            "forgetting again doesn't forget what was remembered since"
        );
    }
}

async fn what_is_passed_again_is_the_fingerprints_business(facts: &FactsOfScope<'_>) {
    let (remember, forget) = (operation("remember", "f"), operation("forget", "f"));
    let first = facts.remember("a", "1", Some(&remember)).await;
    assert_eq!(first.expect("remember"), kept(false));
    let first = facts.forget("a", Some(&forget)).await;
    assert_eq!(first.expect("forget"), forgotten(true));
    facts.put("b", "2").await;
    let again = facts.remember("b", "3", Some(&remember)).await;
    assert_eq!(again.expect("replay"), replayed_kept(false));
    let again = facts.forget("b", Some(&forget)).await;
    assert_eq!(again.expect("replay"), replayed_forgotten(true));
    assert_eq!(facts.value("b").await.as_deref(), Some("2"));
}

async fn other_arguments_are_a_conflict(facts: &FactsOfScope<'_>) {
    let first = operation("remember", "f1");
    let kept = facts.remember("a", "1", Some(&first)).await;
    kept.expect("remember");
    let order = facts.order("a").await;
    let other = operation("remember", "f2");
    assert_operation_conflict(facts.remember("a", "2", Some(&other)).await);
    assert_operation_conflict(facts.remember("b", "1", Some(&other)).await);
    assert_operation_conflict(facts.forget("a", Some(&other)).await);

    let first = operation("forget", "f1");
    let forgotten = facts.forget("b", Some(&first)).await;
    forgotten.expect("forget");
    let other = operation("forget", "f2");
    assert_operation_conflict(facts.forget("a", Some(&other)).await);
    assert_operation_conflict(facts.remember("b", "1", Some(&other)).await);
    assert_eq!(facts.value("a").await.as_deref(), Some("1"));
    assert_eq!(facts.order("a").await, order);
    assert_eq!(facts.value("b").await, None);
}

async fn a_failed_call_leaves_no_receipt(facts: &FactsOfScope<'_>) {
    for odd in ["a\0b", &"d".repeat(DIGEST_BYTES_MAX + 1)] {
        let odd = operation("id", odd);
        assert_refuses_fingerprint(facts.remember("a", "1", Some(&odd)).await);
        assert_refuses_fingerprint(facts.forget("a", Some(&odd)).await);
    }
    assert_eq!(facts.value("a").await, None);
    let longest = operation("id", &"d".repeat(DIGEST_BYTES_MAX));
    let applied = facts.remember("a", "1", Some(&longest)).await;
    assert_eq!(applied.expect("the id is free"), kept(false));
}

#[track_caller]
fn assert_refuses_fingerprint<T: std::fmt::Debug>(result: Result<T, MutationError>) {
    match result {
        Err(MutationError::Store(error)) => {
            assert_invalid_value::<T>(Err(error), "fingerprint");
        }
        other => panic!("expected the fingerprint to be refused, found {other:?}"),
    }
}

async fn ids_are_exact_and_of_a_scope(store: &dyn FactStore) {
    let longest = "i".repeat(notekeeper_domain::OPERATION_ID_CHARS_MAX);
    for scope in ["o/ids", "o/ids/below"] {
        let facts = FactsOfScope::new(store, scope);
        for id in ["id", "ID", " id", "id ", "i%", "i_", "'", "\\", &longest] {
            let own = operation(id, "f");
            let applied = facts.remember("a", id, Some(&own)).await;
            assert!(
                !applied.expect("remember").replayed,
                "`{id}` in `{scope}` is an id of its own"
            );
        }
    }
}
