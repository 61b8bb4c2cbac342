//! The workflow type `AgentWorkflow`.

#![expect(
    missing_docs,
    reason = "the SDK's macro makes constants without a text"
)]

crate::agent_workflow! {
    /// A conversation whose namespace stands in its input, or in the settings of a memory that has one
    /// of its own.
    pub struct AgentWorkflow = "AgentWorkflow", namespaces: |input: &crate::AgentInput, memory: &crate::MemorySettings| {
        memory.namespace.as_ref().unwrap_or(&input.namespace).clone()
    };
}
