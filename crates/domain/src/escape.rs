//! Escaping of stored text, so that it can't end or fake a framing tag.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::text::is_space;

/// The tag that delimits a block.
const BLOCK_TAG: &str = "memory";

/// Tags with which agent frameworks mark what isn't the user's own words. Stored text that holds
/// one could pass for the system, a tool or the model itself.
const FRAMING_TAGS: [&str; 8] = [
    "system",
    "tool_result",
    "assistant_thinking",
    "context",
    "context_diff",
    "validation_errors",
    "retry_feedback",
    "conversation_summary",
];

/// `text` with the `<` of every framing tag written as `&lt;`.
///
/// White space around the slash and the name, line breaks among it, and the case of letters make
/// no difference. Every other `<` stays, so code and comparisons read as they were written. The
/// cost is linear, and a second pass changes nothing.
pub fn escape_stored_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        escaped.push_str(before);
        escaped.push_str(if starts_framing_tag(after) {
            "&lt;"
        } else {
            "<"
        });
        rest = after;
    }
    escaped.push_str(rest);
    escaped
}

/// Whether a `<` before `after` would open or close a framing tag.
fn starts_framing_tag(after: &str) -> bool {
    let name = after.trim_start_matches(is_space);
    let name = name
        .strip_prefix('/')
        .map_or(name, |closing| closing.trim_start_matches(is_space));
    // A reader of tags may take anything but a longer word for the block's own tag: also
    // `<memory-x>`, and a tag without an end.
    strip_name(name, BLOCK_TAG).is_some_and(|rest| !rest.starts_with(is_word))
        || FRAMING_TAGS.iter().any(|tag| {
            strip_name(name, tag).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(|c| is_space(c) || matches!(c, '/' | '>'))
            })
        })
}

/// What follows `name` at the start of `text`, compared without case.
fn strip_name<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = text.chars();
    name.chars()
        .all(|expected| rest.next().map(fold) == Some(expected))
        .then_some(rest.as_str())
}

/// The lower-case ASCII letter that `c` is a form of, or `c`.
fn fold(c: char) -> char {
    match c {
        'ſ' => 's',
        '\u{212a}' => 'k',
        'İ' | 'ı' => 'i',
        _ => c.to_ascii_lowercase(),
    }
}

/// Whether `c` goes on a word: a letter, a number or `_`, but no mark and no joiner.
fn is_word(c: char) -> bool {
    c == '_'
        || matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::deadline::within_a_minute;

    /// Texts in which the first `<` is escaped.
    fn assert_escaped(texts: &[&str]) {
        for text in texts {
            assert_eq!(
                escape_stored_text(text),
                text.replacen('<', "&lt;", 1),
                "{text:?}"
            );
        }
    }

    fn assert_kept(texts: &[&str]) {
        for text in texts {
            assert_eq!(escape_stored_text(text), *text);
        }
    }

    #[test]
    fn the_block_tag_is_escaped_in_any_case_and_spacing() {
        assert_escaped(&[
            "<memory>",
            "</memory>",
            "</MeMoRy>",
            "< / memory >",
            "<\t/\u{3000}memory>",
            "<\r\n/\nmemory>",
            "<\u{1f}memory>",
            "<memory id=\"1\">",
            "<memory/>",
            "x </memory",
            "<memory-x>",
            "<memory:x>",
            "<memory\u{301}>",
            "<memory\u{200d}x>",
            "<memory\u{93e}>",
            "<memoryⓐ>",
            "**</memory>**",
        ]);
    }

    #[test]
    fn longer_words_and_other_tags_are_kept() {
        assert_kept(&[
            "<memory_x>",
            "<memory1>",
            "<memoryé>",
            "<memory記>",
            "<memory²>",
            "<memories>",
            "<mem\u{200b}ory>",
            "<\u{ad}memory>",
            "<\u{200f}/memory>",
            "<//memory>",
            "< / / memory>",
            "<\\memory>",
            "<!memory>",
            "＜memory>",
            "&#60;/memory>",
            "a < b",
            "<",
            "</",
            "< / ",
            "<mem",
            "<user>",
            "<assistant>",
            "<script>",
        ]);
    }

    #[test]
    fn the_other_framing_tags_are_escaped_where_their_name_ends() {
        for tag in FRAMING_TAGS {
            assert_escaped(&[
                &format!("<{tag}>"),
                &format!("</{tag}>"),
                &format!("<\n/ {} \n>", tag.to_uppercase()),
                &format!("<{tag} a=\"b\">"),
                &format!("<{tag}/>"),
                &format!("x <{tag}"),
            ]);
            assert_kept(&[
                &format!("<{tag}:>"),
                &format!("<{tag}-reminder>"),
                &format!("<{tag}s>"),
                &format!("<{tag}_x>"),
                &format!("<//{tag}>"),
            ]);
        }
    }

    #[test]
    fn letters_that_fold_to_ascii_are_the_same_letters() {
        assert_escaped(&[
            "<ſystem>",
            "<aſſıstant_thin\u{212a}İng>",
            "<retry_feedbac\u{212a}>",
        ]);
        assert_kept(&["<ѕystem>", "<ｓystem>"]);
    }

    #[test]
    fn each_tag_in_a_text_is_escaped() {
        assert_eq!(
            escape_stored_text("<memory><<memory></memory>a<b<system>"),
            "&lt;memory><&lt;memory>&lt;/memory>a<b&lt;system>"
        );
    }

    #[test]
    fn long_runs_of_openings_cost_linear_time() {
        within_a_minute(|| {
            let text = format!("{}{}", "< ".repeat(300_000), "</ \n".repeat(300_000));
            assert_eq!(escape_stored_text(&text), text);
            let text = format!("<{}x", " ".repeat(1_000_000));
            assert_eq!(escape_stored_text(&text), text);
        });
    }

    /// Pieces that tags, near misses and their surroundings are made of.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "<",
            "<",
            "/",
            ">",
            " ",
            "\n",
            "\u{1c}",
            "memory",
            "MEMORY",
            "mem",
            "ory",
            "system",
            "context",
            "_diff",
            "tool_result",
            "x",
            "_",
            "-",
            "\u{301}",
            "é",
            "&lt;",
            "固",
            "\u{200d}",
        ]);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    /// Without white space but for the first of what stands inside of a word: `<mem ory>` is no tag.
    fn dense(text: &str) -> String {
        let mut dense = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if !is_space(c) {
                dense.push(c);
                continue;
            }
            while chars.next_if(|&next| is_space(next)).is_some() {}
            let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
            if dense.ends_with(is_of_word) && chars.peek().is_some_and(|&next| is_of_word(next)) {
                dense.push(c);
            }
        }
        dense
    }

    proptest! {
        #[test]
        fn no_framing_tag_is_left_and_nothing_else_changed(text in pieces()) {
            let escaped = escape_stored_text(&text);
            prop_assert_eq!(escape_stored_text(&escaped), &*escaped);
            prop_assert_eq!(escaped.replace("&lt;", "<"), text.replace("&lt;", "<"));
            let dense = dense(&escaped.to_lowercase());
            for tag in ["<memory>", "</memory>", "<system>", "</system>", "<context_diff>", "<tool_result>"] {
                prop_assert!(!dense.contains(tag), "{escaped:?}");
            }
        }

        #[test]
        fn text_without_an_opening_is_kept(text in "[^<]{0,40}") {
            prop_assert_eq!(escape_stored_text(&text), text);
        }
    }
}
