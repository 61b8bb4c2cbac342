//! Characters, white space and cutting, in the sense that the limits are given in.

/// Whether `c` is white space.
///
/// The set is Unicode's `White_Space` and the separators U+001C to U+001F, which the reference
/// behaviour counts as well.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Whether `text` is empty or white space only.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// `text` without white space at both ends.
pub fn trim_space(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `text` without white space at its end.
pub fn trim_end_space(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// The first `chars_max` characters of `text`, and whether anything was cut.
pub fn char_prefix(text: &str, chars_max: usize) -> (&str, bool) {
    // No text has more characters than bytes. This answers for most notes without a look at them.
    if text.len() <= chars_max {
        return (text, false);
    }
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// The last `chars_max` characters of `text`, and whether anything was cut.
pub fn char_suffix(text: &str, chars_max: usize) -> (&str, bool) {
    if chars_max == 0 {
        return ("", !text.is_empty());
    }
    match text.char_indices().rev().nth(chars_max - 1) {
        Some((start, _)) => (&text[start..], start > 0),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text whose characters take one to four bytes, joiners and non-joiners among them.
    const MIXED: &str = "a固👩\u{200d}🔬é\u{200c}e\u{301}\r\n\u{2028}z";

    #[test]
    fn white_space_is_the_set_that_the_reference_uses() {
        let spaces: String = ('\u{0}'..=char::MAX).filter(|&c| is_space(c)).collect();
        assert_eq!(
            spaces,
            "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\
             \u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\
             \u{202f}\u{205f}\u{3000}"
        );
    }

    #[test]
    fn trimming_takes_unicode_white_space_and_nothing_else() {
        assert_eq!(
            trim_space("\u{1f}\u{3000} a \u{200b}\u{a0}\n"),
            "a \u{200b}"
        );
        assert_eq!(trim_end_space(" a\r\n\u{85}"), " a");
        assert!(is_blank("\u{1c}\u{2029}"));
        assert!(is_blank(""));
        assert!(!is_blank("\u{feff}"));
    }

    #[test]
    fn every_cut_of_mixed_text_falls_between_characters() {
        let chars: Vec<char> = MIXED.chars().collect();
        for n in 0..=chars.len() + 1 {
            let kept = n.min(chars.len());
            let head: String = chars[..kept].iter().collect();
            let tail: String = chars[chars.len() - kept..].iter().collect();
            assert_eq!(char_prefix(MIXED, n), (head.as_str(), n < chars.len()));
            assert_eq!(char_suffix(MIXED, n), (tail.as_str(), n < chars.len()));
        }
    }

    proptest! {
        #[test]
        fn prefix_and_suffix_put_together_are_the_text(text in any::<String>(), n in 0usize..40) {
            let count = text.chars().count();
            let (head, head_cut) = char_prefix(&text, n);
            let (tail, _) = char_suffix(&text, count.saturating_sub(n));
            prop_assert_eq!(format!("{head}{tail}"), &*text);
            prop_assert_eq!(head_cut, count > n);
        }
    }
}
