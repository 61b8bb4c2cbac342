use std::collections::{BTreeSet, HashSet};

use notekeeper_domain::ItemMetadata;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn item(content: &str, id: Option<&str>, score: Option<f64>, source: &str) -> Item {
    let mut item = Item::new(content, source);
    // As a source of somebody else's might make it: not by `with_id`, which drops an empty one.
    item.id = id.map(str::to_owned);
    match score {
        Some(score) => item.with_score(score),
        None => item,
    }
}

fn merge(how: Dedupe, lists: Vec<Vec<Item>>) -> Vec<Item> {
    how.merge(lists).into_iter().map(|it| it.item).collect()
}

fn contents(items: &[Item]) -> Vec<&str> {
    items.iter().map(|it| it.content.as_str()).collect()
}

/// The sources and the number that an item is stamped with.
fn stamp(item: &Item) -> (Option<&Value>, Option<&Value>) {
    let [sources, count] = ITEM_ORIGINS;
    (item.metadata.get(sources), item.metadata.get(count))
}

#[test]
fn items_that_share_an_id_are_one_whatever_they_say() {
    let merged = merge(
        Dedupe::Id,
        vec![
            vec![item("old wording", Some("7"), Some(0.2), "a")],
            vec![item("new wording", Some("7"), Some(0.9), "b")],
        ],
    );
    assert_eq!(contents(&merged), ["new wording"]);
    assert_eq!(
        stamp(&merged[0]),
        (Some(&json!(["a", "b"])), Some(&json!(2)))
    );
}

#[test]
fn items_that_say_the_same_are_one_where_one_source_knows_ids_and_the_other_none() {
    let merged = merge(
        Dedupe::Id,
        vec![
            vec![item("fact", Some("7"), None, "a")],
            vec![item("\tfact \u{3000}", None, None, "b")],
        ],
    );
    assert_eq!(contents(&merged), ["fact"]);
    assert_eq!(merged[0].id.as_deref(), Some("7"));
}

#[test]
fn what_is_the_same_as_a_third_is_the_same() {
    let first = item("x", Some("1"), None, "a");
    let other = item("y", Some("2"), None, "b");
    let between = [
        item("y", Some("1"), None, "c"),
        item("x", Some("2"), None, "c"),
    ];
    for between in between {
        let lists = vec![vec![first.clone()], vec![other.clone()], vec![between]];
        let merged = merge(Dedupe::Id, lists);
        assert_eq!(merged.len(), 1);
        assert_eq!(
            stamp(&merged[0]),
            (Some(&json!(["a", "b", "c"])), Some(&json!(3)))
        );
    }
    let apart = merge(Dedupe::Id, vec![vec![first], vec![other]]);
    assert_eq!(contents(&apart), ["x", "y"]);
}

#[test]
fn an_empty_id_is_no_identity() {
    let merged = merge(
        Dedupe::Id,
        vec![
            vec![item("one", Some(""), None, "a")],
            vec![item("two", Some(""), None, "b")],
        ],
    );
    assert_eq!(contents(&merged), ["one", "two"]);
}

#[test]
fn blank_content_is_no_identity_and_merges_on_a_shared_id_alone() {
    let blank = |id| {
        vec![
            vec![item("", id, None, "a")],
            vec![item(" ", id, None, "b")],
            vec![item("\n\t\u{a0}", id, None, "c")],
        ]
    };
    assert_eq!(merge(Dedupe::Id, blank(None)).len(), 3);
    assert_eq!(merge(Dedupe::Content, blank(None)).len(), 3);
    assert_eq!(merge(Dedupe::Id, blank(Some("7"))).len(), 1);
    let own = vec![
        vec![item(" ", Some("1"), None, "a")],
        vec![item(" ", Some("2"), None, "b")],
    ];
    assert_eq!(merge(Dedupe::Id, own).len(), 2);
}

#[test]
fn by_content_alone_ids_make_no_difference() {
    let lists = vec![
        vec![
            item("x", Some("1"), None, "a"),
            item("y", Some("7"), None, "a"),
        ],
        vec![
            item("x", Some("2"), None, "b"),
            item("z", Some("7"), None, "b"),
        ],
    ];
    assert_eq!(contents(&merge(Dedupe::Content, lists)), ["x", "y", "z"]);
}

