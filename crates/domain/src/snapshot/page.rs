//! What a block could show, and the wording of what it says itself.

use std::borrow::Cow;

use super::{MainPart, Notebook, RenderSettings};
use crate::{
    escape::escape_stored_text,
    text::{is_blank, trim_end_space},
};

/// Heading of the section with the main note.
pub(super) const MAIN_HEADING: &str = "### MEMORY.md";

/// Heading of the section with the names of other notes.
pub(super) const FILES_HEADING: &str = "### Other files";

/// What stands before a name in the listing.
const LISTED: &str = "- ";

/// Remark that stands for a notebook of which nothing fits, in a budget that has no room for
/// [`Page::not_shown`].
pub(super) const NOT_SHOWN: &str = "[not shown]";

/// What follows the first part of an oversize main note.
const NEWER_TEXT: &str = "[the file is over its size limit: newer text is not shown]";

/// The escaped parts of a notebook that a block could show.
pub(super) struct Page<'n> {
    /// Heading and location; empty where neither is set.
    pub(super) preface: String,
    /// The main note; `None` where it is absent or blank.
    pub(super) main: Option<MainPage<'n>>,
    /// Names of other notes, as stored.
    pub(super) names: &'n [String],
    /// Whether there are more names.
    pub(super) more_names: bool,
    reader: &'n str,
    searcher: &'n str,
    /// How the model's file tool reads the main note, where the preface says where the files are.
    file_reader: Option<&'n str>,
    /// Whether the preface says where the files are.
    pub(super) says_location: bool,
}

/// The main note as a block could show it.
#[derive(Clone)]
pub(super) struct MainPage<'n> {
    /// The last lines, as many as the settings allow.
    pub(super) lines: Vec<&'n str>,
    /// Lines before those.
    dropped: usize,
    part: MainPart,
}

/// The text of the main note as a block may hold it.
pub(super) fn escaped_main(notebook: &Notebook) -> Option<String> {
    let main = notebook.main.as_ref()?;
    Some(escape_stored_text(trim_end_space(&main.content)))
}

impl<'n> Page<'n> {
    /// `escaped` is the text of the main note, if there is one, as [`escaped_main`] has it.
    pub(super) fn new(
        notebook: &'n Notebook,
        escaped: Option<&'n str>,
        settings: &'n RenderSettings,
    ) -> Self {
        let main = notebook.main.as_ref().zip(escaped);
        let main =
            main.and_then(|(main, escaped)| MainPage::new(escaped, main.part, settings.lines_max));
        Self {
            preface: preface(settings),
            main,
            names: &notebook.names,
            more_names: notebook.more_names,
            reader: &settings.reader,
            searcher: &settings.searcher,
            file_reader: settings
                .file_reader
                .as_deref()
                .filter(|_| has_location(settings)),
            says_location: has_location(settings),
        }
    }

    /// The page with the preface: where that says where the files are, the notices name the tool
    /// that reads them there.
    pub(super) fn under_preface(&self) -> Self {
        Self {
            preface: self.preface.clone(),
            main: self.main.clone(),
            reader: self.file_reader.unwrap_or(self.reader),
            ..*self
        }
    }

    /// Lines of the main note as read, shown or not.
    pub(super) fn lines_in_all(&self) -> usize {
        self.main
            .as_ref()
            .map_or(0, |main| main.dropped + main.lines.len())
    }

    /// The line of the listing that names a note.
    pub(super) fn listed(&self, index: usize) -> String {
        [LISTED, &*shown_name(&self.names[index])].concat()
    }

    /// Characters of that line.
    pub(super) fn listed_chars(&self, index: usize) -> usize {
        LISTED.len() + shown_name(&self.names[index]).chars().count()
    }

    /// What is said of the notes that aren't listed, where `listed` are; `None` where all are.
    pub(super) fn files_notice(&self, listed: usize) -> Option<String> {
        let omitted = self.names.len() - listed;
        let which = match (omitted, listed, self.more_names) {
            (0, _, false) => return None,
            (_, 0, true) => "files not listed".to_owned(),
            (_, _, true) => "more files".to_owned(),
            (1, 0, false) => "1 file not listed".to_owned(),
            (_, 0, false) => format!("{omitted} files not listed"),
            (1, _, false) => "1 more file".to_owned(),
            (_, _, false) => format!("{omitted} more files"),
        };
        Some(format!("[{which}: use {}]", self.searcher))
    }

