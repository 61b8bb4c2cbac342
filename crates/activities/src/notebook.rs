//! The notebook: the memory operations of the contract over the configured stores.

use notekeeper_contract::OperationRef;
use notekeeper_domain::{InvalidOperation, OperationId};

use crate::{Caller, Stores};

/// Runs the memory operations of the contract. Activities, the command line and tests use it; it
/// needs no Temporal.
///
/// Each operation is a method named as what it does: `write`, `read`, `delete`, `search`, `list`,
/// `load_snapshot`. Two more are for people alone and no activities: `read_whole` and
/// `replace_whole`.
#[derive(Debug, Clone)]
pub struct Notebook {
    pub(crate) stores: Stores,
}

impl Notebook {
    /// A notebook over these stores.
    pub fn new(stores: Stores) -> Self {
        Self { stores }
    }
}

/// The id of a mutation: the caller's own, or one that follows from where the call comes from.
pub(crate) fn operation_id(
    operation: Option<&OperationRef>,
    caller: &Caller,
) -> Result<OperationId, InvalidOperation> {
    match operation {
        Some(operation) => OperationId::parse(&operation.id),
        None => Ok(caller.operation_id()),
    }
}
