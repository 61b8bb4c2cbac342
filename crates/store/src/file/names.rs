//! Names that the store keeps for itself.

/// The journal, in the root.
pub(super) const JOURNAL: &str = ".memory-store.sqlite3";

/// What is about to be a note. One mutation at a time has the directory, so there is one at most,
/// and what a dead process left is in the way of nothing: the next write here takes its place.
pub(super) const NEXT: &str = ".memory-tmp-next";

/// What names of the store's own begin with. The second is what others of its kind keep.
const RESERVED: [&str; 3] = [JOURNAL, ".memory-operations.json", ".memory-tmp-"];

/// Whether no note and no directory of a scope may have this name. Case doesn't matter, because some
/// file systems don't tell it.
pub(super) fn is_reserved(segment: &str) -> bool {
    RESERVED.iter().any(|reserved| {
        segment
            .get(..reserved.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(reserved))
    })
}
