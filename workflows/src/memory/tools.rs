//! The model's calls of the memory tools.

use std::future::Future;

use notekeeper_contract::{
    DeleteMemory, DeleteMemoryInput, MemoryContent, Outcome, ReadMemory, ReadMemoryInput, Refused,
    SearchMemory, SearchMemoryInput, WriteMemory, WriteMemoryInput,
};
use notekeeper_domain as domain;
use serde::Deserialize;
use temporalio_workflow::WorkflowContext;

use super::Memory;
use crate::{
    CallFailure, StepCall, ToolResult,
    activity_call::call,
    tool_call::{NO_SUCH_TOOL, arguments, invalid_arguments, json_text, refuse_no_object, told},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    content: String,
    #[serde(default = "main_note")]
    file: String,
    #[serde(default)]
    old_text: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileArguments {
    file: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
}

fn main_note() -> String {
    domain::MAIN_NOTE.to_owned()
}

/// A tool call that is ready to be scheduled.
enum Request {
    Write(WriteMemoryInput),
    Read(ReadMemoryInput),
    Delete(DeleteMemoryInput),
    Search(SearchMemoryInput),
}

impl Memory {
    /// Whether `name` is one of this memory's tools.
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
        let planned = refuse_no_object(ctx, call).and_then(|()| self.plan(call));
        let planned = planned.map(|request| {
            let id = self.inner.session.next_activity_id();
            self.schedule(ctx, request, id)
        });
        async move {
            match planned {
                Ok(scheduled) => scheduled.await,
                Err(refused) => Ok(ToolResult::refused(refused)),
            }
        }
    }

    fn tool_of(&self, name: &str) -> Option<&'static str> {
        [
            domain::WRITE_MEMORY,
            domain::READ_MEMORY,
            domain::DELETE_MEMORY,
            domain::SEARCH_MEMORY,
        ]
        .into_iter()
        .find(|tool| self.settings().tool_name(tool) == name)
    }

    fn plan(&self, step_call: &StepCall) -> Result<Request, Refused> {
        let call = &step_call.call;
        let settings = self.settings();
        let (store, scope) = (settings.store.clone(), self.scope_ref());
        let workspace = self.workspace();
        let operation = step_call
            .operation(self.scope())
            .map_err(|e| invalid_arguments(&e.to_string()))?;
        let offered = self.offered();
        match self.tool_of(&call.name).filter(|tool| offered.has(tool)) {
            Some(domain::WRITE_MEMORY) => {
                let arguments: WriteArguments = arguments(&call.arguments)?;
                Ok(Request::Write(WriteMemoryInput {
                    store,
                    workspace,
                    scope,
                    operation: Some(operation),
                    content: arguments.content,
                    file: arguments.file,
                    old_text: arguments.old_text,
                    expected_version: None,
                    max_memory_size: settings.max_memory_size,
                    write_metadata: settings.write_metadata.clone(),
                }))
            }
            Some(domain::READ_MEMORY) => {
                let FileArguments { file } = arguments(&call.arguments)?;
                let max_memory_size = settings.max_memory_size;
                Ok(Request::Read(ReadMemoryInput {
                    store,
                    workspace,
                    scope,
                    file,
                    max_memory_size,
                    // The model reads the answer.
                    include_write_metadata: false,
                }))
            }
            Some(domain::DELETE_MEMORY) => {
                let FileArguments { file } = arguments(&call.arguments)?;
                Ok(Request::Delete(DeleteMemoryInput {
                    store,
                    workspace,
                    scope,
                    operation: Some(operation),
                    file,
                    expected_version: None,
                }))
            }
            Some(domain::SEARCH_MEMORY) => {
                let SearchArguments { query } = arguments(&call.arguments)?;
                Ok(Request::Search(SearchMemoryInput {
                    store,
                    workspace,
                    scope,
                    query,
                    max_search_results: settings.max_search_results,
                    max_search_result_chars: settings.max_search_result_chars,
                    max_search_files: settings.max_search_files,
                    max_memory_size: settings.max_memory_size,
                }))
            }
            _ => Err(Refused {
                reason: "unknown_tool".to_owned(),
                message: NO_SUCH_TOOL.to_owned(),
            }),
        }
    }

    /// The outcome of a write, in the words for a model that reads the files itself: a passage that
    /// isn't there is to be looked for where the model can.
    fn for_file_reader<T>(&self, outcome: Outcome<T>, file: &str) -> Outcome<T> {
        let not_found = domain::Refusal::OldTextNotFound.code();
        match (
            outcome,
            self.files_shown(),
            domain::NoteName::from_tool(file),
        ) {
            (Outcome::Refused(refused), Some(files), Ok(name)) if refused.reason == not_found => {
                Outcome::Refused(Refused {
                    message: files.old_text_not_found(&name),
                    ..refused
                })
            }
            (outcome, ..) => outcome,
        }
    }

    async fn schedule<W>(
        &self,
        ctx: &WorkflowContext<W>,
        request: Request,
        activity_id: String,
    ) -> Result<ToolResult, CallFailure> {
        let time = self.settings().activities.schedule_to_close_ms;
        let options = self.options_within(activity_id, time);
        match request {
            Request::Write(input) => {
                let file = input.file.clone();
                let outcome = call(ctx, WriteMemory, input, options).await?;
                told(self.for_file_reader(outcome, &file), json_text)
            }
            Request::Read(input) => told(call(ctx, ReadMemory, input, options).await?, note_text),
            Request::Delete(input) => {
                told(call(ctx, DeleteMemory, input, options).await?, json_text)
            }
            Request::Search(input) => {
                told(call(ctx, SearchMemory, input, options).await?, json_text)
            }
        }
    }
}

fn note_text(note: &MemoryContent) -> String {
    domain::read_result_text(&note.content, note.truncated)
}
