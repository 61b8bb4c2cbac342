//! In which order a composition gives what its legs found.

use std::{cmp::Ordering, fmt::Debug};

use async_trait::async_trait;
use notekeeper_domain::Item;

use crate::{Candidate, SourceError, SourceQuery};

/// What places in lists are added to before they are divided by: the constant that reciprocal-rank
/// fusion is published with (Cormack, Clarke and Büttcher, 2009). The larger it is, the less the first
/// places of one list count against middling places in several.
const FUSION_CONSTANT: f64 = 60.0;

/// Puts what was found into its order, best first.
#[async_trait]
pub trait Reranker: Send + Sync + Debug {
    /// All candidates that are to stay, best first; the composition takes the first ones. Candidates come
    /// leg by leg, as the legs gave them.
    ///
    /// # Errors
    ///
    /// [`SourceError`]: the composition tells it among its failures and ranks by score. One that tells of a
    /// boundary between tenants ends the whole query.
    async fn rerank(
        &self,
        query: &SourceQuery,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Item>, SourceError>;

    /// Whether it may fail or wait for something; a composition keeps a copy of the candidates for that case.
    fn can_fail(&self) -> bool {
        true
    }
}

/// The higher score first. Items without one come last, and are never dropped; those that are equal
/// stay as they are.
///
/// Scores of different kinds of sources aren't made to be compared. Where that matters fuse ranks
/// ([`ReciprocalRankFusion`]).
#[derive(Debug, Clone, Copy, Default)]
pub struct ScoreSort;

/// What stands far up in several lists first, whatever the scores: the score of an item becomes the sum
/// of 1 / (60 + place) over the lists that it is in. Those that are equal stay as they are.
///
/// ```
/// use notekeeper_domain::Item;
/// use notekeeper_recall::{Dedupe, ReciprocalRankFusion};
///
/// let lists = vec![
///     vec![Item::new("a", "words").with_score(90.0), Item::new("b", "words").with_score(80.0)],
///     vec![Item::new("b", "meaning").with_score(0.4)],
/// ];
/// let fused = ReciprocalRankFusion::fuse(Dedupe::Id.merge(lists));
/// let contents: Vec<&str> = fused.iter().map(|item| item.content.as_str()).collect();
/// assert_eq!(contents, ["b", "a"]);
/// assert_eq!(fused[1].score(), Some(1.0 / 61.0));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ReciprocalRankFusion;

impl ScoreSort {
    /// The items in their order.
    pub fn sort(candidates: Vec<Candidate>) -> Vec<Item> {
        let mut items: Vec<Item> = candidates.into_iter().map(|it| it.item).collect();
        items.sort_by(higher_first);
        items
    }
}

impl ReciprocalRankFusion {
    /// The items in their order, with their new scores.
    pub fn fuse(candidates: Vec<Candidate>) -> Vec<Item> {
        fuse(candidates, |_| 1.0)
    }
}

#[async_trait]
impl Reranker for ScoreSort {
    async fn rerank(
        &self,
        _query: &SourceQuery,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Item>, SourceError> {
        Ok(Self::sort(candidates))
    }

    fn can_fail(&self) -> bool {
        false
    }
}

#[async_trait]
impl Reranker for ReciprocalRankFusion {
    async fn rerank(
        &self,
        _query: &SourceQuery,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Item>, SourceError> {
        Ok(Self::fuse(candidates))
    }

    fn can_fail(&self) -> bool {
        false
    }
}

fn higher_first(one: &Item, other: &Item) -> Ordering {
    match (one.score(), other.score()) {
        (Some(one), Some(other)) => other.total_cmp(&one),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

/// Reciprocal-rank fusion in which a place in the list of a leg counts as much as `weight` says of the leg's
/// index. Those that are equal stay as they are.
pub(crate) fn fuse(candidates: Vec<Candidate>, weight: impl Fn(usize) -> f64) -> Vec<Item> {
    let fused = |candidate: Candidate| {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a place in a list is a small number"
        )]
        let parts = candidate
            .ranks
            .iter()
            .map(|place| weight(place.leg) / (FUSION_CONSTANT + place.rank as f64));
        candidate.item.with_score(parts.sum())
    };
    let mut items: Vec<Item> = candidates.into_iter().map(fused).collect();
    items.sort_by(higher_first);
    items
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::Dedupe;

    use super::*;

    fn list(source: &str, items: &[(&str, Option<f64>)]) -> Vec<Item> {
        items
            .iter()
            .map(|(content, score)| {
                let item = Item::new(*content, source);
                score.map_or(item.clone(), |score| item.with_score(score))
            })
            .collect()
    }

    fn contents(items: &[Item]) -> Vec<&str> {
        items.iter().map(|it| it.content.as_str()).collect()
    }

    #[test]
    fn scores_descend_and_items_without_one_come_last_and_stay() {
        let lists = vec![
            list("tool", &[("t1", None), ("t2", None)]),
            list("kb", &[("k1", Some(0.4)), ("k2", Some(-3.0))]),
            list("other", &[("o1", Some(0.9)), ("o2", Some(0.4))]),
        ];
        let sorted = ScoreSort::sort(Dedupe::Id.merge(lists));
        assert_eq!(contents(&sorted), ["o1", "k1", "o2", "k2", "t1", "t2"]);
    }

    #[test]
    fn fused_ranks_put_agreement_before_a_first_place() {
        let lists = vec![
            list("a", &[("only a", Some(1000.0)), ("both", Some(999.0))]),
            list("b", &[("only b", None), ("both", None)]),
        ];
        let fused = ReciprocalRankFusion::fuse(Dedupe::Id.merge(lists));
        assert_eq!(contents(&fused), ["both", "only a", "only b"]);
        assert_eq!(fused[0].score(), Some(1.0 / 62.0 + 1.0 / 62.0));
        assert_eq!(fused[1].score(), Some(1.0 / 61.0));
    }

    #[test]
    fn a_list_that_counts_less_gives_way_to_one_that_counts_in_full() {
        let lists = vec![
            list("a", &[("only a", None), ("both", None)]),
            list("b", &[("only b", None), ("both", None)]),
        ];
        let fused = fuse(Dedupe::Id.merge(lists), |leg| [0.5, 1.0][leg]);
        assert_eq!(contents(&fused), ["both", "only b", "only a"]);
        let scores = fused.iter().filter_map(Item::score).collect::<Vec<_>>();
        assert_eq!(scores, [0.5 / 62.0 + 1.0 / 62.0, 1.0 / 61.0, 0.5 / 61.0]);
    }

    #[test]
    fn copies_in_one_list_count_once_for_it() {
        let lists = vec![list("a", &[("x", None), ("x", None)])];
        let fused = ReciprocalRankFusion::fuse(Dedupe::Id.merge(lists));
        assert_eq!(fused[0].score(), Some(1.0 / 61.0));
    }

    proptest! {
        #[test]
        fn no_order_drops_or_adds_anything(
            lists in prop::collection::vec(
                prop::collection::vec(("[a-e]", prop::option::of(-2.0..2.0_f64)), 0..6), 0..4)
        ) {
            let lists: Vec<Vec<Item>> = lists
                .iter()
                .map(|items| {
                    let items: Vec<_> = items.iter().map(|(c, s)| (c.as_str(), *s)).collect();
                    list("s", &items)
                })
                .collect();
            for how in [Dedupe::Id, Dedupe::None] {
                let candidates = how.merge(lists.clone());
                let mut given: Vec<String> =
                    candidates.iter().map(|it| it.item.content.clone()).collect();
                given.sort();
                for items in [
                    ScoreSort::sort(candidates.clone()),
                    ReciprocalRankFusion::fuse(candidates.clone()),
                ] {
                    let scores: Vec<_> = items.iter().map(Item::score).collect();
                    prop_assert!(scores.is_sorted_by(|one, next| one >= next));
                    let mut left: Vec<String> = items.into_iter().map(|it| it.content).collect();
                    left.sort();
                    prop_assert_eq!(&left, &given);
                }
            }
        }
    }
}
