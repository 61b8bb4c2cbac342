//! Which scopes a guard lets through.

use std::{error::Error, fmt::Debug};

use async_trait::async_trait;
use notekeeper_domain::Scope;

use crate::{InvalidSetting, SourceCall};

/// Decides which scopes get at a source.
#[async_trait]
pub trait ScopePolicy: Send + Sync + Debug {
    /// Whether a call for this scope may go on. False refuses it, and so does an error. It may be asked more
    /// than once for a call, and has two seconds each time.
    ///
    /// # Errors
    ///
    /// Any: where the policy can't tell, nothing goes on. What it says is passed to nobody and not logged, as
    /// it may tell of a tenant; the log says that the policy of this source failed.
    async fn allows(&self, call: &SourceCall<'_>) -> Result<bool, Box<dyn Error + Send + Sync>>;

    /// What the policy wants, for whoever is refused: it ends up in histories, and names no tenant.
    fn requirement(&self) -> String;
}

/// Wants a namespace; `0` is one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NamespaceRequired;

/// Wants a namespace, or one that lies in it: `acme` lets `acme` and `acme/eu` through, and not `acme2`.
#[derive(Clone)]
pub struct NamespacePrefix(String);

/// Wants this namespace and no other.
#[derive(Clone)]
pub struct NamespaceExact(String);

impl NamespacePrefix {
    /// This namespace and those in it.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`] where it can't be a namespace, or is empty.
    pub fn new(prefix: &str) -> Result<Self, InvalidSetting> {
        check("require.prefix", prefix)?;
        Ok(Self(prefix.to_owned()))
    }
}

impl NamespaceExact {
    /// This namespace.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`] where it can't be a namespace, or is empty.
    pub fn new(namespace: &str) -> Result<Self, InvalidSetting> {
        check("require.exact", namespace)?;
        Ok(Self(namespace.to_owned()))
    }
}

/// Checks that a setting names a namespace.
fn check(key: &str, namespace: &str) -> Result<(), InvalidSetting> {
    if namespace.is_empty() {
        return Err(InvalidSetting::new(
            key,
            "is empty; give the namespace that the source is for",
        ));
    }
    match Scope::resolve(namespace, "main") {
        Ok(_) => Ok(()),
        Err(fault) => Err(InvalidSetting::new(key, format!("can't be used: {fault}"))),
    }
}

#[async_trait]
impl ScopePolicy for NamespaceRequired {
    async fn allows(&self, call: &SourceCall<'_>) -> Result<bool, Box<dyn Error + Send + Sync>> {
        Ok(!call.scope.namespace().is_empty())
    }

    fn requirement(&self) -> String {
        "the source wants a namespace, and the call has none; resolve one in the workflow"
            .to_owned()
    }
}

#[async_trait]
impl ScopePolicy for NamespacePrefix {
    async fn allows(&self, call: &SourceCall<'_>) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let rest = call.scope.namespace().strip_prefix(&self.0);
        Ok(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    fn requirement(&self) -> String {
        "the source is for the namespaces inside another one".to_owned()
    }
}

#[async_trait]
impl ScopePolicy for NamespaceExact {
    async fn allows(&self, call: &SourceCall<'_>) -> Result<bool, Box<dyn Error + Send + Sync>> {
        Ok(call.scope.namespace() == self.0)
    }

    fn requirement(&self) -> String {
        "the source is for another namespace".to_owned()
    }
}

/// Without the namespace, which is a tenant's.
impl Debug for NamespacePrefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NamespacePrefix")
    }
}

/// Without the namespace, which is a tenant's.
impl Debug for NamespaceExact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NamespaceExact")
    }
}
