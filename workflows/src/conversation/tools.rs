//! The model's calls of the tools of facts.

use std::future::Future;

use notekeeper_contract::{
    ChatToolDefinition, Forget, ForgetInput, Recall, RecallForm, RecallInput, RecallOutput,
    Refused, Remember, RememberInput,
};
use notekeeper_domain::{self as domain, FORGET, RECALL, REMEMBER};
use serde::Deserialize;
use serde_json::json;
use temporalio_workflow::WorkflowContext;

use super::Conversation;
use crate::{
    CallFailure, StepCall, ToolResult,
    activity_call::{CallOptions, call},
    tool_call::{NO_SUCH_TOOL, arguments, invalid_arguments, json_text, refuse_no_object, told},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberArguments {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallArguments {
    #[serde(default)]
    query: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForgetArguments {
    key: String,
}

/// A tool call that is ready to be scheduled.
enum Request {
    Remember(RememberInput),
    Recall(RecallInput),
    Forget(ForgetInput),
}

impl Conversation {
    /// The tools of facts, for the model request. They are offered or not as the caller likes.
    pub fn tools(&self) -> Vec<ChatToolDefinition> {
        let tools = domain::fact_tools(&self.settings().prefix);
        tools.into_iter().map(Into::into).collect()
    }

    /// Whether `name` is one of the tools of facts.
    pub fn owns_tool(&self, name: &str) -> bool {
        self.tool_of(name).is_some()
    }

    /// Carries out one tool call of the model. What the model can correct comes back as a refused
    /// result, whether workflow code or the activity found it.
    ///
    /// # Errors
    ///
    /// The activity's failure. `OperationConflict` says that the call's id was used with other
    /// arguments; the workflow may go on and tell the model.
    pub fn call_tool<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        call: &StepCall,
    ) -> impl Future<Output = Result<ToolResult, CallFailure>> + 'c {
        let planned = refuse_no_object(ctx, call)
            .and_then(|()| self.plan(call))
            .map(|request| schedule(ctx, request, self.options()));
        async move {
            match planned {
                Ok(scheduled) => scheduled.await,
                Err(refused) => Ok(ToolResult::refused(refused)),
            }
        }
    }

    fn tool_of(&self, name: &str) -> Option<&'static str> {
        [REMEMBER, RECALL, FORGET]
            .into_iter()
            .find(|tool| self.settings().tool_name(tool) == name)
    }

    fn plan(&self, step_call: &StepCall) -> Result<Request, Refused> {
        let call = &step_call.call;
        let operation = step_call
            .operation(self.scope())
            .map_err(|error| invalid_arguments(&error.to_string()))?;
        match self.tool_of(&call.name) {
            Some(REMEMBER) => {
                let RememberArguments { key, value } = arguments(&call.arguments)?;
                Ok(Request::Remember(
                    self.remember_input(key, value, operation),
                ))
            }
            Some(RECALL) => {
                let RecallArguments { query } = arguments(&call.arguments)?;
                let limit = self.settings().max_recalled_facts;
                let input = self.recall_input(query, limit, RecallForm::Facts);
                Ok(Request::Recall(input))
            }
            Some(FORGET) => {
                let ForgetArguments { key } = arguments(&call.arguments)?;
                Ok(Request::Forget(self.forget_input(key, operation)))
            }
            _ => Err(Refused {
                reason: "unknown_tool".to_owned(),
                message: NO_SUCH_TOOL.to_owned(),
            }),
        }
    }
}

async fn schedule<W>(
    ctx: &WorkflowContext<W>,
    request: Request,
    options: CallOptions,
) -> Result<ToolResult, CallFailure> {
    match request {
        Request::Remember(input) => told(call(ctx, Remember, input, options).await?, json_text),
        Request::Recall(input) => Ok(ToolResult {
            content: facts_text(&call(ctx, Recall, input, options).await?),
            refused: None,
        }),
        Request::Forget(input) => told(call(ctx, Forget, input, options).await?, json_text),
    }
}

/// What the model reads of facts: keys and values, best match first.
fn facts_text(recalled: &RecallOutput) -> String {
    let facts: Vec<_> = recalled
        .facts
        .iter()
        .map(|fact| json!({"key": fact.key, "value": fact.value}))
        .collect();
    match recalled.truncated {
        true => json!({"facts": facts, "truncated": true}).to_string(),
        false => json!({"facts": facts}).to_string(),
    }
}
