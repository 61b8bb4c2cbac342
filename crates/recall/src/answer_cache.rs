//! Where a cache keeps its answers.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use notekeeper_domain::{Item, Scope};
use tokio::time::Instant;

use crate::Answer;

/// Most bytes of all answers of one cache, so that its size doesn't hang on what sources find: an answer
/// of 100 large items has several megabytes.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// What makes two queries the same. Scopes come first, so those of one scope stand together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) scope: Scope,
    pub(crate) workspace: Option<String>,
    pub(crate) text: String,
    pub(crate) limit: usize,
    pub(crate) condition: String,
    pub(crate) scratchpad: String,
}

/// Answers by query, for some time.
pub(crate) struct AnswerCache {
    ttl: Duration,
    entries_max: usize,
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    by_key: BTreeMap<Arc<Key>, Place>,
    /// Keys of filled places by number: the oldest first.
    by_age: BTreeMap<u64, Arc<Key>>,
    /// What all filled places hold, keys included.
    bytes: usize,
    next: u64,
}

/// Where an answer is, or will be.
struct Place {
    number: u64,
    expires: Instant,
    answer: Option<Answer>,
    bytes: usize,
}

/// A place for an answer that is on its way. It is given up when this is dropped before it is filled.
pub(crate) struct Reserved<'a> {
    cache: &'a AnswerCache,
    key: Arc<Key>,
    number: u64,
    asked: Instant,
}

/// Forgets the answers of a scope when it is dropped.
pub(crate) struct Forgetting<'a> {
    cache: &'a AnswerCache,
    scope: &'a Scope,
}

/// Without queries and answers, which hold content.
impl fmt::Debug for AnswerCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerCache")
            .field("ttl", &self.ttl)
            .field("answers", &self.places().by_age.len())
            .field("entries_max", &self.entries_max)
            .finish_non_exhaustive()
    }
}

impl AnswerCache {
    pub(crate) fn new(ttl: Duration, entries_max: usize) -> Self {
        Self {
            ttl,
            entries_max,
            places: Mutex::default(),
        }
    }

    /// What was answered to this query, if by now it isn't too long ago.
    pub(crate) fn get(&self, key: &Key, now: Instant) -> Option<Answer> {
        let places = self.places();
        let place = places.by_key.get(key)?;
        place.answer.clone().filter(|_| now < place.expires)
    }

    /// A place for the answer to a query that is asked `now`. Where the scope is forgotten in between, the
    /// answer is too old to be kept, and the place gone. Until it is filled it pushes no answer out but
    /// one to the same query: there are as many as there are queries under way.
    pub(crate) fn reserve(&self, key: Key, now: Instant) -> Reserved<'_> {
        let mut places = self.places();
        let (number, key) = (places.next, Arc::new(key));
        places.next += 1;
        places.remove(&key);
        let place = Place {
            number,
            expires: now + self.ttl,
            answer: None,
            bytes: 0,
        };
        places.by_key.insert(key.clone(), place);
        places.make_room(self.entries_max, now);
        Reserved {
            cache: self,
            key,
            number,
            asked: now,
        }
    }

    /// Forgets the answers of this scope, and those that are on their way to it, as soon as what comes
    /// back is dropped.
    pub(crate) fn forget_at_end<'a>(&'a self, scope: &'a Scope) -> Forgetting<'a> {
        Forgetting { cache: self, scope }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reserved<'_> {
    /// Keeps the answer, which is whole.
    pub(crate) fn fill(self, answer: &Answer) {
        let items: usize = answer.items.iter().map(bytes_of).sum();
        let names: usize = answer.incomplete.iter().map(String::len).sum();
        let bytes = self.key.bytes() + items + names;
        let mut places = self.cache.places();
        let Some(place) = places.by_key.get_mut(&self.key) else {
            return;
        };
        if place.number == self.number && bytes <= BYTES_MAX {
            place.answer = Some(answer.clone());
            place.bytes = bytes;
            places.bytes += bytes;
            places.by_age.insert(self.number, self.key.clone());
            places.make_room(self.cache.entries_max, self.asked);
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut places = self.cache.places();
        let unused = places
            .by_key
            .get(&self.key)
            .is_some_and(|place| place.number == self.number && place.answer.is_none());
        if unused {
            places.remove(&self.key);
        }
    }
}

impl Drop for Forgetting<'_> {
    fn drop(&mut self) {
        let mut places = self.cache.places();
        let first = Key {
            scope: self.scope.clone(),
            workspace: None,
            text: String::new(),
            limit: 0,
            condition: String::new(),
            scratchpad: String::new(),
        };
        let keys: Vec<Arc<Key>> = places
            .by_key
            .range::<Key, _>(&first..)
            .map(|(key, _)| key)
            .take_while(|key| key.scope == *self.scope)
            .cloned()
            .collect();
        for key in keys {
            places.remove(&key);
        }
    }
}

impl Places {
    fn remove(&mut self, key: &Key) {
        if let Some(place) = self.by_key.remove(key) {
            self.by_age.remove(&place.number);
            self.bytes -= place.bytes;
        }
    }

    /// Lets go of answers that are too old, and then of the oldest until the rest fits. All last equally
    /// long, so the one that was asked for first is also the first to expire.
    fn make_room(&mut self, entries_max: usize, now: Instant) {
        while let Some((_, key)) = self.by_age.first_key_value() {
            let old = self
                .by_key
                .get(key)
                .is_none_or(|place| place.expires <= now);
            if !old && self.by_age.len() <= entries_max && self.bytes <= BYTES_MAX {
                return;
            }
            let key = key.clone();
            self.remove(&key);
        }
    }
}

impl Key {
    /// About what a key takes.
    fn bytes(&self) -> usize {
        let workspace = self.workspace.as_ref().map_or(0, String::len);
        size_of::<Self>()
            + workspace
            + self.scope.as_str().len()
            + self.text.len()
            + self.condition.len()
            + self.scratchpad.len()
    }
}

/// About what an item takes.
fn bytes_of(item: &Item) -> usize {
    let metadata: usize = item
        .metadata
        .entries()
        .map(|(key, value)| key.len() + value.to_string().len())
        .sum();
    let id = item.id.as_ref().map_or(0, String::len);
    size_of::<Item>() + id + item.content.len() + item.source.len() + metadata
}

#[cfg(test)]
impl AnswerCache {
    /// How many places there are, and what those that are filled hold.
    pub(crate) fn size(&self) -> (usize, usize) {
        let places = self.places();
        let filled = places.by_key.values().filter(|it| it.answer.is_some());
        assert_eq!(filled.count(), places.by_age.len());
        (places.by_key.len(), places.bytes)
    }
}

#[cfg(test)]
mod tests;