    /// What is said of text before the last `shown` lines; `None` where there is none.
    pub(super) fn notice_before(&self, main: &MainPage<'_>, shown: usize) -> Option<String> {
        let dropped = main.dropped + main.lines.len() - shown;
        let lines = if dropped == 1 { "line" } else { "lines" };
        let what = match (main.part, dropped, shown) {
            (MainPart::Tail, 0, _) => "older text".to_owned(),
            (MainPart::Tail, _, _) => format!("{dropped} {lines} and older text"),
            (_, 0, _) => return None,
            (_, _, 0) => format!("{dropped} {lines}"),
            (_, _, _) => format!("{dropped} earlier {lines}"),
        };
        Some(format!("[{what} left out: use {}]", self.reader))
    }

    /// What is said of text after the lines; `None` where there is none.
    pub(super) fn notice_after(&self, main: &MainPage<'_>) -> Option<&'static str> {
        (main.part == MainPart::Head).then_some(NEWER_TEXT)
    }

    /// What stands at the end of a line that was cut there.
    pub(super) fn cut_mark(&self) -> String {
        format!("… [cut: use {}]", self.reader)
    }

    /// Remark that stands for a notebook of which nothing fits.
    pub(super) fn not_shown(&self) -> String {
        format!(
            "[notebook not shown: use {} or {}]",
            self.reader, self.searcher
        )
    }
}

impl<'n> MainPage<'n> {
    /// `None` where there is nothing to show or to say.
    fn new(escaped: &'n str, part: MainPart, lines_max: usize) -> Option<Self> {
        if escaped.is_empty() {
            let nothing_read = Self {
                lines: Vec::new(),
                dropped: 0,
                part,
            };
            return (part != MainPart::Whole).then_some(nothing_read);
        }
        let mut lines = split_lines(escaped);
        let dropped = lines.len().saturating_sub(lines_max);
        Some(Self {
            lines: lines.split_off(dropped),
            dropped,
            part,
        })
    }

    /// Whether the line at `index` may begin before the part that was read.
    pub(super) fn may_begin_earlier(&self, index: usize) -> bool {
        self.part == MainPart::Tail && self.dropped == 0 && index == 0
    }
}

/// Heading and location. Both come from the application, but may be made of what users entered.
fn preface(settings: &RenderSettings) -> String {
    let mut parts = Vec::new();
    if !is_blank(&settings.heading) {
        parts.push(format!("## {}", settings.heading));
    }
    if has_location(settings) {
        parts.extend(settings.location.clone());
    }
    escape_stored_text(&parts.join("\n\n"))
}

/// Whether the preface says where the files are.
fn has_location(settings: &RenderSettings) -> bool {
    let location = settings.location.as_deref();
    location.is_some_and(|location| !is_blank(location))
}

/// A name with nothing in it that could pass for something else. Names that the product makes are
/// plain; those that other programs left in a store may hold anything.
fn shown_name(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_graphic() && c != '<';
    if name.chars().all(plain) {
        return Cow::Borrowed(name);
    }
    let breaks_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    Cow::Owned(escape_stored_text(name).replace(breaks_line, "\u{fffd}"))
}

/// The lines of `text`, at every kind of line break.
fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some((end, after)) = find_line_break(rest) {
        lines.push(&rest[..end]);
        rest = &rest[after..];
    }
    lines.push(rest);
    lines
}

/// Where the first line break of `text` begins and ends.
fn find_line_break(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        // Most bytes are no part of any line break, and that shows without decoding them.
        let at = from
            + bytes[from..]
                .iter()
                .position(|&byte| may_break_line(byte))?;
        let c = text[at..].chars().next()?;
        let after = at + c.len_utf8();
        match c {
            '\r' if bytes.get(after) == Some(&b'\n') => return Some((at, after + 1)),
            '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                return Some((at, after));
            }
            _ => from = after,
        }
    }
}

/// Whether a character that begins with this byte may be a line break: the controls, and the
/// first bytes of U+0085, U+2028 and U+2029.
fn may_break_line(byte: u8) -> bool {
    matches!(byte, b'\n'..=b'\r' | 0x1c..=0x1e | 0xc2 | 0xe2)
}
