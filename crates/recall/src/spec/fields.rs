//! From the keys of a table to a source.
//!
//! The keys of all kinds are read together: so an error deep in a tree is told with its path, which
//! reading by kind would lose.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{DEFAULT, Member, Require, Rerank, SourceKind, SourceSpec, ToolSpec, VectorPlace};
use crate::{
    CACHE_ENTRIES_DEFAULT, CACHE_TTL_DEFAULT, COMPACTED_CHARS_DEFAULT, CONCURRENCY_DEFAULT, Dedupe,
    LEG_TIMEOUT_DEFAULT, OnWrite, setting::whole_milliseconds,
};

/// Argument that takes the query where none is named.
const QUERY_ARG_DEFAULT: &str = "query";

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Vector,
    File,
    Journal,
    Facts,
    Transcript,
    Notes,
    Hybrid,
    Scratchpad,
    Tool,
    Composite,
    Sequential,
    Scoped,
    Cached,
    Compacted,
    ReadOnly,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Index {
    InMemory,
    Store,
}

/// Declares the keys, and how to tell which of them a kind left over.
macro_rules! fields {
    ($($field:ident: $type:ty,)*) => {
        /// A table with all keys that any kind has.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct SourceFields {
            kind: Kind,
            $($field: Option<$type>,)*
        }

        impl SourceFields {
            /// A key that is given and that nobody took.
            fn left(&self) -> Option<&'static str> {
                $(if self.$field.is_some() { return Some(stringify!($field)); })*
                None
            }
        }
    };
}

fields! {
    name: String,
    store: String,
    embedder: String,
    collection: String,
    index: Index,
    conversation: String,
    url: String,
    headers_env: BTreeMap<String, String>,
    network_is_trusted: bool,
    scope_arg: String,
    timeout_seconds: u64,
    activity: String,
    task_queue: String,
    query_arg: String,
    sources: Vec<Member>,
    dedupe: Dedupe,
    rerank: Rerank,
    leg_timeout_ms: u64,
    concurrency: usize,
    inner: Member,
    require: Require,
    ttl_seconds: u64,
    entries_max: usize,
    chars_max: usize,
    model: String,
    max_items: usize,
    on_write: OnWrite,
}

/// The keys of a source of this kind, as a file names it, in the order of the documentation; `None` where
/// there is no such kind.
///
/// ```
/// use notekeeper_recall::source_keys;
///
/// assert_eq!(source_keys("notes"), Some(vec!["kind", "name", "store"]));
/// assert_eq!(source_keys("note"), None);
/// ```
pub fn source_keys(kind: &str) -> Option<Vec<&'static str>> {
    let (name, own): (&[&str], &[&str]) = match kind {
        "vector" => (NAMED, &["index", "store", "embedder", "collection"]),
        "file" | "journal" | "facts" | "notes" => (NAMED, &["store"]),
        "transcript" => (NAMED, &["store", "conversation"]),
        "hybrid" => (NAMED, &["store", "embedder", "leg_timeout_ms"]),
        "scratchpad" => (NAMED, &[]),
        "tool" => (
            NAMED,
            &[
                "url",
                "headers_env",
                "network_is_trusted",
                "scope_arg",
                "activity",
                "task_queue",
                "timeout_seconds",
                "query_arg",
            ],
        ),
        "composite" => (
            NAMED,
            &[
                "sources",
                "dedupe",
                "rerank",
                "leg_timeout_ms",
                "concurrency",
            ],
        ),
        "sequential" => (NAMED, &["sources", "leg_timeout_ms"]),
        "scoped" => (DECORATOR, &["require"]),
        "cached" => (DECORATOR, &["ttl_seconds", "entries_max"]),
        "compacted" => (DECORATOR, &["chars_max", "model", "max_items"]),
        "read_only" => (DECORATOR, &["on_write"]),
        _ => return None,
    };
    Some([name, own].concat())
}

/// Keys of all sources but decorators, which are called as what they decorate.
const NAMED: &[&str] = &["kind", "name"];

/// Keys of all decorators.
const DECORATOR: &[&str] = &["kind", "inner"];

impl TryFrom<SourceFields> for SourceSpec {
    type Error = String;

    fn try_from(mut fields: SourceFields) -> Result<Self, String> {
        let name = fields.name.take();
        let kind = fields.kind()?;
        if let Some(key) = fields.left() {
            let kind = kind.as_str();
            return Err(match (kind, key) {
                ("vector", "store" | "embedder" | "collection") => format!(
                    "`{key}` means nothing to a source of the kind `vector` with index = \"in_memory\"; \
                     leave it out"
                ),
                ("tool", "headers_env") => {
                    "`headers_env` goes with `url`, and an activity has no headers; leave it out"
                        .to_owned()
                }
                ("tool", "task_queue") => {
                    "`task_queue` goes with `activity`, and a `url` has none; leave it out"
                        .to_owned()
                }
                _ => {
                    format!("`{key}` means nothing to a source of the kind `{kind}`; leave it out")
                }
            });
        }
        if name.is_some() && kind.is_decorator() {
            return Err(format!(
                "a source of the kind `{}` has the name of its `inner` source; leave `name` out",
                kind.as_str()
            ));
        }
        Ok(Self { name, kind })
    }
}

