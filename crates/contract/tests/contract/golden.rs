//! One golden JSON for each wire struct, read back to the same value. What histories hold must keep
//! its form, so a changed snapshot here is a changed contract.

use std::{collections::BTreeMap, fmt::Debug};

use notekeeper_contract::{
    AddMessagesInput, AddMessagesOutput, CallModelInput, CallModelOutput, ChatMemory, ChatMessage,
    ChatToolCall, ChatToolDefinition, ClearMessagesInput, ClearMessagesOutput, ConversationRange,
    ConversationSummary, DeleteMemoryInput, DeletedMemory, Delivery, DescribeMemoryInput,
    DescribeMemoryOutput, FailedSource, ForgetInput, Forgotten, FoundItem, GetMessagesInput,
    GetMessagesOutput, ListConversationsInput, ListConversationsOutput, ListFactsInput,
    ListFactsOutput, ListMemoryInput, ListedConversation, ListedFact, ListedMemory,
    LoadSnapshotInput, LoadSnapshotOutput, MemoryBlock, MemoryContent, MemoryDescription,
    MemoryFile, MemoryMatch, MemoryMatches, MemoryPlace, MessageForm, MetadataSource, OperationRef,
    Outcome, OutlinedMessage, PreambleRef, QuerySourceInput, QuerySourceOutput, ReadMemoryInput,
    RecallForm, RecallInput, RecallOutput, RecalledFact, Refused, RememberInput, Remembered,
    RenderOptions, ScopeRef, SearchMemoryInput, SnapshotAnswer, SnapshotRequest, SnapshotStats,
    SourceEvent, SummarizeMessagesInput, SummarizeMessagesOutput, ToolInput, WriteMemoryInput,
    WriteSourceInput, WriteSourceOutput, WrittenItem, WrittenMemory,
};
use notekeeper_domain::Refusal;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

/// Compares the JSON with the golden one of this name, and reads it back.
#[track_caller]
fn golden<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, value: &T) {
    let json = serde_json::to_value(value).unwrap();
    insta::assert_json_snapshot!(name, json);
    assert_eq!(&serde_json::from_value::<T>(json).unwrap(), value);
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value);
}

fn scope() -> ScopeRef {
    ScopeRef {
        namespace: "acme/alice".to_owned(),
        agent_name: "main".to_owned(),
    }
}

fn operation() -> Option<OperationRef> {
    Some(OperationRef {
        id: "8f43a1".to_owned(),
    })
}

