//! Lists as rows of a database hold them. Odd rows, which a person made with a console, are passed
//! over, and the list is read on behind them: a page is never shorter for them, so that callers, who
//! ask on from the last entry, get to the end.

use std::fmt::Debug;

/// Fewest rows to read behind odd ones, however few are wanted: where there is one, there may be many.
const ROWS_BEHIND_ODD: usize = 100;

/// A list while its rows come.
#[derive(Debug)]
pub(crate) struct ListOfRows<R, T> {
    /// What a row is called, by which the list is ordered, and its entry, unless it is an odd one.
    entry: fn(R) -> (String, Option<T>),
    entries_max: usize,
    /// At most one more than are wanted, which says that there are more.
    entries: Vec<T>,
    /// What the last row that was seen is called, be it odd.
    after: String,
    skipped: usize,
    rows_max: usize,
}

impl<R, T> ListOfRows<R, T> {
    /// The first `entries_max` entries after `after`, or of all where that is empty.
    pub(crate) fn new(
        after: Option<&str>,
        entries_max: usize,
        entry: fn(R) -> (String, Option<T>),
    ) -> Self {
        Self {
            entry,
            entries_max,
            entries: Vec::new(),
            after: after.unwrap_or_default().to_owned(),
            skipped: 0,
            rows_max: entries_max.saturating_add(1),
        }
    }

    /// Which rows to read next: those behind this one, at most so many; `None` where the list is whole.
    pub(crate) fn wanted(&self) -> Option<(String, usize)> {
        (self.rows_max > 0).then(|| (self.after.clone(), self.rows_max))
    }

    /// Takes in the rows that were wanted.
    pub(crate) fn take(&mut self, rows: Vec<R>) {
        let is_last = rows.len() < self.rows_max;
        for row in rows {
            let (name, entry) = (self.entry)(row);
            self.after = name;
            match entry {
                Some(entry) if self.entries.len() <= self.entries_max => self.entries.push(entry),
                // Of a read behind odd rows, which may go further than the list.
                Some(_) => break,
                None => self.skipped += 1,
            }
        }
        let is_whole = is_last || self.entries.len() > self.entries_max;
        self.rows_max = match is_whole {
            true => 0,
            false => (self.entries_max - self.entries.len())
                .saturating_add(1)
                .max(ROWS_BEHIND_ODD),
        };
    }

    /// The entries, whether there are more, and how many rows were passed over.
    pub(crate) fn finish(mut self) -> (Vec<T>, bool, usize) {
        let more = self.entries.len() > self.entries_max;
        self.entries.truncate(self.entries_max);
        (self.entries, more, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a list of names, of which those with an `o` are odd, and how many rows each read wanted.
    fn listed(names: &[String], entries_max: usize) -> (Vec<String>, bool, Vec<usize>) {
        let entry = |name: String| {
            let entry = (!name.contains('o')).then(|| name.clone());
            (name, entry)
        };
        let mut list = ListOfRows::new(None, entries_max, entry);
        let mut reads = Vec::new();
        while let Some((after, rows_max)) = list.wanted() {
            reads.push(rows_max);
            let behind = names.iter().filter(|name| **name > after);
            list.take(behind.take(rows_max).cloned().collect());
        }
        let (entries, more, _) = list.finish();
        (entries, more, reads)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_list_without_odd_rows_is_read_at_once() {
        let all = names(&["a", "b", "c"]);
        assert_eq!(listed(&all, 2), (names(&["a", "b"]), true, vec![3]));
        assert_eq!(listed(&all, 3), (all.clone(), false, vec![4]));
        assert_eq!(listed(&[], 3), (vec![], false, vec![4]));
    }

    #[test]
    fn odd_rows_take_no_place_and_say_nothing_of_more() {
        let all = names(&["a", "o1", "o2", "o3", "p", "q"]);
        assert_eq!(listed(&all, 1), (names(&["a"]), true, vec![2, 100]));
        assert_eq!(listed(&all, 2), (names(&["a", "p"]), true, vec![3, 100]));
        assert_eq!(
            listed(&all, 3),
            (names(&["a", "p", "q"]), false, vec![4, 100])
        );
        let ends_odd = names(&["a", "o1", "o2"]);
        assert_eq!(listed(&ends_odd, 1), (names(&["a"]), false, vec![2, 100]));
    }

    #[test]
    fn behind_many_odd_rows_few_reads_are_made() {
        let mut all: Vec<String> = (0..1_000).map(|number| format!("o{number:04}")).collect();
        all.push("p".to_owned());
        let (entries, more, reads) = listed(&all, 1);
        assert_eq!((entries, more), (names(&["p"]), false));
        assert_eq!(reads.len(), 11);
    }
}
