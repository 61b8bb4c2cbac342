//! How much two words are alike, by the parts that they have in common.

use crate::recall::is_dense;

/// Shortest word that is compared, in characters: of shorter ones too few parts are left when one of them
/// is another letter.
const WORD_CHARS_MIN: usize = 4;

/// Longest word that is compared, in characters.
const WORD_CHARS_MAX: usize = 32;

/// From this share of common parts on words are alike, whatever else they are: forms of one word mostly.
const LIKE: f64 = 0.55;

/// Below this share they aren't. Between the two they are where few keystrokes lie between them.
const UNLIKE: f64 = 0.3;

/// A word as the set of its parts of three characters, with two spaces before it and one behind: its beginning
/// counts more than its end.
#[derive(Debug)]
pub(super) struct Grams {
    chars: Vec<char>,
    /// Ascending, distinct; three characters of 21 bits each.
    grams: Vec<u64>,
}

impl Grams {
    /// The parts of a word; `None` of one that isn't compared: too short, too long, without a letter, or
    /// of a script without spaces, whose terms are parts already.
    pub(super) fn of(word: &str) -> Option<Self> {
        // Most words are refused by their length, without a look at their characters.
        if word.len() < WORD_CHARS_MIN || word.len() > 4 * WORD_CHARS_MAX {
            return None;
        }
        let chars: Vec<char> = word.chars().collect();
        let fits = (WORD_CHARS_MIN..=WORD_CHARS_MAX).contains(&chars.len());
        let is_word = chars.iter().any(|c| c.is_alphabetic());
        if !fits || !is_word || chars.iter().any(|c| is_dense(*c)) {
            return None;
        }
        let mut gram = 0;
        let mut grams = Vec::with_capacity(chars.len() + 1);
        for (at, c) in [' ', ' '].iter().chain(&chars).chain(&[' ']).enumerate() {
            gram = (gram << 21 | u64::from(u32::from(*c))) & ((1 << 63) - 1);
            if at >= 2 {
                grams.push(gram);
            }
        }
        grams.sort_unstable();
        grams.dedup();
        Some(Self { chars, grams })
    }

    /// How much another word is like this one, or begins like it, 0 to 1; 0 where it doesn't.
    pub(super) fn similarity(&self, other: &Self) -> f64 {
        let (fewer, more) = match self.grams.len() < other.grams.len() {
            true => (self.grams.len(), other.grams.len()),
            false => (other.grams.len(), self.grams.len()),
        };
        // Were all of the shorter word's in the longer one, it would still be too little.
        if share(fewer, fewer + more) < UNLIKE {
            return 0.0;
        }
        let share = share(self.common(other), fewer + more);
        if share < UNLIKE {
            return 0.0;
        }
        let longer = self.chars.len().max(other.chars.len());
        let whole = slips(&self.chars, &other.chars, slips_max(longer));
        let whole = whole.map_or(0.0, |slips| 1.0 - ratio(slips, longer));
        let like = if share < LIKE { 0.0 } else { share };
        whole.max(like).max(self.begins(other))
    }

    /// How much the beginning of a longer word is like this one, and how much of the word that is.
    fn begins(&self, other: &Self) -> f64 {
        let length = self.chars.len();
        let Some(beginning) = other
            .chars
            .get(..length)
            .filter(|it| it.len() < other.chars.len())
        else {
            return 0.0;
        };
        slips(&self.chars, beginning, slips_max(length)).map_or(0.0, |slips| {
            let part = ratio(length, other.chars.len());
            (1.0 - ratio(slips, length)) * (0.5 + 0.5 * part)
        })
    }

    fn common(&self, other: &Self) -> usize {
        let (mut one, mut two) = (self.grams.iter().peekable(), other.grams.iter().peekable());
        let mut common = 0;
        while let (Some(a), Some(b)) = (one.peek(), two.peek()) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => _ = one.next(),
                std::cmp::Ordering::Greater => _ = two.next(),
                std::cmp::Ordering::Equal => {
                    common += 1;
                    one.next();
                    two.next();
                }
            }
        }
        common
    }
}

