//! What callers read of the contract: `docs/contract.md`, whose tables are made from the types and
//! their documentation, and the JSON Schemas beside it.

mod schemas;
mod tables;
mod tests;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    AddMessagesInput, AddMessagesOutput, CallModelInput, CallModelOutput, ChatMemory, ChatMessage,
    ChatToolCall, ChatToolDefinition, ClearMessagesInput, ClearMessagesOutput, ConversationRange,
    ConversationSummary, DeleteMemoryInput, DeletedMemory, Delivery, DescribeMemoryInput,
    DescribeMemoryOutput, FailedSource, FailureType, ForgetInput, Forgotten, FoundItem,
    GetMessagesInput, GetMessagesOutput, ListConversationsInput, ListConversationsOutput,
    ListFactsInput, ListFactsOutput, ListMemoryInput, ListedConversation, ListedFact, ListedMemory,
    LoadSnapshotInput, LoadSnapshotOutput, MemoryBlock, MemoryContent, MemoryDescription,
    MemoryFile, MemoryMatch, MemoryMatches, MemoryPlace, MessageForm, MetadataSource, OperationRef,
    Outcome, OutlinedMessage, PreambleRef, QuerySourceInput, QuerySourceOutput, ReadMemoryInput,
    RecallForm, RecallInput, RecallOutput, RecalledFact, Refused, RememberInput, Remembered,
    RenderOptions, ScopeRef, SearchMemoryInput, SnapshotAnswer, SnapshotRequest, SnapshotStats,
    SourceEvent, SummarizeMessagesInput, SummarizeMessagesOutput, ToolInput, WriteMemoryInput,
    WriteSourceInput, WriteSourceOutput, WrittenItem, WrittenMemory, write_metadata::SourceJson,
};

/// Which way a type goes: what may be left out differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To an activity.
    Argument,
    /// From an activity.
    Result,
}

/// A table's text, by the name that stands in the document's marker; `None` where there is none.
fn table(name: &str) -> Option<String> {
    use Way::{Argument, Result};
    Some(match name {
        "WriteMemoryInput" => fields::<WriteMemoryInput>(Argument),
        "WrittenMemory" => fields::<WrittenMemory>(Result),
        "ReadMemoryInput" => fields::<ReadMemoryInput>(Argument),
        "MemoryContent" => fields::<MemoryContent>(Result),
        "DeleteMemoryInput" => fields::<DeleteMemoryInput>(Argument),
        "DeletedMemory" => fields::<DeletedMemory>(Result),
        "SearchMemoryInput" => fields::<SearchMemoryInput>(Argument),
        "MemoryMatches" => fields::<MemoryMatches>(Result),
        "MemoryMatch" => fields::<MemoryMatch>(Result),
        "ListMemoryInput" => fields::<ListMemoryInput>(Argument),
        "ListedMemory" => fields::<ListedMemory>(Result),
        "MemoryFile" => fields::<MemoryFile>(Result),
        "DescribeMemoryInput" => fields::<DescribeMemoryInput>(Argument),
        "MemoryPlace" => fields::<MemoryPlace>(Argument),
        "DescribeMemoryOutput" => fields::<DescribeMemoryOutput>(Result),
        "MemoryDescription" => fields::<MemoryDescription>(Result),
        "LoadSnapshotInput" => fields::<LoadSnapshotInput>(Argument),
        "SnapshotRequest" => fields::<SnapshotRequest>(Argument),
        "RenderOptions" => fields::<RenderOptions>(Argument),
        "Delivery" => tables::values(&schema::<Delivery>(Argument)),
        "LoadSnapshotOutput" => fields::<LoadSnapshotOutput>(Result),
        "SnapshotAnswer" => tables::variants(&schema::<SnapshotAnswer>(Result), Result),
        "SnapshotStats" => fields::<SnapshotStats>(Result),
        "CallModelInput" => fields::<CallModelInput>(Argument),
        "MemoryBlock" => tables::variants(&schema::<MemoryBlock>(Argument), Argument),
        "ConversationRange" => fields::<ConversationRange>(Argument),
        "ConversationSummary" => {
            tables::variants(&schema::<ConversationSummary>(Argument), Argument)
        }
        "PreambleRef" => fields::<PreambleRef>(Argument),
        "ChatMemory" => fields::<ChatMemory>(Argument),
        "ChatMessage" => tables::variants(&schema::<ChatMessage>(Argument), Argument),
        "ChatToolDefinition" => fields::<ChatToolDefinition>(Argument),
        "CallModelOutput" => fields::<CallModelOutput>(Result),
        "ChatToolCall" => fields::<ChatToolCall>(Argument),
        "SummarizeMessagesInput" => fields::<SummarizeMessagesInput>(Argument),
        "SummarizeMessagesOutput" => fields::<SummarizeMessagesOutput>(Result),
        "ToolInput" => fields::<ToolInput>(Result),
        "Scope" => fields::<ScopeRef>(Argument),
        "WriteMetadata" => tables::fields(
            &schema::<MetadataSource>(Argument),
            crate::known_keys::fields_of::<SourceJson>(),
            Argument,
        ),
        "Operation" => fields::<OperationRef>(Argument),
        "Refused" => fields::<Refused>(Result),
        "refusals" => tables::refusals(),
        "FailureType" => tables::failures(&schema::<FailureType>(Result)),
        _ => return transcript_table(name),
    })
}

