//! Full text: ranking of passages by the words that they have in common with a query.

mod words;

pub use words::text_terms;
