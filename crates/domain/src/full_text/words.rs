//! Words of a text, as recall makes its terms.

use crate::recall::{composed, folded, occurrences};

/// The terms of any text, in the order in which they stand there and as often: folded words, words with the
/// symbols that belong to them and their parts, and neighbours in scripts without spaces. What they are is as
/// stable as [`fact_terms`](crate::fact_terms).
///
/// ```
/// use notekeeper_domain::text_terms;
///
/// assert_eq!(text_terms("Café & café, src/auth.rs"), [
///     "cafe", "&", "cafe", "src/auth.rs", "src", "auth.rs", "auth", "rs",
/// ]);
/// assert_eq!(text_terms("東京都"), ["東京", "京都", "都"]);
/// ```
pub fn text_terms(text: &str) -> Vec<String> {
    let composed = composed(&folded(text));
    let terms = occurrences(&composed);
    terms.iter().map(|found| found.term.to_owned()).collect()
}
