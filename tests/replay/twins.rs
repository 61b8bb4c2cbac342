//! Each recorded history replays with the code that was recorded, and is refused with changed
//! code: its twins.

use std::{collections::BTreeSet, sync::Arc};

use notekeeper::checks_identity;
use notekeeper_workflows::MemorySkip;
use prost::Message as _;
use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};
use temporalio_sdk::workflow_replayer::WorkflowReplayFailure;

use crate::{
    changed_code::{Code, Edit, EditKind, replay},
    recorded::{self, Recorded, RecordedActivity},
};

/// A kind of change that must be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Twin {
    /// The resolver answers with another namespace.
    ChangedResolver,
    /// One of the memories has another id: the last of the input, or one in code that has none there.
    OtherId,
    /// One of the memories has another agent name, likewise.
    OtherAgentName,
    /// One activity has another type: each of them, one after the other.
    Renamed,
    /// Two activities of different types change places: each pair of neighbours.
    Reordered,
    /// One activity is not scheduled any more: each of them.
    Dropped,
}

/// A recorded history: what it must show, and the twins that must be refused.
struct Exhibit {
    file: &'static str,
    shows: fn(&Recorded) -> bool,
    twins: &'static [Twin],
}

/// The whole of every list of twins: leave one out only with a reason beside it.
const ALL: &[Twin] = &[
    Twin::ChangedResolver,
    Twin::OtherId,
    Twin::OtherAgentName,
    Twin::Renamed,
    Twin::Reordered,
    Twin::Dropped,
];

