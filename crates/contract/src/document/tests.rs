//! The document and the schemas are those of the types. `make contract` writes them anew.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{schema_files, table};
use crate::{
    AddMessagesInput, CallModelInput, ClearMessagesInput, DeleteMemoryInput, DescribeMemoryInput,
    ForgetInput, GetMessagesInput, ListConversationsInput, ListFactsInput, ListMemoryInput,
    LoadSnapshotInput, QuerySourceInput, ReadMemoryInput, RecallInput, RememberInput,
    SearchMemoryInput, SummarizeMessagesInput, WriteMemoryInput, WriteSourceInput,
};

/// Set to write what is compared otherwise.
const WRITE: &str = "NOTEKEEPER_WRITE_CONTRACT";

const TABLE: &str = "<!-- table: ";
const TABLE_END: &str = "<!-- end of table -->";
const REQUEST: &str = "<!-- request: ";

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test asks whether it shall write; nothing that replays does"
)]
fn writes() -> bool {
    std::env::var_os(WRITE).is_some_and(|value| !value.is_empty())
}

/// Compares a file with what it must hold, or writes that.
#[track_caller]
fn check(path: &Path, expected: &str) {
    let found = fs::read_to_string(path).unwrap_or_default();
    if found != expected && writes() {
        fs::write(path, expected).unwrap();
        return;
    }
    assert!(
        found == expected,
        "{} isn't what the types say; run `make contract`",
        path.display()
    );
}

fn document() -> String {
    fs::read_to_string(docs().join("contract.md")).unwrap()
}

/// The document with its tables as the types have them.
fn with_tables(document: &str) -> String {
    let mut text = String::new();
    let mut rest = document;
    while let Some((before, table_on)) = rest.split_once(TABLE) {
        let (name, after) = table_on.split_once(" -->").expect("a marker that ends");
        let (_, after) = after.split_once(TABLE_END).expect("a table that ends");
        let table = table(name).unwrap_or_else(|| panic!("there is no table `{name}`"));
        text += &format!("{before}{TABLE}{name} -->\n{table}{TABLE_END}");
        rest = after;
    }
    text + rest
}

#[test]
fn the_documents_tables_are_those_of_the_types() {
    check(&docs().join("contract.md"), &with_tables(&document()));
}

#[test]
fn the_document_links_to_headings_that_it_has() {
    let document = document();
    let headings: BTreeSet<String> = document
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches(['#', ' ']).replace('`', ""))
        .map(|heading| heading.to_lowercase().replace(' ', "-").replace(',', ""))
        .collect();
    let links = document.split("](#").skip(1);
    let missing: Vec<_> = links
        .filter_map(|link| link.split_once(')').map(|(anchor, _)| anchor))
        .filter(|anchor| !headings.contains(*anchor))
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_schema_files_are_those_of_the_types() {
    let directory = docs().join("contract");
    fs::create_dir_all(&directory).unwrap();
    let mut expected = BTreeSet::new();
    for (name, schema) in schema_files() {
        let name = format!("{name}.schema.json");
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        check(&directory.join(&name), &text);
        expected.insert(name);
    }
    let found: BTreeSet<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, expected);
}

/// Reads a request, and refuses keys that its type has no field for.
fn read<T: DeserializeOwned>(json: &str) -> Result<(), String> {
    let mut unknown = Vec::new();
    let mut json = serde_json::Deserializer::from_str(json);
    let read: Result<T, _> =
        serde_ignored::deserialize(&mut json, |path| unknown.push(path.to_string()));
    read.map_err(|error| error.to_string())?;
    unknown
        .pop()
        .map_or(Ok(()), |path| Err(format!("unknown key `{path}`")))
}

#[test]
fn every_request_in_the_document_that_is_answered_has_the_fields_of_its_type() {
    let document = document();
    let mut activities = BTreeSet::new();
    for request in document.split(REQUEST).skip(1) {
        let (activity, after) = request
            .split_once(" -->\n```json\n")
            .expect("a JSON block follows");
        let (json, said) = after.split_once("```").expect("a block that ends");
        if said.trim_start().starts_with("Failure:") {
            continue;
        }
        let result = match activity {
            "write_memory" => read::<WriteMemoryInput>(json),
            "read_memory" => read::<ReadMemoryInput>(json),
            "delete_memory" => read::<DeleteMemoryInput>(json),
            "search_memory" => read::<SearchMemoryInput>(json),
            "list_memory" => read::<ListMemoryInput>(json),
            "describe_memory" => read::<DescribeMemoryInput>(json),
            "load_snapshot" => read::<LoadSnapshotInput>(json),
            "call_model" => read::<CallModelInput>(json),
            "get_messages" => read::<GetMessagesInput>(json),
            "add_messages" => read::<AddMessagesInput>(json),
            "clear_messages" => read::<ClearMessagesInput>(json),
            "remember" => read::<RememberInput>(json),
            "recall" => read::<RecallInput>(json),
            "forget" => read::<ForgetInput>(json),
            "list_conversations" => read::<ListConversationsInput>(json),
            "list_facts" => read::<ListFactsInput>(json),
            "summarize_messages" => read::<SummarizeMessagesInput>(json),
            "query_source" => read::<QuerySourceInput>(json),
            "write_source" => read::<WriteSourceInput>(json),
            other => panic!("there is no activity `{other}`"),
        };
        assert_eq!(result, Ok(()), "{activity}: {json}");
        activities.insert(activity);
    }
    assert_eq!(activities.len(), 19, "{activities:?}");
}

#[test]
fn every_field_in_the_schemas_is_described() {
    fn look(at: &str, value: &Value, lacking: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                if let Some(properties) = object.get("properties").and_then(Value::as_object) {
                    for (name, schema) in properties {
                        let described = |key| schema.get(key).is_some();
                        if !described("description") && !described("const") {
                            lacking.push(format!("{at}/{name}"));
                        }
                    }
                }
                for (key, value) in object {
                    look(&format!("{at}/{key}"), value, lacking);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| look(at, item, lacking)),
            _ => {}
        }
    }
    let mut lacking = Vec::new();
    for (name, schema) in schema_files() {
        look(name, &schema, &mut lacking);
    }
    assert_eq!(lacking, [""; 0]);
}

/// Collects the properties of a schema and of what is inside it, by name.
fn properties<'a>(schema: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("properties").and_then(Value::as_object);
            found.extend(
                own.into_iter()
                    .flatten()
                    .map(|(name, it)| (name.as_str(), it)),
            );
            fields.values().for_each(|it| properties(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| properties(it, found)),
        _ => {}
    }
}

#[test]
fn a_number_that_is_said_to_begin_at_one_does_so_in_its_schema() {
    let mut seen = 0;
    for (file, schema) in schema_files() {
        let mut found = Vec::new();
        properties(&schema, &mut found);
        for (name, property) in found {
            let description = property["description"].as_str().unwrap_or_default();
            let is_number = match &property["type"] {
                Value::Array(types) => types.contains(&Value::from("integer")),
                one => one == "integer",
            };
            if is_number && (description.contains(", 1 to ") || description.contains("at least 1"))
            {
                assert_eq!(property["minimum"], 1, "{file}: {name}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 5, "{seen}");
}
