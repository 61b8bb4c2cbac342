//! What a character of a folded text is for the making of terms.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Class of a character that is no space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters, marks and numbers of scripts that part words, and characters that aren't known.
    Word,
    /// Characters of scripts that don't part words, and pictures. So many neighbours are looked for
    /// together.
    Dense(usize),
    /// Symbols that make a term of their own with the word beside them: `c++`, `.net`, `#42`.
    Glue,
    /// Other punctuation: it parts words.
    Separator,
}

/// The class of a character.
pub(super) fn class(c: char) -> Class {
    if c.is_ascii() {
        return match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Word,
            '+' | '#' | '.' | '@' | '$' | '%' | '&' | '*' | '~' | '^' | '\'' | '-' | '_' => {
                Class::Glue
            }
            _ => Class::Separator,
        };
    }
    everyday_class(c).unwrap_or_else(|| looked_up_class(c))
}

/// The class of everyday letters of many scripts, without a search in tables of all that there is.
fn everyday_class(c: char) -> Option<Class> {
    match c {
        '\u{3041}'..='\u{3096}' | '\u{4e00}'..='\u{9fff}' => Some(Class::Dense(2)),
        '\u{e01}'..='\u{e30}' | '\u{1000}'..='\u{102a}' | '\u{1780}'..='\u{17b3}' => {
            Some(Class::Dense(3))
        }
        '\u{df}'..='\u{f6}' | '\u{f8}'..='\u{24f}' | '\u{3b1}'..='\u{3c9}' => Some(Class::Word),
        '\u{430}'..='\u{45f}' | '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{64a}' => Some(Class::Word),
        '\u{904}'..='\u{939}' | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7a3}' => {
            Some(Class::Word)
        }
        _ => None,
    }
}

/// Whether `c` is of a class that everyday letters have; such a one is visible.
pub(super) fn is_everyday_letter(c: char) -> bool {
    everyday_class(c).is_some()
}

fn looked_up_class(c: char) -> Class {
    let category = c.general_category();
    match c.general_category_group() {
        GeneralCategoryGroup::Symbol if is_picture(c, category) => Class::Dense(2),
        GeneralCategoryGroup::Symbol => Class::Glue,
        // Signs of abbreviation inside Hebrew words.
        GeneralCategoryGroup::Punctuation if matches!(c, '\u{5f3}' | '\u{5f4}') => Class::Glue,
        GeneralCategoryGroup::Punctuation if category == GeneralCategory::ConnectorPunctuation => {
            Class::Glue
        }
        GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Separator => Class::Separator,
        _ if is_dense_alphabet(c) => Class::Dense(3),
        _ if is_dense_syllabary(c) => Class::Dense(2),
        _ => Class::Word,
    }
}

/// Emoji, their modifiers, and other pictures. The signs of Latin-1, such as `°`, are none.
fn is_picture(c: char, category: GeneralCategory) -> bool {
    let kinds = [
        GeneralCategory::OtherSymbol,
        GeneralCategory::ModifierSymbol,
    ];
    c >= '\u{2000}' && kinds.contains(&category)
}

/// Whether `c` stands in a block of an alphabet that is written without spaces between words. Two of its
/// characters are less than a syllable.
fn is_dense_alphabet(c: char) -> bool {
    matches!(c,
        // Thai, Lao; Myanmar; Khmer; Tai Le, New Tai Lue, Khmer symbols; Tai Tham; Balinese.
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{1950}'..='\u{19ff}' | '\u{1a20}'..='\u{1aaf}' | '\u{1b00}'..='\u{1b7f}'
        // Javanese, Myanmar, Tai Viet.
        | '\u{a980}'..='\u{a9ff}' | '\u{aa60}'..='\u{aadf}')
}

/// Whether `c` stands in a block of characters that are syllables or words, and are written without
/// spaces.
fn is_dense_syllabary(c: char) -> bool {
    // Radicals, kana, bopomofo, Han and Yi; Tangut, Nushu, old kana; the planes of Han.
    matches!(c,
        '\u{2e80}'..='\u{312f}' | '\u{3190}'..='\u{4dbf}' | '\u{4e00}'..='\u{a4cf}'
        | '\u{f900}'..='\u{faff}' | '\u{16fe0}'..='\u{1b2ff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether `c` is a Han character, which can be a word by itself.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether `c` is a syllable of Korean, where a word of one syllable can begin others.
pub(super) fn is_hangul_syllable(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyday_letters_have_the_class_that_tables_give_them() {
        for c in '\u{80}'..=char::MAX {
            if let Some(class) = everyday_class(c) {
                assert_eq!(class, looked_up_class(c), "{c:?}");
                assert_ne!(c.general_category(), GeneralCategory::Format, "{c:?}");
            }
        }
    }
}
