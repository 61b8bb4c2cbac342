//! Sources: what an agent reaches for before it answers.
//!
//! A [`Source`] is asked for items, and given items to keep. What is behind it, a table of vectors, the
//! notes of a scope, a search service, makes no difference to who asks; so compositions and decorators
//! are sources too, and nest as one likes. Every call carries the scope that it is for. Nothing here
//! knows that Temporal exists.

mod answer_cache;
mod backends;
mod cached;
mod compacted;
mod compactor;
mod composite;
mod dedupe;
mod error;
mod events;
mod hybrid;
mod legs;
mod patience;
mod read_only;
mod rerank;
mod scope_policy;
mod scoped;
mod sequential;
mod setting;
mod source;
mod spec;
mod tool;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use backends::{
    EmbeddedVectors, FactsSource, FileSource, JournalSource, ScratchpadSource, TermVectors,
    TextChunk, ToolSource, TranscriptSource, VectorIndex, VectorSource,
};
pub use cached::{
    CACHE_ENTRIES_DEFAULT, CACHE_ENTRIES_MAX, CACHE_TTL_DEFAULT, CACHE_TTL_SECONDS_MAX,
    CacheOptions, CachedSource,
};
pub use compacted::CompactedSource;
pub use compactor::{
    COMPACTED_CHARS_DEFAULT, COMPACTED_CHARS_MIN, Compactor, HeadCompactor, ModelCompactor,
};
pub use composite::{CONCURRENCY_DEFAULT, CONCURRENCY_MAX, CompositeOptions, CompositeSource};
pub use dedupe::{Candidate, Dedupe, LegRank};
pub use error::{FailedLeg, SourceError};
pub use events::{SourceEvent, SourceEvents};
pub use hybrid::{HybridLeg, HybridSource, NotesSource};
pub use legs::{LEG_TIMEOUT_DEFAULT, LEG_TIMEOUT_MS_MAX, LEGS_MAX};
pub use notekeeper_domain::HYBRID_SOURCE;
pub use patience::QUERY_TIMEOUT;
pub use read_only::{OnWrite, ReadOnlySource};
pub use rerank::{ReciprocalRankFusion, Reranker, ScoreSort};
pub use scope_policy::{NamespaceExact, NamespacePrefix, NamespaceRequired, ScopePolicy};
pub use scoped::ScopedSource;
pub use sequential::SequentialSource;
pub use setting::InvalidSetting;
pub use source::{
    Answer, OpenStores, Scratchpad, Source, SourceCall, SourceQuery, Verb, WriteOperation, Written,
};
pub use spec::{
    InvalidSource, MakeSearchTool, Member, Require, Rerank, SOURCE_LEAVES_MAX, SOURCE_LEVELS_MAX,
    SourceKind, SourceParts, SourceSpec, StoreKeeps, TOOL_TIMEOUT_SECONDS_DEFAULT, ToolSpec,
    UnreachedTimeout, VectorPlace, build, source_keys, unreached_timeouts,
};
pub use tool::{SearchTool, ToolCallError};