impl SourceFields {
    fn kind(&mut self) -> Result<SourceKind, String> {
        Ok(match self.kind {
            Kind::Vector => SourceKind::Vector {
                index: self.vector_index(),
            },
            Kind::File => SourceKind::File {
                store: self.store(),
            },
            Kind::Journal => SourceKind::Journal {
                store: self.store(),
            },
            Kind::Facts => SourceKind::Facts {
                store: self.store(),
            },
            Kind::Transcript => SourceKind::Transcript {
                store: self.store(),
                conversation: self.conversation.take(),
            },
            Kind::Notes => SourceKind::Notes {
                store: self.store(),
            },
            Kind::Hybrid => SourceKind::Hybrid {
                store: self.store(),
                embedder: or_default(self.embedder.take()),
                leg_timeout_ms: self.leg_timeout_ms(),
            },
            Kind::Scratchpad => SourceKind::Scratchpad,
            Kind::Tool => self.tool()?,
            Kind::Composite => SourceKind::Composite {
                sources: self.sources("composite")?,
                dedupe: self.dedupe.take().unwrap_or_default(),
                rerank: self.rerank.take().unwrap_or_default(),
                leg_timeout_ms: self.leg_timeout_ms(),
                concurrency: self.concurrency.take().unwrap_or(CONCURRENCY_DEFAULT),
            },
            Kind::Sequential => SourceKind::Sequential {
                sources: self.sources("sequential")?,
                leg_timeout_ms: self.leg_timeout_ms(),
            },
            Kind::Scoped | Kind::Cached | Kind::Compacted | Kind::ReadOnly => self.decorator()?,
        })
    }

    fn decorator(&mut self) -> Result<SourceKind, String> {
        let inner = self.inner.take().map(Box::new);
        let inner = inner.ok_or("`inner` is missing; name the source that is decorated")?;
        Ok(match self.kind {
            Kind::Scoped => SourceKind::Scoped {
                inner,
                require: self.require.take().unwrap_or_default(),
            },
            Kind::Cached => SourceKind::Cached {
                inner,
                ttl_seconds: self
                    .ttl_seconds
                    .take()
                    .unwrap_or(CACHE_TTL_DEFAULT.as_secs()),
                entries_max: self.entries_max.take().unwrap_or(CACHE_ENTRIES_DEFAULT),
            },
            Kind::Compacted => SourceKind::Compacted {
                inner,
                chars_max: self.chars_max.take().unwrap_or(COMPACTED_CHARS_DEFAULT),
                model: self.model.take(),
                max_items: self.max_items.take(),
            },
            _ => SourceKind::ReadOnly {
                inner,
                on_write: self.on_write.take().unwrap_or_default(),
            },
        })
    }

    fn vector_index(&mut self) -> VectorPlace {
        match self.index.take() {
            Some(Index::InMemory) => VectorPlace::InMemory,
            Some(Index::Store) | None => VectorPlace::Store {
                store: self.store(),
                embedder: or_default(self.embedder.take()),
                collection: self.collection.take(),
            },
        }
    }

    fn tool(&mut self) -> Result<SourceKind, String> {
        let timeout_seconds = self.timeout_seconds.take();
        let tool = match (self.url.take(), self.activity.take()) {
            (Some(url), None) => ToolSpec::Http {
                url,
                headers_env: self.headers_env.take().unwrap_or_default(),
                network_is_trusted: self.network_is_trusted.take().unwrap_or_default(),
                scope_arg: self.scope_arg.take(),
                timeout_seconds,
            },
            (None, Some(activity)) => ToolSpec::Activity {
                activity,
                task_queue: self.task_queue.take().ok_or(
                    "`task_queue` is missing; name the queue on which the workers of the activity wait",
                )?,
                timeout_seconds,
            },
            (Some(_), Some(_)) => {
                return Err("`url` and `activity` are both given; a tool is behind one".to_owned());
            }
            (None, None) => {
                return Err(
                    "neither `url` nor `activity` is given; say where the tool is".to_owned()
                );
            }
        };
        Ok(SourceKind::Tool {
            tool,
            query_arg: self
                .query_arg
                .take()
                .unwrap_or_else(|| QUERY_ARG_DEFAULT.to_owned()),
        })
    }

    fn store(&mut self) -> String {
        or_default(self.store.take())
    }

    fn sources(&mut self, kind: &str) -> Result<Vec<Member>, String> {
        let missing = || {
            format!("`sources` is missing; list what the source of the kind `{kind}` is made of")
        };
        self.sources.take().ok_or_else(missing)
    }

    fn leg_timeout_ms(&mut self) -> u64 {
        self.leg_timeout_ms
            .take()
            .unwrap_or_else(|| whole_milliseconds(LEG_TIMEOUT_DEFAULT))
    }
}

fn or_default(name: Option<String>) -> String {
    name.unwrap_or_else(|| DEFAULT.to_owned())
}
