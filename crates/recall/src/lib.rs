//! Sources: what an agent reaches for before it answers.
//!
//! A [`Source`] is asked for items, and given items to keep. What is behind it, a table of vectors, the
//! notes of a scope, a search service, makes no difference to who asks; so compositions and decorators
//! are sources too, and nest as one likes. Every call carries the scope that it is for. Nothing here
//! knows that Temporal exists.

mod backends;
mod error;
mod events;
mod source;
mod tool;

pub use backends::{
    EmbeddedVectors, FactsSource, FileSource, JournalSource, ScratchpadSource, TermVectors,
    TextChunk, ToolSource, TranscriptSource, VectorIndex, VectorSource,
};
pub use error::{FailedLeg, SourceError};
pub use events::{SourceEvent, SourceEvents};
pub use source::{
    Answer, InvalidSourceName, OpenStores, Scratchpad, Source, SourceCall, SourceQuery,
    WriteOperation, Written, check_source_name,
};
pub use tool::{SearchTool, ToolCallError};
