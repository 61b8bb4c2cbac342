//! What sources are made from.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use notekeeper_models::{ChatModel, EmbeddingModel};

use super::ToolSpec;
use crate::{OpenStores, ScopePolicy, SearchTool};

/// What a program has for its sources, by the names that settings call it.
#[derive(Debug, Clone)]
pub struct SourceParts {
    /// The stores.
    pub stores: Arc<dyn OpenStores>,
    /// Which stores there are, and what each keeps beside notes.
    pub store_kinds: BTreeMap<String, StoreKeeps>,
    /// Models of embeddings.
    pub embedders: BTreeMap<String, Arc<dyn EmbeddingModel>>,
    /// Chat models.
    pub models: BTreeMap<String, Arc<dyn ChatModel>>,
    /// What makes search tools.
    pub tools: Arc<dyn MakeSearchTool>,
    /// Policies for guards.
    pub policies: BTreeMap<String, Arc<dyn ScopePolicy>>,
}

impl SourceParts {
    /// These stores, and nothing else.
    pub fn new(stores: Arc<dyn OpenStores>, store_kinds: BTreeMap<String, StoreKeeps>) -> Self {
        Self {
            stores,
            store_kinds,
            embedders: BTreeMap::new(),
            models: BTreeMap::new(),
            tools: Arc::new(NoSearchTools),
            policies: BTreeMap::new(),
        }
    }
}

/// What a store keeps beside notes, as far as its kind tells without opening it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreKeeps {
    /// Facts.
    pub facts: bool,
    /// Transcripts.
    pub transcripts: bool,
    /// Vectors. One that keeps them may still lack an extension of its database.
    pub vectors: bool,
    /// Which operations changed its notes.
    pub journal: bool,
}

impl StoreKeeps {
    /// All of it.
    pub fn everything() -> Self {
        Self {
            facts: true,
            transcripts: true,
            vectors: true,
            journal: true,
        }
    }
}

/// Makes search tools.
pub trait MakeSearchTool: Send + Sync + Debug {
    /// The tool behind the source of this name.
    ///
    /// # Errors
    ///
    /// What is wrong with the settings, without values that may be secrets.
    fn make(&self, source: &str, tool: &ToolSpec) -> Result<Arc<dyn SearchTool>, String>;
}

/// Makes none.
#[derive(Debug)]
struct NoSearchTools;

impl MakeSearchTool for NoSearchTools {
    fn make(&self, _source: &str, _tool: &ToolSpec) -> Result<Arc<dyn SearchTool>, String> {
        Err("names a search tool, and this program calls none".to_owned())
    }
}
