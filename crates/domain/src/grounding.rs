//! Grounding: what a source found, as text for a model's instructions.

mod format;

pub use format::{InvalidItemFormat, ItemFormat};

use serde_json::{Value, json};

use crate::{ITEM_ID_BYTES_MAX, Item, char_prefix, escape_stored_text, is_blank};

/// What stands over the items where nothing else is said.
pub const GROUNDING_HEADER: &str = "Relevant context:";

/// Size of a grounded text where nothing else is said, in tokens of four characters.
pub const GROUNDING_TOKENS_DEFAULT: usize = 4_000;

/// Largest size that a grounded text may have, in tokens of four characters. A workflow holds it and
/// hands it over from run to run.
pub const GROUNDING_TOKENS_MAX: usize = 16_000;

/// Most bytes of a grounded text as JSON, whatever its characters: a model request holds it beside an
/// exchange, and the input of the next run beside what else a run carries.
const GROUNDING_BYTES_MAX: usize = 128 * 1024;

/// Stands where a text is cut.
const CUT: &str = " […]";

/// Items as text for a model's instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedItems {
    /// The text; empty where there were no items.
    pub text: String,
    /// How many of the items stand in it, the last one cut perhaps.
    pub shown: usize,
}

/// How items become text: what stands over them, how each is written, and how long it all may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroundingStyle {
    /// The line over the items; none where it is empty. It is the application's own and stands as it is.
    pub header: String,
    /// How one item is written.
    pub format: ItemFormat,
    /// Most characters of all, header and notice included.
    pub chars_max: usize,
}

impl Default for GroundingStyle {
    fn default() -> Self {
        Self {
            header: GROUNDING_HEADER.to_owned(),
            format: ItemFormat::default(),
            chars_max: GROUNDING_TOKENS_DEFAULT * crate::CHARS_PER_TOKEN,
        }
    }
}

impl GroundingStyle {
    /// The items, one after the other, under the header; nothing at all where there are none.
    ///
    /// Tags with which frameworks mark what isn't the user's own words are escaped, also where two items
    /// together would make one, and further lines of an item are indented. As many items stand in it as fit, best first; of a first one that
    /// doesn't fit its beginning. What is left out is said at the end, `omitted` with it: items that
    /// were found and didn't come along.
    ///
    /// ```
    /// use notekeeper_domain::{GroundingStyle, Item};
    ///
    /// let items = [Item::new("Refunds take 5 business days.", "handbook")];
    /// assert_eq!(
    ///     GroundingStyle::default().render(&items, 0).text,
    ///     "Relevant context:\n[handbook] Refunds take 5 business days."
    /// );
    /// assert_eq!(GroundingStyle::default().render(&[], 0).text, "");
    /// ```
    pub fn render(&self, items: &[Item], omitted: usize) -> RenderedItems {
        let mut body = String::new();
        let mut best = RenderedItems::default();
        for (index, item) in items.iter().enumerate() {
            let shown = index + 1;
            body.push_str(if index == 0 { "" } else { "\n" });
            body.push_str(&self.format.render(item));
            match self.fitting(&body, items.len() - shown + omitted) {
                Some(text) => best = RenderedItems { text, shown },
                // The next ones may be the last, after which there is no notice.
                None if body.chars().count() <= self.chars_max => {}
                None => break,
            }
        }
        match items.first() {
            Some(first) if best.shown == 0 => {
                let rendered = self.format.render(first);
                self.cut(&rendered, items.len() - 1 + omitted, 1)
            }
            _ => best,
        }
    }

    /// A text that says already what `items` have to say, under the header; nothing at all where it is
    /// blank. It is escaped, and cut where it doesn't fit.
    pub fn frame(&self, text: &str, items: usize, omitted: usize) -> RenderedItems {
        if is_blank(text) {
            return RenderedItems::default();
        }
        match self.fitting(text, omitted) {
            Some(text) => RenderedItems { text, shown: items },
            None => self.cut(text, omitted, items),
        }
    }