/// A table about transcripts and facts.
fn transcript_table(name: &str) -> Option<String> {
    use Way::{Argument, Result};
    Some(match name {
        "GetMessagesInput" => fields::<GetMessagesInput>(Argument),
        "MessageForm" => tables::values(&schema::<MessageForm>(Argument)),
        "GetMessagesOutput" => fields::<GetMessagesOutput>(Result),
        "OutlinedMessage" => fields::<OutlinedMessage>(Result),
        "AddMessagesInput" => fields::<AddMessagesInput>(Argument),
        "AddMessagesOutput" => fields::<AddMessagesOutput>(Result),
        "ClearMessagesInput" => fields::<ClearMessagesInput>(Argument),
        "ClearMessagesOutput" => fields::<ClearMessagesOutput>(Result),
        "RememberInput" => fields::<RememberInput>(Argument),
        "Remembered" => fields::<Remembered>(Result),
        "RecallInput" => fields::<RecallInput>(Argument),
        "RecallForm" => tables::values(&schema::<RecallForm>(Argument)),
        "RecallOutput" => fields::<RecallOutput>(Result),
        "RecalledFact" => fields::<RecalledFact>(Result),
        "ForgetInput" => fields::<ForgetInput>(Argument),
        "Forgotten" => fields::<Forgotten>(Result),
        "ListConversationsInput" => fields::<ListConversationsInput>(Argument),
        "ListConversationsOutput" => fields::<ListConversationsOutput>(Result),
        "ListedConversation" => fields::<ListedConversation>(Result),
        "ListFactsInput" => fields::<ListFactsInput>(Argument),
        "ListFactsOutput" => fields::<ListFactsOutput>(Result),
        "ListedFact" => fields::<ListedFact>(Result),
        _ => return source_table(name),
    })
}

/// A table about sources.
fn source_table(name: &str) -> Option<String> {
    use Way::{Argument, Result};
    Some(match name {
        "QuerySourceInput" => fields::<QuerySourceInput>(Argument),
        "QuerySourceOutput" => fields::<QuerySourceOutput>(Result),
        "FoundItem" => fields::<FoundItem>(Result),
        "FailedSource" => fields::<FailedSource>(Result),
        "WriteSourceInput" => fields::<WriteSourceInput>(Argument),
        "WrittenItem" => fields::<WrittenItem>(Argument),
        "WriteSourceOutput" => fields::<WriteSourceOutput>(Result),
        "SourceEvent" => fields::<SourceEvent>(Result),
        _ => return None,
    })
}

