//! The least that a caller must send, and what may stand beside it.

use notekeeper_contract::{
    AddMessagesInput, AddMessagesOutput, Argument, CallModelInput, CallModelOutput, ChatMessage,
    ChatToolCall, ClearMessagesInput, ClearMessagesOutput, ConversationRange, DeleteMemoryInput,
    DescribeMemoryInput, ForgetInput, GetMessagesInput, GetMessagesOutput, ListConversationsInput,
    ListFactsInput, ListMemoryInput, LoadSnapshotInput, LoadSnapshotOutput, PreambleRef,
    QuerySourceInput, QuerySourceOutput, ReadMemoryInput, RecallInput, RecallOutput, RememberInput,
    RenderOptions, ScopeRef, SearchMemoryInput, SnapshotAnswer, SummarizeMessagesInput,
    SummarizeMessagesOutput, ToolInput, WriteMemoryInput, WriteSourceInput, WriteSourceOutput,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::argument::{decode, plain};

/// Reads the least payload, compares what it means with the golden form, and checks that none of
/// its fields can be left out.
#[track_caller]
fn least<T: Serialize + DeserializeOwned + Clone + 'static>(name: &str, least: Value) {
    let value: T = decode(vec![plain(&least.to_string())]).expect("it is enough");
    insta::assert_json_snapshot!(format!("least_{name}"), value);
    for key in least.as_object().unwrap().keys() {
        let mut less = least.clone();
        less.as_object_mut().unwrap().remove(key);
        let error = decode::<T>(vec![plain(&less.to_string())])
            .err()
            .map(|e| e.to_string());
        assert_eq!(error, Some(format!("missing field `{key}`")));
    }
    let mut more = least;
    more["added_later"] = json!({"any": ["thing", null]});
    let with_more: T = decode(vec![plain(&more.to_string())]).expect("unknown fields are ignored");
    let both = [value, with_more].map(|value| serde_json::to_value(value).unwrap());
    assert_eq!(both[0], both[1]);
}

#[test]
fn the_least_payloads_are_enough_and_more_is_ignored() {
    let scope = json!({"namespace": "acme"});
    least::<LoadSnapshotInput>(
        "load_snapshot_input",
        json!({"memories": [{"scope": scope}]}),
    );
    least::<DescribeMemoryInput>("describe_memory_input", json!({"memories": [{}]}));
    least::<WriteMemoryInput>(
        "write_memory_input",
        json!({"scope": scope, "content": "x"}),
    );
    least::<ReadMemoryInput>("read_memory_input", json!({"scope": scope, "file": "n"}));
    least::<DeleteMemoryInput>("delete_memory_input", json!({"scope": scope, "file": "n"}));
    least::<SearchMemoryInput>("search_memory_input", json!({"scope": scope, "query": "x"}));
    least::<ListMemoryInput>("list_memory_input", json!({"scope": scope}));
    least::<CallModelInput>("call_model_input", json!({"messages": []}));
    least::<GetMessagesInput>("get_messages_input", json!({"scope": scope}));
    least::<AddMessagesInput>(
        "add_messages_input",
        json!({"scope": scope, "messages": []}),
    );
    least::<ClearMessagesInput>("clear_messages_input", json!({"scope": scope}));
    least::<RememberInput>(
        "remember_input",
        json!({"scope": scope, "key": "k", "value": "v"}),
    );
    least::<RecallInput>("recall_input", json!({"scope": scope}));
    least::<ListConversationsInput>("list_conversations_input", json!({"scope": scope}));
    least::<ListFactsInput>("list_facts_input", json!({"scope": scope}));
    least::<ForgetInput>("forget_input", json!({"scope": scope, "key": "k"}));
    least::<QuerySourceInput>(
        "query_source_input",
        json!({"source": "handbook", "scope": scope}),
    );
    least::<WriteSourceInput>(
        "write_source_input",
        json!({"source": "handbook", "scope": scope, "items": [{"content": "x"}]}),
    );
    least::<SummarizeMessagesInput>("summarize_messages_input", json!({"max_tokens": 500}));
    least::<ConversationRange>(
        "conversation_range",
        json!({"scope": scope, "from": 0, "to": 3}),
    );
    least::<PreambleRef>("preamble_ref", json!({"scope": scope, "digest": "d"}));
    let operation = json!({"id": "a"});
    least::<ToolInput>(
        "tool_input",
        json!({"arguments": null, "scope": scope, "operation": operation}),
    );
}