#[test]
fn without_dedupe_lists_are_put_one_after_the_other_and_nothing_is_stamped() {
    let lists = vec![
        vec![item("x", Some("1"), None, "a")],
        vec![item("x", Some("1"), None, "b")],
    ];
    let merged = merge(Dedupe::None, lists);
    assert_eq!(contents(&merged), ["x", "x"]);
    assert!(merged.iter().all(|it| it.metadata.is_empty()));
}

#[test]
fn an_item_that_nobody_else_has_is_not_stamped() {
    let alone = item("x", Some("1"), Some(0.1), "a");
    assert_eq!(merge(Dedupe::Id, vec![vec![alone.clone()]]), [alone]);
}

#[test]
fn the_higher_score_survives_none_is_lowest_and_the_earlier_wins_a_tie() {
    let survivor = |scores: [Option<f64>; 3]| {
        let lists = vec![
            vec![item("x", None, scores[0], "a")],
            vec![item("x", None, scores[1], "b")],
            vec![item("x", None, scores[2], "c")],
        ];
        let merged = merge(Dedupe::Id, lists);
        (merged[0].source.clone(), merged[0].score())
    };
    assert_eq!(
        survivor([Some(0.1), Some(0.9), Some(0.5)]),
        ("b".into(), Some(0.9))
    );
    assert_eq!(survivor([None, Some(-5.0), None]), ("b".into(), Some(-5.0)));
    assert_eq!(survivor([None, None, None]), ("a".into(), None));
    assert_eq!(
        survivor([Some(0.3), Some(0.3), None]),
        ("a".into(), Some(0.3))
    );
}

#[test]
fn the_survivor_keeps_its_own_metadata_and_loses_none_of_it_to_the_stamp() {
    let of = |value| ItemMetadata::of_value(value).unwrap();
    let best = item("x", None, Some(1.0), "b").with_metadata(of(json!({"path": "/b"})));
    let less = item("x", None, None, "a").with_metadata(of(json!({"path": "/a", "n": 1})));
    let merged = merge(Dedupe::Id, vec![vec![less], vec![best.clone()]]);
    let kept = merged[0].metadata.without(&ITEM_ORIGINS);
    assert_eq!(kept, best.metadata);
}

#[test]
fn stamps_add_up_through_compositions_in_compositions() {
    let copy = |source| item("x", Some("1"), None, source);
    let inner = merge(Dedupe::Id, vec![vec![copy("a")], vec![copy("b")]]);
    let other = merge(Dedupe::Id, vec![vec![copy("c")], vec![copy("b")]]);
    let outer = merge(Dedupe::Id, vec![inner, other, vec![copy("d")]]);
    assert_eq!(
        stamp(&outer[0]),
        (Some(&json!(["a", "b", "c", "d"])), Some(&json!(5)))
    );
}

#[test]
fn a_stamp_that_makes_no_sense_counts_as_none() {
    for odd in [
        json!({"dedupe_sources": "a", "dedupe_count": "9"}),
        json!({"dedupe_sources": [], "dedupe_count": 0}),
        json!({"dedupe_sources": [1, null], "dedupe_count": -4}),
        json!({"dedupe_sources": {}, "dedupe_count": 2.5}),
    ] {
        let odd = ItemMetadata::of_value(odd).unwrap();
        let stamped = item("x", None, None, "a").with_metadata(odd);
        let merged = merge(
            Dedupe::Id,
            vec![vec![stamped], vec![item("x", None, None, "b")]],
        );
        assert_eq!(
            stamp(&merged[0]),
            (Some(&json!(["a", "b"])), Some(&json!(2)))
        );
    }
    let huge = ItemMetadata::of_value(json!({"dedupe_count": u64::MAX})).unwrap();
    let huge = item("x", None, None, "a").with_metadata(huge);
    let merged = merge(Dedupe::Id, vec![vec![huge.clone()], vec![huge]]);
    assert_eq!(stamp(&merged[0]).1, Some(&json!(u64::MAX)));
}

