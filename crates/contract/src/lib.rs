//! What a workflow may ask of Notekeeper: activity names, and the JSON that goes in and out.
//!
//! Payloads are plain JSON objects, one argument for each activity, and change only by addition,
//! so that a workflow in any language can call by name. No domain type stands in a wire field:
//! what histories hold must not change with a refactoring.

mod activities;
mod argument;
mod defaults;
#[cfg(test)]
mod document;
mod failure;
mod known_keys;
mod messages;
mod outcome;
mod preamble;
mod shared;
mod write_metadata;

pub use activities::{
    add_messages::{AddMessages, AddMessagesInput, AddMessagesOutput},
    call_model::{
        CallModel, CallModelInput, CallModelOutput, ConversationRange, ConversationSummary,
        MemoryBlock, PreambleRef,
    },
    clear_messages::{ClearMessages, ClearMessagesInput, ClearMessagesOutput},
    delete_memory::{DeleteMemory, DeleteMemoryInput, DeletedMemory},
    describe_memory::{
        DescribeMemory, DescribeMemoryInput, DescribeMemoryOutput, MemoryDescription, MemoryPlace,
    },
    forget::{Forget, ForgetInput, Forgotten},
    get_messages::{
        GetMessages, GetMessagesInput, GetMessagesOutput, MessageForm, OutlinedMessage,
    },
    list_conversations::{
        ListConversations, ListConversationsInput, ListConversationsOutput, ListedConversation,
    },
    list_facts::{ListFacts, ListFactsInput, ListFactsOutput, ListedFact},
    list_memory::{ListMemory, ListMemoryInput, ListedMemory, MemoryFile},
    load_snapshot::{
        Delivery, LoadSnapshot, LoadSnapshotInput, LoadSnapshotOutput, RenderOptions,
        SnapshotAnswer, SnapshotRequest, SnapshotStats,
    },
    query_source::{FailedSource, FoundItem, QuerySource, QuerySourceInput, QuerySourceOutput},
    read_memory::{MemoryContent, ReadMemory, ReadMemoryInput},
    recall::{Recall, RecallForm, RecallInput, RecallOutput, RecalledFact},
    remember::{Remember, RememberInput, Remembered},
    search_memory::{MemoryMatch, MemoryMatches, SearchMemory, SearchMemoryInput},
    summarize_messages::{SummarizeMessages, SummarizeMessagesInput, SummarizeMessagesOutput},
    tool::ToolInput,
    write_memory::{WriteMemory, WriteMemoryInput, WrittenMemory},
    write_source::{SourceEvent, WriteSource, WriteSourceInput, WriteSourceOutput, WrittenItem},
};
pub use argument::{Argument, BadArgument, read_tool_arguments};
pub use failure::FailureType;
pub use known_keys::{UnknownKey, Unreadable, read_strictly};
pub use messages::{ChatMemory, ChatMessage, ChatToolCall, ChatToolDefinition};
pub use outcome::{Outcome, Refused};
pub use preamble::Preamble;
pub use shared::{
    DEFAULT_STORE, MEMORY_TASK_QUEUE, OperationRef, RESULT_BYTES_MAX, ScopeRef, WORKFLOW_TASK_QUEUE,
};
pub use write_metadata::MetadataSource;