fn metadata() -> BTreeMap<String, String> {
    let entries = [("updated_by", "ui"), ("user_id", "ada \"固\"")];
    entries
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn digest() -> String {
    "d".repeat(64)
}

fn call() -> ChatToolCall {
    ChatToolCall {
        id: "call_0".to_owned(),
        name: "write_memory".to_owned(),
        arguments: json!({"content": "- tea: green"}),
    }
}

#[test]
fn load_snapshot() {
    let request = SnapshotRequest {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        held_digest: Some(digest()),
        delivery: Delivery::Reference,
        render: RenderOptions {
            max_tokens: 1_000,
            guidance_chars: 845,
            max_lines: 100,
            max_memory_size: 10_000,
            heading: "Notes".to_owned(),
            reader: "notes_read_memory".to_owned(),
            searcher: "notes_search_memory".to_owned(),
            location: Some("The files are in `notes/`.".to_owned()),
            file_reader: Some("read_file on `notes/MEMORY.md`".to_owned()),
        },
    };
    golden(
        "load_snapshot_input",
        &LoadSnapshotInput {
            memories: vec![request],
        },
    );
    let stats = SnapshotStats {
        chars: 120,
        lines: 4,
        lines_dropped: 2,
        files: 3,
        truncated: true,
        located: true,
    };
    let block = |text: Option<&str>| SnapshotAnswer::Block {
        digest: digest(),
        text: text.map(str::to_owned),
        stats,
    };
    let snapshots = vec![
        block(Some("<memory>\n- tea: green\n</memory>")),
        block(None),
        SnapshotAnswer::Unchanged { digest: digest() },
        SnapshotAnswer::Empty {
            budget_exhausted: false,
        },
        SnapshotAnswer::Empty {
            budget_exhausted: true,
        },
        SnapshotAnswer::Error {
            error_type: "Unmigrated".to_owned(),
            message: "run `notekeeper migrate`".to_owned(),
        },
    ];
    golden("load_snapshot_output", &LoadSnapshotOutput { snapshots });
}

#[test]
fn describe_memory() {
    let place = MemoryPlace {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
    };
    golden(
        "describe_memory_input",
        &DescribeMemoryInput {
            memories: vec![place],
        },
    );
    let in_the_workspace = MemoryDescription {
        kind: "file".to_owned(),
        read_only: true,
        keeps_metadata: false,
        keeps_transcripts: false,
        keeps_facts: Some(false),
        task_queue: Some("build-machine".to_owned()),
        directory: Some(".agent-memory".to_owned()),
    };
    let elsewhere = MemoryDescription {
        kind: "postgres".to_owned(),
        read_only: false,
        keeps_metadata: true,
        keeps_transcripts: true,
        keeps_facts: Some(true),
        task_queue: None,
        directory: None,
    };
    golden(
        "describe_memory_output",
        &DescribeMemoryOutput {
            memories: vec![in_the_workspace, elsewhere],
        },
    );
}

#[test]
fn list_memory() {
    let input = ListMemoryInput {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        max_files: 100,
        include_write_metadata: false,
    };
    golden("list_memory_input", &input);
    let file = MemoryFile {
        file: "drinks.md".to_owned(),
        version: "17".to_owned(),
        chars: 12,
        updated_at: Some("2026-11-30T04:05:06Z".to_owned()),
        write_metadata: None,
    };
    let listed = ListedMemory {
        files: vec![file],
        truncated: true,
    };
    golden("list_memory_output", &listed);
    let asking = ListMemoryInput {
        include_write_metadata: true,
        ..input
    };
    golden("list_memory_input_with_metadata", &asking);
    let with_metadata = listed.files.into_iter().map(|file| MemoryFile {
        write_metadata: Some(metadata()),
        ..file
    });
    let listed = ListedMemory {
        files: with_metadata.collect(),
        truncated: false,
    };
    golden("list_memory_output_with_metadata", &listed);
}

#[test]
fn write_memory() {
    let input = WriteMemoryInput {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        operation: operation(),
        content: "- tea: \"green\"\n固".to_owned(),
        file: "drinks".to_owned(),
        old_text: Some("- tea: black".to_owned()),
        expected_version: Some("17".to_owned()),
        max_memory_size: 10_000,
        write_metadata: None,
    };
    golden("write_memory_input", &input);
    for (name, source) in [
        ("fixed", MetadataSource::Fixed(metadata())),
        ("resolver", MetadataSource::Resolver("by_agent".to_owned())),
    ] {
        let input = WriteMemoryInput {
            write_metadata: Some(source),
            ..input.clone()
        };
        golden(&format!("write_memory_input_{name}_metadata"), &input);
    }
    golden(
        "write_memory_output",
        &Outcome::Ok(WrittenMemory {
            file: "drinks.md".to_owned(),
            version: "18".to_owned(),
            replayed: false,
            status: "updated".to_owned(),
        }),
    );
    let refused: Outcome<WrittenMemory> = Outcome::Refused(Refused {
        reason: "ambiguous".to_owned(),
        message: "old_text occurs 2 times".to_owned(),
    });
    golden("refused", &refused);
}

#[test]
fn read_memory() {
    let input = ReadMemoryInput {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        file: "drinks".to_owned(),
        max_memory_size: 10_000,
        include_write_metadata: false,
    };
    golden("read_memory_input", &input);
    let asking = ReadMemoryInput {
        include_write_metadata: true,
        ..input
    };
    golden("read_memory_input_with_metadata", &asking);
    let content = MemoryContent {
        file: "drinks.md".to_owned(),
        content: "- tea: green\n".to_owned(),
        truncated: false,
        version: "18".to_owned(),
        write_metadata: None,
    };
    golden("read_memory_output", &Outcome::Ok(content.clone()));
    let content = MemoryContent {
        write_metadata: Some(metadata()),
        ..content
    };
    golden("read_memory_output_with_metadata", &Outcome::Ok(content));
}

#[test]
fn delete_memory() {
    golden(
        "delete_memory_input",
        &DeleteMemoryInput {
            store: "eu".to_owned(),
            workspace: Some("project".to_owned()),
            scope: scope(),
            operation: operation(),
            file: "drinks".to_owned(),
            expected_version: Some("18".to_owned()),
        },
    );
    golden(
        "delete_memory_output",
        &Outcome::Ok(DeletedMemory {
            file: "drinks.md".to_owned(),
            version: None,
            replayed: true,
            status: "deleted".to_owned(),
        }),
    );
}

#[test]
fn search_memory() {
    golden(
        "search_memory_input",
        &SearchMemoryInput {
            store: "eu".to_owned(),
            workspace: Some("project".to_owned()),
            scope: scope(),
            query: "green tea".to_owned(),
            max_search_results: 5,
            max_search_result_chars: 2_000,
            max_search_files: 100,
            max_memory_size: 10_000,
        },
    );
    golden(
        "search_memory_output",
        &Outcome::Ok(MemoryMatches {
            matches: vec![MemoryMatch {
                file: "drinks.md".to_owned(),
                snippet: "- tea: green".to_owned(),
                score: 3.0,
            }],
            scanned: 12,
            truncated: false,
        }),
    );
}

#[test]
fn call_model() {
    let input = CallModelInput {
        model: "large".to_owned(),
        instructions: "Be kind.".to_owned(),
        messages: vec![
            ChatMessage::user("Tea?"),
            ChatMessage::Assistant {
                content: String::new(),
                tool_calls: vec![call()],
            },
            ChatMessage::Tool {
                tool_call_id: "call_0".to_owned(),
                content: "done".to_owned(),
                is_error: false,
            },
            ChatMessage::Tool {
                tool_call_id: String::new(),
                content: "no such tool".to_owned(),
                is_error: true,
            },
            ChatMessage::Assistant {
                content: "Green.".to_owned(),
                tool_calls: Vec::new(),
            },
        ],
        memories: vec![
            MemoryBlock::Inline {
                scope: scope(),
                text: "<memory>\n</memory>".to_owned(),
            },
            MemoryBlock::Reference {
                store: "eu".to_owned(),
                workspace: Some("project".to_owned()),
                scope: scope(),
                digest: digest(),
            },
        ],
        tools: vec![ChatToolDefinition {
            name: "read_memory".to_owned(),
            description: "Reads a note.".to_owned(),
            parameters: json!({"type": "object"}),
        }],
        conversation: None,
        preamble: None,
    };
    golden("call_model_input", &input);
    golden(
        "call_model_output",
        &CallModelOutput {
            text: "Green.".to_owned(),
            tool_calls: vec![call()],
            preamble_kept: false,
            oldest: None,
        },
    );
}

#[test]
fn call_model_with_what_earlier_requests_left() {
    let left = |scope_hash: &str| ChatMemory {
        scope_hash: scope_hash.to_owned(),
        text: "<memory>\n- tea: black\n</memory>".to_owned(),
    };
    let input = CallModelInput {
        model: "large".to_owned(),
        instructions: String::new(),
        messages: vec![ChatMessage::User {
            content: "Tea?".to_owned(),
            memories: vec![left("0d6e4079e36703eb"), left("")],
        }],
        memories: vec![MemoryBlock::Absent { scope: scope() }],
        tools: Vec::new(),
        conversation: None,
        preamble: None,
    };
    golden("call_model_input_left_blocks", &input);
}

fn range(summary: Option<ConversationSummary>) -> ConversationRange {
    ConversationRange {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        conversation: "ticket-7".to_owned(),
        from: 120,
        to: 134,
        summary,
    }
}

#[test]
fn call_model_on_a_stored_transcript() {
    let summary = ConversationSummary::Reference { digest: digest() };
    let input = CallModelInput {
        model: "large".to_owned(),
        instructions: String::new(),
        messages: vec![ChatMessage::user("Tea?")],
        memories: Vec::new(),
        tools: Vec::new(),
        conversation: Some(range(Some(summary))),
        preamble: Some(PreambleRef {
            store: "eu".to_owned(),
            workspace: Some("project".to_owned()),
            scope: scope(),
            digest: digest(),
        }),
    };
    golden("call_model_input_conversation", &input);
    let output = CallModelOutput {
        text: "Green.".to_owned(),
        tool_calls: Vec::new(),
        preamble_kept: true,
        oldest: Some(118),
    };
    golden("call_model_output_preamble_kept", &output);
}

#[test]
fn get_messages() {
    let input = GetMessagesInput {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        conversation: "ticket-7".to_owned(),
        limit: Some(20),
        cursor: Some("78.86.0f".to_owned()),
        from: Some(100),
        form: MessageForm::Outline,
    };
    golden("get_messages_input", &input);
    let messages = vec![
        json!({"role": "user", "content": "Tea?", "name": "ada"}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "Green."}], "weight": 0.5}),
    ];
    let output = GetMessagesOutput {
        messages,
        outlines: Vec::new(),
        first: 120,
        next: 134,
        oldest: 8,
        cursor: Some("78.86.0f".to_owned()),
    };
    golden("get_messages_output", &output);
    let calling = OutlinedMessage {
        role: "assistant".to_owned(),
        tokens: 7,
        prompt: false,
        calls: vec!["call_0".to_owned()],
        results: Vec::new(),
    };
    let answering = OutlinedMessage {
        role: "user".to_owned(),
        tokens: 9,
        prompt: true,
        calls: Vec::new(),
        results: vec!["call_0".to_owned()],
    };
    let output = GetMessagesOutput {
        messages: Vec::new(),
        outlines: vec![calling, answering],
        cursor: None,
        ..output
    };
    golden("get_messages_output_outlines", &output);
}

