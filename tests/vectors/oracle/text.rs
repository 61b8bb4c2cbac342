//! Text as the peer sees it: white space, trimming, and strings that may hold lone surrogates.

use anyhow::Result;
use notekeeper_domain::escape_stored_text;
use serde_json::Value;

use crate::strings::{codepoints, from_codepoints};

/// Where lone surrogates are mapped to, so that the models can work on Rust strings: 2,048 code
/// points of private use that no case holds.
const STAND_IN_FIRST: u32 = 0x10_F000;
const SURROGATE_FIRST: u32 = 0xD800;
const SURROGATE_LAST: u32 = 0xDFFF;

/// The string of a case, with stand-ins for lone surrogates.
pub(crate) fn model_text(value: &Value) -> Result<String> {
    Ok(codepoints(value)?
        .into_iter()
        .filter_map(|point| match point {
            SURROGATE_FIRST..=SURROGATE_LAST => {
                char::from_u32(STAND_IN_FIRST + point - SURROGATE_FIRST)
            }
            _ => char::from_u32(point),
        })
        .collect())
}

/// The reverse of [`model_text`].
pub(crate) fn case_text(text: &str) -> Result<Value> {
    let stand_ins = STAND_IN_FIRST..=STAND_IN_FIRST + SURROGATE_LAST - SURROGATE_FIRST;
    from_codepoints(
        text.chars()
            .map(u32::from)
            .map(|point| match point {
                _ if stand_ins.contains(&point) => point - STAND_IN_FIRST + SURROGATE_FIRST,
                _ => point,
            })
            .collect(),
    )
}

/// Whether `text` has a stand-in for a lone surrogate.
pub(crate) fn has_surrogate(text: &str) -> bool {
    text.chars()
        .any(|c| (STAND_IN_FIRST..0x10_F800).contains(&u32::from(c)))
}

/// White space as the peer's language defines it.
pub(crate) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\u{9}'..='\u{d}'
            | '\u{1c}'..='\u{20}'
            | '\u{85}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
    )
}

/// `text` without white space at its end.
pub(crate) fn trimmed_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Lines of a note as blocks show them: escaped, split at every kind of line break, none for a
/// blank note. Escaping is what the topic `escaping` is about; here it is taken as given.
pub(crate) fn shown_lines(note: &str) -> Vec<String> {
    let escaped = escape_stored_text(trimmed_end(note)).replace("\r\n", "\n");
    let breaks = |c: char| matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    match escaped.is_empty() {
        true => Vec::new(),
        false => escaped.split(breaks).map(str::to_owned).collect(),
    }
}

/// Characters of `text`.
pub(crate) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// The first `count` characters of `text`.
pub(crate) fn prefix(text: &str, count: usize) -> String {
    text.chars().take(count).collect()
}

/// Whether a name has the form that tools accept, apart from its suffix.
pub(crate) fn is_tool_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphanumeric())
        && name.chars().all(plain)
        && chars(name) <= 80
        && !name.contains("..")
}

/// The name that a tool's `file` argument stands for.
pub(crate) fn tool_name(file: &str) -> Option<String> {
    let trimmed = file.trim_matches(is_space);
    let name = if trimmed.is_empty() || trimmed.ends_with(".md") {
        trimmed.to_owned()
    } else {
        format!("{trimmed}.md")
    };
    is_tool_name(&name).then_some(name)
}

/// Whether `path` is a storage path.
pub(crate) fn is_store_path(path: &str) -> bool {
    path.split('/').all(|segment| {
        (1..=200).contains(&segment.len())
            && segment
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
            && segment != "."
            && !segment.contains("..")
    })
}
