//! Which of the items of several sources are one and the same.

use std::collections::{HashMap, hash_map::Entry};

use notekeeper_domain::{ITEM_ORIGINS, Item, trim_space};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// By what two items are taken to be the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dedupe {
    /// They have one id, or one content when white space at both ends is left out. Either is enough, and
    /// what is the same as a third is the same: so a source that knows ids and one that knows none can
    /// agree. An id counts whichever source it comes from.
    #[default]
    Id,
    /// They have one content when white space at both ends is left out, whatever their ids.
    Content,
    /// None is the same as another.
    None,
}

/// An item of a composition's answer before it is ranked, and where it stood.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The item. Where copies were merged it says so in its metadata ([`ITEM_ORIGINS`]).
    pub item: Item,
    /// Where the item and its copies stood in the lists of the legs, ascending by leg: of each leg that
    /// has it the best place.
    pub ranks: Vec<LegRank>,
}

/// A place in the list of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegRank {
    /// Which leg, counted from 0.
    pub leg: usize,
    /// Which place, counted from 1.
    pub rank: usize,
}

/// What makes two items the same.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    Id(&'a str),
    Content(&'a str),
}

impl Dedupe {
    /// Merges the lists of the legs, one after the other, so that no two candidates are the same.
    ///
    /// Of copies the one with the higher score is left, at the place of the first; none is the lowest
    /// score, and of equal ones the earlier is left. It is stamped with the names of all sources that
    /// have it (`dedupe_sources`) and the number of copies (`dedupe_count`). Stamps that copies bring
    /// from a composition inside are counted in, so they tell of the whole tree.
    ///
    /// Neither an empty id nor a content of nothing but white space makes two items the same.
    ///
    /// ```
    /// use notekeeper_domain::Item;
    /// use notekeeper_recall::Dedupe;
    /// use serde_json::json;
    ///
    /// let lists = vec![
    ///     vec![Item::new("Refunds take 5 days.", "journal")],
    ///     vec![Item::new(" Refunds take 5 days.\n", "handbook").with_score(0.7)],
    /// ];
    /// let merged = Dedupe::Id.merge(lists);
    /// let [one] = merged.as_slice() else { panic!("they are the same") };
    /// assert_eq!(one.item.source, "handbook");
    /// assert_eq!(one.item.metadata.get("dedupe_sources"), Some(&json!(["journal", "handbook"])));
    /// assert_eq!(one.item.metadata.get("dedupe_count"), Some(&json!(2)));
    /// ```
    pub fn merge(self, lists: Vec<Vec<Item>>) -> Vec<Candidate> {
        let pool: Vec<(LegRank, Item)> = (0..)
            .zip(lists)
            .flat_map(|(leg, items)| {
                (1..)
                    .zip(items)
                    .map(move |(rank, item)| (LegRank { leg, rank }, item))
            })
            .collect();
        self.groups(&pool)
            .into_iter()
            .map(|group| merged(&group, &pool))
            .collect()
    }

    /// Indexes of items that are the same, groups and members ascending.
    fn groups(self, pool: &[(LegRank, Item)]) -> Vec<Vec<usize>> {
        let mut roots: Vec<usize> = (0..pool.len()).collect();
        let mut known: HashMap<Identity<'_>, usize> = HashMap::new();
        for (index, (_, item)) in pool.iter().enumerate() {
            for identity in self.identities(item) {
                match known.entry(identity) {
                    Entry::Occupied(other) => unite(&mut roots, index, *other.get()),
                    Entry::Vacant(free) => {
                        free.insert(index);
                    }
                }
            }
        }
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); pool.len()];
        for index in 0..pool.len() {
            let first = root(&mut roots, index);
            groups[first].push(index);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    fn identities(self, item: &Item) -> impl Iterator<Item = Identity<'_>> {
        let by_id = self == Self::Id;
        let by_content = self != Self::None;
        let id = item.id.as_deref().filter(|id| by_id && !id.is_empty());
        let content = Some(trim_space(&item.content)).filter(|it| by_content && !it.is_empty());
        let id = id.map(Identity::Id);
        id.into_iter().chain(content.map(Identity::Content))
    }
}

/// The first of the items that are the same as this one.
fn root(roots: &mut [usize], mut index: usize) -> usize {
    while roots[index] != index {
        roots[index] = roots[roots[index]];
        index = roots[index];
    }
    index
}

fn unite(roots: &mut [usize], one: usize, other: usize) {
    let (one, other) = (root(roots, one), root(roots, other));
    roots[one.max(other)] = one.min(other);
}

fn merged(group: &[usize], pool: &[(LegRank, Item)]) -> Candidate {
    let mut best = &pool[group[0]].1;
    let mut ranks: Vec<LegRank> = Vec::new();
    for &index in group {
        let (place, item) = &pool[index];
        // None is less than any number.
        if item.score() > best.score() {
            best = item;
        }
        // Members ascend by leg and place, so of a leg the first place is the best.
        if ranks.last().is_none_or(|last| last.leg != place.leg) {
            ranks.push(*place);
        }
    }
    let mut item = best.clone();
    if group.len() > 1 {
        let [sources_key, count_key] = ITEM_ORIGINS;
        let copies = || group.iter().map(|&index| &pool[index].1);
        let mut sources: Vec<Value> = Vec::new();
        for source in copies().flat_map(origins) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let count = copies().map(copies_of).fold(0, u64::saturating_add);
        let stamped = item.metadata.with(sources_key, Value::Array(sources));
        item.metadata = stamped.with(count_key, Value::from(count));
    }
    Candidate { item, ranks }
}

/// The sources that have the item: those of a stamp, or the one that found it.
pub(crate) fn origins(item: &Item) -> Vec<Value> {
    let stamp = item.metadata.get(ITEM_ORIGINS[0]).and_then(Value::as_array);
    let stamped: Vec<Value> = stamp
        .into_iter()
        .flatten()
        .filter(|it| it.is_string())
        .cloned()
        .collect();
    match stamped.is_empty() {
        true => vec![Value::from(item.source.as_str())],
        false => stamped,
    }
}

/// How many copies the item stands for: those of a stamp, or itself.
fn copies_of(item: &Item) -> u64 {
    let stamp = item.metadata.get(ITEM_ORIGINS[1]).and_then(Value::as_u64);
    stamp.unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests;
