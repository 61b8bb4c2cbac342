//! Ids of items that stand for records with names of their own.

use crate::{check_item_id, snapshot_digest};

/// Digits of a digest.
const DIGEST_CHARS: usize = 64;

/// The ids of the records of one kind, of one store where they are kept there.
///
/// Items of several sources are taken to be the same where their ids are. A name says what it is within
/// its kind and store alone: a fact and an entry of a scratchpad may both be called `customer`, and each
/// store may have a `MEMORY.md`. So the id of an item names all three, the same whichever source found it.
///
/// ```
/// use notekeeper_domain::RecordIds;
///
/// let notes = RecordIds::of_notes("team");
/// assert_eq!(notes.id("MEMORY.md"), "note:team/MEMORY.md");
/// assert_eq!(notes.record("note:team/MEMORY.md"), Some("MEMORY.md"));
/// assert_eq!(notes.record("note:other/MEMORY.md"), None);
/// assert_eq!(RecordIds::of_scratchpad().id("customer"), "scratchpad:customer");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordIds {
    kind: &'static str,
    /// What stands before the name, the kind included.
    prefix: String,
}

impl RecordIds {
    /// Notes by their names, and passages of them by name, `#` and what tells them apart.
    pub fn of_notes(store: &str) -> Self {
        Self::in_store("note", store)
    }

    /// Facts by their keys.
    pub fn of_facts(store: &str) -> Self {
        Self::in_store("fact", store)
    }

    /// Messages by conversation, `#` and position.
    pub fn of_messages(store: &str) -> Self {
        Self::in_store("message", store)
    }

    /// Operations that changed something, by their ids.
    pub fn of_operations(store: &str) -> Self {
        Self::in_store("operation", store)
    }

    /// Entries of the caller's scratchpad by their keys.
    pub fn of_scratchpad() -> Self {
        Self {
            kind: "scratchpad",
            prefix: "scratchpad:".to_owned(),
        }
    }

    fn in_store(kind: &'static str, store: &str) -> Self {
        Self {
            kind,
            prefix: format!("{kind}:{store}/"),
        }
    }

    /// The id of a record. Where [no item can be kept](check_item_id) under it, because the name is long
    /// or has control characters, there is a digest in its place: `KIND:sha256:…`.
    pub fn id(&self, record: &str) -> String {
        let id = format!("{}{record}", self.prefix);
        match check_item_id(&id) {
            Ok(()) => id,
            Err(_) => format!("{}:sha256:{}", self.kind, snapshot_digest(&id)),
        }
    }

    /// The record that an id of these stands for; `None` of another id. A digest tells no record.
    pub fn record<'i>(&self, id: &'i str) -> Option<&'i str> {
        id.strip_prefix(&self.prefix)
    }

    /// Whether an id of this kind tells no record by itself, because a digest stands there.
    pub fn is_digest(&self, id: &str) -> bool {
        let after_kind = id.strip_prefix(self.kind);
        let digest = after_kind.and_then(|after| after.strip_prefix(":sha256:"));
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        digest.is_some_and(|it| it.len() == DIGEST_CHARS && it.bytes().all(is_digit))
    }

    /// The record of this kind that an id stands for, whichever store keeps it; `None` of another id.
    pub fn record_in_any_store<'i>(&self, id: &'i str) -> Option<&'i str> {
        let in_store = id.strip_prefix(self.kind)?.strip_prefix(':')?;
        in_store.split_once('/').map(|(_, record)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ITEM_ID_BYTES_MAX;

    #[test]
    fn records_of_one_name_have_ids_of_their_own_by_kind_and_store() {
        let all = [
            RecordIds::of_notes("a"),
            RecordIds::of_notes("b"),
            RecordIds::of_facts("a"),
            RecordIds::of_messages("a"),
            RecordIds::of_operations("a"),
            RecordIds::of_scratchpad(),
        ];
        let long = "é".repeat(ITEM_ID_BYTES_MAX);
        for record in ["customer", "a/b#1", "a\n", long.as_str()] {
            let ids: std::collections::BTreeSet<String> =
                all.iter().map(|ids| ids.id(record)).collect();
            assert_eq!(ids.len(), all.len(), "{ids:?}");
            assert!(ids.iter().all(|id| check_item_id(id).is_ok()), "{ids:?}");
        }
    }

    #[test]
    fn an_id_says_whether_a_digest_stands_in_the_place_of_the_name() {
        let long = "k".repeat(ITEM_ID_BYTES_MAX);
        for ids in [RecordIds::of_facts("a"), RecordIds::of_scratchpad()] {
            for record in [long.as_str(), "a\n"] {
                let id = ids.id(record);
                assert!(ids.is_digest(&id), "{id}");
                assert!(!RecordIds::of_notes("a").is_digest(&id), "{id}");
                assert!(!ids.is_digest(&id[..id.len() - 1]), "{id}");
                assert!(!ids.is_digest(&id.to_uppercase()), "{id}");
            }
            assert!(!ids.is_digest(&ids.id("customer")));
            assert!(!ids.is_digest(&ids.id("sha256:x")));
        }
    }

    #[test]
    fn a_record_is_read_from_its_own_ids_alone() {
        let facts = RecordIds::of_facts("a");
        assert_eq!(facts.record("fact:a/x/y"), Some("x/y"));
        for other in ["x/y", "fact:b/x", "note:a/x", "fact:a", ""] {
            assert_eq!(facts.record(other), None, "{other}");
        }
        assert_eq!(facts.record_in_any_store("fact:b/x/y"), Some("x/y"));
        for other in ["note:b/x", "factual:b/x", "fact:b", "x"] {
            assert_eq!(facts.record_in_any_store(other), None, "{other}");
        }
    }
}
