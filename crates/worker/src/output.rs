//! What commands print: results on standard output, errors on standard error, either for people or,
//! with `--json`, for programs.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::json;

/// An error with a code that programs can tell apart: the reason of a refusal, or the type of a
/// failure.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CodedError {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Arguments that are each in order and make no sense together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// A result that can't be printed. A type of its own: connections break as pipes do, and that is no
/// reader that went away.
#[derive(Debug, thiserror::Error)]
#[error("can't write the result")]
struct PrintError(#[source] io::Error);

/// The code of an error that has none of its own.
const UNCODED: &str = "failed";

/// Writes to standard output, all of it.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(written.map_err(PrintError)?)
}

/// Writes a text that anybody may have written: as it is, or, where a terminal would obey it, so
/// that it can't be steered.
pub(crate) fn print_foreign(text: &str) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        return print(&shown(&text.replace("\r\n", "\n")));
    }
    print(text)
}

/// Writes a value as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string(value).context("can't write the result as JSON")?;
    print(&format!("{}\n", inert_json(&text)))
}

/// Says something beside the result. Where nobody can read it, it is lost.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Says why a command failed.
pub(crate) fn print_error(error: &anyhow::Error, as_json: bool) {
    if !as_json {
        return remark(&shown(&format!("error: {error:#}")));
    }
    let code = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<CodedError>())
        .map_or(UNCODED, |coded| coded.code.as_str());
    let said = json!({"error": {"code": code, "message": format!("{error:#}")}});
    remark(&inert_json(&said.to_string()));
}

/// Whether the reader of standard output went away, as `head` does once it has seen enough.
pub(crate) fn reader_is_gone(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<PrintError>())
        .any(|PrintError(cause)| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// A table for people, without lines; `numbers` are the columns that are set to the right.
pub(crate) fn table<const N: usize>(
    head: [&str; N],
    numbers: &[usize],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(head);
    for row in rows {
        table.add_row(row.map(|text| Cell::new(shown(&text))));
    }
    for column in table.column_iter_mut() {
        let right = numbers.contains(&column.index);
        column.set_padding((0, 2));
        if right {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// A text that can't steer a terminal: notes and their names may hold anything, and a model wrote
/// them.
pub(crate) fn shown(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        c if steers(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// A name that anybody may have given, such as a key: on one line, with a replacement character for
/// each character that breaks a line or steers a terminal. Blanks stay, since names differ by them.
pub(crate) fn shown_name(name: &str) -> String {
    shown(&name.replace(['\n', '\t'], "\u{fffd}"))
}

/// The beginning of a text, and a sign where it goes on.
pub(crate) fn short(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A text that steers no terminal, its blanks and line breaks as one space each, and its beginning
/// alone where it is longer.
pub(crate) fn on_one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        chars += word.chars().count() + 1;
        if chars > chars_max.saturating_add(1) {
            break;
        }
    }
    shown(&short(&line, chars_max))
}

/// Whether a terminal obeys a character instead of showing it, or sets what follows in another order.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The same JSON, on one line, with all that steers a terminal as escapes. In JSON on one line such
/// characters stand in strings alone.
pub(crate) fn inert_json(line: &str) -> String {
    let mut inert = String::with_capacity(line.len());
    for c in line.chars() {
        if steers(c) {
            // None of them is beyond the four digits.
            inert.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            inert.push(c);
        }
    }
    inert
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up_wide_characters_and_numbers_and_end_no_line_in_blanks() {
        let rows = [["固.md", "7"], ["a-long-name.md", "1234"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(
            table(["NOTE", "CHARS"], &[1], rows),
            "NOTE            CHARS\n固.md               7\na-long-name.md   1234\n"
        );
    }

    #[test]
    fn what_is_shown_cannot_steer_a_terminal() {
        assert_eq!(
            shown("a\u{1b}[2J\tb\r\nc\u{9b}\u{202e}d\u{2066}"),
            "a\u{fffd}[2J\tb\u{fffd}\nc\u{fffd}\u{fffd}d\u{fffd}"
        );
    }

    #[test]
    fn a_name_is_shown_on_one_line_with_its_blanks() {
        assert_eq!(
            shown_name(" a  b\n\tc\u{9b}"),
            " a  b\u{fffd}\u{fffd}c\u{fffd}"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_characters_with_a_sign() {
        assert_eq!(short("äöü", 3), "äöü");
        assert_eq!(short("äöü!", 3), "äöü…");
    }

    #[test]
    fn one_line_has_the_words_with_one_space_between_as_far_as_it_has_room() {
        assert_eq!(on_one_line(" a\r\n\n\tb  c ", 5), "a b c");
        assert_eq!(on_one_line("a b c d", 5), "a b c…");
        assert_eq!(on_one_line("ab\u{1b}cd", 4), "ab\u{fffd}c…");
        assert_eq!(on_one_line(" \n", usize::MAX), "");
    }

    #[test]
    fn json_holds_what_would_steer_a_terminal_as_escapes() {
        let value = json!({"text": "a\u{1b}\u{7f}\u{9b}\u{202e}固\n"});
        let inert = inert_json(&value.to_string());
        assert_eq!(inert, r#"{"text":"a\u001b\u007f\u009b\u202e固\n"}"#);
        let read: serde_json::Value = serde_json::from_str(&inert).expect("JSON");
        assert_eq!(read, value);
    }

    #[test]
    fn a_reader_that_went_away_is_told_from_a_full_disk_and_from_a_broken_connection() {
        let of = |kind: io::ErrorKind| {
            anyhow::Error::from(PrintError(io::Error::from(kind))).context("result")
        };
        assert!(reader_is_gone(&of(io::ErrorKind::BrokenPipe)));
        assert!(!reader_is_gone(&of(io::ErrorKind::StorageFull)));
        let connection = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(!reader_is_gone(&connection.context("can't reach it")));
        assert!(!reader_is_gone(&anyhow::anyhow!("broken pipe")));
    }
}
