//! Steps: one model request and the tool calls of its response.

use notekeeper_contract::{ChatToolCall, OperationRef};
use notekeeper_domain::{InvalidOperation, OperationId, Scope, distinct_call_ids};

/// Identity of one model request. It lives as long as the recorded response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    run_id: String,
    number: u64,
}

/// A tool call of a response, under an id that is unique in it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCall {
    /// The call; its id is unique in the response.
    pub call: ChatToolCall,
    step: Step,
}

impl Step {
    pub(crate) fn new(run_id: String, number: u64) -> Self {
        Self { run_id, number }
    }

    /// Number of the step in its run, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The run id and the number, as texts.
    pub(crate) fn parts(&self) -> [String; 2] {
        [self.run_id.clone(), self.number.to_string()]
    }

    /// Takes the tool calls of the response. A call whose id is empty, or was seen in this
    /// response, gets `{id}#{index}`, so that each keeps an operation of its own.
    pub fn calls(&self, calls: &[ChatToolCall]) -> Vec<StepCall> {
        let ids = distinct_call_ids(calls.iter().map(|call| call.id.as_str()));
        let calls = calls.iter().zip(ids).map(|(call, id)| StepCall {
            call: ChatToolCall { id, ..call.clone() },
            step: self.clone(),
        });
        calls.collect()
    }
}

impl StepCall {
    /// The operation of this call in a scope.
    ///
    /// # Errors
    ///
    /// Never for calls that come from [`Step::calls`], whose ids are not empty.
    pub fn operation(&self, scope: &Scope) -> Result<OperationRef, InvalidOperation> {
        let id = OperationId::derive(&self.step.run_id, self.step.number, scope, &self.call.id)?;
        Ok(OperationRef {
            id: id.as_str().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn call(id: &str) -> ChatToolCall {
        ChatToolCall {
            id: id.to_owned(),
            name: "write_memory".to_owned(),
            arguments: Value::Null,
        }
    }

    fn ids(given: &[&str]) -> Vec<String> {
        let calls: Vec<_> = given.iter().map(|id| call(id)).collect();
        Step::new("r".to_owned(), 1)
            .calls(&calls)
            .into_iter()
            .map(|c| c.call.id)
            .collect()
    }

    #[test]
    fn repeated_and_empty_ids_are_told_apart_by_their_index() {
        assert_eq!(
            ids(&["call_0", "call_0", "", ""]),
            ["call_0", "call_0#1", "#2", "#3"]
        );
    }

    #[test]
    fn an_id_that_looks_like_a_made_one_stays_its_own() {
        assert_eq!(ids(&["a", "a", "a#1"]), ["a", "a#1#1", "a#1"]);
        assert_eq!(ids(&["a#1", "a", "a"]), ["a#1", "a", "a#2"]);
    }

    #[test]
    fn operations_differ_by_run_step_scope_and_call() {
        let scope = |path| Scope::parse(path).expect("valid scope");
        let operation = |run: &str, number, path, id| {
            let calls = Step::new(run.to_owned(), number).calls(&[call(id)]);
            calls[0]
                .operation(&scope(path))
                .expect("complete identity")
                .id
        };
        let all = [
            operation("r", 1, "main", "a"),
            operation("s", 1, "main", "a"),
            operation("r", 2, "main", "a"),
            operation("r", 1, "org", "a"),
            operation("r", 1, "main", "b"),
        ];
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(all[0], operation("r", 1, "main", "a"));
    }
}
