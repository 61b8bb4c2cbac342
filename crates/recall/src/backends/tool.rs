//! The source over a search tool.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::Item;
use serde_json::{Map, Value, json};

use super::tool_result::items_of;
use crate::{
    Answer, SearchTool, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// A source that asks a tool. The tool gets the query under one argument, the limit as `limit`, and the
/// conditions beside them, which take the place of those two where they have their names. What the
/// conditions mean is the tool's to say.
///
/// It never writes: a tool that changes something stays a tool.
#[derive(Debug)]
pub struct ToolSource {
    name: String,
    tool: Arc<dyn SearchTool>,
    query_arg: String,
}

impl ToolSource {
    /// A source over a tool that takes the query as `query_arg`.
    pub fn new(
        name: impl Into<String>,
        tool: Arc<dyn SearchTool>,
        query_arg: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            tool,
            query_arg: query_arg.into(),
        }
    }

    fn arguments(&self, query: &SourceQuery) -> Map<String, Value> {
        let mut arguments = Map::new();
        arguments.insert(self.query_arg.clone(), json!(query.text));
        arguments.insert("limit".to_owned(), json!(query.limit));
        let conditions = query.condition.conditions();
        arguments.extend(conditions.map(|(key, value)| (key.to_owned(), value.clone())));
        arguments
    }
}

#[async_trait]
impl Source for ToolSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        if query.limit == 0 {
            return Ok(Answer::default());
        }
        let result = self.tool.call(self.arguments(query), call).await?;
        let mut items = items_of(result, &self.name);
        items.truncate(query.limit);
        Ok(Answer::of(items))
    }

    async fn write(
        &self,
        items: &[Item],
        _operation: &WriteOperation,
        _call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(Written::nothing_of(items, &self.name))
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}