#[test]
fn of_copies_in_one_list_the_better_place_counts() {
    let lists = vec![
        vec![
            item("y", None, None, "a"),
            item("x", None, None, "a"),
            item("x", None, None, "a"),
        ],
        vec![item("x", None, None, "b")],
    ];
    let merged = Dedupe::Id.merge(lists);
    let place = |leg, rank| LegRank { leg, rank };
    assert_eq!(merged[0].ranks, [place(0, 1)]);
    assert_eq!(merged[1].ranks, [place(0, 2), place(1, 1)]);
    assert_eq!(stamp(&merged[1].item).1, Some(&json!(3)));
}

fn any_item() -> impl Strategy<Value = Item> {
    let content = prop_oneof![
        Just(""),
        Just(" "),
        Just("x"),
        Just(" x\n"),
        Just("y"),
        Just("z")
    ];
    let id = prop_oneof![Just(None), Just(Some("")), Just(Some("1")), Just(Some("2"))];
    let score = prop_oneof![
        Just(None),
        Just(Some(0.0)),
        Just(Some(0.5)),
        Just(Some(-1.0))
    ];
    let source = prop_oneof![Just("a"), Just("b"), Just("c")];
    (content, id, score, source)
        .prop_map(|(content, id, score, source)| item(content, id, score, source))
}

fn any_lists() -> impl Strategy<Value = Vec<Vec<Item>>> {
    prop::collection::vec(prop::collection::vec(any_item(), 0..5), 0..5)
}

fn total(items: &[Item]) -> u64 {
    items.iter().map(copies_of).sum()
}

/// Ids and contents that make items the same.
fn identities(item: &Item) -> HashSet<String> {
    let id = item.id.iter().filter(|id| !id.is_empty());
    let content = Some(trim_space(&item.content)).filter(|it| !it.is_empty());
    id.map(|id| format!("id {id}"))
        .chain(content.map(|content| format!("content {content}")))
        .collect()
}

proptest! {
    #[test]
    fn no_copy_is_lost_from_the_count_and_no_two_survivors_are_the_same(lists in any_lists()) {
        let given: Vec<Item> = lists.iter().flatten().cloned().collect();
        let merged = merge(Dedupe::Id, lists);
        prop_assert_eq!(total(&merged), given.len() as u64);
        for (index, one) in merged.iter().enumerate() {
            for other in &merged[index + 1..] {
                prop_assert!(identities(one).is_disjoint(&identities(other)));
            }
        }
        let named: BTreeSet<String> = merged
            .iter()
            .flat_map(origins)
            .map(|it| it.as_str().unwrap().to_owned())
            .collect();
        prop_assert_eq!(named, given.iter().map(|it| it.source.clone()).collect());
    }

    #[test]
    fn a_survivor_is_one_of_the_given_and_scores_as_high_as_any_that_shares_with_it(lists in any_lists()) {
        let given: Vec<Item> = lists.iter().flatten().cloned().collect();
        for survivor in merge(Dedupe::Id, lists) {
            let mut bare = survivor.clone();
            bare.metadata = survivor.metadata.without(&ITEM_ORIGINS);
            prop_assert!(given.contains(&bare));
            let shared = identities(&survivor);
            for copy in given.iter().filter(|it| !identities(it).is_disjoint(&shared)) {
                prop_assert!(copy.score() <= survivor.score());
            }
        }
    }

    #[test]
    fn merging_what_is_merged_changes_nothing(lists in any_lists()) {
        for how in [Dedupe::Id, Dedupe::Content, Dedupe::None] {
            let once = merge(how, lists.clone());
            prop_assert_eq!(merge(how, vec![once.clone()]), once);
        }
    }

    #[test]
    fn how_lists_are_split_up_makes_no_difference(items in prop::collection::vec(any_item(), 0..12), cut in 0..12_usize) {
        let cut = cut.min(items.len());
        let (one, other) = items.split_at(cut);
        let split = merge(Dedupe::Id, vec![one.to_vec(), other.to_vec()]);
        prop_assert_eq!(split, merge(Dedupe::Id, vec![items]));
    }

    #[test]
    fn by_content_a_tree_of_compositions_comes_to_what_one_comes_to(lists in any_lists(), cut in 0..5_usize) {
        let cut = cut.min(lists.len());
        let (one, other) = lists.split_at(cut);
        let inner = [one, other].map(|lists| merge(Dedupe::Content, lists.to_vec()));
        let nested = merge(Dedupe::Content, inner.to_vec());
        prop_assert_eq!(nested, merge(Dedupe::Content, lists));
    }
}