#[test]
fn a_scope_of_an_agent_alone_has_no_namespace_and_one_of_a_namespace_alone_is_its_main() {
    let of_namespace: ScopeRef = serde_json::from_value(json!({"namespace": "a/b"})).unwrap();
    assert_eq!(of_namespace.resolve().unwrap().as_str(), "a/b/main");
    let json = json!({"scope": {"agent_name": "main"}, "file": "n"});
    let input: ReadMemoryInput = serde_json::from_value(json).unwrap();
    assert_eq!(
        (
            input.scope.namespace.as_str(),
            input.scope.agent_name.as_str()
        ),
        ("", "main")
    );
    assert_eq!(input.scope.resolve().unwrap().as_str(), "main");
}

#[test]
fn nulls_stand_for_optional_fields_that_are_missing() {
    let nulls = json!({
        "scope": {"namespace": "a"}, "content": "x", "operation": null, "old_text": null, "expected_version": null,
    });
    let missing = json!({"scope": {"namespace": "a"}, "content": "x"});
    let [nulls, missing] = [nulls, missing].map(|value| {
        let input: WriteMemoryInput = serde_json::from_value(value).unwrap();
        input
    });
    assert_eq!(nulls, missing);
}

#[test]
fn render_options_default_to_what_an_empty_object_means() {
    let empty: RenderOptions = serde_json::from_value(json!({})).unwrap();
    assert_eq!(empty, RenderOptions::default());
}

#[test]
fn answers_of_a_newer_worker_with_more_fields_are_read() {
    let answer = json!({"snapshots": [
        {"outcome": "empty", "since": 3},
        {"outcome": "unchanged", "digest": "d", "since": 3},
    ], "more": 1});
    let output: LoadSnapshotOutput = serde_json::from_value(answer).unwrap();
    assert_eq!(
        output.snapshots,
        [
            SnapshotAnswer::Empty {
                budget_exhausted: false
            },
            SnapshotAnswer::Unchanged {
                digest: "d".to_owned()
            },
        ]
    );
    let output: CallModelOutput = serde_json::from_value(json!({"tokens": 7})).unwrap();
    assert_eq!(output, CallModelOutput::default());
}

#[test]
fn answers_about_messages_and_facts_with_more_or_fewer_fields_are_read() {
    fn read<T: DeserializeOwned>(answer: Value) -> T {
        serde_json::from_value(answer).unwrap()
    }
    let got: GetMessagesOutput = read(json!({"first": 3, "next": 3, "since": 1}));
    assert_eq!((got.messages.len(), got.first, got.oldest), (0, 3, 0));
    let added: AddMessagesOutput = read(json!({"first": 3, "next": 4, "since": 1}));
    assert!(!added.replayed);
    let cleared: ClearMessagesOutput = read(json!({"cleared": 3, "next": 4, "since": 1}));
    assert!(!cleared.replayed);
    let recalled: RecallOutput = read(json!({"since": 1}));
    assert_eq!((recalled.values.len(), recalled.truncated), (0, false));
    let summary: SummarizeMessagesOutput = read(json!({"text": "t", "digest": "d", "since": 1}));
    assert!(!summary.kept);
}

#[test]
fn answers_of_sources_with_more_or_fewer_fields_are_read() {
    let found = json!({"items": [{"content": "c", "source": "s", "since": 1}], "since": 1});
    let found: QuerySourceOutput = serde_json::from_value(found).unwrap();
    assert_eq!(
        (found.items.len(), found.truncated, found.omitted),
        (1, false, 0)
    );
    assert_eq!(found.items[0].score, None);
    let written: WriteSourceOutput = serde_json::from_value(json!({"since": 1})).unwrap();
    assert_eq!(written, WriteSourceOutput::default());
}

#[test]
fn parts_of_messages_may_be_left_out() {
    let message: ChatMessage = serde_json::from_value(json!({"role": "assistant"})).unwrap();
    let empty = ChatMessage::Assistant {
        content: String::new(),
        tool_calls: Vec::new(),
    };
    assert_eq!(message, empty);
    let call: ChatToolCall = serde_json::from_value(json!({"name": "read_memory"})).unwrap();
    let expected = ChatToolCall {
        id: String::new(),
        name: "read_memory".to_owned(),
        arguments: Value::Null,
    };
    assert_eq!(call, expected);
}

#[test]
fn an_argument_made_from_a_value_holds_it() {
    let argument = Argument::from(7_u8);
    assert_eq!(argument.as_decoded(), Ok(&7));
    assert_eq!(argument.decoded(), Ok(7));
}
