//! The notes that are written, and what identifies a write.

use crate::dataset::Words;

/// Most names that a listing asks for.
pub(crate) const NAMES_MAX: usize = 1_000;

/// What is appended to the contended note.
pub(crate) const LINE: &str = "- one more line";

/// Characters below the line that changes.
const REST_CHARS: usize = 1_000;

/// An id that no operation had before: 19 digits, because pgbench makes no other unique texts.
pub(crate) fn operation_id() -> String {
    rand::random_range(1_000_000_000_000_000_000..=i64::MAX).to_string()
}

/// A note of about 1,000 characters whose first line counts its writes.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    writes: u64,
}

impl Counted {
    /// The whole text as it is now.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", line(self.writes), Words(2).text(REST_CHARS))
    }

    /// Counts a write: the line that is replaced, and by what.
    pub(crate) fn count(&mut self) -> (String, String) {
        self.writes += 1;
        (line(self.writes - 1), line(self.writes))
    }
}

fn line(writes: u64) -> String {
    format!("writes: {writes:012}")
}

/// A contended note as long as it is on average while `appends` lines are appended to nothing.
pub(crate) fn half_appended(appends: u32) -> String {
    format!("{LINE}\n").repeat(appends.div_ceil(2) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_note_holds_the_line_that_the_next_write_replaces() {
        let mut note = Counted::default();
        for _ in 0..3 {
            let text = note.text();
            let (old, new) = note.count();
            assert_eq!(text.matches(&old).count(), 1);
            assert_eq!(text.replacen(&old, &new, 1), note.text());
        }
    }

    #[test]
    fn operation_ids_have_one_length() {
        assert!((0..100).all(|_| operation_id().len() == 19));
    }
}
