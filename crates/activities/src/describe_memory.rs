//! `describe_memory`: what there is to know of a run's memories before its first model request.

use notekeeper_contract::{DescribeMemoryInput, DescribeMemoryOutput};

use crate::{Failure, Notebook};

impl Notebook {
    /// Describes the stores of memories, in the order of the requests. It reads the settings and no
    /// store, so it answers for workspaces that other workers serve as well.
    ///
    /// # Errors
    ///
    /// A [`Failure`] for the first memory whose store or workspace isn't there, or that has no
    /// workspace and needs one.
    pub fn describe(&self, input: &DescribeMemoryInput) -> Result<DescribeMemoryOutput, Failure> {
        let places = input.memories.iter().enumerate();
        let memories = places.map(|(index, place)| {
            let described = self
                .stores
                .describe(&place.store, place.workspace.as_deref());
            described.map_err(|failure| Failure {
                message: format!("memory {index} (from 0): {}", failure.message),
                ..failure
            })
        });
        Ok(DescribeMemoryOutput {
            memories: memories.collect::<Result<_, _>>()?,
        })
    }
}
