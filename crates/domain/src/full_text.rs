//! Full text: which passages have the words of a query, and which have words like them.
//!
//! Texts are folded and cut into terms as recall does it, so symbols, short words and scripts without
//! spaces are found in the same way. What is added is ranking by rarity and length, and words that are spelt
//! otherwise. Nothing in a query is syntax, and the work for any query and text is bounded by their
//! lengths.

mod passages;
mod ranking;
mod similar;
mod words;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;

pub use passages::{PASSAGE_CHARS_MAX, Passage, passages};
pub use ranking::{FullText, RankedText, RankedTexts};
pub use words::text_terms;
