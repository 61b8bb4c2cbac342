//! Sessions: what all memories, conversations and sources of one workflow run share.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::Future,
    rc::Rc,
};

use notekeeper_domain::{Scope, canonical_json, memory_tools, short_hash};
use serde_json::{Value, json};
use temporalio_workflow::WorkflowContext;

use crate::{
    ActivityQueue, CallFailure, Memory, MemorySettings, OpenError, Step,
    conversation::OpenedConversation,
    memory::{WeakMemory, describe},
    namespace::IntoNamespace,
    recall::OpenedSource,
    settings::{DEFAULT_MEMORY_ID, check_name},
    stated_twice::difference,
};

/// What all [`Memory`], [`Conversation`](crate::Conversation) and [`Recall`](crate::Recall) handles of one
/// workflow run share: the counter behind activity ids, the steps, and the set of memories, conversations
/// and sources.
///
/// Open one at the start of a run, and all of these with it, before the first call.
#[derive(Clone, Default)]
pub struct Session {
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    workspace: Option<String>,
    calls: Cell<u64>,
    steps: Cell<u64>,
    opened: RefCell<Vec<Opened>>,
    conversations: RefCell<Vec<OpenedConversation>>,
    sources: RefCell<Vec<OpenedSource>>,
    searched_bytes: Cell<usize>,
    heard_bytes: Cell<usize>,
}

/// A memory of the session.
struct Opened {
    settings: MemorySettings,
    scope: Scope,
    handle: WeakMemory,
}

impl Session {
    /// A session without memories.
    pub fn new() -> Self {
        Self::default()
    }

    /// A session without memories, in one of the worker's workspaces: stores that keep their files
    /// in the run's workspace keep them there.
    pub fn in_workspace(name: impl Into<String>) -> Self {
        let shared = Shared {
            workspace: Some(name.into()),
            ..Shared::default()
        };
        Self {
            shared: Rc::new(shared),
        }
    }

    /// The workspace, where the session has one.
    pub fn workspace(&self) -> Option<&str> {
        self.shared.workspace.as_deref()
    }

