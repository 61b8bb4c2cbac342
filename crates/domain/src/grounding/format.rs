//! How one item is written.

use serde_json::Value;

use crate::{Item, nearest};

/// Longest format, in characters: it stands in each item's line.
const FORMAT_CHARS_MAX: usize = 2_000;

/// What a format can name.
const PLACEHOLDERS: [&str; 5] = ["source", "content", "id", "score", "metadata.KEY"];

/// How an item is written: a text with placeholders.
///
/// `{source}`, `{content}`, `{id}` and `{score}` stand for the item's own, and `{metadata.KEY}` for what
/// its metadata has under that key: a text as it is, anything else as JSON. What an item hasn't is an
/// empty text. `{{` and `}}` are braces. Nothing that an item holds is looked at for placeholders.
///
/// Where what an item holds has several lines, those after the first begin with two spaces, so that none looks
/// like the beginning of another item; line breaks at its end are left out.
///
/// ```
/// use notekeeper_domain::{Item, ItemFormat};
///
/// let item = Item::new("Refunds take {source} days.", "handbook").with_score(0.16899);
/// let format = ItemFormat::parse("- {content} ({source}, {score}{id})")?;
/// assert_eq!(format.render(&item), "- Refunds take {source} days. (handbook, 0.169)");
/// # Ok::<(), notekeeper_domain::InvalidItemFormat>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemFormat(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Source,
    Content,
    Id,
    Score,
    Metadata(String),
}

/// Why a text is no format of items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidItemFormat {
    /// It is too long.
    #[error("has {chars} characters, {FORMAT_CHARS_MAX} are allowed; shorten it")]
    TooLong {
        /// How long it is.
        chars: usize,
    },
    /// A NUL character stands in it.
    #[error("contains a NUL character (U+0000); leave it out")]
    Nul,
    /// A brace stands alone.
    #[error("has a brace without its other half; write `{{{{` or `}}}}` for a brace that is meant")]
    Brace,
    /// It names something that no item has.
    #[error("names `{{{name}}}`, which no item has; did you mean `{{{nearest}}}`?")]
    Unknown {
        /// The name.
        name: String,
        /// What was probably meant.
        nearest: &'static str,
    },
    /// It names nothing of an item, so that all would look the same.
    #[error("names nothing of an item; put `{{content}}` where its text is to stand")]
    Constant,
}

impl Default for ItemFormat {
    /// `[{source}] {content}`.
    fn default() -> Self {
        Self(vec![
            Part::Text("[".to_owned()),
            Part::Source,
            Part::Text("] ".to_owned()),
            Part::Content,
        ])
    }
}

impl ItemFormat {
    /// Reads a text with placeholders.
    ///
    /// # Errors
    ///
    /// [`InvalidItemFormat`] says what to change.
    pub fn parse(text: &str) -> Result<Self, InvalidItemFormat> {
        let chars = text.chars().count();
        if chars > FORMAT_CHARS_MAX {
            return Err(InvalidItemFormat::TooLong { chars });
        }
        if text.contains('\0') {
            return Err(InvalidItemFormat::Nul);
        }
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let from = &rest[at..];
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                plain.push_str(&from[..1]);
                rest = after;
                continue;
            }
            let inside = from.strip_prefix('{').ok_or(InvalidItemFormat::Brace)?;
            let (name, after) = inside.split_once('}').ok_or(InvalidItemFormat::Brace)?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(placeholder(name)?);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        match parts.iter().all(|part| matches!(part, Part::Text(_))) {
            true => Err(InvalidItemFormat::Constant),
            false => Ok(Self(parts)),
        }
    }

    /// Whether the text of an item stands in it.
    pub fn names_content(&self) -> bool {
        self.0.contains(&Part::Content)
    }

    /// An item, written so.
    pub fn render(&self, item: &Item) -> String {
        let mut written = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => written.push_str(text),
                Part::Source => push_indented(&mut written, &item.source),
                Part::Content => push_indented(&mut written, &item.content),
                Part::Id => push_indented(&mut written, item.id.as_deref().unwrap_or_default()),
                Part::Score => written.push_str(&item.score().map(score).unwrap_or_default()),
                Part::Metadata(key) => match item.metadata.get(key) {
                    None | Some(Value::Null) => {}
                    Some(Value::String(text)) => push_indented(&mut written, text),
                    // What a reader may see as another line isn't escaped in JSON, but for a few.
                    Some(other) => push_indented(&mut written, &other.to_string()),
                },
            }
        }
        written
    }
}

/// Characters after which a reader may see another line.
const LINE_BREAKS: [char; 7] = [
    '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
];

/// Writes what an item holds. Only its first line may stand where a line of ours begins.
fn push_indented(written: &mut String, text: &str) {
    let text = text.trim_end_matches(LINE_BREAKS);
    let mut after_break = false;
    for character in text.chars() {
        let is_break = LINE_BREAKS.contains(&character);
        if after_break && !is_break {
            written.push_str("  ");
        }
        written.push(character);
        after_break = is_break;
    }
}

fn placeholder(name: &str) -> Result<Part, InvalidItemFormat> {
    match name {
        "source" => Ok(Part::Source),
        "content" => Ok(Part::Content),
        "id" => Ok(Part::Id),
        "score" => Ok(Part::Score),
        _ => match name.strip_prefix("metadata.") {
            Some(key) if !key.is_empty() => Ok(Part::Metadata(key.to_owned())),
            _ => Err(InvalidItemFormat::Unknown {
                name: crate::char_prefix(name, 64).0.to_owned(),
                nearest: nearest(name, PLACEHOLDERS).unwrap_or("content"),
            }),
        },
    }
}

/// A score with at most four digits after the point.
fn score(score: f64) -> String {
    let text = format!("{score:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}
