//! What commands have in common that read and change the memory of a scope, in a store directly or
//! through the activities of a worker.

mod arguments;
mod carry_out;
mod effect;
mod open;
mod over_temporal;

pub(crate) use arguments::{ActivityArgs, OperationArgs, ScopeArgs, Via, at_least_one};
pub(crate) use carry_out::as_many_as_asked;
pub(crate) use effect::{Changed, Effect, INCOMPLETE, Remedy, already, told_if_unsure};
pub(crate) use open::{Access, Kept, Place, Purpose, coded, failed, nobody};
pub(crate) use over_temporal::OverTemporal;
