//! Words of a query, for sources that look for them as they are written.

use crate::{QUERY_WORDS_MAX, is_space};

/// Marks that end a sentence or enclose a word, and are hardly looked for.
const PUNCTUATION_BEFORE: &[char] = &['"', '\'', '(', '[', '{', '<', '¿', '¡', '“', '‘', '«'];
const PUNCTUATION_AFTER: &[char] = &[
    '"', '\'', ')', ']', '}', '>', ',', ';', ':', '.', '?', '!', '…', '”', '’', '»', '、', '。',
    '？', '！',
];

/// The distinct words of a query in lower case, in their order: what stands between white space,
/// without the punctuation around it where letters or digits are in it. Nothing in them is syntax. The
/// first [`QUERY_WORDS_MAX`] count.
///
/// ```
/// use notekeeper_domain::query_words;
///
/// assert_eq!(query_words("Is C++ in (src/auth.rs)? C++!"), ["is", "c++", "in", "src/auth.rs"]);
/// assert_eq!(query_words(".NET #42 <->"), [".net", "#42", "<->"]);
/// assert!(query_words(" \n").is_empty());
/// ```
pub fn query_words(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for written in query.to_lowercase().split(is_space) {
        let word = match written.contains(char::is_alphanumeric) {
            true => written
                .trim_start_matches(PUNCTUATION_BEFORE)
                .trim_end_matches(PUNCTUATION_AFTER),
            false => written,
        };
        if words.len() == QUERY_WORDS_MAX {
            break;
        }
        if !word.is_empty() && !words.iter().any(|seen| seen == word) {
            words.push(word.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_as_they_are_written_as_many_as_are_looked_for() {
        assert_eq!(
            query_words("? ?! (( don't 'x'"),
            ["?", "?!", "((", "don't", "x"]
        );
        let many: Vec<String> = (0..=QUERY_WORDS_MAX).map(|n| n.to_string()).collect();
        let words = query_words(&format!("0 {}", many.join(" ")));
        assert_eq!(words, many[..QUERY_WORDS_MAX]);
        assert_eq!(query_words("東京、 ÄÖ. ß"), ["東京", "äö", "ß"]);
    }
}
