//! A source as a tool of the model.

use std::future::Future;

use notekeeper_contract::{ChatToolDefinition, Refused};
use notekeeper_domain::{
    CHARS_PER_TOKEN, GROUNDING_TOKENS_DEFAULT, GROUNDING_TOKENS_MAX, TOOL_NAME_BYTES_MAX, Where,
    items_for_model, source_tool, source_tool_name,
};
use serde::Deserialize;
use serde_json::json;
use temporalio_workflow::WorkflowContext;

use super::{
    Found, Recall,
    settings::{check_condition, check_k},
};
use crate::{
    CallFailure, OpenError, StepCall, ToolResult,
    tool_call::{arguments, invalid_arguments, refuse_no_object},
};

/// Longest description of a tool, in characters.
const DESCRIPTION_CHARS_MAX: usize = 4_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
}

/// How a model may ask a source.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallTool {
    /// Name, as the model sees it: 1 to 64 ASCII letters, digits, `_` and `-`. Where there is none it is
    /// `hybrid_search` for the source `hybrid`, and `search_` with the name of any other.
    pub name: Option<String>,
    /// What the tool does, for the model; ours where there is none.
    pub description: Option<String>,
    /// Most items of an answer, 1 to 100; what the handle's settings say where there is none.
    pub k: Option<usize>,
    /// What the metadata of the items must be, which the model neither sees nor changes; what the
    /// handle's settings say where there is none.
    pub condition: Option<Where>,
    /// Most that an answer may have, in tokens of four characters, 1 to 16,000.
    pub max_tokens: usize,
}

impl Default for RecallTool {
    fn default() -> Self {
        Self {
            name: None,
            description: None,
            k: None,
            condition: None,
            max_tokens: GROUNDING_TOKENS_DEFAULT,
        }
    }
}

/// A source as a tool of the model: its definition, and its calls. Clones are the same tool.
#[derive(Debug, Clone)]
pub struct SourceTool {
    recall: Recall,
    name: String,
    description: Option<String>,
    k: usize,
    condition: Where,
    chars_max: usize,
}

impl Recall {
    /// The source as a tool of the model.
    ///
    /// # Errors
    ///
    /// [`OpenError::Source`] names the setting that is out of bounds.
    pub fn tool(&self, tool: RecallTool) -> Result<SourceTool, OpenError> {
        let settings = self.settings();
        let made = SourceTool {
            recall: self.clone(),
            name: tool
                .name
                .unwrap_or_else(|| source_tool_name(&settings.source)),
            description: tool.description,
            k: tool.k.unwrap_or(settings.k),
            condition: tool.condition.unwrap_or_else(|| settings.condition.clone()),
            chars_max: tool.max_tokens.saturating_mul(CHARS_PER_TOKEN),
        };
        made.check(tool.max_tokens).map_err(OpenError::Source)?;
        Ok(made)
    }
}

impl SourceTool {
    fn check(&self, max_tokens: usize) -> Result<(), String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if !(1..=TOOL_NAME_BYTES_MAX).contains(&self.name.len()) || !self.name.bytes().all(plain) {
            return Err(format!(
                "`tool` must be 1 to {TOOL_NAME_BYTES_MAX} ASCII letters, digits, `_` and `-`, also \
                 where it follows from the name of the source"
            ));
        }
        let description = self.description.as_deref().unwrap_or_default();
        if description.contains('\0') || description.chars().count() > DESCRIPTION_CHARS_MAX {
            return Err(format!(
                "`description` must have at most {DESCRIPTION_CHARS_MAX} characters, none of them NUL"
            ));
        }
        if !(1..=GROUNDING_TOKENS_MAX).contains(&max_tokens) {
            return Err(format!("`max_tokens` must be 1 to {GROUNDING_TOKENS_MAX}"));
        }
        check_k("k", self.k)?;
        check_condition("where", &self.condition)
    }

    /// The tool for the model request.
    pub fn definition(&self) -> ChatToolDefinition {
        let source = &self.recall.settings().source;
        source_tool(source, &self.name, self.description.as_deref()).into()
    }

    /// Name, as the model sees it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The handle that it asks.
    pub fn recall(&self) -> &Recall {
        &self.recall
    }

    /// Carries out one call of the model. The answer is JSON: `items`, each with `source`, `content`, and
    /// `id` and `metadata` where it has them; `omitted` where more were found than fit; `unheard` with the
    /// names of sources of a composition that didn't answer; `incomplete` with those of sources that looked at
    /// a part alone of what they are over. Arguments that don't fit come back as a refused result.
    ///
    /// # Errors
    ///
    /// The activity's failure.
    pub fn call_tool<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        call: &StepCall,
    ) -> impl Future<Output = Result<ToolResult, CallFailure>> + 'c {
        let patience_ms = self.recall.settings().activities.schedule_to_close_ms;
        self.call_tool_within(ctx, call, patience_ms)
    }

    /// As [`SourceTool::call_tool`], and ends within so many milliseconds.
    pub(crate) fn call_tool_within<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        call: &StepCall,
        schedule_to_close_ms: u64,
    ) -> impl Future<Output = Result<ToolResult, CallFailure>> + use<'c, W> {
        let planned = refuse_no_object(ctx, call).and_then(|()| query_of(call));
        let planned = planned.map(|query| {
            let recall = &self.recall;
            let options = recall.options_within(schedule_to_close_ms);
            // One more than fits, so that what was cut there is seen not to fit.
            let chars_max = Some(self.chars_max + 1);
            recall.ask(ctx, &query, self.k, &self.condition, chars_max, options)
        });
        async move {
            match planned {
                Ok(scheduled) => Ok(ToolResult {
                    content: self.told(&scheduled.await?),
                    refused: None,
                }),
                Err(refused) => Ok(ToolResult::refused(refused)),
            }
        }
    }

    /// What the model reads of what was found.
    fn told(&self, found: &Found) -> String {
        let mut told = items_for_model(&found.items, found.omitted, self.chars_max);
        let unheard = found.unheard();
        if !unheard.is_empty() {
            told["unheard"] = json!(unheard);
        }
        if !found.incomplete.is_empty() {
            told["incomplete"] = json!(found.incomplete);
        }
        told.to_string()
    }
}

fn query_of(call: &StepCall) -> Result<String, Refused> {
    let SearchArguments { query } = arguments(&call.call.arguments)?;
    if query.contains('\0') {
        return Err(invalid_arguments(
            "`query` contains a NUL character (U+0000); leave it out",
        ));
    }
    Ok(query)
}
