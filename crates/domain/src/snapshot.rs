//! Snapshots: the delimited block that shows a notebook inside a budget.

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
}

impl RenderSettings {
    /// How many names of other notes a snapshot needs at most.
    pub fn names_max(&self) -> usize {
        todo!()
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
    /// Something is stored, but the guidance leaves no room.
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
    /// Other notes known.
    pub files: usize,
    /// Other notes listed.
    pub files_listed: usize,
    /// Whether there are more notes than were read.
    pub files_truncated: bool,
    /// Whether only a part of the main note was read.
    pub main_truncated: bool,
    /// Characters of the whole block.
    pub block_chars: usize,
}

/// Renders a notebook.
pub fn render_snapshot(notebook: &Notebook, settings: &RenderSettings) -> Rendered {
    let _ = (notebook, settings);
    todo!()
}

/// Lower-case hexadecimal SHA-256 of a block.
pub fn snapshot_digest(text: &str) -> String {
    use sha2::{Digest, Sha256};
    crate::scope::hex(&Sha256::digest(text.as_bytes()))
}
