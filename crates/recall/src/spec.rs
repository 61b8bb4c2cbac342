//! Sources as a tree of settings.

mod build;
mod fields;
mod member;
mod parts;
mod require;
mod unreached;

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

pub use self::{
    build::{InvalidSource, SOURCE_LEAVES_MAX, SOURCE_LEVELS_MAX, build},
    fields::source_keys,
    member::Member,
    parts::{MakeSearchTool, SourceParts, StoreKeeps},
    unreached::{UnreachedTimeout, unreached_timeouts},
};

use self::fields::SourceFields;
use crate::{Dedupe, OnWrite};

/// Name of the store, embedder and the like that are taken where none is given.
const DEFAULT: &str = "default";

/// How long a call of a search tool may take where nobody says, in seconds: less than a caller waits.
pub const TOOL_TIMEOUT_SECONDS_DEFAULT: u64 = 8;

/// One source of a configuration file, as a table says it.
///
/// Reading one checks which keys and words it has. What else has to hold, such as bounds, and names that
/// exist, is seen to by [`build`].
///
/// ```
/// use std::collections::BTreeMap;
/// use notekeeper_recall::{SourceKind, SourceSpec};
///
/// let file = r#"
///     [handbook]
///     kind = "vector"
///
///     [kb]
///     kind = "composite"
///     sources = ["handbook", { kind = "cached", inner = { kind = "notes" } }]
/// "#;
/// let sources: BTreeMap<String, SourceSpec> = toml::from_str(file)?;
/// assert!(matches!(&sources["kb"].kind, SourceKind::Composite { sources, .. } if sources.len() == 2));
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "SourceFields")]
pub struct SourceSpec {
    /// Name of a source that is written in place; the kind where it is missing. A decorator has none of
    /// its own, nor has a source that is a table of the file: it is called as the table is.
    pub name: Option<String>,
    /// What it is.
    pub kind: SourceKind,
}

/// What a source is, with the settings that go with it.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// Chunks of text, found by what they mean.
    Vector {
        /// Where they are kept.
        index: VectorPlace,
    },
    /// The notes of a scope, found by how often they have the query's words in them.
    File {
        /// Which store.
        store: String,
    },
    /// The changes of notes, the newest first.
    Journal {
        /// Which store.
        store: String,
    },
    /// The facts of a scope, as `recall` finds them.
    Facts {
        /// Which store.
        store: String,
    },
    /// Messages of conversations.
    Transcript {
        /// Which store.
        store: String,
        /// Which conversation; the scope's newest ones where none is given.
        conversation: Option<String>,
    },
    /// The notes of a scope, by full text.
    Notes {
        /// Which store.
        store: String,
    },
    /// Notes and facts, by words, by likeness of words and by what they mean.
    Hybrid {
        /// Which store.
        store: String,
        /// Which model of embeddings.
        embedder: String,
        /// How long its leg of vectors may take, 1 to [`LEG_TIMEOUT_MS_MAX`](crate::LEG_TIMEOUT_MS_MAX).
        leg_timeout_ms: u64,
    },
    /// What the workflow holds and sends with the query.
    Scratchpad,
    /// A search tool.
    Tool {
        /// Where it is.
        tool: ToolSpec,
        /// Which of its arguments takes the query.
        query_arg: String,
    },
    /// Several sources at once.
    Composite {
        /// The legs.
        sources: Vec<Member>,
        /// Which items are the same.
        dedupe: Dedupe,
        /// The order of the items.
        rerank: Rerank,
        /// How long to wait for a leg, in milliseconds.
        leg_timeout_ms: u64,
        /// Most legs at a time.
        concurrency: usize,
    },
    /// One source after the other.
    Sequential {
        /// The legs.
        sources: Vec<Member>,
        /// How long to wait for a leg, in milliseconds.
        leg_timeout_ms: u64,
    },
    /// A guard between tenants.
    Scoped {
        /// What it guards.
        inner: Box<Member>,
        /// Which scopes it lets through.
        require: Require,
    },
    /// A memory of answers.
    Cached {
        /// Whose answers.
        inner: Box<Member>,
        /// How long an answer is given again, in seconds.
        ttl_seconds: u64,
        /// Most answers.
        entries_max: usize,
    },
    /// Shorter items.
    Compacted {
        /// Whose items.
        inner: Box<Member>,
        /// Most characters of an item's content.
        chars_max: usize,
        /// The chat model that shortens; the beginning is taken where there is none.
        model: Option<String>,
        /// Most items; as many as the query wants where it is missing.
        max_items: Option<usize>,
    },
    /// A source that may not be written to.
    ReadOnly {
        /// Which.
        inner: Box<Member>,
        /// What becomes of a write.
        on_write: OnWrite,
    },
}

