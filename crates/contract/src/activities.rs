//! One module for each activity, named as the activity is.

pub(crate) mod call_model;
pub(crate) mod delete_memory;
pub(crate) mod describe_memory;
pub(crate) mod list_memory;
pub(crate) mod load_snapshot;
pub(crate) mod read_memory;
pub(crate) mod search_memory;
pub(crate) mod tool;
pub(crate) mod write_memory;