#[test]
fn add_messages() {
    golden(
        "add_messages_input",
        &AddMessagesInput {
            store: "eu".to_owned(),
            workspace: Some("project".to_owned()),
            scope: scope(),
            conversation: "ticket-7".to_owned(),
            messages: vec![
                json!({"role": "user", "content": "Tea?", "at": 1.5}),
                json!({"role": "tool", "tool_call_id": "call_0", "content": "\u{56fa}"}),
            ],
            operation: operation(),
        },
    );
    golden(
        "add_messages_output",
        &AddMessagesOutput {
            first: 120,
            next: 122,
            replayed: true,
        },
    );
}

#[test]
fn clear_messages() {
    golden(
        "clear_messages_input",
        &ClearMessagesInput {
            store: "eu".to_owned(),
            workspace: Some("project".to_owned()),
            scope: scope(),
            conversation: "ticket-7".to_owned(),
            operation: operation(),
        },
    );
    golden(
        "clear_messages_output",
        &ClearMessagesOutput {
            cleared: 114,
            next: 122,
            replayed: false,
        },
    );
}

#[test]
fn remember() {
    golden(
        "remember_input",
        &RememberInput {
            store: "eu".to_owned(),
            workspace: Some("project".to_owned()),
            scope: scope(),
            key: "favourite tea".to_owned(),
            value: "green \u{56fa}".to_owned(),
            operation: operation(),
        },
    );
    golden(
        "remember_output",
        &Outcome::Ok(Remembered {
            key: "favourite tea".to_owned(),
            status: "created".to_owned(),
            replayed: false,
        }),
    );
}

