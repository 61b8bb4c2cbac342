//! The workflow type `AgentWorkflow`.

#![expect(
    missing_docs,
    reason = "the SDK's macro makes constants without a text"
)]

crate::agent_workflow! {
    /// A conversation whose namespace stands in its input.
    pub struct AgentWorkflow = "AgentWorkflow", namespace: |input: &crate::AgentInput| {
        input.namespace.clone()
    };
}