/// The schemas that are kept as files, each under the beginning of its name.
fn schema_files() -> Vec<(&'static str, Value)> {
    use Way::{Argument, Result};
    let mut files = vec![
        ("write_memory.input", schema::<WriteMemoryInput>(Argument)),
        (
            "write_memory.output",
            schema::<Outcome<WrittenMemory>>(Result),
        ),
        ("read_memory.input", schema::<ReadMemoryInput>(Argument)),
        (
            "read_memory.output",
            schema::<Outcome<MemoryContent>>(Result),
        ),
        ("delete_memory.input", schema::<DeleteMemoryInput>(Argument)),
        (
            "delete_memory.output",
            schema::<Outcome<DeletedMemory>>(Result),
        ),
        ("search_memory.input", schema::<SearchMemoryInput>(Argument)),
        (
            "search_memory.output",
            schema::<Outcome<MemoryMatches>>(Result),
        ),
        ("list_memory.input", schema::<ListMemoryInput>(Argument)),
        ("list_memory.output", schema::<ListedMemory>(Result)),
        (
            "describe_memory.input",
            schema::<DescribeMemoryInput>(Argument),
        ),
        (
            "describe_memory.output",
            schema::<DescribeMemoryOutput>(Result),
        ),
        ("load_snapshot.input", schema::<LoadSnapshotInput>(Argument)),
        ("load_snapshot.output", schema::<LoadSnapshotOutput>(Result)),
        ("call_model.input", schema::<CallModelInput>(Argument)),
        ("call_model.output", schema::<CallModelOutput>(Result)),
        (
            "summarize_messages.input",
            schema::<SummarizeMessagesInput>(Argument),
        ),
        (
            "summarize_messages.output",
            schema::<SummarizeMessagesOutput>(Result),
        ),
        ("application_tool.input", schema::<ToolInput>(Result)),
    ];
    files.extend(transcript_schema_files());
    files.extend(source_schema_files());
    files
}

fn transcript_schema_files() -> Vec<(&'static str, Value)> {
    use Way::{Argument, Result};
    vec![
        ("get_messages.input", schema::<GetMessagesInput>(Argument)),
        ("get_messages.output", schema::<GetMessagesOutput>(Result)),
        ("add_messages.input", schema::<AddMessagesInput>(Argument)),
        ("add_messages.output", schema::<AddMessagesOutput>(Result)),
        (
            "clear_messages.input",
            schema::<ClearMessagesInput>(Argument),
        ),
        (
            "clear_messages.output",
            schema::<ClearMessagesOutput>(Result),
        ),
        ("remember.input", schema::<RememberInput>(Argument)),
        ("remember.output", schema::<Outcome<Remembered>>(Result)),
        ("recall.input", schema::<RecallInput>(Argument)),
        ("recall.output", schema::<RecallOutput>(Result)),
        ("forget.input", schema::<ForgetInput>(Argument)),
        ("forget.output", schema::<Outcome<Forgotten>>(Result)),
        (
            "list_conversations.input",
            schema::<ListConversationsInput>(Argument),
        ),
        (
            "list_conversations.output",
            schema::<ListConversationsOutput>(Result),
        ),
        ("list_facts.input", schema::<ListFactsInput>(Argument)),
        ("list_facts.output", schema::<ListFactsOutput>(Result)),
    ]
}

fn source_schema_files() -> Vec<(&'static str, Value)> {
    use Way::{Argument, Result};
    vec![
        ("query_source.input", schema::<QuerySourceInput>(Argument)),
        ("query_source.output", schema::<QuerySourceOutput>(Result)),
        ("write_source.input", schema::<WriteSourceInput>(Argument)),
        ("write_source.output", schema::<WriteSourceOutput>(Result)),
    ]
}

fn fields<T: JsonSchema + DeserializeOwned>(way: Way) -> String {
    tables::fields(&schema::<T>(way), crate::known_keys::fields_of::<T>(), way)
}

fn schema<T: JsonSchema>(way: Way) -> Value {
    schemas::of::<T>(way)
}