#[test]
fn recall() {
    let input = RecallInput {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        query: "tea".to_owned(),
        limit: 5,
        form: RecallForm::Values,
    };
    golden("recall_input", &input);
    let input = RecallInput {
        form: RecallForm::Facts,
        ..input
    };
    golden("recall_input_facts", &input);
    let output = RecallOutput {
        values: vec!["green".to_owned()],
        facts: Vec::new(),
        truncated: false,
    };
    golden("recall_output", &output);
    let fact = RecalledFact {
        key: "favourite tea".to_owned(),
        value: "green".to_owned(),
        score: 0.75,
        age_seconds: 60,
    };
    let output = RecallOutput {
        values: Vec::new(),
        facts: vec![fact],
        truncated: true,
    };
    golden("recall_output_facts", &output);
}

#[test]
fn forget() {
    golden(
        "forget_input",
        &ForgetInput {
            store: "eu".to_owned(),
            workspace: Some("project".to_owned()),
            scope: scope(),
            key: "favourite tea".to_owned(),
            operation: operation(),
        },
    );
    golden(
        "forget_output",
        &Outcome::Ok(Forgotten {
            key: "favourite tea".to_owned(),
            status: "not_found".to_owned(),
            replayed: true,
        }),
    );
}

#[test]
fn summarize_messages() {
    let summary = ConversationSummary::Inline {
        text: "Ada likes tea.".to_owned(),
    };
    let stored = SummarizeMessagesInput {
        model: "small".to_owned(),
        conversation: Some(range(Some(summary.clone()))),
        messages: Vec::new(),
        previous: None,
        instructions: Some("Keep names.".to_owned()),
        max_tokens: 500,
    };
    golden("summarize_messages_input", &stored);
    let carried = SummarizeMessagesInput {
        conversation: None,
        messages: vec![ChatMessage::user("Tea?")],
        previous: Some(summary),
        instructions: None,
        ..stored
    };
    golden("summarize_messages_input_carried", &carried);
    golden(
        "summarize_messages_output",
        &SummarizeMessagesOutput {
            text: "Ada likes green tea.".to_owned(),
            digest: digest(),
            kept: true,
        },
    );
}

#[test]
fn application_tool() {
    golden(
        "tool_input",
        &ToolInput {
            arguments: json!({"to": "alice"}),
            scope: scope(),
            store: Some("eu".to_owned()),
            facts_store: Some("default".to_owned()),
            workspace: Some("project".to_owned()),
            operation: OperationRef {
                id: "8f43a1".to_owned(),
            },
        },
    );
}

