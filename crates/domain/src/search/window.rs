//! Snippets: the text around a hit.

/// Characters at an end of a snippet that become dots where text was cut off.
const CUT_MARK_CHARS: usize = 3;

/// The part of a note that a snippet can come from, whatever room it will have.
#[derive(Debug)]
pub(super) struct Window {
    chars: Vec<char>,
    /// Index of the first hit in `chars`.
    hit: usize,
    /// Whether the note has text before and after the part.
    cut_before: bool,
    cut_after: bool,
}

impl Window {
    /// The characters up to `reach` before and after the one that begins at byte `hit`.
    pub(super) fn around(content: &str, hit: usize, reach: usize) -> Self {
        let (before, after) = content.split_at(hit);
        let start = match reach.checked_sub(1) {
            None => hit,
            Some(last) => before
                .char_indices()
                .rev()
                .nth(last)
                .map_or(0, |(start, _)| start),
        };
        let mut chars: Vec<char> = before[start..].chars().collect();
        let hit = chars.len();
        let mut after = after.chars();
        chars.extend(after.by_ref().take(reach));
        Self {
            chars,
            hit,
            cut_before: start > 0,
            cut_after: after.next().is_some(),
        }
    }

    /// At most `room` characters around the hit, a third of them before it.
    pub(super) fn snippet(&self, room: usize) -> String {
        let wanted = self.hit.saturating_sub(room / 3);
        let end = self.chars.len().min(wanted.saturating_add(room));
        let start = end.saturating_sub(room);
        let mut chars = self.chars[start..end].to_vec();
        let marked = CUT_MARK_CHARS.min(chars.len());
        let length = chars.len();
        if start > 0 || self.cut_before {
            chars[..marked].fill('.');
        }
        if end < self.chars.len() || self.cut_after {
            chars[length - marked..].fill('.');
        }
        chars.into_iter().collect()
    }
}
