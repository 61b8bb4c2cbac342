//! The notes that are read, listed and searched: the same texts for everybody, made the same way
//! each time.

use notekeeper_domain::{MAIN_NOTE, NoteName, Scope};
use notekeeper_store::{Expected, Store, WriteRequest};
use serde::Serialize;

/// Characters of a note.
pub(crate) const NOTE_CHARS: usize = 4_096;
/// Scopes that are read and rendered, by turns.
pub(crate) const SCOPES: u32 = 64;
/// Notes in each of them, the main note included.
pub(crate) const NOTES: usize = 20;
/// Notes in the scope that is searched.
pub(crate) const SEARCHED: usize = 1_000;
/// A word that one in fifty of the searched notes has.
pub(crate) const RARE_WORD: &str = "kingfisher";
/// A word that each of them has.
pub(crate) const COMMON_WORD: &str = "harbour";

/// Scopes are numbers, because pgbench makes texts of numbers only.
const FIRST_SCOPE: u32 = 600_000;
const SEARCHED_SCOPE: &str = "500000";

/// One note, under the scope's path.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Note {
    pub(crate) scope: String,
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The scope of a number below [`SCOPES`].
pub(crate) fn scope(number: u32) -> String {
    (FIRST_SCOPE + number % SCOPES).to_string()
}

/// The numbers of the first and the last scope, for pgbench.
pub(crate) fn scope_range() -> (u32, u32) {
    (FIRST_SCOPE, FIRST_SCOPE + SCOPES - 1)
}

/// The scope that is searched.
pub(crate) fn searched_scope() -> String {
    SEARCHED_SCOPE.to_owned()
}

/// All notes.
pub(crate) fn notes() -> Vec<Note> {
    let mut words = Words(1);
    let mut notes = Vec::new();
    for number in 0..SCOPES {
        for note in 0..NOTES {
            let name = match note {
                0 => MAIN_NOTE.to_owned(),
                note => format!("topic-{note:02}.md"),
            };
            notes.push(Note {
                scope: scope(number),
                name,
                text: words.text(NOTE_CHARS),
            });
        }
    }
    for number in 0..SEARCHED {
        let mut text = words.text(NOTE_CHARS - 40);
        text.push_str(&format!("The {COMMON_WORD} was quiet.\n"));
        if number % 50 == 7 {
            text.push_str(&format!("A {RARE_WORD}!\n"));
        }
        notes.push(Note {
            scope: searched_scope(),
            name: format!("note-{number:04}.md"),
            text,
        });
    }
    notes
}

/// Puts the notes into a store.
pub(crate) async fn fill(store: &dyn Store, notes: &[Note]) -> anyhow::Result<()> {
    for note in notes {
        let scope = Scope::parse(&note.scope)?;
        let name = NoteName::parse(&note.name)?;
        store
            .write(
                &scope,
                &name,
                &WriteRequest::new(&note.text, &Expected::Any),
                None,
            )
            .await?;
    }
    Ok(())
}

/// Lines of plain words, from a generator that always says the same.
#[derive(Debug)]
pub(crate) struct Words(pub(crate) u64);

const WORDS: [&str; 24] = [
    "customer",
    "prefers",
    "invoice",
    "quarterly",
    "the",
    "review",
    "moved",
    "to",
    "Thursday",
    "ask",
    "about",
    "budget",
    "deadline",
    "agreed",
    "with",
    "team",
    "draft",
    "sent",
    "open",
    "question",
    "remains",
    "contract",
    "renewal",
    "notes",
];

impl Words {
    /// A text of so many characters, all of them ASCII, with a line end at its end.
    pub(crate) fn text(&mut self, chars: usize) -> String {
        let mut text = String::with_capacity(chars + 80);
        while text.len() < chars {
            text.push_str("- ");
            for _ in 0..10 {
                text.push_str(self.word());
                text.push(' ');
            }
            text.push('\n');
        }
        text.truncate(chars.saturating_sub(1));
        text.push('\n');
        text
    }

    fn word(&mut self) -> &'static str {
        // Knuth's linear congruential generator; its upper bits are good enough for words.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        WORDS[(self.0 >> 33) as usize % WORDS.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_length_asked_for_and_are_always_the_same() {
        let (one, other) = (Words(1).text(4_096), Words(1).text(4_096));
        assert_eq!(one, other);
        assert_eq!(one.chars().count(), 4_096);
        assert!(one.ends_with('\n'));
    }

    #[test]
    fn one_in_fifty_searched_notes_has_the_rare_word_and_each_the_common_one() {
        let notes = notes();
        let having = |word: &str| notes.iter().filter(|note| note.text.contains(word)).count();
        assert_eq!(having(RARE_WORD), SEARCHED / 50);
        assert_eq!(having(COMMON_WORD), SEARCHED);
    }
}
