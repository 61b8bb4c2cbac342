//! What payloads call by a name.

use std::{collections::BTreeMap, sync::Arc};

use notekeeper_models::ChatModel;
use notekeeper_recall::Source;

use crate::{Failure, MetadataResolver};

/// The models of a worker, by name.
#[derive(Debug, Clone)]
pub struct Models(Named<dyn ChatModel>);

/// The sources of a worker, by name.
#[derive(Debug, Clone, Default)]
pub struct Sources(Named<dyn Source>);

/// The resolvers of write metadata of a worker, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resolvers(Named<dyn MetadataResolver>);

/// Things by name.
#[derive(Debug)]
pub(crate) struct Named<T: ?Sized>(Arc<BTreeMap<String, Arc<T>>>);

impl Models {
    /// Models under their names. Of two with one name the later counts.
    pub fn new(models: impl IntoIterator<Item = (String, Arc<dyn ChatModel>)>) -> Self {
        Self(Named::new(models))
    }

    /// The model with this name.
    ///
    /// # Errors
    ///
    /// An `InvalidArgument` that lists the configured names.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn ChatModel>, Failure> {
        self.0.get(name, "model")
    }
}

impl Sources {
    /// Sources under their names. Of two with one name the later counts.
    pub fn new(sources: impl IntoIterator<Item = (String, Arc<dyn Source>)>) -> Self {
        Self(Named::new(sources))
    }

    /// The source with this name.
    ///
    /// # Errors
    ///
    /// An `InvalidArgument` that lists the configured names.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Source>, Failure> {
        self.0.get(name, "source")
    }

    /// All sources, ascending by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Arc<dyn Source>)> {
        self.0
            .0
            .iter()
            .map(|(name, source)| (name.as_str(), source))
    }
}

impl Resolvers {
    /// Adds one. Of two with one name the later counts.
    pub(crate) fn add(&mut self, name: String, resolver: Arc<dyn MetadataResolver>) {
        Arc::make_mut(&mut self.0.0).insert(name, resolver);
    }

    /// The resolver with this name.
    ///
    /// # Errors
    ///
    /// An `InvalidArgument` that lists the names that there are.
    pub(crate) fn get(&self, name: &str) -> Result<&Arc<dyn MetadataResolver>, Failure> {
        self.0.get(name, "resolver")
    }
}

impl<T: ?Sized> Default for Named<T> {
    fn default() -> Self {
        Self::new([])
    }
}

impl<T: ?Sized> Named<T> {
    pub(crate) fn new(entries: impl IntoIterator<Item = (String, Arc<T>)>) -> Self {
        Self(Arc::new(entries.into_iter().collect()))
    }

    /// `what` is the field of the payload. What it held isn't repeated: it may be anything.
    pub(crate) fn get(&self, name: &str, what: &str) -> Result<&Arc<T>, Failure> {
        self.find(name).ok_or_else(|| {
            Failure::invalid(format!(
                "`{what}` names no configured {what}; {}",
                self.known()
            ))
        })
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<T>> {
        self.0.get(name)
    }

    /// Which names there are.
    fn known(&self) -> String {
        let known: Vec<String> = self.0.keys().map(|known| format!("`{known}`")).collect();
        match known.as_slice() {
            [] => "none is configured".to_owned(),
            known => format!("configured: {}", known.join(", ")),
        }
    }
}

impl<T: ?Sized> Clone for Named<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
