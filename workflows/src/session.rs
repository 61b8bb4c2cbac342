//! Sessions: what all memories of one workflow run share.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    rc::Rc,
};

use notekeeper_contract::FailureType;
use notekeeper_domain::{InvalidScope, Scope, canonical_json, memory_tools, short_hash};
use serde_json::json;
use temporalio_common_wasm::error::ApplicationFailure;
use temporalio_workflow::{WorkflowContext, WorkflowTermination};

use crate::{Memory, MemorySettings, Step};

/// What all [`Memory`] handles of one workflow run share: the counter behind activity ids, the
/// steps, and the set of scopes.
///
/// Open one at the start of a run and all memories with it, before the first call.
#[derive(Clone, Default)]
pub struct Session {
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    calls: Cell<u64>,
    steps: Cell<u64>,
    pairs: RefCell<BTreeSet<(String, String)>>,
    tool_names: RefCell<BTreeSet<String>>,
}

/// Why a memory can't be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Namespace and agent name make no scope.
    #[error("memory can't be opened: {0}")]
    Scope(#[from] InvalidScope),
    /// A setting is out of bounds.
    #[error("memory settings: {0}")]
    Settings(String),
    /// Another memory of the session has the same scope of the same store.
    #[error("two memories share one scope of one store; give each its own agent name or namespace")]
    SameScope,
    /// Another memory of the session has the same tool names.
    #[error("two memories have the same tool names; give each its own `prefix`")]
    SameTools,
}

impl OpenError {
    /// Type of the failure that a run ends with.
    pub fn failure_type(&self) -> FailureType {
        match self {
            Self::Scope(_) => FailureType::InvalidScope,
            Self::Settings(_) | Self::SameScope | Self::SameTools => FailureType::InvalidArgument,
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

    /// Opens a memory on the namespace that `resolve` gives for the workflow's input. `resolve`
    /// runs here, once; it must depend on nothing but the input.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; return it from the run with `?`.
    pub fn open<I>(
        &self,
        settings: MemorySettings,
        input: &I,
        resolve: impl FnOnce(&I) -> String,
    ) -> Result<Memory, OpenError> {
        settings.check().map_err(OpenError::Settings)?;
        let scope = Scope::resolve(&resolve(input), &settings.agent_name)?;
        let names: Vec<_> = memory_tools(&settings.prefix)
            .into_iter()
            .map(|tool| tool.name)
            .collect();
        let mut tool_names = self.shared.tool_names.borrow_mut();
        if names.iter().any(|name| tool_names.contains(name)) {
            return Err(OpenError::SameTools);
        }
        let pair = (settings.store.clone(), scope.as_str().to_owned());
        if !self.shared.pairs.borrow_mut().insert(pair) {
            return Err(OpenError::SameScope);
        }
        tool_names.extend(names);
        Ok(Memory::new(self.clone(), settings, scope))
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

    /// First 16 hexadecimal digits of SHA-256 over the sorted (store, scope) pairs: what a run
    /// addresses. A continued run compares it with the run before.
    pub fn scope_hash(&self) -> String {
        let pairs: Vec<_> = self
            .shared
            .pairs
            .borrow()
            .iter()
            .map(|(store, scope)| json!([store, scope]))
            .collect();
        short_hash(&canonical_json(&json!(pairs)))
    }

    /// The id of the next activity: `nk.{scope hash}.{n}`.
    ///
    /// Temporal compares ids on replay and no inputs, so the hash makes a resolver that answers
    /// differently a refused replay. The number is taken when a call is made, never when its
    /// future is polled, so ids follow the order of the code.
    pub(crate) fn next_activity_id(&self) -> String {
        let number = self.shared.calls.get() + 1;
        self.shared.calls.set(number);
        format!("nk.{}.{number}", self.scope_hash())
    }
}
