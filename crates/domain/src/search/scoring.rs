//! Scoring one note, share by share.

use memchr::memmem::Finder;

use super::{NAME_WEIGHT, SHARE, Scan};
use crate::{
    lowering::{Lowering, lowercase},
    note_name::is_tool_name,
    text::char_prefix,
};

/// What a note costs besides its text, in bytes: notes without text take time as well.
const NOTE_COST: usize = 512;

/// What a hit costs besides the bytes between it and the one before.
const HIT_COST: usize = 32;

/// What it costs to ask about a character near a sigma.
const ASK_COST: usize = 64;

/// Bytes that are lower-cased at a time.
const PIECE: usize = 16 * 1024;

/// A note that is being scored: the work of [`Scan::add`] in bounded shares.
///
/// Dropped before its end it leaves the note out of the scan.
#[derive(Debug)]
#[must_use = "a note counts once `proceed` has returned `false`"]
pub struct Scoring<'s, 'q> {
    scan: &'s mut Scan<'q>,
    name: &'s str,
    /// Cut to the bound.
    content: &'s str,
    stage: Stage,
    hits: u64,
    /// Byte of the lower-cased text at which the first hit begins.
    first: Option<usize>,
    /// Where the pieces that were lower-cased begin: in the lower-cased text, and in the content.
    pieces: Vec<(usize, usize)>,
}

/// How far the scoring has come.
#[derive(Debug)]
enum Stage {
    /// Nothing was done yet.
    Fresh,
    /// So many bytes of the content are lower-cased.
    Lowering(usize, Lowering),
    /// Hits of so many terms are counted, and those of the next that begin before a byte.
    Counting(String, usize, usize),
    /// The note was taken or passed over.
    Done,
}

impl<'s, 'q> Scoring<'s, 'q> {
    pub(super) fn new(scan: &'s mut Scan<'q>, name: &'s str, content: &'s str) -> Self {
        let (content, cut) = char_prefix(content, scan.limits.note_chars_max);
        scan.over_long |= cut;
        Self {
            scan,
            name,
            content,
            stage: Stage::Fresh,
            hits: 0,
            first: None,
            pieces: Vec::new(),
        }
    }

    /// Does what is left of a share of the work. `true`: there is more, after a pause; `false`: the
    /// note is scored.
    ///
    /// A share is the work of a fraction of a millisecond. Short notes have one together, so most
    /// of them need no pause.
    pub fn proceed(&mut self) -> bool {
        while !matches!(self.stage, Stage::Done) {
            if self.scan.share_left == 0 {
                self.scan.share_left = SHARE;
                return true;
            }
            self.stage = match std::mem::replace(&mut self.stage, Stage::Done) {
                Stage::Fresh => self.begin(),
                Stage::Lowering(from, lowering) => self.lower(from, lowering),
                Stage::Counting(lowered, term, from) => self.count(lowered, term, from),
                Stage::Done => Stage::Done,
            };
        }
        false
    }

    fn spend(&mut self, cost: usize) {
        self.scan.share_left = self.scan.share_left.saturating_sub(cost);
    }

    /// Counts the hits in the name, which is short.
    fn begin(&mut self) -> Stage {
        self.spend(NOTE_COST);
        if !is_tool_name(self.name) {
            return Stage::Done;
        }
        let name = lowercase(self.name);
        let hits_in = |finder: &Finder<'_>| finder.find_iter(name.as_bytes()).count() as u64;
        self.hits = NAME_WEIGHT * self.scan.finders.iter().map(hits_in).sum::<u64>();
        Stage::Lowering(0, Lowering::for_text(self.content))
    }

    /// Lower-cases the next piece.
    fn lower(&mut self, from: usize, mut lowering: Lowering) -> Stage {
        if from == self.content.len() {
            return Stage::Counting(lowering.finish(), 0, 0);
        }
        let end = self.content.ceil_char_boundary(from.saturating_add(PIECE));
        self.pieces.push((lowering.len(), from));
        let asked = lowering.push(&self.content[from..end]);
        self.spend(end - from + asked * ASK_COST);
        Stage::Lowering(end, lowering)
    }

    /// Counts the hits of a term, each beginning after the end of the one before, as far as the share
    /// reaches.
    fn count(&mut self, lowered: String, term: usize, mut from: usize) -> Stage {
        let Some(finder) = self.scan.finders.get(term) else {
            self.settle(&lowered);
            return Stage::Done;
        };
        let length = finder.needle().len();
        let mut left = self.scan.share_left;
        let mut ended = false;
        while left > 0 && !ended {
            // Hits that begin before this byte.
            let reach = from.saturating_add(left).min(lowered.len());
            let end = reach.saturating_add(length - 1).min(lowered.len());
            let Some(distance) = finder.find(&lowered.as_bytes()[from..end]) else {
                // Terms in a short text take time as well.
                left = left.saturating_sub((reach - from).max(HIT_COST));
                ended = reach == lowered.len();
                from = reach;
                continue;
            };
            let at = from + distance;
            self.hits += 1;
            self.first = Some(self.first.map_or(at, |earlier| earlier.min(at)));
            left = left.saturating_sub(distance + HIT_COST);
            from = at + length;
        }
        self.scan.share_left = left;
        match ended {
            true => Stage::Counting(lowered, term + 1, 0),
            false => Stage::Counting(lowered, term, from),
        }
    }

    /// Hands the note to the scan, if anything was found.
    fn settle(&mut self, lowered: &str) {
        if self.hits == 0 {
            return;
        }
        let hit = self.first.map_or(0, |at| self.original(lowered, at));
        self.scan.take(self.hits, self.name, self.content, hit);
    }

    /// Byte at which the character of the content begins whose lower-case form holds byte `at` of
    /// the lower-cased text. Some characters grow or shrink by lower-casing, so that byte can't be
    /// used on the content.
    fn original(&self, lowered: &str, at: usize) -> usize {
        debug_assert!(at < lowered.len());
        let piece = self.pieces.partition_point(|(begin, _)| *begin <= at) - 1;
        let (mut end, start) = self.pieces[piece];
        for (offset, c) in self.content[start..].char_indices() {
            end += lowered_bytes(c);
            if end > at {
                return start + offset;
            }
        }
        self.content.len()
    }
}

/// Bytes of a character's lower-case form. That of a sigma has as many, whatever surrounds it.
fn lowered_bytes(c: char) -> usize {
    if c.is_ascii() {
        1
    } else {
        c.to_lowercase().map(char::len_utf8).sum()
    }
}
