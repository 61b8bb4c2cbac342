use notekeeper_contract::{
    AddMessages, CallModel, ClearMessages, DeleteMemory, DescribeMemory, FailureType, Forget,
    GetMessages, ListConversations, ListFacts, ListMemory, LoadSnapshot, QuerySource, ReadMemory,
    Recall, Remember, SearchMemory, SummarizeMessages, WriteMemory, WriteSource,
};
use temporalio_common_wasm::ActivityDefinition as _;

#[test]
fn activities_are_called_by_these_names_from_any_language() {
    let names = [
        LoadSnapshot.name(),
        WriteMemory.name(),
        ReadMemory.name(),
        DeleteMemory.name(),
        SearchMemory.name(),
        ListMemory.name(),
        CallModel.name(),
        DescribeMemory.name(),
        GetMessages.name(),
        AddMessages.name(),
        ClearMessages.name(),
        Remember.name(),
        Recall.name(),
        Forget.name(),
        SummarizeMessages.name(),
        ListConversations.name(),
        ListFacts.name(),
        QuerySource.name(),
        WriteSource.name(),
    ];
    assert_eq!(
        names,
        [
            "load_snapshot",
            "write_memory",
            "read_memory",
            "delete_memory",
            "search_memory",
            "list_memory",
            "call_model",
            "describe_memory",
            "get_messages",
            "add_messages",
            "clear_messages",
            "remember",
            "recall",
            "forget",
            "summarize_messages",
            "list_conversations",
            "list_facts",
            "query_source",
            "write_source",
        ]
    );
}

#[test]
fn failure_types_keep_their_names_and_are_found_by_them() {
    let names = FailureType::ALL.map(FailureType::as_str);
    insta::assert_json_snapshot!(names);
    for kind in FailureType::ALL {
        assert_eq!(FailureType::from_name(kind.as_str()), Some(kind));
        assert_eq!(kind.to_string(), kind.as_str());
        assert_eq!(kind.is_retryable(), kind == FailureType::Unavailable);
    }
    assert_eq!(FailureType::from_name("invalidargument"), None);
    assert_eq!(FailureType::from_name(""), None);
}
