//! Embeddings by feature hashing: no model, no file, no network.

use std::collections::BTreeMap;

use async_trait::async_trait;
use notekeeper_domain::text_terms;

use crate::{EMBEDDED_TEXTS_MAX, EMBEDDING_NUMBERS_MAX, EmbeddingModel, ModelError};

/// Numbers of an embedding where nobody says otherwise.
pub const HASHING_DIMENSIONS_DEFAULT: usize = 256;

/// Fewest numbers of an embedding: with fewer, words are mostly taken for each other.
const DIMENSIONS_MIN: usize = 16;

/// Lengths of the parts of words that are features, in characters.
const GRAM_CHARS: [usize; 2] = [3, 4];

/// Terms of a text that count. Of more the first do: so many have the longest of notes.
const TERMS_MAX: usize = 16_384;

/// What a word weighs against all of its parts together.
const WORD_WEIGHT: f64 = 1.0;
const GRAMS_WEIGHT: f64 = 0.7;

/// A text's words and parts of words, each added to, or taken from, one of a fixed number of sums that a
/// hash chooses.
///
/// It is *lexical*: texts are near where they have words, or parts of words, in common, so another form of
/// a word and a slip of the keys are near, and what means the same in other words is not. It costs
/// microseconds and never fails. Where meaning counts, use a model ([`OpenAiEmbedder`](crate::OpenAiEmbedder)).
///
/// Words are folded as recall folds them. A word that stands there more than once counts by the square root
/// of how often; a short one counts less, as it mostly says less. An embedding has the length 1, or 0
/// where the text has no word. Its numbers are the same on every machine, and with every version under one
/// [`id`](EmbeddingModel::id): embeddings are kept.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use notekeeper_models::{EmbeddingModel as _, HashingEmbedder};
///
/// let model = HashingEmbedder::default();
/// assert_eq!(model.id(), "hashing-1/256");
/// let texts = ["Refunds take 5 days", "a refund", "the weather"].map(str::to_owned);
/// let found = model.embed(&texts).await?;
/// let near = |one: usize, other: usize| -> f32 {
///     found[one].iter().zip(&found[other]).map(|(one, other)| one * other).sum()
/// };
/// assert!(near(0, 1) > near(0, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashingEmbedder {
    dimensions: usize,
    id: String,
}

impl Default for HashingEmbedder {
    fn default() -> Self {
        Self::of(HASHING_DIMENSIONS_DEFAULT)
    }
}

impl HashingEmbedder {
    /// One whose embeddings have so many numbers: 16 to 4,096. The more, the fewer words are taken for
    /// others.
    ///
    /// # Errors
    ///
    /// [`InvalidDimensions`].
    pub fn new(dimensions: usize) -> Result<Self, InvalidDimensions> {
        match (DIMENSIONS_MIN..=EMBEDDING_NUMBERS_MAX).contains(&dimensions) {
            true => Ok(Self::of(dimensions)),
            false => Err(InvalidDimensions(dimensions)),
        }
    }

    fn of(dimensions: usize) -> Self {
        Self {
            dimensions,
            id: format!("hashing-1/{dimensions}"),
        }
    }

    /// The embedding of one text.
    pub fn embedding(&self, text: &str) -> Vec<f32> {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for term in text_terms(text).into_iter().take(TERMS_MAX) {
            *counts.entry(term).or_default() += 1;
        }
        let mut sums = vec![0.0; self.dimensions];
        for (term, count) in counts {
            self.add(&term, f64::from(count).sqrt(), &mut sums);
        }
        // Only operations that give the same on every machine: sums, products, quotients and roots.
        let length = sums.iter().map(|n| n * n).sum::<f64>().sqrt();
        let scale = |number: f64| match length > 0.0 {
            true => number / length,
            false => 0.0,
        };
        #[expect(clippy::cast_possible_truncation, reason = "embeddings are kept so")]
        sums.into_iter().map(|n| scale(n) as f32).collect()
    }

    fn add(&self, term: &str, count: f64, sums: &mut [f64]) {
        let chars: Vec<char> = term.chars().collect();
        let weight = count * length_weight(&chars);
        self.add_feature(&[0], term.as_bytes(), weight * WORD_WEIGHT, sums);
        let grams = grams(&chars);
        if grams.is_empty() {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a word has few parts")]
        let weight = weight * GRAMS_WEIGHT / (grams.len() as f64).sqrt();
        for gram in grams {
            self.add_feature(&[1], gram.as_bytes(), weight, sums);
        }
    }

    fn add_feature(&self, kind: &[u8], feature: &[u8], weight: f64, sums: &mut [f64]) {
        let hash = mixed(fnv(kind, feature));
        let at = ((hash >> 1) % self.dimensions as u64) as usize;
        sums[at] += if hash & 1 == 0 { weight } else { -weight };
    }
}

#[async_trait]
impl EmbeddingModel for HashingEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        if texts.len() > EMBEDDED_TEXTS_MAX {
            return Err(ModelError::Refused(format!(
                "{} texts are too many at once; {EMBEDDED_TEXTS_MAX} are allowed",
                texts.len()
            )));
        }
        let mut embeddings = Vec::with_capacity(texts.len());
        for text in texts {
            embeddings.push(self.embedding(text));
            // A long text takes milliseconds, and there may be hundreds.
            tokio::task::yield_now().await;
        }
        Ok(embeddings)
    }

    fn is_lexical(&self) -> bool {
        true
    }
}

