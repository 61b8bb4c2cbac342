//! Sources with something behind them.

use std::{sync::Arc, time::Duration};

use notekeeper_domain::ConversationId;
use notekeeper_models::{EmbeddingModel, HashingEmbedder};
use notekeeper_store::COLLECTION_BYTES_MAX;

use super::{super::DEFAULT, InvalidSource, invalid, unknown};
use crate::{
    FactsSource, FileSource, HybridSource, JournalSource, LEG_TIMEOUT_DEFAULT, LEG_TIMEOUT_MS_MAX,
    NotesSource, ScratchpadSource, Source, SourceKind, SourceParts, SourceSpec, StoreKeeps,
    ToolSource, ToolSpec, TranscriptSource, VectorPlace, VectorSource,
    hybrid::RESERVED,
    setting::{check_bounds, whole_milliseconds},
};

/// Longest `timeout_seconds` of a tool: ten minutes. Nobody who asks a source waits longer.
const TOOL_TIMEOUT_SECONDS_MAX: u64 = 600;

/// Longest name of a collection or an argument, in bytes.
const NAME_BYTES_MAX: usize = COLLECTION_BYTES_MAX;

/// The source, ready-made, of a program whose store `default` keeps facts.
pub(super) fn ready_made_hybrid(parts: &SourceParts) -> Option<SourceSpec> {
    let keeps_facts = parts.store_kinds.get(DEFAULT).is_some_and(|it| it.facts);
    keeps_facts.then(|| SourceSpec {
        name: None,
        kind: SourceKind::Hybrid {
            store: DEFAULT.to_owned(),
            embedder: DEFAULT.to_owned(),
            leg_timeout_ms: whole_milliseconds(LEG_TIMEOUT_DEFAULT),
        },
    })
}

/// Checks a source that is written in place, where it may have no name of its own.
pub(super) fn check_inline(spec: &SourceSpec, path: &str) -> Result<(), InvalidSource> {
    let SourceKind::Vector {
        index: VectorPlace::Store {
            collection: None, ..
        },
    } = &spec.kind
    else {
        return Ok(());
    };
    match spec.name {
        Some(_) => Ok(()),
        None => Err(invalid(
            path,
            "keeps texts in a store, and nothing says in which collection: all such sources would share one; \
             give it a `name`, which is its collection's as well, or a `collection`",
        )),
    }
}

/// The source of this kind, which isn't made of others.
pub(super) fn leaf(
    kind: &SourceKind,
    name: &str,
    path: &str,
    parts: &SourceParts,
) -> Result<Arc<dyn Source>, InvalidSource> {
    let at = Place { path, parts };
    let stores = || parts.stores.clone();
    Ok(match kind {
        SourceKind::Vector { index } => Arc::new(at.vectors(index, name)?),
        SourceKind::File { store } => {
            at.store(store)?;
            Arc::new(FileSource::new(name, stores(), store))
        }
        SourceKind::Journal { store } => {
            at.store_with(store, "journal of changes", |it| it.journal)?;
            Arc::new(JournalSource::new(name, stores(), store))
        }
        SourceKind::Facts { store } => {
            at.store_with(store, "facts", |it| it.facts)?;
            Arc::new(FactsSource::new(name, stores(), store))
        }
        SourceKind::Transcript {
            store,
            conversation,
        } => {
            at.store_with(store, "transcripts", |it| it.transcripts)?;
            let conversation = conversation.as_deref().map(ConversationId::parse);
            let conversation = conversation
                .transpose()
                .map_err(|fault| at.fault("conversation", fault))?;
            Arc::new(TranscriptSource::new(name, stores(), store, conversation))
        }
        SourceKind::Notes { store } => {
            at.store(store)?;
            Arc::new(NotesSource::new(name, stores(), store))
        }
        SourceKind::Hybrid {
            store,
            embedder,
            leg_timeout_ms,
        } => {
            at.store(store)?;
            let embedder = at.embedder_or_hashing(embedder)?;
            check_bounds("leg_timeout_ms", *leg_timeout_ms, 1..=LEG_TIMEOUT_MS_MAX)
                .map_err(super::at(path))?;
            let hybrid = HybridSource::new(name, stores(), store, embedder);
            Arc::new(hybrid.with_leg_timeout(Duration::from_millis(*leg_timeout_ms)))
        }
        SourceKind::Scratchpad => Arc::new(ScratchpadSource::new(name)),
        SourceKind::Tool { tool, query_arg } => Arc::new(at.tool(tool, query_arg, name)?),
        made_of_others => {
            let kind = made_of_others.as_str();
            return Err(invalid(
                path,
                format!("the kind `{kind}` is made of others"),
            ));
        }
    })
}