/// Every recorded history.
const EXHIBITS: &[Exhibit] = &[
    Exhibit {
        file: "agent_workflow/application_tool.json",
        shows: |recorded| {
            let [asked, failed] = ["look_up", "sell_out"].map(|tool| recorded.activity(tool));
            asked.result.is_some() && failed.result.is_none() && recorded.replies()[1].is_null()
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/cancelled_while_messages_wait.binpb",
        shows: |recorded| {
            recorded.activity("gate").result.is_none()
                && recorded.ended_with(|end| {
                    matches!(end, Attributes::WorkflowExecutionCanceledEventAttributes(_))
                })
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/cancelled_with_unstored.json",
        shows: |recorded| {
            let stored = answers(recorded, "add_messages");
            let [failed, last] = stored.as_slice() else {
                return false;
            };
            failed.is_null()
                && last["replayed"] == false
                && recorded.replies()[0].is_null()
                && recorded.ended_with(|end| {
                    matches!(end, Attributes::WorkflowExecutionCanceledEventAttributes(_))
                })
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/closed_while_messages_wait.binpb",
        shows: |recorded| {
            let accepted = places(recorded, |attributes| {
                matches!(
                    attributes,
                    Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(_)
                )
            });
            let answered = places(recorded, |attributes| {
                matches!(
                    attributes,
                    Attributes::WorkflowExecutionUpdateCompletedEventAttributes(_)
                )
            });
            let asked_to_close = places(recorded, |attributes| {
                matches!(
                    attributes,
                    Attributes::WorkflowExecutionSignaledEventAttributes(_)
                )
            });
            accepted.len() == 2 && accepted[1] < answered[0] && asked_to_close[0] < answered[0]
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/command_line.json",
        shows: |recorded| {
            holds_text(
                recorded,
                r#""eventType": "EVENT_TYPE_WORKFLOW_TASK_STARTED""#,
            ) && holds_text(recorded, r#""encoding": "anNvbi9wbGFpbg==""#)
                && completed(recorded)
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/continue_as_new_after.binpb",
        shows: |recorded| !recorded.start().continued_execution_run_id.is_empty(),
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/continue_as_new_before.binpb",
        shows: |recorded| {
            recorded.ended_with(|end| {
                matches!(
                    end,
                    Attributes::WorkflowExecutionContinuedAsNewEventAttributes(_)
                )
            })
        },
        twins: ALL,
    },
    // Of code before one that takes the store's word also then; `versions` says so.
    Exhibit {
        file: "agent_workflow/erased_before_the_change.json",
        shows: |recorded| {
            let requests = answers(recorded, "call_model");
            let failed_twice = requests
                .windows(2)
                .any(|two| two.iter().all(serde_json::Value::is_null));
            let replies = recorded.replies();
            failed_twice && replies[2].is_null() && !replies[3].is_null() && completed(recorded)
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/grounded.json",
        shows: grounds_once_on_three_sources,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/grounded_anew.json",
        shows: |recorded| {
            let asked = recorded.activities().into_iter();
            let asked: Vec<_> = asked
                .filter(|it| it.kind == "query_source")
                .map(|it| it.input["query"].clone())
                .collect();
            let [refunds, credit] = ["How long do refunds take?", "Does store credit expire?"];
            asked == [refunds, credit, credit]
                && answers(recorded, "query_source")[2].is_null()
                && recorded.replies()[2]["grounding_skipped"] == "Unavailable"
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/in_a_workspace.json",
        shows: |recorded| {
            let described = recorded.activity("describe_memory").answer();
            let read = recorded.activity("read_file");
            let requests = recorded.activities().into_iter();
            let mut requests = requests.filter(|it| it.kind == "call_model");
            described["memories"][0]["directory"] == ".agent-memory"
                && read.answer() == "- likes tea\n"
                && requests.all(|it| !it.input["tools"].to_string().contains("\"read_memory\""))
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/killed_worker.json",
        shows: |recorded| {
            let write = recorded.activity("write_memory");
            write.attempts == 2 && write.answer()["replayed"] == true
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/local_grounded.json",
        shows: |recorded| {
            let activities = recorded.activities().into_iter();
            let mut queries = activities.filter(|it| it.kind == "query_source");
            grounds_once_on_three_sources(recorded) && queries.all(|it| it.is_local)
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/local_killed_worker.json",
        shows: |recorded| {
            let write = recorded.activity("write_memory");
            let tasks_lost = places(recorded, |attributes| {
                matches!(
                    attributes,
                    Attributes::WorkflowTaskTimedOutEventAttributes(_)
                )
            });
            write.is_local && write.answer()["replayed"] == true && tasks_lost.len() == 1
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/local_several_memories.json",
        shows: loads_two_memories_at_once,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/local_store_failure_ignored.json",
        shows: skips_the_first_load,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/local_stored_transcript.json",
        shows: uses_the_tools_of_facts,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/local_tool_calls.binpb",
        shows: |recorded| {
            let activities = recorded.activities();
            uses_all_tools(recorded)
                && activities
                    .iter()
                    .all(|it| it.is_local == (it.kind != "call_model"))
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/operation_conflict_survived.json",
        shows: |recorded| {
            recorded.activity("write_memory").result.is_none()
                && places(recorded, is_failed_activity).len() == 1
                && completed(recorded)
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/reset_after.binpb",
        shows: |recorded| recorded.activity("write_memory").answer()["replayed"] == true,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/reset_before.binpb",
        shows: |recorded| recorded.activity("write_memory").answer()["replayed"] == false,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/several_memories.json",
        shows: |recorded| {
            let scopes: BTreeSet<_> = recorded
                .activities()
                .iter()
                .filter(|it| !it.input["scope"].is_null())
                .map(|it| it.input["scope"]["namespace"].to_string())
                .collect();
            loads_two_memories_at_once(recorded) && scopes.len() == 3
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/store_failure_ignored.json",
        shows: skips_the_first_load,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/stored_and_cleared_meanwhile.json",
        shows: |recorded| {
            let oldest = answers(recorded, "call_model")
                .into_iter()
                .map(|it| it["oldest"].clone());
            let oldest: Vec<_> = oldest.collect();
            // The second question is for what somebody added.
            oldest == [0, 2, 2, 2] && answers(recorded, "get_messages").len() == 2
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/stored_continue_as_new_after.binpb",
        shows: |recorded| {
            let resumed = &recorded.input()["resumed"];
            resumed["transcript"] == serde_json::json!([])
                && resumed["conversation"]["next"].as_u64() >= Some(6)
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/stored_continue_as_new_before.binpb",
        shows: |recorded| {
            recorded.ended_with(|end| {
                matches!(
                    end,
                    Attributes::WorkflowExecutionContinuedAsNewEventAttributes(_)
                )
            })
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/stored_summary.json",
        shows: |recorded| {
            let made = recorded.activity("summarize_messages").answer();
            let requests = recorded.activities().into_iter();
            let sent: Vec<_> = requests
                .filter(|it| it.kind == "call_model")
                .map(|it| it.input["conversation"]["summary"]["digest"].clone())
                .collect();
            let digest = made["digest"].clone();
            let none = serde_json::Value::Null;
            sent == [none.clone(), none.clone(), none, digest.clone(), digest]
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/stored_transcript.json",
        shows: uses_the_tools_of_facts,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/stored_unheard.json",
        shows: |recorded| {
            let replayed = answers(recorded, "add_messages")
                .into_iter()
                .map(|it| it["replayed"].clone());
            let replayed: Vec<_> = replayed.collect();
            replayed == [serde_json::Value::Null, true.into(), false.into()]
                && recorded.replies()[0].is_null()
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/tool_calls.binpb",
        shows: uses_all_tools,
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/unchanged_and_changed_snapshots.json",
        shows: |recorded| {
            let loaded = recorded
                .activities()
                .into_iter()
                .filter(|it| it.kind == "load_snapshot");
            let states: Vec<_> = loaded
                .map(|it| it.answer()["snapshots"][0]["outcome"].clone())
                .collect();
            states == ["block", "unchanged", "block"]
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/web_ui_decoded.json",
        shows: |recorded| {
            holds_text(
                recorded,
                r#""eventType": "EVENT_TYPE_WORKFLOW_TASK_STARTED""#,
            ) && holds_text(recorded, r#""encoding": "json/plain""#)
                && recorded.activity("write_memory").input["content"] == "- aime le thé"
        },
        twins: ALL,
    },
    Exhibit {
        file: "agent_workflow/write_metadata.json",
        shows: |recorded| {
            let activities = recorded.activities();
            let mut writes = activities.iter().filter(|it| it.kind == "write_memory");
            let source = serde_json::json!({"resolver": "agent"});
            // The worker answered; only the note has what.
            writes.all(|it| it.input["write_metadata"] == source)
                && activities
                    .iter()
                    .filter(|it| it.kind == "write_memory")
                    .count()
                    == 2
                && !holds_text(recorded, "resolved in the worker")
        },
        twins: ALL,
    },
    Exhibit {
        file: "note_taker/two_local_memories.json",
        shows: |recorded| {
            let activities = recorded.activities();
            activities.len() == 6 && activities.iter().all(|it| it.is_local)
        },
        twins: ALL,
    },
    Exhibit {
        file: "note_taker/two_memories.json",
        shows: |recorded| {
            let scopes: BTreeSet<_> = recorded
                .activities()
                .iter()
                .map(|it| scope_of(&it.input).to_string())
                .collect();
            scopes.len() == 2
        },
        twins: ALL,
    },
];

/// What the activities of a type came to, null for those that failed.
fn answers(recorded: &Recorded, kind: &str) -> Vec<serde_json::Value> {
    let activities = recorded.activities().into_iter();
    let of_kind = activities.filter(|it| it.kind == kind);
    of_kind.map(|it| it.answer()).collect()
}

/// All three, in a conversation of which no request holds more than what isn't stored.
fn uses_the_tools_of_facts(recorded: &Recorded) -> bool {
    let requests = recorded.activities().into_iter();
    let mut requests = requests.filter(|it| it.kind == "call_model");
    ["remember", "recall", "forget"]
        .iter()
        .all(|tool| answers(recorded, tool).len() == 1)
        && recorded.input()["conversation"]["id"] == "ticket 7"
        && requests.all(|it| {
            it.input["messages"]
                .as_array()
                .is_some_and(|it| it.len() <= 1)
        })
        && answers(recorded, "add_messages").len() == 4
}

/// Two messages, and two queries: what grounds both, and a call of the tool.
fn grounds_once_on_three_sources(recorded: &Recorded) -> bool {
    let found = answers(recorded, "query_source");
    let sources: BTreeSet<_> = found[0]["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["source"].as_str())
        .collect();
    let requests = recorded.activities().into_iter();
    let instructions: Vec<_> = requests
        .filter(|it| it.kind == "call_model")
        .map(|it| it.input["instructions"].to_string())
        .collect();
    found.len() == 2
        && sources == ["handbook", "known", "notes"].into()
        && instructions.len() == 3
        && instructions[0].contains("Relevant context:")
        // The digest says the rest.
        && instructions[1..].iter().all(|it| it == "\"\"")
}

fn skips_the_first_load(recorded: &Recorded) -> bool {
    let skipped = MemorySkip {
        request: 1,
        memory: 0,
        error_type: "Unavailable".to_owned(),
    };
    let activities = recorded.activities();
    let first = activities.iter().find(|it| it.kind == "load_snapshot");
    first.is_some_and(|first| first.result.is_none())
        && recorded.replies()[0]["skipped"] == serde_json::json!([skipped])
}

/// Of three memories the third is for the tools alone.
fn loads_two_memories_at_once(recorded: &Recorded) -> bool {
    let stated = recorded.input()["memories"].as_array().map(Vec::len);
    let loaded: Vec<_> = recorded
        .activities()
        .iter()
        .filter(|it| it.kind == "load_snapshot")
        .map(|it| it.answer()["snapshots"].as_array().map(Vec::len))
        .collect();
    stated == Some(3) && loaded.len() == 4 && loaded.iter().all(|count| *count == Some(2))
}

fn uses_all_tools(recorded: &Recorded) -> bool {
    let tools: BTreeSet<_> = kinds(recorded).collect();
    let activities = recorded.activities();
    let refused = activities
        .iter()
        .any(|it| it.answer()["outcome"] == "refused");
    let together = activities.iter().any(|activity| {
        activity.answer()["tool_calls"]
            .as_array()
            .is_some_and(|calls| calls.len() == 2)
    });
    tools.len() >= 7 && refused && together
}

#[test]
fn each_recorded_history_is_an_exhibit_with_twins() {
    let listed: Vec<_> = EXHIBITS.iter().map(|exhibit| exhibit.file).collect();
    let names: Vec<_> = recorded::all()
        .into_iter()
        .map(|recorded| recorded.name)
        .collect();
    assert_eq!(
        names, listed,
        "files and list differ; name each file and its twins"
    );
    for Exhibit { file, twins, .. } in EXHIBITS {
        assert!(!twins.is_empty(), "{file} has no twins");
    }
}

#[test]
fn each_shows_what_it_was_recorded_for() {
    for Exhibit { file, shows, .. } in EXHIBITS {
        let recorded = recorded::named(file);
        assert!(shows(&recorded), "{file} doesn't show it");
    }
}

#[test]
fn each_carries_the_flag_with_which_ids_and_types_are_compared() {
    for recorded in recorded::all() {
        assert!(checks_identity(&recorded.history), "{}", recorded.name);
    }
}

#[test]
fn none_says_on_which_machine_it_was_recorded() {
    for recorded in recorded::all() {
        let mut identities = BTreeSet::new();
        collect_identities(
            &serde_json::to_value(&recorded.history).unwrap(),
            &mut identities,
        );
        // The server may start a run on behalf of nobody.
        identities.remove("");
        assert_eq!(
            identities,
            ["recorder".to_owned()].into(),
            "{}",
            recorded.name
        );
        let bytes = recorded.history.encode_to_vec();
        for path in [
            "/tmp/",
            "/home/",
            "/root/",
            "/Users/",
            env!("CARGO_MANIFEST_DIR"),
        ] {
            let found = bytes
                .windows(path.len())
                .any(|window| window == path.as_bytes());
            assert!(!found, "{}: {path}", recorded.name);
        }
    }
}

fn collect_identities(value: &serde_json::Value, identities: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            identities.extend(
                map.get("identity")
                    .and_then(|it| it.as_str())
                    .map(str::to_owned),
            );
            map.values()
                .for_each(|value| collect_identities(value, identities));
        }
        serde_json::Value::Array(items) => {
            items
                .iter()
                .for_each(|value| collect_identities(value, identities));
        }
        _ => {}
    }
}

#[tokio::test]
async fn each_replays_with_the_code_that_was_recorded() {
    for recorded in recorded::all() {
        let failure = replay(&recorded.history, &Code::AsRecorded).await;
        assert_eq!(failure, None, "{}", recorded.name);
    }
}

#[tokio::test]
async fn a_changed_resolver_is_refused() {
    for recorded in having(Twin::ChangedResolver) {
        let message = nondeterminism(&recorded, &Code::Moved).await;
        tells_of_the_first_activity(&recorded, &message);
    }
}

#[tokio::test]
async fn another_id_of_a_memory_is_refused() {
    for recorded in having(Twin::OtherId) {
        let (other, code) = stated_otherwise(&recorded, "id", Code::RenamedNoteTaker);
        let message = nondeterminism(&other, &code).await;
        tells_of_the_first_activity(&recorded, &message);
    }
}

#[tokio::test]
async fn another_agent_name_of_a_memory_is_refused() {
    for recorded in having(Twin::OtherAgentName) {
        let (other, code) = stated_otherwise(&recorded, "agent_name", Code::OtherAgentNoteTaker);
        let message = nondeterminism(&other, &code).await;
        tells_of_the_first_activity(&recorded, &message);
    }
}

/// The run as it would have been started with another value of this setting of its last memory;
/// where its memories don't stand in its input, the run itself, and code that has another value.
fn stated_otherwise(recorded: &Recorded, setting: &str, changed: Code) -> (Recorded, Code) {
    let mut input = recorded.input();
    let Some(memories) = input["memories"].as_array_mut() else {
        return (recorded.with_input(&input), changed);
    };
    let last = memories.last_mut().expect("a memory");
    last[setting] = "other".into();
    (recorded.with_input(&input), Code::AsRecorded)
}

/// What addresses other memories has other ids from its first activity on.
fn tells_of_the_first_activity(recorded: &Recorded, message: &str) {
    let first = recorded.activities().remove(0);
    // A run that was continued ends before it schedules anything: see `scope_changed`.
    let told = match recorded.start().continued_execution_run_id.as_str() {
        "" => vec![format!("'{}'", first.id)],
        _ => vec![
            "Fail workflow machine".to_owned(),
            format!("(id: {}, ActivityTaskScheduled)", first.event),
        ],
    };
    assert!(
        told.iter().any(|told| message.contains(told)),
        "{}: none of {told:?} is in {message}",
        recorded.name
    );
}

#[tokio::test]
async fn a_changed_workspace_is_refused() {
    let recorded = recorded::named("agent_workflow/in_a_workspace.json");
    for other in [serde_json::json!("elsewhere"), serde_json::Value::Null] {
        let moved = with_input(&recorded, "workspace", other);
        let message = match replay(&moved, &Code::AsRecorded).await {
            Some(WorkflowReplayFailure::Nondeterminism { message }) => message,
            other => panic!("{other:?}"),
        };
        let first = recorded.activities().remove(0);
        assert!(message.contains(&format!("'{}'", first.id)), "{message}");
    }
}

#[tokio::test]
async fn another_conversation_is_refused() {
    for file in ["stored_transcript", "local_stored_transcript"] {
        let recorded = recorded::named(&format!("agent_workflow/{file}.json"));
        for other in [
            serde_json::json!({"id": "ticket 8"}),
            serde_json::json!({"id": "ticket 7", "store": "eu"}),
            serde_json::json!({}),
        ] {
            let moved = with_input(&recorded, "conversation", other.clone());
            let message = match replay(&moved, &Code::AsRecorded).await {
                Some(WorkflowReplayFailure::Nondeterminism { message }) => message,
                failure => panic!("{file} as {other}: {failure:?}"),
            };
            let first = recorded.activities().remove(0);
            assert!(message.contains(&format!("'{}'", first.id)), "{message}");
        }
    }
}

#[tokio::test]
async fn another_source_or_another_scope_of_it_is_refused() {
    for file in ["grounded", "grounded_anew", "local_grounded"] {
        let recorded = recorded::named(&format!("agent_workflow/{file}.json"));
        let mut other = recorded.input()["grounding"].clone();
        other["source"] = "other".into();
        let mut moved = recorded.input()["grounding"].clone();
        moved["namespace"] = "other".into();
        for grounding in [other, moved] {
            let changed = with_input(&recorded, "grounding", grounding.clone());
            let message = match replay(&changed, &Code::AsRecorded).await {
                Some(WorkflowReplayFailure::Nondeterminism { message }) => message,
                failure => panic!("{file} as {grounding}: {failure:?}"),
            };
            let first = recorded.activities().remove(0);
            assert!(message.contains(&format!("'{}'", first.id)), "{message}");
        }
    }
}

/// The source is the tool's as well, so that the ids of activities stay: what is missed is the query.
#[tokio::test]
async fn grounding_that_is_left_out_or_asks_at_other_times_is_refused() {
    for (file, key, value) in [
        ("grounded", "reground_every_turn", serde_json::json!(true)),
        (
            "grounded_anew",
            "reground_every_turn",
            serde_json::json!(false),
        ),
        ("grounded", "", serde_json::Value::Null),
        ("grounded_anew", "", serde_json::Value::Null),
    ] {
        let recorded = recorded::named(&format!("agent_workflow/{file}.json"));
        let mut grounding = recorded.input()["grounding"].clone();
        match key {
            "" => grounding = value,
            key => grounding[key] = value,
        }
        let changed = with_input(&recorded, "grounding", grounding.clone());
        let message = match replay(&changed, &Code::AsRecorded).await {
            Some(WorkflowReplayFailure::Nondeterminism { message }) => message,
            failure => panic!("{file} as {grounding}: {failure:?}"),
        };
        assert!(message.contains("'query_source'"), "{file}: {message}");
    }
}

/// Number, conditions and format are arguments, which nobody compares.
#[tokio::test]
async fn what_is_asked_of_a_source_is_not_noticed() {
    let recorded = recorded::named("agent_workflow/grounded.json");
    let mut grounding = recorded.input()["grounding"].clone();
    grounding["k"] = 1.into();
    grounding["format"] = "{content}".into();
    grounding["where"] = serde_json::json!({"tier": "public"});
    let changed = with_input(&recorded, "grounding", grounding);
    assert_eq!(replay(&changed, &Code::AsRecorded).await, None);
}

/// The history with another value in its input.
fn with_input(recorded: &Recorded, key: &str, value: serde_json::Value) -> History {
    let mut input = recorded.input();
    input[key] = value;
    let mut history = recorded.history.clone();
    let Some(Attributes::WorkflowExecutionStartedEventAttributes(start)) =
        &mut history.events[0].attributes
    else {
        panic!("a history begins with its start");
    };
    let payloads = &mut start.input.as_mut().expect("an input").payloads;
    payloads[0].data = input.to_string().into_bytes();
    history
}

#[tokio::test]
async fn a_renamed_activity_is_refused_wherever_it_stands() {
    for recorded in having(Twin::Renamed) {
        for (code, activity) in edits(&recorded, EditKind::Renamed) {
            let message = nondeterminism(&recorded, &code).await;
            let told = [
                format!("'{}'", activity.kind),
                format!("'{}_v2'", activity.kind),
            ];
            for told in told {
                assert!(
                    message.contains(&told),
                    "{}: `{told}` is not in {message}",
                    recorded.name
                );
            }
        }
    }
}

#[tokio::test]
async fn two_activities_in_the_other_order_are_refused_wherever_they_stand() {
    for recorded in having(Twin::Reordered) {
        let mut refused = 0;
        let activities = recorded.activities();
        for (place, pair) in activities.windows(2).enumerate() {
            if pair[0].kind == pair[1].kind {
                // Two calls of one activity differ in their arguments alone, which are not compared.
                continue;
            }
            let code = edited(&recorded, EditKind::Reordered, place);
            let message = nondeterminism(&recorded, &code).await;
            for told in [&pair[0].kind, &pair[1].kind] {
                let told = format!("'{told}'");
                assert!(
                    message.contains(&told),
                    "{}: `{told}` is not in {message}",
                    recorded.name
                );
            }
            refused += 1;
        }
        assert!(
            refused > 0,
            "{}: has no two activities of different types",
            recorded.name
        );
    }
}

#[tokio::test]
async fn a_dropped_activity_is_refused_wherever_it_stands() {
    for recorded in having(Twin::Dropped) {
        let activities = recorded.activities();
        for (place, (code, activity)) in edits(&recorded, EditKind::Dropped).enumerate() {
            let message = match replay(&recorded.history, &code).await {
                Some(WorkflowReplayFailure::Nondeterminism { message }) => message,
                // A local activity's result reaches the code before id and type are compared. Code
                // that gets another one's can't read it, and fails its task.
                Some(WorkflowReplayFailure::WorkflowTaskFailure { message })
                    if activity.is_local && message.contains("Payload conversion failed") =>
                {
                    continue;
                }
                other => panic!("{} with {code:?}: {other:?}", recorded.name),
            };
            // Of several calls of one activity in a row, any other would do for the dropped one:
            // the last is missed.
            let missed = activities[place..]
                .iter()
                .take_while(|other| other.kind == activity.kind)
                .last()
                .expect("the activity itself");
            let mut told = if missed.is_local {
                vec![
                    format!("recorded marker '{}'", missed.kind),
                    format!("machine for LocalActivity({})", missed.number()),
                ]
            } else {
                vec![
                    format!("scheduled event '{}'", missed.kind),
                    format!("(id: {}, ActivityTaskScheduled)", missed.event),
                ]
            };
            if activity.result.is_none() {
                // The code goes on as if it had not failed, and misses the activity itself.
                told.push(format!("(id: {}, ActivityTaskScheduled)", activity.event));
            }
            assert!(
                told.iter().any(|told| message.contains(told)),
                "{}: neither of {told:?} is in {message}",
                recorded.name
            );
        }
    }
}

#[tokio::test]
async fn a_workflow_of_ones_own_is_refused_where_its_steps_changed() {
    for (file, reordered, dropped) in [
        (
            "two_memories",
            "scheduled event 'load_snapshot'",
            "Complete workflow machine",
        ),
        (
            "two_local_memories",
            "recorded marker 'load_snapshot'",
            "Missing associated machine for LocalActivity(5)",
        ),
    ] {
        let recorded = recorded::named(&format!("note_taker/{file}.json"));
        for (code, told) in [
            (Code::ReorderedNoteTaker, reordered),
            (Code::HastyNoteTaker, dropped),
        ] {
            let message = nondeterminism(&recorded, &code).await;
            assert!(
                message.contains(told),
                "{file} with {code:?}: `{told}` is not in {message}"
            );
        }
    }
}

/// Why nobody should take a green replay for a proof that the arguments are the same.
#[tokio::test]
async fn changed_arguments_are_not_noticed() {
    for file in ["two_memories", "two_local_memories"] {
        let recorded = recorded::named(&format!("note_taker/{file}.json"));
        let failure = replay(&recorded.history, &Code::OtherwiseNoteTaker).await;
        assert_eq!(failure, None, "{file}");
    }
}

fn having(twin: Twin) -> impl Iterator<Item = Recorded> {
    EXHIBITS
        .iter()
        .filter(move |exhibit| exhibit.twins.contains(&twin))
        .map(|exhibit| recorded::named(exhibit.file))
}

/// One edit at each activity.
fn edits(recorded: &Recorded, kind: EditKind) -> impl Iterator<Item = (Code, RecordedActivity)> {
    recorded
        .activities()
        .into_iter()
        .enumerate()
        .map(move |(place, activity)| (edited(recorded, kind, place), activity))
}

fn edited(recorded: &Recorded, kind: EditKind, place: usize) -> Code {
    let recorded: Arc<[_]> = recorded.activities().into();
    Code::Edited(Edit {
        kind,
        place,
        recorded,
    })
}

/// The message with which the history is refused for what it must be refused for.
async fn nondeterminism(recorded: &Recorded, code: &Code) -> String {
    match replay(&recorded.history, code).await {
        Some(WorkflowReplayFailure::Nondeterminism { message }) => message,
        other => panic!("{} with {code:?}: {other:?}", recorded.name),
    }
}

fn kinds(recorded: &Recorded) -> impl Iterator<Item = String> {
    recorded
        .activities()
        .into_iter()
        .map(|activity| activity.kind)
}

/// Where events like this stand.
fn places(recorded: &Recorded, is_one: fn(&Attributes) -> bool) -> Vec<usize> {
    let events = recorded.history.events.iter().enumerate();
    events
        .filter(|(_, event)| event.attributes.as_ref().is_some_and(is_one))
        .map(|(place, _)| place)
        .collect()
}

fn is_failed_activity(attributes: &Attributes) -> bool {
    matches!(attributes, Attributes::ActivityTaskFailedEventAttributes(_))
}

/// Whether the file itself holds a text: it shows a form, not only a history.
fn holds_text(recorded: &Recorded, text: &str) -> bool {
    let file = recorded::directory().join(&recorded.name);
    std::fs::read_to_string(file).is_ok_and(|content| content.contains(text))
}

fn completed(recorded: &Recorded) -> bool {
    recorded.ended_with(|end| {
        matches!(
            end,
            Attributes::WorkflowExecutionCompletedEventAttributes(_)
        )
    })
}

fn scope_of(input: &serde_json::Value) -> &serde_json::Value {
    match &input["memories"] {
        serde_json::Value::Null => &input["scope"],
        memories => &memories[0]["scope"],
    }
}
