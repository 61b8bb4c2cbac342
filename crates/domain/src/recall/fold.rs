//! Folding: what of a text counts when it is searched.
//!
//! A text is folded from front to back, and what becomes of a character depends at most on those
//! before it. So a text that is part of another one stays part of it when both are folded, and a
//! substring can be looked for in folded texts alone.

use unicode_normalization::char::{
    canonical_combining_class, decompose_canonical, decompose_compatible,
};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::classes::is_everyday_letter;
use crate::is_space;

/// Combining class of marks that are struck through a character: `≠` is `=` with one of them.
const OVERLAY: u8 = 1;

/// `text` as it is searched: decomposed, case folded, without optional marks and invisible
/// characters, each run of white space and controls one space, none at the ends.
pub(crate) fn folded(text: &str) -> String {
    let mut folding = Folding {
        out: String::with_capacity(text.len()),
        base: ' ',
    };
    for c in text.chars() {
        folding.push(c);
    }
    if folding.out.ends_with(' ') {
        folding.out.pop();
    }
    folding.out
}

struct Folding {
    out: String,
    /// The last character that was kept; a space before the first.
    base: char,
}

impl Folding {
    fn push(&mut self, c: char) {
        if c.is_ascii_graphic() {
            self.keep(c.to_ascii_lowercase());
        } else if is_space(c) || c.is_control() {
            self.space();
        } else if c == '\u{b4}' {
            // An accent by itself is written for an apostrophe; decomposed it would be a space.
            self.keep('\'');
        } else if matches!(c, '\u{fdfa}' | '\u{fdfb}') {
            // Whole sentences in one sign, of up to 18 characters.
            self.keep(c);
        } else {
            decompose_compatible(c, |part| self.push_part(part));
        }
    }

    /// Adds a character that can't be decomposed further.
    fn push_part(&mut self, c: char) {
        if c.is_ascii_graphic() {
            return self.keep(c.to_ascii_lowercase());
        }
        if c == ' ' {
            return self.space();
        }
        if is_caseless(c) {
            return self.push_folded(c);
        }
        // Lower, upper and lower again: `ẞ` and `ß` are `ss`, `ς` is `σ`, `ı` is `i`.
        for lower in c.to_lowercase() {
            for upper in lower.to_uppercase() {
                for cased in upper.to_lowercase() {
                    decompose_canonical(cased, |part| self.push_folded(part));
                }
            }
        }
    }

    fn push_folded(&mut self, c: char) {
        if is_invisible(c) || is_optional_mark(self.base, c) {
            return;
        }
        match plain_form(c) {
            Some(plain) => plain.chars().for_each(|c| self.keep(c)),
            None => self.keep(hiragana(c)),
        }
    }

    fn keep(&mut self, c: char) {
        self.out.push(c);
        self.base = c;
    }

    fn space(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
        self.base = ' ';
    }
}

/// Characters that show nothing by themselves: joiners, soft hyphens, marks of direction, variation
/// selectors, fillers, and the line that only stretches an Arabic word.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{640}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
        || !is_everyday_letter(c) && c.general_category() == GeneralCategory::Format
}

/// Whether `c` is in one of the great ranges without upper and lower case.
fn is_caseless(c: char) -> bool {
    matches!(c,
        '\u{591}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{3041}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether `c` is a mark that is left out in writing as often as not, or that a person who searches
/// leaves out.
///
/// It goes by script. Accents of Latin, Greek and Cyrillic letters are dropped, and the points and
/// vowel signs of Hebrew, Arabic and Syriac: of the combining marks of these scripts those that
/// Unicode's default collation (UTS #10) ignores at its first level. In all other scripts marks stay:
/// in those of India and South-East Asia they are vowels and tones, in Japanese they make another
/// syllable. Stay does what makes another letter or symbol: the breve of `й` (the same collation has
/// it as a letter of its own), strokes through symbols, and a hamza, except upon an alef, where it is
/// mostly not written.
fn is_optional_mark(base: char, c: char) -> bool {
    match c {
        '\u{306}' => base != 'и',
        // By itself it could belong to an alef in the text that the query is part of.
        '\u{653}'..='\u{655}' => base == 'ا' || base == ' ',
        '\u{300}'..='\u{362}' | '\u{20d0}'..='\u{20f0}' => canonical_combining_class(c) != OVERLAY,
        '\u{483}'..='\u{489}' | '\u{a66f}'..='\u{a672}' | '\u{a67c}'..='\u{a67d}' => true,
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' => true,
        '\u{5c4}'..='\u{5c5}' | '\u{5c7}' => true,
        '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}' => true,
        '\u{6df}'..='\u{6e4}' | '\u{6e7}'..='\u{6e8}' | '\u{6ea}'..='\u{6ed}' => true,
        '\u{897}'..='\u{89f}' | '\u{8ca}'..='\u{8e1}' | '\u{8e3}'..='\u{8ff}' => true,
        '\u{711}' | '\u{730}'..='\u{74a}' => true,
        '\u{1ab0}'..='\u{1abe}' | '\u{1dc0}'..='\u{1dc9}' | '\u{1dcb}'..='\u{1dd1}' => true,
        '\u{1df5}'..='\u{1df9}' | '\u{1dfb}'..='\u{1dff}' | '\u{fe20}'..='\u{fe2f}' => true,
        _ => false,
    }
}

/// A katakana as the hiragana of the same sound, which the default collation tells from it at its third
/// level only; any other character as it is.
fn hiragana(c: char) -> char {
    match c {
        '\u{30a1}'..='\u{30f6}' | '\u{30fd}' => char::from_u32(c as u32 - 0x60).unwrap_or(c),
        _ => c,
    }
}

/// What is typed for a character that keyboards lack: plain apostrophes, quotation marks and dashes,
/// and the letters that the default collation takes for others with a stroke, or for two.
fn plain_form(c: char) -> Option<&'static str> {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2bc}' | '\u{2032}' => Some("'"),
        '\u{201c}'..='\u{201f}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        'ø' => Some("o"),
        'ł' => Some("l"),
        'đ' | 'ð' => Some("d"),
        'ħ' => Some("h"),
        'æ' => Some("ae"),
        'œ' => Some("oe"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_without_case_have_none() {
        for c in ('\0'..=char::MAX).filter(|&c| is_caseless(c)) {
            assert!(
                c.to_lowercase().eq([c]) && c.to_uppercase().eq([c]),
                "{c:?}"
            );
        }
    }

    #[test]
    fn a_character_becomes_few() {
        let most = ('\0'..=char::MAX).map(|c| folded(c.encode_utf8(&mut [0; 4])).chars().count());
        assert_eq!(most.max(), Some(7));
    }
}