    /// Asks the worker how these memories are kept, once, at the start of a run and before any other
    /// call. From then on their activities go to the task queue of the workspace where it has one,
    /// tools that change notes are hidden where nothing may be changed, and `read_memory` can step
    /// aside for a file tool.
    ///
    /// A run that asks nothing offers all tools and uses the queue of the settings; it works with
    /// every store and workspace that a worker on that queue serves.
    ///
    /// # Errors
    ///
    /// The activity's failure: `InvalidArgument` where a store or the workspace isn't there, or where
    /// a store keeps its files in the run's workspace and the session has none.
    pub fn describe<'c, W>(
        &self,
        ctx: &'c WorkflowContext<W>,
        memories: &'c [Memory],
    ) -> impl Future<Output = Result<(), CallFailure>> + 'c {
        describe(memories, ctx)
    }

    /// Opens a memory on the namespace that `resolve` gives for the workflow's input: a text, or a
    /// `Result` of one. `resolve` runs here, once; it must depend on nothing but the input.
    ///
    /// A memory whose id, settings and scope are those of one that was opened before is that one: the
    /// same handle comes back.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; return it from the run with `?`. Whatever the settings say of
    /// `injection_errors`, a resolver that fails and a scope that can't be used end the run.
    pub fn open<I, N: IntoNamespace>(
        &self,
        settings: MemorySettings,
        input: &I,
        resolve: impl FnOnce(&I) -> N,
    ) -> Result<Memory, OpenError> {
        settings.check().map_err(|what| {
            OpenError::Settings(match settings.check_id() {
                Ok(()) => format!("{what}, in the memory `{}`", settings.id),
                Err(_) => what,
            })
        })?;
        if let Some(workspace) = self.workspace() {
            check_name("workspace", workspace).map_err(OpenError::Settings)?;
        }
        let namespace = resolve(input).into_namespace();
        let namespace = namespace.map_err(OpenError::Resolver)?;
        if settings
            .namespace
            .as_ref()
            .is_some_and(|given| *given != namespace)
        {
            return Err(OpenError::Settings(
                "`namespace` is not what the workflow's resolver answers; leave it out".to_owned(),
            ));
        }
        let scope = Scope::resolve(&namespace, &settings.agent_name)?;
        if let Some(same) = self.find_same(&settings, &scope)? {
            return Ok(same);
        }
        let memory = Memory::new(self.clone(), settings.clone(), scope.clone());
        self.shared.opened.borrow_mut().push(Opened {
            settings,
            scope,
            handle: memory.downgrade(),
        });
        Ok(memory)
    }

    /// The handle of a memory that was opened before and is the same; an error where one stands in
    /// this one's way.
    fn find_same(
        &self,
        settings: &MemorySettings,
        scope: &Scope,
    ) -> Result<Option<Memory>, OpenError> {
        let mut opened = self.shared.opened.borrow_mut();
        if let Some(index) = opened.iter().position(|it| it.settings.id == settings.id) {
            let known = &opened[index];
            let differs = difference(&known.settings, settings)
                .or_else(|| (known.scope != *scope).then(|| "namespace".to_owned()));
            if let Some(setting) = differs {
                let id = settings.id.clone();
                return Err(OpenError::Disagreement { id, setting });
            }
            let handle = known.handle.upgrade();
            if handle.is_none() {
                // All of its handles are gone: it is opened anew.
                opened.remove(index);
            }
            return Ok(handle);
        }
        opened
            .iter()
            .try_for_each(|known| check_beside(known, settings, scope))?;
        Ok(None)
    }

    /// Opens the step of a model request: draws its identity from the run's random stream. Call
    /// it when the request is scheduled, not before, so that a workflow reset that drops the
    /// response draws anew, and one that keeps the response keeps the identity.
    pub fn next_step<W>(&self, ctx: &WorkflowContext<W>) -> Step {
        let number = self.shared.steps.get() + 1;
        self.shared.steps.set(number);
        let run_id: u128 = ctx.random_stream("notekeeper").random();
        Step::new(format!("{run_id:032x}"), number)
    }

    /// Steps opened so far.
    pub fn steps(&self) -> u64 {
        self.shared.steps.get()
    }

    /// First 16 hexadecimal digits of SHA-256 over the sorted memories, each as store and scope, its
    /// id where it isn't the default, and the workspace where the session has one, over the sorted
    /// conversations, each as store, scope and id, and over the sorted sources, each as name and scope:
    /// what a run addresses. A continued run compares it with the run before.
    pub fn scope_hash(&self) -> String {
        let opened = self.shared.opened.borrow();
        // The default id is left out, so that a run of one memory has the hash that it had before
        // memories had ids.
        let memories: BTreeSet<(&str, &str, Option<&str>)> = opened
            .iter()
            .map(
                |Opened {
                     settings, scope, ..
                 }| {
                    let id = Some(settings.id.as_str()).filter(|id| *id != DEFAULT_MEMORY_ID);
                    (settings.store.as_str(), scope.as_str(), id)
                },
            )
            .collect();
        let memories =
            memories
                .into_iter()
                .map(|(store, scope, id)| match (id, self.workspace()) {
                    (None, None) => json!([store, scope]),
                    (Some(id), None) => json!([store, scope, id]),
                    (id, Some(workspace)) => json!([store, scope, id, workspace]),
                });
        let conversations = self.shared.conversations.borrow();
        let conversations: BTreeSet<(&str, &str, &str)> = conversations
            .iter()
            .map(|it| (it.store(), it.scope().as_str(), it.id()))
            .collect();
        // Objects, which no memory is.
        let conversations = conversations.into_iter().map(|(store, scope, id)| {
            json!({
                "store": store,
                "scope": scope,
                "conversation": id,
                "workspace": self.workspace(),
            })
        });
        let sources = self.shared.sources.borrow();
        let sources: BTreeSet<(&str, &str)> = sources
            .iter()
            .map(|it| (it.source(), it.scope().as_str()))
            .collect();
        let sources = sources.into_iter().map(|(source, scope)| {
            json!({"source": source, "scope": scope, "workspace": self.workspace()})
        });
        let addressed: Vec<Value> = memories.chain(conversations).chain(sources).collect();
        short_hash(&canonical_json(&json!(addressed)))
    }

    pub(crate) fn conversations(&self) -> Vec<OpenedConversation> {
        self.shared.conversations.borrow().clone()
    }

    pub(crate) fn sources(&self) -> Vec<OpenedSource> {
        self.shared.sources.borrow().clone()
    }

    /// From now on the source is among what the run addresses.
    pub(crate) fn hold_source(&self, source: OpenedSource) {
        self.shared.sources.borrow_mut().push(source);
    }

    /// From now on the conversation is among what the run addresses.
    pub(crate) fn hold_conversation(&self, conversation: OpenedConversation) {
        self.shared.conversations.borrow_mut().push(conversation);
    }

    /// Task queue of the workspace, where the first memory has been described and the workspace has one of its
    /// own: for a source whose settings name the queue that the first memory's do.
    pub(crate) fn own_queue(&self, named: &ActivityQueue) -> Option<String> {
        let opened = self.shared.opened.borrow();
        let first = opened.first()?;
        match first.settings.activities.queue == *named {
            true => first.handle.upgrade()?.own_queue(),
            false => None,
        }
    }

    /// Counts what the run heard, such as the result of a call, in bytes of its JSON.
    pub(crate) fn count_heard(&self, bytes: usize) {
        let heard = self.shared.heard_bytes.get().saturating_add(bytes);
        self.shared.heard_bytes.set(heard);
    }

    /// What was counted so, since the run began.
    pub(crate) fn heard_bytes(&self) -> usize {
        self.shared.heard_bytes.get()
    }

    /// Activities that the run has given an id.
    pub(crate) fn calls(&self) -> u64 {
        self.shared.calls.get()
    }

    /// Counts what a source was asked or found, in bytes of its JSON.
    pub(crate) fn count_searched(&self, bytes: usize) {
        let counted = self.shared.searched_bytes.get();
        self.shared
            .searched_bytes
            .set(counted.saturating_add(bytes));
    }

    /// What was counted since the last time.
    pub(crate) fn take_searched_bytes(&self) -> usize {
        self.shared.searched_bytes.take()
    }

    /// The id of the next activity: `nk.{scope hash}.{n}`.
    ///
    /// Temporal compares ids on replay and no inputs, so the hash makes a resolver that answers
    /// differently, another agent name or another id a refused replay. The number is taken when a
    /// call is made, never when its future is polled, so ids follow the order of the code.
    pub(crate) fn next_activity_id(&self) -> String {
        let number = self.shared.calls.get() + 1;
        self.shared.calls.set(number);
        format!("nk.{}.{number}", self.scope_hash())
    }
}

/// Whether a memory of another id can stand beside one that was opened before.
fn check_beside(known: &Opened, settings: &MemorySettings, scope: &Scope) -> Result<(), OpenError> {
    let ids = || (known.settings.id.clone(), settings.id.clone());
    if known.settings.store == settings.store && known.scope == *scope {
        let (first, second) = ids();
        return Err(OpenError::SameScope { first, second });
    }
    let names = |prefix: &str| memory_tools(prefix).into_iter().map(|tool| tool.name);
    let mut known_names = names(&known.settings.prefix);
    match known_names.find(|known| names(&settings.prefix).any(|name| name == *known)) {
        Some(tool) => {
            let (first, second) = ids();
            Err(OpenError::SameTools {
                first,
                second,
                tool,
            })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
