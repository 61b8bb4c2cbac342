//! Tools of an application that keep what a user prefers.
//!
//! `AgentWorkflow` calls them as activities, with the model's arguments, the scope that workflow code
//! decided on, and the identity of the call. They keep facts in that scope: the model names keys and
//! values, and can't reach another tenant's.

#![expect(
    missing_docs,
    reason = "the macro makes a public constant of each activity and drops its documentation"
)]

use std::sync::Arc;

use notekeeper_activities::{Caller, Failure, Notebook};
use notekeeper_contract::{Argument, Outcome, RecallForm, RecallInput, RememberInput, ToolInput};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

/// The tools `save_preference` and `lookup`.
#[derive(Debug, Clone)]
pub struct ProfileTools {
    notebook: Notebook,
    /// Name of the store that keeps the facts.
    store: String,
}

/// Arguments of `save_preference`.
#[derive(Deserialize)]
struct Preference {
    key: String,
    value: String,
}

/// Arguments of `lookup`.
#[derive(Deserialize)]
struct Lookup {
    query: String,
}

impl ProfileTools {
    /// Tools that keep facts in this store of the notebook.
    pub fn new(notebook: Notebook, store: impl Into<String>) -> Self {
        Self {
            notebook,
            store: store.into(),
        }
    }

    async fn save(&self, tool: ToolInput, caller: &Caller) -> Result<String, Failure> {
        let preference: Preference = match arguments(tool.arguments) {
            Ok(preference) => preference,
            Err(told) => return Ok(told),
        };
        let input = RememberInput {
            store: self.store.clone(),
            workspace: tool.workspace,
            scope: tool.scope,
            key: preference.key,
            value: preference.value,
            // The same for every attempt at this call, and for no other call.
            operation: Some(tool.operation.part("save")),
        };
        Ok(match self.notebook.remember(input, caller).await? {
            Outcome::Ok(kept) => format!("Saved {}.", kept.key),
            Outcome::Refused(refused) => format!("Not saved: {}.", refused.message),
        })
    }

    async fn look_up(&self, tool: ToolInput) -> Result<Value, Failure> {
        let lookup: Lookup = match arguments(tool.arguments) {
            Ok(lookup) => lookup,
            Err(told) => return Ok(told.into()),
        };
        let input = RecallInput {
            store: self.store.clone(),
            workspace: tool.workspace,
            scope: tool.scope,
            query: lookup.query,
            limit: 5,
            form: RecallForm::Values,
        };
        Ok(self.notebook.recall(input).await?.values.into())
    }
}

/// The model's arguments, or what to tell it. A model can correct them, so they are no failure.
fn arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|_| {
        "The arguments don't fit the tool: give each that it names, as a text.".to_owned()
    })
}

#[activities]
impl ProfileTools {
    /// Persists a user preference for future conversations.
    #[activity(name = "save_preference")]
    pub async fn save_preference(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<ToolInput>,
    ) -> Result<String, ActivityError> {
        let caller = Caller::from(context.info());
        let tool = input.decoded().map_err(Failure::from)?;
        Ok(self.save(tool, &caller).await?)
    }

    /// Searches stored preferences by free text.
    #[activity(name = "lookup")]
    pub async fn lookup(
        self: Arc<Self>,
        _context: ActivityContext,
        input: Argument<ToolInput>,
    ) -> Result<Value, ActivityError> {
        let tool = input.decoded().map_err(Failure::from)?;
        Ok(self.look_up(tool).await?)
    }
}
