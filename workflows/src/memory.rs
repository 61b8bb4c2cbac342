//! Memories: handles on one scope of one store.

mod description;
mod files;
mod snapshot;
mod tools;

use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
};

use notekeeper_contract::{MemoryDescription, ScopeRef};
use notekeeper_domain::Scope;

pub(crate) use description::describe;
use files::Shown;
pub use snapshot::Snapshot;
pub(crate) use snapshot::load_snapshots;

use crate::{CallFailure, MemorySettings, Session, activity_call::CallOptions};

/// A handle on the notebook of one scope.
///
/// It loads the block for the next model request, offers the memory tools, and carries out the
/// model's calls of them. Clones are the same handle.
#[derive(Clone)]
pub struct Memory {
    inner: Rc<Inner>,
}

/// What may become a handle again as long as one of its clones is there.
#[derive(Clone)]
pub(crate) struct WeakMemory(Weak<Inner>);

impl WeakMemory {
    pub(crate) fn upgrade(&self) -> Option<Memory> {
        self.0.upgrade().map(|inner| Memory { inner })
    }
}

struct Inner {
    session: Session,
    settings: MemorySettings,
    scope: Scope,
    guidance: Option<String>,
    held: RefCell<Option<Held>>,
    description: RefCell<Option<MemoryDescription>>,
    /// The tool of the model that reads files of the run's workspace.
    file_reader: RefCell<Option<String>>,
    shown: Cell<Shown>,
    /// Blocks come inline although the settings want references.
    inline: Cell<bool>,
}

/// The block that the last snapshot brought.
#[derive(Clone)]
struct Held {
    digest: String,
    /// Missing where blocks are delivered by reference.
    text: Option<String>,
    /// Whether it says where the files are.
    located: bool,
}

impl Memory {
    pub(crate) fn new(session: Session, settings: MemorySettings, scope: Scope) -> Self {
        let guidance = settings.rendered_guidance();
        Self {
            inner: Rc::new(Inner {
                session,
                settings,
                scope,
                guidance,
                held: RefCell::default(),
                description: RefCell::default(),
                file_reader: RefCell::default(),
                shown: Cell::new(Shown::NoNotes),
                inline: Cell::new(false),
            }),
        }
    }

    pub(crate) fn downgrade(&self) -> WeakMemory {
        WeakMemory(Rc::downgrade(&self.inner))
    }

    /// Whether this is a clone of the other handle.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }

    /// The settings that the memory was opened with.
    pub fn settings(&self) -> &MemorySettings {
        &self.inner.settings
    }

    /// Whose notes these are.
    pub fn scope(&self) -> &Scope {
        &self.inner.scope
    }

    /// The workspace that the run names.
    fn workspace(&self) -> Option<String> {
        self.inner.session.workspace().map(str::to_owned)
    }

    fn guidance_chars(&self) -> usize {
        self.guidance().map_or(0, |text| text.chars().count())
    }

    /// Task queue of the activities, where the workspace has one of its own.
    pub(crate) fn own_queue(&self) -> Option<String> {
        self.inner.description.borrow().as_ref()?.task_queue.clone()
    }

    /// From now on blocks come inline, whatever the settings say: for a model's worker that can't
    /// get at the store.
    pub(crate) fn deliver_inline(&self) {
        self.inner.inline.set(true);
    }

    /// Options for one activity call that ends within `schedule_to_close_ms`. A workspace with a
    /// task queue of its own goes before the settings: no other worker has its files.
    fn options_within(&self, activity_id: String, schedule_to_close_ms: u64) -> CallOptions {
        let activities = &self.settings().activities;
        activities.options_at(self.own_queue(), activity_id, schedule_to_close_ms)
    }

    /// Whose notes these are, as payloads name it.
    pub fn scope_ref(&self) -> ScopeRef {
        ScopeRef::from(&self.inner.scope)
    }

    /// Trusted usage guidance for the model's instructions; `None` where the settings want none.
    /// It is the same in every request of a run.
    pub fn guidance(&self) -> Option<&str> {
        self.inner.guidance.as_deref()
    }

    /// Forgets which block is held, so that the next snapshot comes whole. For callers whose
    /// model activity answered that a referenced block is not kept any more.
    pub fn forget_snapshot(&self) {
        self.inner.held.replace(None);
    }

    /// Whether a failed snapshot load is skipped rather than handed to the caller. What is wrong
    /// with the call itself, such as the scope, is never skipped.
    fn skips(&self, failure: &CallFailure) -> bool {
        self.inner.settings.injection_errors == crate::InjectionErrors::Ignore
            && !failure.is_cancelled()
            && !failure.is_about_the_call()
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory")
            .field("scope", &self.inner.scope)
            .finish_non_exhaustive()
    }
}