/// Where the chunks of a source of the kind `vector` are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VectorPlace {
    /// In the memory of the process, found by the words that they have in common: for tests, and for
    /// trying things out.
    InMemory,
    /// In a store, by embeddings.
    Store {
        /// Which store.
        store: String,
        /// Which model of embeddings.
        embedder: String,
        /// Which collection of the store; the source's name where it is missing.
        collection: Option<String>,
    },
}

/// Where a search tool is.
#[derive(Clone, PartialEq, Eq)]
pub enum ToolSpec {
    /// Behind an HTTP endpoint, which takes the arguments as a JSON object and answers with JSON.
    Http {
        /// Where. It may hold a password, so it isn't shown.
        url: String,
        /// Which variables of the environment hold the values of which headers.
        headers_env: BTreeMap<String, String>,
        /// Whether these headers may go through the network in clear text.
        network_is_trusted: bool,
        /// Argument that takes the path of the call's scope; none is sent where it is missing.
        scope_arg: Option<String>,
        /// Longest time of a call, in seconds; [`TOOL_TIMEOUT_SECONDS_DEFAULT`] where none is said.
        timeout_seconds: Option<u64>,
    },
    /// An activity of the application's.
    Activity {
        /// Its name.
        activity: String,
        /// Where its workers wait.
        task_queue: String,
        /// Longest time of a call, in seconds; [`TOOL_TIMEOUT_SECONDS_DEFAULT`] where none is said.
        timeout_seconds: Option<u64>,
    },
}

impl ToolSpec {
    /// Longest time of a call, in seconds.
    pub fn timeout_seconds(&self) -> u64 {
        self.chosen_timeout_seconds()
            .unwrap_or(TOOL_TIMEOUT_SECONDS_DEFAULT)
    }

    /// The longest time of a call, in seconds, where somebody chose it.
    fn chosen_timeout_seconds(&self) -> Option<u64> {
        let (Self::Http {
            timeout_seconds, ..
        }
        | Self::Activity {
            timeout_seconds, ..
        }) = self;
        *timeout_seconds
    }
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { headers_env, .. } => f
                .debug_struct("Http")
                .field("headers_env", headers_env)
                .finish_non_exhaustive(),
            Self::Activity {
                activity,
                task_queue,
                ..
            } => f
                .debug_struct("Activity")
                .field("activity", activity)
                .field("task_queue", task_queue)
                .finish_non_exhaustive(),
        }
    }
}

/// The order of a composition's items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rerank {
    /// By score ([`ScoreSort`](crate::ScoreSort)).
    #[default]
    Score,
    /// By places in the lists of the legs ([`ReciprocalRankFusion`](crate::ReciprocalRankFusion)).
    Rrf,
}

/// Which scopes a guard lets through.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Require {
    /// Those with a namespace.
    #[default]
    Namespace,
    /// Those in this namespace.
    Prefix(String),
    /// Those of this namespace.
    Exact(String),
    /// Those that a policy of this name allows, which the program registered.
    Policy(String),
}

/// Without the namespace, which is a tenant's.
impl fmt::Debug for Require {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "Namespace",
            Self::Prefix(_) => "Prefix",
            Self::Exact(_) => "Exact",
            Self::Policy(_) => "Policy",
        })
    }
}

impl SourceKind {
    /// As the file names it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Vector { .. } => "vector",
            Self::File { .. } => "file",
            Self::Journal { .. } => "journal",
            Self::Facts { .. } => "facts",
            Self::Transcript { .. } => "transcript",
            Self::Notes { .. } => "notes",
            Self::Hybrid { .. } => "hybrid",
            Self::Scratchpad => "scratchpad",
            Self::Tool { .. } => "tool",
            Self::Composite { .. } => "composite",
            Self::Sequential { .. } => "sequential",
            Self::Scoped { .. } => "scoped",
            Self::Cached { .. } => "cached",
            Self::Compacted { .. } => "compacted",
            Self::ReadOnly { .. } => "read_only",
        }
    }

    /// Whether it is a decorator, which has the name of what it decorates.
    pub fn is_decorator(&self) -> bool {
        matches!(
            self,
            Self::Scoped { .. }
                | Self::Cached { .. }
                | Self::Compacted { .. }
                | Self::ReadOnly { .. }
        )
    }
}

#[cfg(test)]
mod tests;
