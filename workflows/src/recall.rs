//! Recall: handles on a source of one scope.

mod calls;
mod found;
mod grounder;
mod open;
mod scratchpad;
mod settings;
mod tools;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::{Rc, Weak},
};

use notekeeper_contract::ScopeRef;
use notekeeper_domain::Scope;
use serde_json::Value;

pub use found::{Found, Kept};
pub use grounder::{Grounded, Grounder, Grounding, GroundingFormat};
pub(crate) use open::OpenedSource;
pub use settings::RecallSettings;
pub use tools::{RecallTool, SourceTool};

use crate::{Session, activity_call::CallOptions};

/// A handle on one of the worker's sources, for one scope: what can be looked for there, and kept.
///
/// Each query and each write is an activity. A write has an operation of its own, drawn from the run's
/// random stream when the call is made, so that it takes effect once however often the activity runs.
/// Clones are the same handle.
///
/// It holds a scratchpad: values by key that live in the workflow, are looked through there without any
/// activity, and travel with each call, for a source that has a scratchpad among its parts.
#[derive(Clone)]
pub struct Recall {
    inner: Rc<Inner>,
}

/// What may become a handle again as long as one of its clones is there.
#[derive(Clone)]
pub(crate) struct WeakRecall(Weak<Inner>);

impl WeakRecall {
    pub(crate) fn upgrade(&self) -> Option<Recall> {
        self.0.upgrade().map(|inner| Recall { inner })
    }
}

struct Inner {
    session: Session,
    settings: RecallSettings,
    scope: Scope,
    scratchpad: RefCell<BTreeMap<String, Value>>,
}

impl Recall {
    fn new(session: Session, settings: RecallSettings, scope: Scope) -> Self {
        Self {
            inner: Rc::new(Inner {
                session,
                settings,
                scope,
                scratchpad: RefCell::default(),
            }),
        }
    }

    fn downgrade(&self) -> WeakRecall {
        WeakRecall(Rc::downgrade(&self.inner))
    }

    /// Whether this is a clone of the other handle.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }

    /// The settings that the source was opened with.
    pub fn settings(&self) -> &RecallSettings {
        &self.inner.settings
    }

    /// Whose items these are.
    pub fn scope(&self) -> &Scope {
        &self.inner.scope
    }

    /// Whose items these are, as payloads name it.
    pub fn scope_ref(&self) -> ScopeRef {
        ScopeRef::from(&self.inner.scope)
    }

    /// The workspace that the run names.
    fn workspace(&self) -> Option<String> {
        self.inner.session.workspace().map(str::to_owned)
    }

    /// Options for one activity call, whose id is taken now, and which ends within so many
    /// milliseconds. A workspace with a task queue of its own goes before the settings, as for the first
    /// memory: no other worker has its files.
    fn options_within(&self, schedule_to_close_ms: u64) -> CallOptions {
        let session = &self.inner.session;
        let id = session.next_activity_id();
        let activities = &self.inner.settings.activities;
        let own_queue = session.own_queue(&activities.queue);
        let options = activities.options_at(own_queue, id, schedule_to_close_ms);
        options.with_heartbeats()
    }

    fn options(&self) -> CallOptions {
        self.options_within(self.inner.settings.activities.schedule_to_close_ms)
    }
}

impl std::fmt::Debug for Recall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recall")
            .field("source", &self.inner.settings.source)
            .field("scope", &self.inner.scope)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
