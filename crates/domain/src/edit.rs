//! Edits: how `write_memory` makes the new text of a note.

use crate::{
    Refusal,
    text::{is_blank, trim_end_space},
};

/// A change to one note, as `write_memory` asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Adds text at the end, making the note where there is none.
    Append {
        /// Text to add; not blank, no NUL.
        content: String,
    },
    /// Replaces the only occurrence of a passage.
    Replace {
        /// The passage, literally.
        old_text: String,
        /// What stands in its place, literally; empty removes the passage.
        content: String,
    },
}

/// The text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedEdit {
    /// The whole new text.
    pub text: String,
    /// What the edit did.
    pub status: WriteStatus,
}

/// What a write did to the note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteStatus {
    /// The note was absent or blank before.
    Created,
    /// Text was added to a note that had some.
    Appended,
    /// A passage was replaced.
    Updated,
}

impl Edit {
    /// Checks the arguments of a `write_memory` call.
    ///
    /// # Errors
    ///
    /// [`Refusal::Nul`], and [`Refusal::EmptyContent`] for an append of nothing.
    pub fn new(content: String, old_text: Option<String>) -> Result<Self, Refusal> {
        if content.contains('\0') {
            return Err(Refusal::Nul {
                argument: "content",
            });
        }
        match old_text {
            Some(old_text) if old_text.contains('\0') => Err(Refusal::Nul {
                argument: "old_text",
            }),
            Some(old_text) => Ok(Self::Replace { old_text, content }),
            None if is_blank(&content) => Err(Refusal::EmptyContent),
            None => Ok(Self::Append { content }),
        }
    }

    /// Makes the new text from the current one (`None`: the note doesn't exist).
    ///
    /// An append leaves one line end between old and new text and one at the end, and keeps CRLF
    /// in a note that uses it throughout. A replacement changes the passage and nothing else.
    ///
    /// ```
    /// use notekeeper_domain::Edit;
    ///
    /// let append = Edit::new("- likes tea".to_owned(), None)?;
    /// let first = append.apply(None, 65_536)?;
    /// let replace = Edit::new("coffee".to_owned(), Some("tea".to_owned()))?;
    /// assert_eq!(replace.apply(Some(&first.text), 65_536)?.text, "- likes coffee\n");
    /// # Ok::<(), notekeeper_domain::Refusal>(())
    /// ```
    ///
    /// # Errors
    ///
    /// In this order: [`Refusal::ExistingTooLarge`]; [`Refusal::NotFound`],
    /// [`Refusal::OldTextNotFound`], [`Refusal::Ambiguous`] for a replacement;
    /// [`Refusal::TooLarge`].
    pub fn apply(&self, current: Option<&str>, chars_max: usize) -> Result<AppliedEdit, Refusal> {
        if current.is_some_and(|text| text.chars().nth(chars_max).is_some()) {
            return Err(Refusal::ExistingTooLarge { chars_max });
        }
        let applied = match self {
            Self::Append { content } => append(current, content),
            Self::Replace { old_text, content } => replace(current, old_text, content)?,
        };
        let chars = applied.text.chars().count();
        if chars > chars_max {
            return Err(Refusal::TooLarge { chars, chars_max });
        }
        Ok(applied)
    }
}

fn append(current: Option<&str>, content: &str) -> AppliedEdit {
    let content = trim_end_space(content);
    let Some(old) = current.filter(|old| !is_blank(old)) else {
        return AppliedEdit {
            text: format!("{content}\n"),
            status: WriteStatus::Created,
        };
    };
    let kept = trim_end_space(old);
    let text = if ends_lines_with_crlf(old) {
        // Models write line feeds. Left as they are, they would make the note mixed, and the
        // next append would no longer see that it is a CRLF note.
        let content = content.replace("\r\n", "\n").replace('\n', "\r\n");
        format!("{kept}\r\n{content}\r\n")
    } else {
        format!("{kept}\n{content}\n")
    };
    AppliedEdit {
        text,
        status: WriteStatus::Appended,
    }
}

/// Whether every line feed of `text` follows a carriage return, and there is one.
fn ends_lines_with_crlf(text: &str) -> bool {
    let line_feeds = text.matches('\n').count();
    line_feeds > 0 && text.matches("\r\n").count() == line_feeds
}

