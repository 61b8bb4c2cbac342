//! Sessions: what all memories and conversations of one workflow run share.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::Future,
    rc::Rc,
};

use notekeeper_contract::FailureType;
use notekeeper_domain::{InvalidScope, Scope, canonical_json, memory_tools, short_hash};
use serde_json::{Value, json};
use temporalio_common_wasm::error::ApplicationFailure;
use temporalio_workflow::{WorkflowContext, WorkflowTermination};

use crate::{
    CallFailure, Memory, MemorySettings, Step,
    conversation::OpenedConversation,
    memory::{WeakMemory, describe},
    namespace::IntoNamespace,
    settings::{DEFAULT_MEMORY_ID, check_name},
    stated_twice::difference,
};

/// What all [`Memory`] and [`Conversation`](crate::Conversation) handles of one workflow run share: the
/// counter behind activity ids, the steps, and the set of memories and conversations.
///
/// Open one at the start of a run, and all memories and conversations with it, before the first call.
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
}

/// A memory of the session.
struct Opened {
    settings: MemorySettings,
    scope: Scope,
    handle: WeakMemory,
}

/// Why a memory or a conversation can't be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Namespace and agent name make no scope.
    #[error("memory or conversation can't be opened: {0}")]
    Scope(#[from] InvalidScope),
    /// The namespace resolver failed.
    #[error("memory or conversation can't be opened: the namespace resolver failed: {0}")]
    Resolver(String),
    /// A setting is out of bounds.
    #[error("memory settings: {0}")]
    Settings(String),
    /// A setting of a conversation is out of bounds.
    #[error("conversation settings: {0}")]
    Conversation(String),
    /// The conversation was opened before with other settings.
    #[error(
        "a conversation is opened twice, and differs in `{setting}`; give both the same settings"
    )]
    SameConversation {
        /// The first setting that differs, such as `prefix` or `activities.queue`.
        setting: String,
    },
    /// Two conversations on different facts have the same tool names.
    #[error("two conversations both have the tool `{tool}`; give each its own `prefix`")]
    SameFactTools {
        /// The first name that both have.
        tool: String,
    },
    /// Another memory of the session has this id and is not the same.
    #[error(
        "two memories have the id `{id}` and differ in `{setting}`; give one of them another `id`, \
         or both the same settings"
    )]
    Disagreement {
        /// The id.
        id: String,
        /// The first setting that differs, such as `max_tokens` or `activities.queue`.
        setting: String,
    },
    /// Another memory of the session has the same scope of the same store.
    #[error(
        "the memories `{first}` and `{second}` share one scope of one store; give each its own \
         `agent_name` or `namespace`"
    )]
    SameScope {
        /// Id of the memory that was opened before.
        first: String,
        /// Id of this one.
        second: String,
    },
    /// Another memory of the session has the same tool names.
    #[error(
        "the memories `{first}` and `{second}` both have the tool `{tool}`; give each its own `prefix`"
    )]
    SameTools {
        /// Id of the memory that was opened before.
        first: String,
        /// Id of this one.
        second: String,
        /// The first name that both have.
        tool: String,
    },
}

impl OpenError {
    /// Type of the failure that a run ends with.
    pub fn failure_type(&self) -> FailureType {
        match self {
            Self::Scope(_) | Self::Resolver(_) => FailureType::InvalidScope,
            Self::Settings(_)
            | Self::Conversation(_)
            | Self::SameConversation { .. }
            | Self::SameFactTools { .. }
            | Self::Disagreement { .. }
            | Self::SameScope { .. }
            | Self::SameTools { .. } => FailureType::InvalidArgument,
        }
    }
}

impl From<OpenError> for ApplicationFailure {
    fn from(error: OpenError) -> Self {
        let type_name = error.failure_type().as_str().to_owned();
        Self::builder(error)
            .type_name(type_name)
            .non_retryable(true)
            .build()
    }
}

impl From<OpenError> for WorkflowTermination {
    /// Fails the run: what can't be opened now can't be opened by a retry of the task either.
    fn from(error: OpenError) -> Self {
        ApplicationFailure::from(error).into()
    }
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
    /// id where it isn't the default, and the workspace where the session has one, and over the sorted
    /// conversations, each as store, scope and id: what a run addresses. A continued run compares it
    /// with the run before.
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
        let addressed: Vec<Value> = memories.chain(conversations).collect();
        short_hash(&canonical_json(&json!(addressed)))
    }

    pub(crate) fn conversations(&self) -> Vec<OpenedConversation> {
        self.shared.conversations.borrow().clone()
    }

    /// From now on the conversation is among what the run addresses.
    pub(crate) fn hold_conversation(&self, conversation: OpenedConversation) {
        self.shared.conversations.borrow_mut().push(conversation);
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
