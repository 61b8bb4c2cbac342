//! Ids of activities and of operations, as the histories hold them.

use std::collections::BTreeSet;

use crate::recorded::{self, Recorded};

#[test]
fn activity_ids_are_the_scope_hash_and_a_number_that_grows() {
    for recorded in recorded::all() {
        let mut hashes = BTreeSet::new();
        let mut numbers = Vec::new();
        for activity in recorded.activities() {
            let (hash, number) = parts(&activity.id)
                .unwrap_or_else(|| panic!("{}: activity id `{}`", recorded.name, activity.id));
            hashes.insert(hash);
            numbers.push(number);
        }
        let expected: Vec<_> = (1..=numbers.len() as u64).collect();
        assert_eq!(numbers, expected, "{}", recorded.name);
        assert_eq!(hashes.len(), 1, "{}: {hashes:?}", recorded.name);
    }
}

/// Hash and number of `nk.{16 hexadecimal digits}.{n}`.
fn parts(id: &str) -> Option<(String, u64)> {
    let [stem, hash, number] = *id.split('.').collect::<Vec<_>>() else {
        return None;
    };
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let well_formed = stem == "nk"
        && hash.len() == 16
        && hash.chars().all(hexadecimal)
        && !number.starts_with(['0', '+']);
    well_formed.then_some((hash.to_owned(), number.parse().ok()?))
}

#[test]
fn each_call_has_an_operation_of_its_own() {
    for recorded in recorded::all() {
        let operations = operations(&recorded);
        let distinct: BTreeSet<_> = operations.iter().collect();
        // An exchange that couldn't be stored, as far as anybody heard, is stored again under its operation.
        let again = ["stored_unheard.json", "cancelled_with_unstored.json"];
        let repeated = again.iter().any(|it| recorded.name.ends_with(it));
        let repeated = usize::from(repeated);
        assert_eq!(
            distinct.len() + repeated,
            operations.len(),
            "{}: {operations:?}",
            recorded.name
        );
    }
}

#[test]
fn calls_with_one_id_are_other_operations_in_the_next_run() {
    let [before, after] = ["before", "after"]
        .map(|when| recorded::named(&format!("agent_workflow/continue_as_new_{when}.binpb")));
    for recorded in [&before, &after] {
        let calls = recorded.activities().into_iter().flat_map(|activity| {
            activity.answer()["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        });
        let ids: Vec<_> = calls.map(|call| call["id"].clone()).collect();
        assert_eq!(ids, ["call_0"], "{}", recorded.name);
    }
    assert_ne!(operations(&before), operations(&after));
}

#[test]
fn a_call_whose_response_outlives_a_reset_keeps_its_operation() {
    let [before, after] = ["before", "after"]
        .map(|when| recorded::named(&format!("agent_workflow/reset_{when}.binpb")));
    assert_eq!(operations(&before).len(), 1);
    assert_eq!(operations(&before), operations(&after));
}

#[test]
fn a_second_attempt_is_answered_from_the_receipt_of_the_first() {
    for (history, attempts) in [("killed_worker", 2), ("local_killed_worker", 1)] {
        let recorded = recorded::named(&format!("agent_workflow/{history}.json"));
        let write = recorded.activity("write_memory");
        assert_eq!(write.attempts, attempts, "{history}");
        assert_eq!(write.answer()["replayed"], true, "{history}");
    }
}

/// Operation ids, in the order of the calls. Those of local activities aren't recorded.
fn operations(recorded: &Recorded) -> Vec<String> {
    let mut operations = Vec::new();
    let activities = recorded.activities().into_iter();
    for activity in activities.filter(|activity| !activity.is_local) {
        let id = activity.input["operation"]["id"]
            .as_str()
            .map(str::to_owned);
        let mutates = ![
            "describe_memory",
            "load_snapshot",
            "call_model",
            "summarize_messages",
            "get_messages",
            "query_source",
            "recall",
            "read_memory",
            "search_memory",
        ]
        .contains(&activity.kind.as_str());
        assert_eq!(
            id.is_some(),
            mutates,
            "{}: {}",
            recorded.name,
            activity.kind
        );
        operations.extend(id);
    }
    assert!(
        operations
            .iter()
            .all(|id| id.len() == 64 && id.chars().all(|c| c.is_ascii_hexdigit())),
        "{}: {operations:?}",
        recorded.name
    );
    operations
}