fn replace(current: Option<&str>, old_text: &str, content: &str) -> Result<AppliedEdit, Refusal> {
    let current = current.ok_or(Refusal::NotFound)?;
    // An empty passage would match everywhere; it is taken as one that isn't there.
    let count = if old_text.is_empty() {
        0
    } else {
        current.matches(old_text).count()
    };
    match count {
        0 => Err(Refusal::OldTextNotFound),
        1 => Ok(AppliedEdit {
            text: current.replacen(old_text, content, 1),
            status: WriteStatus::Updated,
        }),
        count => Err(Refusal::Ambiguous { count }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::NOTE_CHARS_MAX_DEFAULT as MAX;

    fn append_to(current: Option<&str>, content: &str) -> Result<AppliedEdit, Refusal> {
        Edit::new(content.to_owned(), None)?.apply(current, MAX)
    }

    fn replace_in(current: Option<&str>, old: &str, new: &str) -> Result<AppliedEdit, Refusal> {
        Edit::new(new.to_owned(), Some(old.to_owned()))?.apply(current, MAX)
    }

    fn applied(text: &str, status: WriteStatus) -> Result<AppliedEdit, Refusal> {
        Ok(AppliedEdit {
            text: text.to_owned(),
            status,
        })
    }

    #[test]
    fn an_append_makes_a_note_where_there_is_none_or_only_white_space() {
        for current in [
            None,
            Some(""),
            Some(" \t"),
            Some("\n\n\u{2028}"),
            Some("\r\n"),
        ] {
            assert_eq!(
                append_to(current, "a\n\n"),
                applied("a\n", WriteStatus::Created)
            );
        }
        assert_eq!(
            append_to(None, "\n  a"),
            applied("\n  a\n", WriteStatus::Created)
        );
    }

    #[test]
    fn an_append_joins_with_exactly_one_line_end() {
        for current in ["a", "a\n", "a  \n\n\n", "a\u{a0}\u{2028}", "a\r\n\n"] {
            assert_eq!(
                append_to(Some(current), "b \n"),
                applied("a\nb\n", WriteStatus::Appended)
            );
        }
        assert_eq!(
            append_to(Some("a\n"), "\n\n  b"),
            applied("a\n\n\n  b\n", WriteStatus::Appended)
        );
    }

    #[test]
    fn an_append_keeps_crlf_in_a_note_that_uses_it_throughout() {
        assert_eq!(
            append_to(Some("a\r\nb\r\n"), "c\nd\r\ne"),
            applied("a\r\nb\r\nc\r\nd\r\ne\r\n", WriteStatus::Appended)
        );
        assert_eq!(
            append_to(Some("a\r\nb\n"), "c\nd"),
            applied("a\r\nb\nc\nd\n", WriteStatus::Appended)
        );
    }

    #[test]
    fn nothing_to_append_is_refused() {
        for content in ["", " ", "\n\t", "\u{3000}\u{1f}"] {
            assert_eq!(
                append_to(Some("a"), content),
                Err(Refusal::EmptyContent),
                "{content:?}"
            );
        }
    }

    #[test]
    fn a_replacement_needs_the_note_and_exactly_one_occurrence() {
        assert_eq!(replace_in(None, "a", "b"), Err(Refusal::NotFound));
        assert_eq!(replace_in(None, "", "b"), Err(Refusal::NotFound));
        assert_eq!(
            replace_in(Some("abc"), "", "b"),
            Err(Refusal::OldTextNotFound)
        );
        assert_eq!(
            replace_in(Some("Abc"), "abc", "b"),
            Err(Refusal::OldTextNotFound)
        );
        assert_eq!(
            replace_in(Some("a\r\nb"), "a\nb", "c"),
            Err(Refusal::OldTextNotFound)
        );
        assert_eq!(
            replace_in(Some("caf\u{e9}"), "e\u{301}", "c"),
            Err(Refusal::OldTextNotFound)
        );
        assert_eq!(
            replace_in(Some("a a a"), "a", "b"),
            Err(Refusal::Ambiguous { count: 3 })
        );
        assert_eq!(
            replace_in(Some("x\n"), "x\n", ""),
            applied("", WriteStatus::Updated)
        );
    }

    #[test]
    fn occurrences_are_counted_without_overlap() {
        assert_eq!(
            replace_in(Some("aaa"), "aa", "x"),
            applied("xa", WriteStatus::Updated)
        );
        assert_eq!(
            replace_in(Some("ababa"), "aba", "x"),
            applied("xba", WriteStatus::Updated)
        );
        assert_eq!(
            replace_in(Some("aaaa"), "aa", "x"),
            Err(Refusal::Ambiguous { count: 2 })
        );
    }

    #[test]
    fn template_characters_are_inserted_as_they_are() {
        let templates = [
            "$&", "$$", "$`", "$'", "$1", "${0}", "${name}", "\\1", "\\&", "\\\\", "\\n", "\\g<0>",
            "%s", "%%", "{}", "{0}", "{{x}}", "&", "~",
        ];
        for template in templates {
            assert_eq!(
                replace_in(Some("before TOKEN after\n"), "TOKEN", template),
                applied(&format!("before {template} after\n"), WriteStatus::Updated)
            );
            assert_eq!(
                replace_in(
                    Some(&format!("before {template} after\n")),
                    template,
                    "TOKEN"
                ),
                applied("before TOKEN after\n", WriteStatus::Updated)
            );
            assert_eq!(
                append_to(Some("a\n"), template),
                applied(&format!("a\n{template}\n"), WriteStatus::Appended)
            );
        }
    }

    #[test]
    fn nul_is_refused_in_either_argument() {
        assert_eq!(
            Edit::new("a\0".to_owned(), None),
            Err(Refusal::Nul {
                argument: "content"
            })
        );
        assert_eq!(
            Edit::new("a".to_owned(), Some("\0".to_owned())),
            Err(Refusal::Nul {
                argument: "old_text"
            })
        );
    }

    #[test]
    fn limits_count_characters_of_the_whole_note() {
        let write = |content: &str, old_text: Option<&str>, current: Option<&str>, max| {
            Edit::new(content.to_owned(), old_text.map(str::to_owned))
                .unwrap()
                .apply(current, max)
        };
        assert!(write("\u{1f600}\u{1f600}", None, None, 3).is_ok());
        assert_eq!(
            write("\u{1f600}\u{1f600}", None, None, 2),
            Err(Refusal::TooLarge {
                chars: 3,
                chars_max: 2
            })
        );
        assert!(write("", Some("56"), Some("123456"), 6).is_ok());
        assert_eq!(
            write("", Some("56"), Some("1234567"), 6),
            Err(Refusal::ExistingTooLarge { chars_max: 6 })
        );
        assert_eq!(
            write("x", Some("zz"), Some("1234567"), 6),
            Err(Refusal::ExistingTooLarge { chars_max: 6 })
        );
        assert_eq!(
            write("1234567", Some("zz"), Some("1"), 6),
            Err(Refusal::OldTextNotFound)
        );
    }

    const TEXT: &str = "[ab \r\n\t\u{2028}固\u{301}\u{200d}👩]{0,24}";

    proptest! {
        #[test]
        fn an_append_keeps_what_was_there_and_ends_in_one_line_end(current in TEXT, content in TEXT) {
            prop_assume!(!is_blank(&current) && !is_blank(&content));
            let text = append_to(Some(&current), &content).unwrap().text;
            prop_assert!(text.starts_with(trim_end_space(&current)));
            let line_end = if ends_lines_with_crlf(&current) { "\r\n" } else { "\n" };
            let body = text.strip_suffix(line_end).expect("a line end");
            prop_assert_eq!(trim_end_space(body), body);
            let added = &body[trim_end_space(&current).len()..];
            prop_assert_eq!(
                added.replace("\r\n", "\n"),
                format!("\n{}", trim_end_space(&content)).replace("\r\n", "\n")
            );
        }

        #[test]
        fn a_note_keeps_one_kind_of_line_end_through_appends(
            lines in prop::collection::vec("[a-c]{1,3}", 2..5),
            content in "[a-c\n]{0,9}[a-c]",
            crlf in any::<bool>(),
        ) {
            let line_end = if crlf { "\r\n" } else { "\n" };
            let text = append_to(Some(&lines.join(line_end)), &content).unwrap().text;
            let crlf_count = text.matches("\r\n").count();
            prop_assert_eq!(crlf_count, if crlf { text.matches('\n').count() } else { 0 });
        }

        #[test]
        fn a_replacement_changes_the_passage_and_nothing_else(
            before in "[ab固 \n]{0,12}", passage in "[xy👩]{1,4}", after in "[ab固 \n]{0,12}", content in TEXT,
        ) {
            let current = format!("{before}{passage}{after}");
            prop_assert_eq!(
                replace_in(Some(&current), &passage, &content),
                applied(&format!("{before}{content}{after}"), WriteStatus::Updated)
            );
        }

        #[test]
        fn a_replacement_by_a_passage_of_its_own_can_be_taken_back(
            before in "[ab \n]{0,12}", passage in "[xy]{1,4}", after in "[ab \n]{0,12}", content in "[vw]{1,4}",
        ) {
            let current = format!("{before}{passage}{after}");
            let changed = replace_in(Some(&current), &passage, &content).unwrap().text;
            prop_assert_eq!(replace_in(Some(&changed), &content, &passage).unwrap().text, current);
        }

        #[test]
        fn no_edit_makes_a_note_over_the_bound(
            current in prop::option::of(TEXT), content in TEXT, old in prop::option::of("[ab]{0,2}"), max in 1usize..30,
        ) {
            let Ok(edit) = Edit::new(content, old) else { return Ok(()) };
            match edit.apply(current.as_deref(), max) {
                Ok(applied) => prop_assert!(applied.text.chars().count() <= max),
                Err(Refusal::TooLarge { chars, chars_max }) => prop_assert!(chars > max && chars_max == max),
                Err(_) => {}
            }
        }
    }
}