/// Why there is no such embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`dimensions` is `{0}`; give {DIMENSIONS_MIN} to {EMBEDDING_NUMBERS_MAX}, or leave it out for \
     {HASHING_DIMENSIONS_DEFAULT}"
)]
pub struct InvalidDimensions(pub usize);

/// Words of a script with upper and lower case count in full from six letters on, shorter ones less. In
/// other scripts a word is as short as it is.
fn length_weight(chars: &[char]) -> f64 {
    let has_case = chars.first().is_some_and(|c| !c.to_uppercase().eq([*c]));
    match (has_case, chars.len()) {
        (true, 1) => 0.2,
        (true, 2) => 0.3,
        (true, 3) => 0.5,
        (true, 4) => 0.7,
        (true, 5) => 0.9,
        _ => 1.0,
    }
}

/// Parts of a word, its ends marked, of each of the lengths.
fn grams(chars: &[char]) -> Vec<String> {
    let marked: Vec<char> = ['\u{2}']
        .into_iter()
        .chain(chars.iter().copied())
        .chain(['\u{3}'])
        .collect();
    let of_length = |length: usize| marked.windows(length).map(|gram| gram.iter().collect());
    GRAM_CHARS.into_iter().flat_map(of_length).collect()
}

/// FNV-1a, 64 bits.
fn fnv(kind: &[u8], feature: &[u8]) -> u64 {
    let bytes = kind.iter().chain(feature);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Spreads a hash over all of its bits: the last step of MurmurHash3.
fn mixed(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: &[f32], other: &[f32]) -> f32 {
        one.iter().zip(other).map(|(one, other)| one * other).sum()
    }

    /// Embeddings are kept in databases: other numbers need another id.
    #[test]
    fn embeddings_are_the_same_on_every_machine_and_with_every_version() {
        let texts = [
            "Refunds are issued within 5 business days.",
            "Café, CAFE\u{301} and cafe",
            "東京都 C++ 👍🏽",
            "src/auth.rs",
        ];
        let model = HashingEmbedder::new(16).unwrap();
        let bits: Vec<String> = texts
            .iter()
            .map(|text| {
                let embedding = model.embedding(text);
                let bits: Vec<String> = embedding
                    .iter()
                    .map(|number| format!("{:08x}", number.to_bits()))
                    .collect();
                format!("{text}\n  {}", bits.join(" "))
            })
            .collect();
        insta::assert_snapshot!(bits.join("\n"));
    }

    #[test]
    fn forms_of_a_word_and_slips_are_nearer_than_other_words() {
        let model = HashingEmbedder::default();
        let of = |text: &str| model.embedding(text);
        for (one, near_one, other) in [
            ("invoice", "invoices", "envelope"),
            ("postgres", "postgers", "sqlite"),
            ("migration", "MIGRATIONS", "emigrant"),
            ("東京都", "東京", "大阪府"),
        ] {
            let one = of(one);
            let (near_one, other) = (near(&one, &of(near_one)), near(&one, &of(other)));
            assert!(near_one > other + 0.1, "{near_one} {other}");
        }
    }

    #[test]
    fn an_embedding_has_the_length_one_or_nothing() {
        for dimensions in [16, 17, 256, 4_096] {
            let model = HashingEmbedder::new(dimensions).unwrap();
            for text in ["a", "the quick brown fox", "ไทย", &"word ".repeat(50_000)] {
                let embedding = model.embedding(text);
                assert_eq!(embedding.len(), dimensions);
                assert!(
                    (near(&embedding, &embedding) - 1.0).abs() < 1e-5,
                    "{text:.20}"
                );
            }
            for text in ["", " \n\t", "\u{200d}"] {
                assert!(model.embedding(text).iter().all(|number| *number == 0.0));
            }
        }
    }

    #[test]
    fn dimensions_have_bounds() {
        for dimensions in [0, 15, 4_097] {
            assert_eq!(
                HashingEmbedder::new(dimensions),
                Err(InvalidDimensions(dimensions))
            );
        }
        assert_eq!(
            InvalidDimensions(8).to_string(),
            "`dimensions` is `8`; give 16 to 4096, or leave it out for 256"
        );
    }
}