#[test]
fn a_refusal_of_the_domain_keeps_its_code_and_message() {
    let refused = Refused::from(Refusal::Ambiguous { count: 2 });
    assert_eq!(refused.reason, "ambiguous");
    assert_eq!(refused.message, Refusal::Ambiguous { count: 2 }.to_string());
}

#[test]
fn list_facts() {
    let input = ListFactsInput {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        key: Some("food".to_owned()),
        after: Some("drink".to_owned()),
        limit: 20,
    };
    golden("list_facts_input", &input);
    let output = ListFactsOutput {
        facts: vec![ListedFact {
            key: "food".to_owned(),
            value: "no peanuts".to_owned(),
            age_seconds: 86_400,
        }],
        more: true,
    };
    golden("list_facts_output", &output);
}

#[test]
fn list_conversations() {
    let input = ListConversationsInput {
        store: "eu".to_owned(),
        workspace: Some("project".to_owned()),
        scope: scope(),
        after: Some("main".to_owned()),
        limit: 20,
    };
    golden("list_conversations_input", &input);
    let output = ListConversationsOutput {
        conversations: vec![ListedConversation {
            conversation: "travel".to_owned(),
            first: 12,
            next: 40,
            updated_at: Some("2026-11-30T04:05:06Z".to_owned()),
        }],
        more: true,
    };
    golden("list_conversations_output", &output);
}

/// The JSON object of a literal.
fn object(value: serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    value.as_object().expect("an object").clone()
}

#[test]
fn query_source() {
    let input = QuerySourceInput {
        source: "handbook".to_owned(),
        scope: scope(),
        workspace: Some("project".to_owned()),
        query: "how long do refunds take".to_owned(),
        k: 3,
        condition: object(json!({"tier": "public", "tags": ["billing"]})),
        scratchpad: object(json!({"plan": {"step": 2}})),
        chars_max: Some(4_000),
    };
    golden("query_source_input", &input);
    let output = QuerySourceOutput {
        items: vec![
            FoundItem {
                content: "Refunds take 5 business days.".to_owned(),
                source: "handbook".to_owned(),
                id: Some("refunds-1".to_owned()),
                score: Some(0.75),
                metadata: object(json!({"tier": "public"})),
            },
            FoundItem {
                content: "Ask before you promise a date.".to_owned(),
                source: "scratchpad".to_owned(),
                ..FoundItem::default()
            },
        ],
        truncated: true,
        omitted: 1,
        timed_out: vec!["search".to_owned()],
        failed: vec![FailedSource {
            source: "registry".to_owned(),
            kind: "Unavailable".to_owned(),
            message: "the search tool is unavailable: connection refused".to_owned(),
        }],
        incomplete: vec!["transcript".to_owned()],
    };
    golden("query_source_output", &output);
    golden("query_source_output_empty", &QuerySourceOutput::default());
}

#[test]
fn write_source() {
    let input = WriteSourceInput {
        source: "kb".to_owned(),
        scope: scope(),
        workspace: Some("project".to_owned()),
        items: vec![
            WrittenItem {
                content: "Refunds take 5 business days.".to_owned(),
                metadata: object(json!({"id": "refunds-1", "tier": "public"})),
                ..WrittenItem::default()
            },
            WrittenItem {
                content: "Gift cards aren't refunded.".to_owned(),
                id: Some("refunds-2".to_owned()),
                ..WrittenItem::default()
            },
            WrittenItem {
                content: "Store credit never expires.".to_owned(),
                ..WrittenItem::default()
            },
        ],
        operation: operation(),
    };
    golden("write_source_input", &input);
    let output = WriteSourceOutput {
        accepted: vec!["handbook".to_owned()],
        refused: vec!["registry".to_owned()],
        failed: vec![FailedSource {
            source: "index".to_owned(),
            kind: "Unavailable".to_owned(),
            message: "store is unavailable: connection refused".to_owned(),
        }],
        events: vec![
            SourceEvent {
                event: "memory.written".to_owned(),
                source: "handbook".to_owned(),
                items: 2,
                policy: None,
            },
            SourceEvent {
                event: "memory.write_refused".to_owned(),
                source: "registry".to_owned(),
                items: 2,
                policy: Some("ignore".to_owned()),
            },
        ],
        scratchpad: object(json!({"refunds-1": "Refunds take 5 business days."})),
    };
    golden("write_source_output", &output);
    golden("write_source_output_empty", &WriteSourceOutput::default());
}
