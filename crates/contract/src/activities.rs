//! One module for each activity, named as the activity is.

pub(crate) mod add_messages;
pub(crate) mod call_model;
pub(crate) mod clear_messages;
pub(crate) mod delete_memory;
pub(crate) mod describe_memory;
pub(crate) mod forget;
pub(crate) mod get_messages;
pub(crate) mod list_conversations;
pub(crate) mod list_facts;
pub(crate) mod list_memory;
pub(crate) mod load_snapshot;
pub(crate) mod query_source;
pub(crate) mod read_memory;
pub(crate) mod recall;
pub(crate) mod remember;
pub(crate) mod search_memory;
pub(crate) mod summarize_messages;
pub(crate) mod tool;
pub(crate) mod write_memory;
pub(crate) mod write_source;
