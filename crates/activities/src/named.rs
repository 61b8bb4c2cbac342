//! Stores and models under the names that payloads call them by.

use std::{collections::BTreeMap, sync::Arc};

use notekeeper_models::ChatModel;
use notekeeper_store::Store;

use crate::{Failure, MetadataResolver};

/// The stores of a worker, by name.
#[derive(Debug, Clone)]
pub struct Stores(Named<dyn Store>);

/// The models of a worker, by name.
#[derive(Debug, Clone)]
pub struct Models(Named<dyn ChatModel>);

/// The resolvers of write metadata of a worker, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resolvers(Named<dyn MetadataResolver>);

#[derive(Debug)]
struct Named<T: ?Sized>(Arc<BTreeMap<String, Arc<T>>>);

impl Stores {
    /// Stores under their names. Of two with one name the later counts.
    pub fn new(stores: impl IntoIterator<Item = (String, Arc<dyn Store>)>) -> Self {
        Self(Named::new(stores))
    }

    /// The store with this name.
    ///
    /// # Errors
    ///
    /// An `InvalidArgument` that lists the configured names.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Store>, Failure> {
        self.0.get(name, "store")
    }
}

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
    fn new(entries: impl IntoIterator<Item = (String, Arc<T>)>) -> Self {
        Self(Arc::new(entries.into_iter().collect()))
    }

    /// `what` is the field of the payload. What it held isn't repeated: it may be anything.
    fn get(&self, name: &str, what: &str) -> Result<&Arc<T>, Failure> {
        self.0.get(name).ok_or_else(|| {
            let known: Vec<String> = self.0.keys().map(|known| format!("`{known}`")).collect();
            Failure::invalid(match known.as_slice() {
                [] => format!("`{what}` names no configured {what}; none is configured"),
                known => format!(
                    "`{what}` names no configured {what}; configured: {}",
                    known.join(", ")
                ),
            })
        })
    }
}

impl<T: ?Sized> Clone for Named<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
