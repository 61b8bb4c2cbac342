//! Snapshots: the delimited block that shows a notebook inside a budget.

mod fit;
mod page;

use sha2::{Digest, Sha256};

use crate::{CHARS_PER_TOKEN, scope::hex, text::is_blank};
use page::{Page, escaped_main};

/// What stands before the text of a block.
const OPENING: &str = "<memory>\n";

/// What stands after it.
const CLOSING: &str = "\n</memory>";

/// Fewest characters that listing one note can take in any rendering worth having: `- `, a line
/// feed, and a name of three characters.
const LISTED_CHARS_MIN: usize = 6;

/// What a store says of a notebook for a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notebook {
    /// The main note, if there is one.
    pub main: Option<MainNote>,
    /// Names of the other notes directly in the scope that end in `.md`, ascending by code
    /// point, at most [`RenderSettings::names_max`] of them.
    pub names: Vec<String>,
    /// Whether there are more names.
    pub more_names: bool,
}

/// The main note as read for a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MainNote {
    /// Its text, or the part of it that fits the bound.
    pub content: String,
    /// Which part.
    pub part: MainPart,
}

/// Which part of the main note was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainPart {
    /// All of it.
    Whole,
    /// The first characters, up to the bound.
    Head,
    /// The last characters, up to the bound.
    Tail,
}

/// How a notebook is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderSettings {
    /// Budget of guidance and block together, in tokens of
    /// [`CHARS_PER_TOKEN`](crate::CHARS_PER_TOKEN) characters.
    pub tokens_max: usize,
    /// Characters that the guidance takes of it.
    pub guidance_chars: usize,
    /// Most lines of the main note.
    pub lines_max: usize,
    /// Heading of the block, or empty.
    pub heading: String,
    /// Name of the tool that reads a note, as the model sees it.
    pub reader: String,
    /// Name of the tool that searches notes, as the model sees it.
    pub searcher: String,
    /// A sentence that says where the files are, where the model's file tool reads them.
    pub location: Option<String>,
    /// How that tool reads the main note, as the model would call it; named in the place of
    /// `reader` where the block says the location.
    pub file_reader: Option<String>,
}

impl RenderSettings {
    /// How many names of other notes a snapshot needs at most.
    pub fn names_max(&self) -> usize {
        (self.chars_max() / LISTED_CHARS_MIN).max(1)
    }

    /// Budget of guidance and block together, in characters.
    fn chars_max(&self) -> usize {
        self.tokens_max.saturating_mul(CHARS_PER_TOKEN)
    }

    /// Budget of the text between the delimiters, in characters.
    fn body_chars_max(&self) -> usize {
        let delimiters = OPENING.len() + CLOSING.len();
        self.chars_max()
            .saturating_sub(self.guidance_chars)
            .saturating_sub(delimiters)
    }
}

/// A rendered snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// A block to place.
    Block {
        /// The delimited text.
        text: String,
        /// What it shows.
        counts: SnapshotCounts,
    },
    /// Nothing is stored.
    Empty,
    /// Something is stored, but the guidance leaves no room to say even that.
    BudgetExhausted,
}

/// What a block shows and leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotCounts {
    /// Characters of the main note as read.
    pub main_chars: usize,
    /// Lines of the main note shown.
    pub lines_shown: usize,
    /// Lines of the main note left out.
    pub lines_dropped: usize,
    /// Whether the only line shown is itself cut, because no line fits whole.
    pub line_cut: bool,
    /// Other notes known.
    pub files: usize,
    /// Other notes listed.
    pub files_listed: usize,
    /// Whether there are more notes than were read.
    pub files_truncated: bool,
    /// Whether only a part of the main note was read.
    pub main_truncated: bool,
    /// Whether the block says where the files are.
    pub located: bool,
    /// Characters of the whole block.
    pub block_chars: usize,
}

/// Renders a notebook.
///
/// The block, delimiters included, never exceeds the budget. The newest lines of the main note
/// come first, as many as the settings allow; file names take what those leave. Whatever is left
/// out is said in square brackets, with the tool that has the rest. Where not even one line fits
/// whole, the last is cut; where that doesn't fit either, a short remark stands for the notebook.
/// Stored text is escaped, see [`escape_stored_text`](crate::escape_stored_text). The cost is
/// linear in the notebook.
///
/// ```
/// use notekeeper_domain::{MainNote, MainPart, Notebook, RenderSettings, Rendered, render_snapshot};
///
/// let notebook = Notebook {
///     main: Some(MainNote { content: "- likes tea\n".to_owned(), part: MainPart::Whole }),
///     names: vec!["travel.md".to_owned()],
///     more_names: false,
/// };
/// let settings = RenderSettings {
///     tokens_max: 2_000,
///     guidance_chars: 0,
///     lines_max: 200,
///     heading: String::new(),
///     reader: "read_memory".to_owned(),
///     searcher: "search_memory".to_owned(),
///     location: None,
///     file_reader: None,
/// };
/// let Rendered::Block { text, counts } = render_snapshot(&notebook, &settings) else {
///     panic!("something is stored and fits");
/// };
/// assert_eq!(
///     text,
///     "<memory>\n### MEMORY.md\n\n- likes tea\n\n### Other files\n\n- travel.md\n</memory>"
/// );
/// assert_eq!((counts.lines_shown, counts.files_listed), (1, 1));
/// ```
pub fn render_snapshot(notebook: &Notebook, settings: &RenderSettings) -> Rendered {
    let Notebook {
        main,
        names,
        more_names,
    } = notebook;
    let main_stored = main
        .as_ref()
        .is_some_and(|main| main.part != MainPart::Whole || !is_blank(&main.content));
    if !main_stored && names.is_empty() && !more_names {
        return Rendered::Empty;
    }
    let escaped = escaped_main(notebook);
    let page = Page::new(notebook, escaped.as_deref(), settings);
    let Some(fitted) = fit::fit(&page, settings.body_chars_max()) else {
        return Rendered::BudgetExhausted;
    };
    let text = format!("{OPENING}{}{CLOSING}", fitted.body);
    let counts = SnapshotCounts {
        main_chars: main.as_ref().map_or(0, |main| main.content.chars().count()),
        lines_shown: fitted.lines_shown,
        lines_dropped: page.lines_in_all() - fitted.lines_shown,
        line_cut: fitted.line_cut,
        files: names.len(),
        files_listed: fitted.files_listed,
        files_truncated: *more_names,
        main_truncated: main
            .as_ref()
            .is_some_and(|main| main.part != MainPart::Whole),
        located: fitted.prefaced && page.says_location,
        block_chars: text.chars().count(),
    };
    Rendered::Block { text, counts }
}

/// Lower-case hexadecimal SHA-256 of a block.
pub fn snapshot_digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests;
