//! End to end: real servers, worker processes, and the whole way between a message and a note.

#[path = "../support/mod.rs"]
mod support;

mod admission;
mod chat;
mod chat_resumes;
mod config_check;
mod continuation;
mod contract;
mod conversation;
mod conversation_handle;
mod dev;
mod fact_commands;
mod failures;
mod fetched_histories;
mod grounding;
mod live_model;
mod local_activities;
mod long_conversations;
mod messages_commands;
mod note_commands;
mod operations;
mod other_tools;
mod payloads;
mod placement;
mod profile_tools;
mod python;
mod recall_handle;
mod record;
mod reset;
mod secrets;
mod sizes;
mod snapshots;
mod source_commands;
mod sources;
mod standalone;
mod startup;
mod stored_transcript;
mod supervised;
mod telemetry;
mod tools;
mod workers;
mod workspaces;
mod write_metadata;