    /// The longest beginning of a text that fits with a mark.
    fn cut(&self, body: &str, left_out: usize, shown: usize) -> RenderedItems {
        let cut = |chars: usize| {
            let prefix = char_prefix(body, chars).0;
            self.fitting(&format!("{prefix}{CUT}"), left_out)
        };
        let most = body.chars().count().min(self.chars_max);
        let fits = most_that_fits(most, |chars| cut(chars).is_some());
        match cut(fits).filter(|_| fits > 0) {
            Some(text) => RenderedItems { text, shown },
            None => RenderedItems::default(),
        }
    }

    /// The whole text with this body, if it fits.
    fn fitting(&self, body: &str, left_out: usize) -> Option<String> {
        // A tool may have answered anything, and no request holds a NUL.
        let escaped = escape_stored_text(&body.replace('\0', "\u{fffd}"));
        let mut text = match self.header.as_str() {
            "" => escaped,
            header => format!("{header}\n{escaped}"),
        };
        match left_out {
            0 => {}
            1 => text.push_str("\n(1 more item is left out for its size.)"),
            more => text.push_str(&format!(
                "\n({more} more items are left out for their size.)"
            )),
        }
        let bytes = serde_json::to_string(&text).map_or(usize::MAX, |json| json.len());
        let fits = text.chars().count() <= self.chars_max && bytes <= GROUNDING_BYTES_MAX;
        fits.then_some(text)
    }
}

/// What a model is told of items that it asked for, as JSON whose list has at most `chars_max` characters: as
/// many items as fit, best first, the first one at least in part where anything of it fits, and how many
/// are left out.
pub fn items_for_model(items: &[Item], omitted: usize, chars_max: usize) -> Value {
    // The list's brackets; one comma an item is counted with the item.
    let mut left = chars_max.saturating_sub(2);
    let mut told = Vec::new();
    for item in items {
        let value = item_for_model(item, &item.content);
        match left.checked_sub(1 + encoded_chars(&value)) {
            Some(rest) => left = rest,
            None => break,
        }
        told.push(value);
    }
    if told.is_empty() {
        told.extend(items.first().and_then(|first| beginning(first, left)));
    }
    match items.len() - told.len() + omitted {
        0 => json!({"items": told}),
        omitted => json!({"items": told, "omitted": omitted}),
    }
}

/// The longest beginning of an item that fits, without its metadata, and without an id that no source of ours
/// would keep or that leaves no room for content.
fn beginning(item: &Item, chars_max: usize) -> Option<Value> {
    let has_plain_id = |item: &Item| {
        let id = item.id.as_ref();
        id.is_none_or(|id| id.len() <= ITEM_ID_BYTES_MAX)
    };
    let bare = Item::new(item.content.as_str(), item.source.as_str());
    let with_id = bare.clone().with_id(item.id.clone().unwrap_or_default());
    let forms = [with_id, bare].into_iter().filter(has_plain_id);
    forms
        .filter_map(|form| {
            let cut = |chars: usize| {
                let content = format!("{}{CUT}", char_prefix(&form.content, chars).0);
                item_for_model(&form, &content)
            };
            let fits = |chars: usize| encoded_chars(&cut(chars)) <= chars_max;
            let chars = most_that_fits(form.content.chars().count().min(chars_max), fits);
            (chars > 0).then(|| cut(chars))
        })
        .next()
}

/// The largest number up to `most` that fits, where each below one that fits does as well; else 0.
fn most_that_fits(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, mut beyond) = (0, most + 1);
    while beyond - fitting > 1 {
        let middle = fitting.midpoint(beyond);
        match fits(middle) {
            true => fitting = middle,
            false => beyond = middle,
        }
    }
    fitting
}

fn encoded_chars(value: &Value) -> usize {
    value.to_string().chars().count()
}

fn item_for_model(item: &Item, content: &str) -> Value {
    let mut told = json!({"source": item.source, "content": content});
    if let Some(id) = &item.id {
        told["id"] = json!(id);
    }
    if !item.metadata.is_empty() {
        told["metadata"] = Value::Object(item.metadata.to_object());
    }
    told
}

#[cfg(test)]
mod tests;