/// So many slips are taken for slips in a word of this length.
fn slips_max(length: usize) -> usize {
    if length < 8 { 1 } else { 2 }
}

/// Keystrokes between two words: characters that are missing, too many or others, and neighbours that changed
/// places. `None` where there are more than `most`. No more is looked at than what so many can reach.
fn slips(one: &[char], other: &[char], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most {
        return None;
    }
    let far = most + 1;
    // What it takes from so many characters of `one` to so many of `other`: the two rows before, and this.
    let mut rows = [[far; WORD_CHARS_MAX + 1]; 3];
    for (column, cost) in rows[1].iter_mut().enumerate().take(far) {
        *cost = column;
    }
    for row in 1..=one.len() {
        rows[2] = [far; WORD_CHARS_MAX + 1];
        let (first, last) = (row.saturating_sub(most), other.len().min(row + most));
        if first == 0 {
            rows[2][0] = row.min(far);
        }
        for column in first.max(1)..=last {
            let same = one[row - 1] == other[column - 1];
            let mut cost = rows[1][column - 1] + usize::from(!same);
            cost = cost.min(rows[1][column] + 1).min(rows[2][column - 1] + 1);
            let swapped = row > 1
                && column > 1
                && one[row - 1] == other[column - 2]
                && one[row - 2] == other[column - 1];
            if swapped {
                cost = cost.min(rows[0][column - 2] + 1);
            }
            rows[2][column] = cost.min(far);
        }
        rows.rotate_left(1);
    }
    Some(rows[1][other.len()]).filter(|slips| *slips <= most)
}

/// Share of common parts in all parts of both (Dice's coefficient).
fn share(common: usize, all: usize) -> f64 {
    2.0 * ratio(common, all)
}

#[expect(clippy::cast_precision_loss, reason = "words are short")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(one: &str, other: &str) -> f64 {
        let of = |word: &str| Grams::of(word).unwrap();
        of(one).similarity(&of(other))
    }

    #[test]
    fn slips_and_forms_of_a_word_are_alike_and_other_words_are_not() {
        for (one, other) in [
            ("postgers", "postgres"),
            ("ostgres", "postgres"),
            ("vecotr", "vector"),
            ("recieve", "receive"),
            ("mirgation", "migration"),
            ("kuberentes", "kubernetes"),
            ("datbase", "database"),
            ("invoices", "invoice"),
            ("retries", "retry"),
            ("straße", "strase"),
            ("миграци", "миграция"),
            ("postgers", "postgresql"),
        ] {
            let found = similarity(one, other);
            assert!(found > 0.5, "{one} {other} {found}");
        }
        for (one, other) in [
            ("form", "from"),
            ("table", "cable-stayed"),
            ("vector", "doctor"),
            ("message", "passage"),
            ("worker", "market"),
            ("alpha", "omega"),
        ] {
            assert_eq!(similarity(one, other), 0.0, "{one} {other}");
        }
        assert_eq!(similarity("same", "same"), 1.0);
    }

    proptest::proptest! {
        #[test]
        fn keystrokes_are_counted_as_a_table_of_all_of_them_says(one in "[abc]{1,9}", other in "[abc]{1,9}", most in 0_usize..4) {
            let of = |word: &str| word.chars().collect::<Vec<char>>();
            let expected = strsim::osa_distance(&one, &other);
            proptest::prop_assert_eq!(
                slips(&of(&one), &of(&other), most),
                (expected <= most).then_some(expected)
            );
        }
    }

    #[test]
    fn short_words_numbers_and_scripts_without_spaces_are_not_compared() {
        for word in ["", "abc", "12345", "東京都庁", "----", &"x".repeat(33)] {
            assert!(Grams::of(word).is_none(), "{word}");
        }
    }
}
