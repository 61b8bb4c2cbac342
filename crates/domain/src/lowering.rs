//! Lower case, piece by piece.

/// `text` in lower case, as `str::to_lowercase` has it.
pub(crate) fn lowercase(text: &str) -> String {
    let mut lowering = Lowering::for_text(text);
    lowering.push(text);
    lowering.finish()
}

/// Brings a text into lower case, as `str::to_lowercase` has it, wherever it is cut into pieces.
///
/// One character needs care: the lower case of a sigma depends on what surrounds it. At the end of
/// a word it is `ς`, elsewhere `σ`. Which it is can be known only after any number of further
/// characters, so it is put right then; both take two bytes.
#[derive(Debug, Default)]
pub(crate) struct Lowering {
    lowered: String,
    /// Whether the last character that counts was a letter with a case.
    after_letter: bool,
    /// Byte of the sigma that ends a word unless a letter follows.
    open_sigma: Option<usize>,
    /// Characters that were asked about in this piece.
    asked: usize,
}

/// What a character means for a sigma near it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    /// A letter with a case.
    Letter,
    /// Of no account, such as an accent: the one beyond it counts.
    Transparent,
    /// Anything else.
    Other,
}

impl Lowering {
    /// Of a text of about this length.
    pub(crate) fn for_text(text: &str) -> Self {
        Self {
            lowered: String::with_capacity(text.len()),
            ..Self::default()
        }
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.lowered.len()
    }

    /// Adds the lower case of the next piece. Says how many characters had to be asked about, each of
    /// which takes as long as many that needn't.
    pub(crate) fn push(&mut self, piece: &str) -> usize {
        self.asked = 0;
        let mut between = piece.split('Σ');
        self.push_plain(between.next().unwrap_or_default());
        for plain in between {
            self.push_sigma();
            self.push_plain(plain);
        }
        self.asked
    }

    /// All of it.
    pub(crate) fn finish(mut self) -> String {
        self.close_sigma();
        self.lowered
    }

    fn push_sigma(&mut self) {
        self.open_sigma = self.after_letter.then_some(self.lowered.len());
        self.lowered.push('σ');
        self.after_letter = true;
    }

    /// Makes the open sigma one that ends a word.
    fn close_sigma(&mut self) {
        if let Some(at) = self.open_sigma.take() {
            self.lowered.replace_range(at..at + 'σ'.len_utf8(), "ς");
        }
    }

    /// Adds a piece without a capital sigma.
    fn push_plain(&mut self, piece: &str) {
        if self.open_sigma.is_some() {
            match self.first_that_counts(piece.chars()) {
                Some(Neighbour::Letter) => self.open_sigma = None,
                Some(_) => self.close_sigma(),
                None => {}
            }
        }
        if let Some(last) = self.first_that_counts(piece.chars().rev()) {
            self.after_letter = last == Neighbour::Letter;
        }
        self.push_runs(piece);
    }

    /// The first of these that isn't transparent.
    fn first_that_counts(&mut self, mut chars: impl Iterator<Item = char>) -> Option<Neighbour> {
        chars.find_map(|c| {
            let found = known(c).unwrap_or_else(|| {
                self.asked += 1;
                asked(c)
            });
            Some(found).filter(|found| *found != Neighbour::Transparent)
        })
    }

    /// Runs of ASCII, which most text is made of, are done as a whole, wherever they stand.
    fn push_runs(&mut self, mut rest: &str) {
        loop {
            let ascii = rest
                .bytes()
                .position(|byte| !byte.is_ascii())
                .unwrap_or(rest.len());
            let start = self.lowered.len();
            self.lowered.push_str(&rest[..ascii]);
            self.lowered[start..].make_ascii_lowercase();
            let mut others = rest[ascii..].chars();
            let Some(c) = others.next() else {
                return;
            };
            self.lowered.extend(c.to_lowercase());
            rest = others.as_str();
        }
    }
}

/// What everyday characters mean; `None` for the others.
fn known(c: char) -> Option<Neighbour> {
    match c {
        'a'..='z' | 'A'..='Z' | 'Α'..='Ρ' | 'Σ'..='ώ' => Some(Neighbour::Letter),
        '\'' | '.' | ':' | '^' | '`' | '\u{300}'..='\u{36f}' => Some(Neighbour::Transparent),
        _ => c.is_ascii().then_some(Neighbour::Other),
    }
}

/// The standard library doesn't say what it takes a character for, but shows it by what it makes of
/// a sigma.
fn asked(c: char) -> Neighbour {
    if ends_word(&['a', 'Σ', c, 'a']) {
        Neighbour::Other
    } else if ends_word(&['a', 'Σ', c]) {
        Neighbour::Transparent
    } else {
        Neighbour::Letter
    }
}

/// Whether the sigma in second place ends a word.
fn ends_word(chars: &[char]) -> bool {
    let lowered = chars.iter().collect::<String>().to_lowercase();
    lowered.chars().nth(1) == Some('ς')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// In pieces of one character each.
    fn in_pieces(text: &str) -> String {
        let mut lowering = Lowering::default();
        for c in text.chars() {
            let _ = lowering.push(c.encode_utf8(&mut [0; 4]));
        }
        lowering.finish()
    }

    #[test]
    fn every_character_has_the_lower_case_of_the_standard_library() {
        for c in '\0'..=char::MAX {
            let text = format!("A{c}ẞa");
            assert_eq!(lowercase(&text), text.to_lowercase(), "{c:?}");
        }
    }

    #[test]
    fn everyday_characters_mean_what_the_standard_library_takes_them_for() {
        for c in '\0'..='\u{3ff}' {
            if let Some(known) = known(c) {
                assert_eq!(known, asked(c), "{c:?}");
            }
        }
    }

    #[test]
    fn a_sigma_beside_any_character_has_the_form_of_the_standard_library() {
        for c in '\0'..='\u{2fff}' {
            let text = format!("aΣ{c}a aΣ{c} {c}Σ a{c}Σ");
            assert_eq!(lowercase(&text), text.to_lowercase(), "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn lower_case_is_that_of_the_standard_library_in_one_piece_and_in_many(
            text in "[aBΣσςİıſK\u{301}ẞé' .]{0,16}|\\PC{0,30}",
        ) {
            let right = text.to_lowercase();
            prop_assert_eq!(lowercase(&text), &*right);
            prop_assert_eq!(in_pieces(&text), right);
        }
    }
}
