//! What Temporal's other tools write of a history, in all its forms: each loads as the same history,
//! and what can't be understood of it is refused, never passed over.

use std::{
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::FutureExt as _;
use notekeeper::load_history;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use temporalio_common::protos::temporal::api::history::v1::History;

use crate::{
    changed_code::{Code, replay},
    recorded,
};

/// A form in which the same history may be written.
type Rewrite = fn(&Value) -> String;

/// The forms in which a payload's bytes are what they were.
const AS_IT_IS: &[(&str, Rewrite)] = &[
    ("`--output json`", |shown| pretty(shown)),
    ("`--output jsonl`", |shown| format!("{shown}\n")),
    ("`--reverse`", |shown| {
        let mut events = events(shown);
        events.reverse();
        json!({ "events": events }).to_string()
    }),
    ("a list of events", |shown| {
        Value::from(events(shown)).to_string()
    }),
    ("an event a line", |shown| {
        let lines = events(shown).into_iter();
        lines.map(|event| format!("{event}\n")).collect()
    }),
    ("an answer of the HTTP API", |shown| {
        json!({"history": shown, "nextPageToken": "", "archived": false}).to_string()
    }),
    ("all pages of the HTTP API", |shown| {
        pages(shown).iter().map(Value::to_string).collect()
    }),
    ("a list of pages", |shown| {
        Value::from(pages(shown)).to_string()
    }),
    ("names of older tools", |shown| {
        edited(shown, &|value| {
            if let Value::String(name) = value {
                *name = name_of_old(name);
            }
        })
    }),
    ("numbers for names", |shown| {
        edited(shown, &|value| {
            if let Value::Object(event) = value
                && event.get("eventType") == Some(&json!("EVENT_TYPE_WORKFLOW_TASK_STARTED"))
            {
                event.insert("eventType".to_owned(), json!(6));
                event["eventId"] = event["eventId"]
                    .as_str()
                    .expect("a number")
                    .parse::<i64>()
                    .expect("a number")
                    .into();
            }
        })
    }),
    ("names of fields as in the definitions", |shown| {
        let renamed = snake_case(shown);
        assert!(renamed["events"][0]["workflow_execution_started_event_attributes"].is_object());
        renamed.to_string()
    }),
    ("fields of a newer server", |shown| {
        edited(shown, &|value| {
            if let Value::Object(message) = value
                && !is_map(message)
            {
                message.insert(
                    "fieldOfTomorrow".to_owned(),
                    json!({"kind": "KIND_OF_TOMORROW"}),
                );
            }
        })
    }),
    ("fields that are null", |shown| {
        edited(shown, &|value| {
            if let Value::Object(event) = value
                && event.contains_key("eventId")
            {
                event.insert("userMetadata".to_owned(), Value::Null);
                event.insert("links".to_owned(), Value::Null);
                event.insert("timerFiredEventAttributes".to_owned(), Value::Null);
            }
        })
    }),
    ("base64 without padding, for URLs", |shown| {
        edited(shown, &|value| {
            if let Value::Object(payload) = value
                && payload.contains_key("metadata")
                && let Some(Value::String(data)) = payload.get_mut("data")
            {
                *data = data
                    .trim_end_matches('=')
                    .replace('+', "-")
                    .replace('/', "_");
            }
        })
    }),
    ("a note of older web UIs beside the encoding", |shown| {
        edited(shown, &|value| {
            if let Value::Object(payload) = value
                && let Some(Value::Object(metadata)) = payload.get_mut("metadata")
            {
                metadata.insert("encodingDecoded".to_owned(), json!("json/plain"));
            }
        })
    }),
];

#[test]
fn each_form_that_holds_the_history_as_it_is_loads_as_the_same() {
    let shown = shown();
    let wanted = recorded::named("agent_workflow/command_line.json").history;
    for (form, rewrite) in AS_IT_IS {
        let text = rewrite(&shown);
        assert!(
            load(text.as_bytes()).unwrap_or_else(|error| panic!("{form}: {error}")) == wanted,
            "{form}"
        );
    }
}

#[test]
fn a_file_that_powershell_redirected_loads() {
    let wanted = recorded::named("agent_workflow/command_line.json").history;
    let text = pretty(&shown());
    let units: Vec<u16> = "\u{feff}"
        .encode_utf16()
        .chain(text.encode_utf16())
        .collect();
    let little = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    for bytes in [format!("\u{feff}{text}").into_bytes(), little, big] {
        assert!(load(&bytes).expect("a history") == wanted);
    }
}

/// A payload's bytes can't be what they were, but its value is.
#[test]
fn each_form_that_was_decoded_for_people_loads_with_the_same_values() {
    let shown = shown();
    let wanted = as_values(&recorded::named("agent_workflow/command_line.json").history);
    let forms: [(&str, Rewrite); 3] = [
        ("the web UI's", |shown| {
            edited(shown, &|value| {
                if let Some((encoding, data)) = decoded(value) {
                    *value = json!({"metadata": {"encoding": encoding}, "data": data});
                }
            })
        }),
        ("older web UIs'", |shown| {
            edited(shown, &|value| {
                if let Some((_, data)) = decoded(value) {
                    *value = data;
                }
            })
        }),
        ("the HTTP API's", |shown| {
            edited(shown, &|value| {
                if let Some((_, data)) = decoded(value) {
                    *value = data;
                } else if let Some(payloads) = value.get_mut("payloads") {
                    *value = payloads.take();
                }
            })
        }),
    ];
    for (form, rewrite) in forms {
        let text = rewrite(&shown);
        assert!(text.contains("aime le thé"), "{form}: is decoded");
        let history = load(text.as_bytes()).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!(as_values(&history), wanted, "{form}");
    }
}

#[test]
fn payloads_that_are_not_json_keep_their_bytes_beside_decoded_ones() {
    let raw = |encoding: &str, data: &[u8]| json!({"metadata": {"encoding": STANDARD.encode(encoding)}, "data": STANDARD.encode(data)});
    let given = json!([
        {"metadata": {"encoding": "json/plain"}, "data": "a text"},
        {"metadata": {"encoding": "json/plain"}, "data": null},
        {"metadata": {"encoding": "json/protobuf", "messageType": "a.B"}, "data": {"c": 1}},
        {"metadata": {"encoding": "binary/null"}, "data": null},
        {"metadata": {"encoding": STANDARD.encode("json/plain")}, "data": {"c": 1}},
        raw("binary/plain", b"\0\xff"),
        raw("binary/plain", b""),
        {"_protoMessageType": "a.B", "c": 1},
        null,
        {},
        {"metadata": "of one's own"},
        {"metadata": {"encoding": 1}},
    ]);
    let protobuf = json!({
        "metadata": {
            "encoding": STANDARD.encode("json/protobuf"),
            "messageType": STANDARD.encode("a.B"),
        },
        "data": STANDARD.encode(br#"{"c":1}"#),
    });
    let wanted = json!([
        raw("json/plain", br#""a text""#),
        raw("json/plain", b"null"),
        protobuf,
        raw("binary/null", b""),
        raw("json/plain", br#"{"c":1}"#),
        raw("binary/plain", b"\0\xff"),
        raw("binary/plain", b""),
        protobuf,
        {"metadata": {"encoding": STANDARD.encode("binary/null")}},
        {},
        raw("json/plain", br#"{"metadata":"of one's own"}"#),
        raw("json/plain", br#"{"metadata":{"encoding":1}}"#),
    ]);
    let [given, wanted] = [given, wanted].map(|payloads| {
        let mut shown = shown();
        shown["events"][0]["workflowExecutionStartedEventAttributes"]["input"] =
            json!({ "payloads": payloads });
        load(shown.to_string().as_bytes()).expect("a history")
    });
    assert_eq!(given.events[0], wanted.events[0]);
}

/// Changes the events of a history.
type Edit = fn(&mut Value);

/// What can't be understood, however it is put.
const NOT_UNDERSTOOD: &[(&str, Edit)] = &[
    ("a type of tomorrow", |events| {
        events[5]["eventType"] = json!("EVENT_TYPE_OF_TOMORROW");
    }),
    ("a type of tomorrow, of an older tool", |events| {
        events[5]["eventType"] = json!("OfTomorrow");
    }),
    ("a type of tomorrow that workers may ignore", |events| {
        events[5]["eventType"] = json!("EVENT_TYPE_OF_TOMORROW");
        events[5]["workerMayIgnore"] = json!(true);
    }),
    ("the number of a type of tomorrow", |events| {
        events[5]["eventType"] = json!(4_242);
    }),
    ("no type", |events| {
        fields(&mut events[5]).remove("eventType");
    }),
    ("type 0", |events| events[5]["eventType"] = json!(0)),
    ("the type that says nothing", |events| {
        events[5]["eventType"] = json!("EVENT_TYPE_UNSPECIFIED");
    }),
    ("the type that says nothing, of an older tool", |events| {
        events[5]["eventType"] = json!("Unspecified");
    }),
    ("an empty type", |events| events[5]["eventType"] = json!("")),
    ("another type", |events| {
        events[5]["eventType"] = json!("EVENT_TYPE_TIMER_FIRED");
    }),
    ("no attributes", |events| {
        let kept = |key: &String| !key.ends_with("Attributes");
        fields(&mut events[5]).retain(|key, _| kept(key));
    }),
    ("attributes of tomorrow beside its own", |events| {
        events[5]["eventOfTomorrowEventAttributes"] = json!({});
    }),
    ("attributes of two types", |events| {
        events[5]["timerFiredEventAttributes"] = json!({"timerId": "1"});
    }),
    ("a value of tomorrow in a field", |events| {
        events[1]["workflowTaskScheduledEventAttributes"]["taskQueue"]["kind"] =
            json!("TASK_QUEUE_KIND_OF_TOMORROW");
    }),
    ("a number that is text", |events| {
        events[1]["workflowTaskScheduledEventAttributes"]["attempt"] = json!("one");
    }),
    ("a time that is none", |events| {
        events[2]["eventTime"] = json!("yesterday")
    }),
    ("a list that is none", |events| {
        events[2]["links"] = json!({})
    }),
    ("a message that is none", |events| {
        events[1]["workflowTaskScheduledEventAttributes"] = json!("it was scheduled");
    }),
    ("a payload that is no base64", |events| {
        events[0]["workflowExecutionStartedEventAttributes"]["input"]["payloads"][0]["data"] =
            json!("{");
    }),
    ("a decoded payload that can't be encoded", |events| {
        events[0]["workflowExecutionStartedEventAttributes"]["input"]["payloads"][0] =
            json!({"metadata": {"encoding": "binary/plain"}, "data": 1});
    }),
];

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let said = NOT_UNDERSTOOD.iter().map(|(what, edit)| {
        let mut shown = shown();
        edit(&mut shown["events"]);
        match load(shown.to_string().as_bytes()) {
            Ok(_) => panic!("{what}: was taken for a history"),
            Err(error) => format!("{what}: {error}"),
        }
    });
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_file_that_was_cut_off_anywhere_is_refused() {
    let text = pretty(&shown());
    for end in (0..text.trim_end().len()).step_by(37) {
        assert!(load(&text.as_bytes()[..end]).is_err(), "after {end} bytes");
    }
}

/// Whichever value of a history is another one: it is read or refused, and nothing panics.
#[test]
fn no_value_in_a_wrong_place_makes_loading_panic() {
    // Its first events: the start, a workflow task, an activity.
    let shown = json!({ "events": events(&shown())[..9] });
    let places = count(&shown);
    assert!(places > 100, "{places}");
    let mut refused = 0;
    for place in 0..places {
        for wrong in [
            json!(null),
            json!(true),
            json!(-1.5),
            json!("%"),
            json!([[]]),
            json!({"a": {}}),
        ] {
            let mut damaged = shown.clone();
            *at(&mut damaged, &mut { place }).expect("a value") = wrong;
            refused += usize::from(load(damaged.to_string().as_bytes()).is_err());
        }
    }
    assert!(refused > places, "only {refused} were refused");
}

/// Whatever is missing or another in one place: where it loads, its replay comes to something. What
/// it comes to is Core's affair.
#[tokio::test]
async fn no_damage_in_one_place_makes_a_replay_hang_or_panic() {
    let shown = shown();
    let mut replayed = 0;
    for place in (0..count(&shown)).step_by(4) {
        for wrong in [json!(null), json!("1"), json!("9")] {
            let mut damaged = shown.clone();
            let value = at(&mut damaged, &mut { place }).expect("a value");
            // Payloads, and texts that only people read, make no difference to Core.
            let is_number = value
                .as_str()
                .is_some_and(|text| text.parse::<u32>().is_ok());
            if *value == wrong || !(wrong.is_null() || is_number || value.is_number()) {
                continue;
            }
            let was = std::mem::replace(value, wrong.clone());
            if let Ok(history) = load(damaged.to_string().as_bytes()) {
                let replay = AssertUnwindSafe(replay(&history, &Code::AsRecorded)).catch_unwind();
                let outcome = replay.await;
                assert!(outcome.is_ok(), "place {place}: {was} became {wrong}");
                replayed += 1;
            }
        }
    }
    assert!(
        replayed > 75,
        "only {replayed} damaged histories were replayed"
    );
}

/// The history as the command line shows it.
fn shown() -> Value {
    let file = recorded::directory().join("agent_workflow/command_line.json");
    serde_json::from_slice(&std::fs::read(file).expect("recorded")).expect("JSON")
}

fn load(bytes: &[u8]) -> Result<History, notekeeper::HistoryError> {
    let directory = TempDir::new().expect("a directory");
    load_history(&written(directory.path(), bytes))
}

fn written(directory: &Path, bytes: &[u8]) -> PathBuf {
    let path = directory.join("history.json");
    std::fs::write(&path, bytes).expect("write a file of the test");
    path
}

fn pretty(shown: &Value) -> String {
    serde_json::to_string_pretty(shown).expect("JSON")
}

fn events(shown: &Value) -> Vec<Value> {
    shown["events"].as_array().expect("a list").clone()
}

fn fields(message: &mut Value) -> &mut Map<String, Value> {
    message.as_object_mut().expect("a message")
}

/// As a server answers that is asked for seven events at a time.
fn pages(shown: &Value) -> Vec<Value> {
    let events = events(shown);
    let pages = events
        .chunks(7)
        .map(|page| json!({"history": {"events": page}, "nextPageToken": "bW9yZQ=="}));
    let mut pages: Vec<Value> = pages.collect();
    let last = pages
        .last_mut()
        .and_then(Value::as_object_mut)
        .expect("a page");
    last.remove("nextPageToken");
    pages
}

/// The text after an edit of every value, those within a value before it.
fn edited(shown: &Value, edit: &dyn Fn(&mut Value)) -> String {
    fn visit(value: &mut Value, edit: &dyn Fn(&mut Value)) {
        match value {
            Value::Object(map) => map.values_mut().for_each(|value| visit(value, edit)),
            Value::Array(items) => items.iter_mut().for_each(|value| visit(value, edit)),
            _ => {}
        }
        edit(value);
    }
    let mut edited = shown.clone();
    visit(&mut edited, edit);
    assert_ne!(edited, *shown, "something is edited");
    edited.to_string()
}

/// `WorkflowTaskStarted` for `EVENT_TYPE_WORKFLOW_TASK_STARTED`; anything else as it is.
fn name_of_old(name: &str) -> String {
    let prefixes = ["EVENT_TYPE_", "TASK_QUEUE_KIND_"];
    let Some(rest) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) else {
        return name.to_owned();
    };
    let words = rest
        .split('_')
        .map(|word| word[..1].to_owned() + &word[1..].to_lowercase());
    words.collect()
}

fn snake_case(value: &Value) -> Value {
    match value {
        Value::Object(map) if is_map(map) => value.clone(),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| {
                let letters = key.chars().flat_map(|letter| {
                    let mark = letter.is_uppercase().then_some('_');
                    mark.into_iter().chain(letter.to_lowercase())
                });
                (letters.collect::<String>(), snake_case(value))
            });
            fields.collect()
        }
        Value::Array(items) => items.iter().map(snake_case).collect(),
        other => other.clone(),
    }
}

/// Whether it is a map, whose keys are no names of fields. Here that is the metadata of a payload.
fn is_map(object: &Map<String, Value>) -> bool {
    object.contains_key("encoding")
}

/// Encoding and value of a payload.
fn decoded(payload: &Value) -> Option<(String, Value)> {
    let text = |value: &Value| String::from_utf8(STANDARD.decode(value.as_str()?).ok()?).ok();
    let encoding = text(payload.get("metadata")?.get("encoding")?)?;
    let data = serde_json::from_str(&text(payload.get("data")?)?).ok()?;
    Some((encoding, data))
}

/// The history, with the values of payloads in place of their bytes.
fn as_values(history: &History) -> Value {
    fn visit(value: &mut Value) {
        if let Some((encoding, data)) = decoded(value) {
            *value = json!({"encoding": encoding, "value": data});
            return;
        }
        match value {
            Value::Object(map) => map.values_mut().for_each(visit),
            Value::Array(items) => items.iter_mut().for_each(visit),
            _ => {}
        }
    }
    let mut values = serde_json::to_value(history).expect("JSON");
    visit(&mut values);
    assert!(
        values.to_string().contains("\"encoding\":\"json/plain\""),
        "there are payloads"
    );
    values
}

fn count(value: &Value) -> usize {
    let within: usize = match value {
        Value::Object(map) => map.values().map(count).sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    };
    within + 1
}

/// The value at a place, counted like [`count`] does, a value before those within it.
fn at<'v>(value: &'v mut Value, place: &mut usize) -> Option<&'v mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Object(map) => map.values_mut().find_map(|value| at(value, place)),
        Value::Array(items) => items.iter_mut().find_map(|value| at(value, place)),
        _ => None,
    }
}