/// Where in the settings a source is made, and from what.
struct Place<'a> {
    path: &'a str,
    parts: &'a SourceParts,
}

impl Place<'_> {
    /// A fault of one of the source's settings.
    fn fault(&self, key: &str, message: impl ToString) -> InvalidSource {
        invalid(&format!("{}.{key}", self.path), message)
    }

    fn store(&self, store: &str) -> Result<StoreKeeps, InvalidSource> {
        let known = &self.parts.store_kinds;
        let keeps = known.get(store).copied();
        keeps.ok_or_else(|| {
            unknown(
                &format!("{}.store", self.path),
                "store",
                store,
                known.keys(),
            )
        })
    }

    fn store_with(
        &self,
        store: &str,
        what: &str,
        keeps: impl Fn(&StoreKeeps) -> bool,
    ) -> Result<(), InvalidSource> {
        match keeps(&self.store(store)?) {
            true => Ok(()),
            false => Err(self.fault(
                "store",
                format!("the store `{store}` keeps no {what}; name one that does"),
            )),
        }
    }

    fn embedder(&self, embedder: &str) -> Result<Arc<dyn EmbeddingModel>, InvalidSource> {
        let known = &self.parts.embedders;
        let model = known.get(embedder).cloned();
        model.ok_or_else(|| {
            let path = format!("{}.embedder", self.path);
            unknown(&path, "embedder", embedder, known.keys())
        })
    }

    /// The same; an embedder `default` that nobody configured hashes, so that hybrid search works on the
    /// first day.
    fn embedder_or_hashing(
        &self,
        embedder: &str,
    ) -> Result<Arc<dyn EmbeddingModel>, InvalidSource> {
        match embedder == DEFAULT && !self.parts.embedders.contains_key(DEFAULT) {
            true => Ok(Arc::new(HashingEmbedder::default())),
            false => self.embedder(embedder),
        }
    }

    fn vectors(&self, index: &VectorPlace, name: &str) -> Result<VectorSource, InvalidSource> {
        let VectorPlace::Store {
            store,
            embedder,
            collection,
        } = index
        else {
            return Ok(VectorSource::in_memory(name));
        };
        self.store_with(store, "vectors", |it| it.vectors)?;
        let collection = collection.as_deref().unwrap_or(name);
        self.check_text("collection", collection)?;
        if collection.starts_with(RESERVED) {
            return Err(self.fault(
                "collection",
                format!(
                    "begins with `{RESERVED}`, as those of hybrid search do; give it another name"
                ),
            ));
        }
        let embedder = self.embedder(embedder)?;
        Ok(VectorSource::embedded(
            name,
            self.parts.stores.clone(),
            store,
            collection,
            embedder,
        ))
    }

    fn tool(
        &self,
        tool: &ToolSpec,
        query_arg: &str,
        name: &str,
    ) -> Result<ToolSource, InvalidSource> {
        self.check_text("query_arg", query_arg)?;
        if query_arg == "limit" {
            return Err(self.fault(
                "query_arg",
                "is `limit`, the argument with the number of items",
            ));
        }
        if let ToolSpec::Http {
            scope_arg: Some(scope_arg),
            ..
        } = tool
        {
            self.check_text("scope_arg", scope_arg)?;
            if scope_arg == "limit" || scope_arg == query_arg {
                return Err(self.fault(
                    "scope_arg",
                    "is an argument that holds something else; name another",
                ));
            }
        }
        let timeout_seconds = tool.timeout_seconds();
        if !(1..=TOOL_TIMEOUT_SECONDS_MAX).contains(&timeout_seconds) {
            return Err(self.fault(
                "timeout_seconds",
                format!("is `{timeout_seconds}`; 1 to {TOOL_TIMEOUT_SECONDS_MAX} are allowed"),
            ));
        }
        let made = self.parts.tools.make(name, tool);
        let tool = made.map_err(|fault| invalid(self.path, fault))?;
        Ok(ToolSource::new(name, tool, query_arg))
    }

    /// Checks a name that isn't a source's.
    fn check_text(&self, key: &str, text: &str) -> Result<(), InvalidSource> {
        let fits = (1..=NAME_BYTES_MAX).contains(&text.len());
        match fits && !text.chars().any(char::is_control) {
            true => Ok(()),
            false => Err(self.fault(
                key,
                format!("must have 1 to {NAME_BYTES_MAX} bytes without control characters"),
            )),
        }
    }
}
