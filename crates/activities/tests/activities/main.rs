//! The operations of the contract, without a Temporal server and without a database.

#[cfg(test)]
mod call_model;
mod custom_stores;
#[cfg(test)]
mod delete_memory;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod failures;
#[cfg(all(test, feature = "fault-points"))]
mod fault_points;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod list_memory;
#[cfg(test)]
mod load_snapshot;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod metadata;
#[cfg(test)]
mod operation_ids;
#[cfg(test)]
mod read_memory;
#[cfg(test)]
mod replace_whole;
#[cfg(test)]
mod search_memory;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod stored_requests;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod workspaces;
#[cfg(test)]
mod write_memory;
