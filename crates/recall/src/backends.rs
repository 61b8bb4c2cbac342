//! Sources with something behind them: what compositions and decorators are made over.

mod embedded;
mod facts;
mod file;
mod journal;
mod kept_items;
mod own_rows;
mod scratchpad;
mod term_vectors;
mod tool;
mod tool_result;
mod transcript;
mod vector;

pub use embedded::EmbeddedVectors;
pub(crate) use embedded::{embeddings, is_zero};
pub use facts::FactsSource;
pub use file::FileSource;
pub use journal::JournalSource;
pub(crate) use kept_items::{TRUNCATED, lacks, marked_cut, metadata};
pub(crate) use own_rows::own_rows;
pub use scratchpad::ScratchpadSource;
pub use term_vectors::TermVectors;
pub use tool::ToolSource;
pub use transcript::TranscriptSource;
pub use vector::{TextChunk, VectorIndex, VectorSource};
