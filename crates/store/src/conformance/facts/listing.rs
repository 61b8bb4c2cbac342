//! Lists of facts.

use super::of_scope::FactsOfScope;
use crate::FactStore;

pub(super) async fn exercise(store: &dyn FactStore) {
    facts_are_listed_by_code_point(&FactsOfScope::new(store, "l/list")).await;
}

/// Ascending by code point: not as a language sorts, nor as UTF-16 does.
const KEYS: [&str; 12] = [
    " a",
    "%",
    "1",
    "10",
    "2",
    "B",
    "_",
    "a",
    "a b",
    "\u{e9}",
    "\u{ff5e}",
    "\u{1f600}",
];

async fn facts_are_listed_by_code_point(facts: &FactsOfScope<'_>) {
    for key in KEYS.iter().rev() {
        facts.put(key, &format!("of {key}")).await;
    }
    FactsOfScope::new(facts.store, "l/list/below")
        .put("of another", "x")
        .await;
    let keys = async |after: Option<&str>, most| {
        let listed = facts.listed(after, most).await;
        let keys = listed.facts.iter().map(|listed| {
            let key = listed.fact.key.as_str();
            assert_eq!(listed.fact.value(), format!("of {key}"));
            key.to_owned()
        });
        (keys.collect::<Vec<_>>(), listed.more)
    };
    let of = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        keys(None, 100).await,
        (of(&KEYS), false),
        "facts are listed by code point"
    );
    assert_eq!(keys(None, usize::MAX).await, (of(&KEYS), false));
    assert_eq!(keys(None, KEYS.len()).await, (of(&KEYS), false));
    assert_eq!(keys(None, 0).await, (vec![], true));
    for page in 1..KEYS.len() {
        assert_eq!(keys(None, page).await, (of(&KEYS[..page]), true));
        let (mut found, mut after) = (Vec::new(), None::<String>);
        loop {
            let (listed, more) = keys(after.as_deref(), page).await;
            after = listed.last().cloned();
            found.extend(listed);
            assert!(
                found.len() <= KEYS.len(),
                "a page comes after the one before it"
            );
            if !more {
                break;
            }
        }
        assert_eq!(found, KEYS, "in pages of {page}");
    }
    // After what isn't there, and after the last.
    assert_eq!(keys(Some("C"), 2).await, (of(&["_", "a"]), true));
    assert_eq!(keys(Some("a"), 1).await, (of(&["a b"]), true));
    assert_eq!(keys(Some("\u{1f600}"), 3).await, (vec![], false));
    assert_eq!(keys(Some("\u{10ffff}"), 0).await, (vec![], false));
}
