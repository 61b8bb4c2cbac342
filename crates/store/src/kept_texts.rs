//! Texts of notes as rows of a database hold them.

use notekeeper_domain::NoteName;

use crate::{NoteText, NoteTexts, TextBounds, counts::token};

/// A row of texts, as databases have it: scope, name, version, content.
pub(crate) type TextRow = (String, String, i64, String);

/// One part of all texts, taken row by row.
#[derive(Debug)]
pub(crate) struct TextsOfRows {
    bounds: TextBounds,
    part: NoteTexts,
    bytes: usize,
    rows: usize,
    /// The last name that was seen, be it odd.
    last: Option<String>,
}

impl TextsOfRows {
    pub(crate) fn new(bounds: TextBounds) -> Self {
        Self {
            bounds,
            part: NoteTexts::default(),
            bytes: 0,
            rows: 0,
            last: None,
        }
    }

    /// Takes a row: scope, name, version, content. Whether it fits; where it doesn't, there are more.
    pub(crate) fn take(&mut self, (scope, name, version, content): TextRow) -> bool {
        if self.rows == self.bounds.notes_max || self.bytes > self.bounds.bytes_max {
            self.part.more = true;
            return false;
        }
        self.rows += 1;
        self.bytes += content.len();
        match NoteName::parse(&name) {
            Ok(name) => self.part.notes.push(NoteText {
                scope,
                name,
                content,
                version: token(version),
            }),
            // One that a person made with a console; it mustn't take the others with it.
            Err(_) => tracing::warn!("the store holds a name that no operation accepts"),
        }
        self.last = Some(name);
        true
    }

    /// Says that there are more, where the database says so.
    pub(crate) fn has_more(&mut self) {
        self.part.more = true;
    }

    /// The part; or, where there are more but only odd names were seen, the last of them: callers ask
    /// on from a note, and would be given none.
    pub(crate) fn finish(self) -> Result<NoteTexts, String> {
        match self.last {
            Some(last) if self.part.notes.is_empty() && self.part.more => Err(last),
            _ => Ok(self.part),
        }
    }
}
