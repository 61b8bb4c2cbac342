//! Markdown tables of schemas.

use notekeeper_domain::{FACT_VALUE_CHARS_MAX, InvalidFact, InvalidNoteName, Refusal};
use serde_json::Value;

use super::Way;
use crate::FailureType;

/// One row a field, in this order: of an argument with what is meant where it is missing.
pub(super) fn fields(schema: &Value, order: &[&str], way: Way) -> String {
    let heads: &[&str] = match way {
        Way::Argument => &["field", "type", "default", "meaning"],
        Way::Result => &["field", "type", "meaning"],
    };
    let mut fields: Vec<_> = properties(schema).collect();
    let place = |field: &Field<'_>| order.iter().position(|name| *name == field.name);
    fields.sort_by_key(|field| place(field).expect("a field of the struct"));
    let rows = fields.iter().map(|field| row(field, schema, way));
    markdown(heads, rows)
}

/// Variants of an object that one field tells apart, and the further fields of each.
pub(super) fn variants(schema: &Value, way: Way) -> String {
    let variants = list(schema, "oneOf");
    let tag = variants.first().and_then(tag).expect("a tagged enum").name;
    let tag = format!("`{tag}`");
    let heads: &[&str] = match way {
        Way::Argument => &[&tag, "field", "type", "default", "meaning"],
        Way::Result => &[&tag, "field", "type", "meaning"],
    };
    let rows = variants.iter().flat_map(|variant| {
        let own = self::tag(variant).expect("a tagged enum");
        let mut first = vec![format!("`{}`", text(own.schema, "const"))];
        first.resize(heads.len() - 1, String::new());
        first.push(text(variant, "description").to_owned());
        let further = properties(variant).filter(move |field| field.name != own.name);
        let further = further.map(|field| {
            let mut cells = vec![String::new()];
            cells.extend(row(&field, variant, way));
            cells
        });
        [first].into_iter().chain(further).collect::<Vec<_>>()
    });
    markdown(heads, rows)
}

/// The values of a field that has a few.
pub(super) fn values(schema: &Value) -> String {
    let rows = list(schema, "oneOf").iter().map(|value| {
        vec![
            format!("`{}`", text(value, "const")),
            text(value, "description").to_owned(),
        ]
    });
    markdown(&["value", "meaning"], rows)
}

/// The types of failures, those that are retried last.
pub(super) fn failures(schema: &Value) -> String {
    let rows = list(schema, "oneOf").iter().map(|value| {
        let name = text(value, "const");
        let kind = FailureType::from_name(name).expect("the schema names the variants");
        let retried = if kind.is_retryable() { "yes" } else { "no" };
        vec![
            format!("`{name}`"),
            retried.to_owned(),
            text(value, "description").to_owned(),
        ]
    });
    markdown(&["type", "retried", "meaning"], rows)
}

/// What a tool call may be refused for.
pub(super) fn refusals() -> String {
    let rows = every_refusal().into_iter().map(|refusal| {
        vec![
            format!("`{}`", refusal.code()),
            activities(&refusal).to_owned(),
            refusal.to_string().replace('|', "\\|"),
        ]
    });
    markdown(&["reason", "of", "message, for example"], rows)
}

fn every_refusal() -> Vec<Refusal> {
    vec![
        Refusal::InvalidName(InvalidNoteName::Tool),
        Refusal::EmptyContent,
        Refusal::Nul {
            argument: "content",
        },
        Refusal::NotFound,
        Refusal::OldTextNotFound,
        Refusal::Ambiguous { count: 2 },
        Refusal::TooLarge {
            chars: 65_540,
            chars_max: 65_536,
        },
        Refusal::ExistingTooLarge { chars_max: 65_536 },
        Refusal::Protected,
        Refusal::ReadOnly {
            file: "drinks.md".to_owned(),
        },
        Refusal::WorkspaceRefused {
            file: "drinks.md".to_owned(),
        },
        Refusal::ReadRefused {
            what: "drinks.md".to_owned(),
        },
        Refusal::ConflictExhausted,
        Refusal::PathEscape,
        Refusal::UnusableFile {
            reason: "it is no text in UTF-8 without NUL characters".to_owned(),
        },
        Refusal::QueryTooLong { chars: 1_001 },
        Refusal::QueryEmpty,
        Refusal::QueryTooManyTerms,
        Refusal::InvalidFact(InvalidFact::Key),
        Refusal::InvalidFact(InvalidFact::Nul { part: "value" }),
        Refusal::InvalidFact(InvalidFact::TooLarge {
            chars: FACT_VALUE_CHARS_MAX + 1,
        }),
    ]
}

/// Which activities refuse so. A refusal that is new has to be given a line here, and above.
fn activities(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::InvalidName(_) => "write, read, delete",
        Refusal::NotFound => "write with `old_text`, read",
        Refusal::Nul { .. } => "write, search",
        Refusal::EmptyContent
        | Refusal::OldTextNotFound
        | Refusal::Ambiguous { .. }
        | Refusal::TooLarge { .. }
        | Refusal::ExistingTooLarge { .. } => "write",
        Refusal::Protected => "delete",
        Refusal::ConflictExhausted => "write, on a custom store",
        Refusal::ReadOnly { .. } | Refusal::WorkspaceRefused { .. } => "write, delete",
        Refusal::ReadRefused { .. } => "read, search, of a store of files",
        Refusal::PathEscape | Refusal::UnusableFile { .. } => {
            "write, read, delete, of a store of files"
        }
        Refusal::QueryTooLong { .. } | Refusal::QueryEmpty | Refusal::QueryTooManyTerms => "search",
        Refusal::InvalidFact(InvalidFact::TooLarge { .. }) => "remember",
        Refusal::InvalidFact(InvalidFact::Key | InvalidFact::Nul { .. }) => "remember, forget",
    }
}

struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
}

fn properties(schema: &Value) -> impl Iterator<Item = Field<'_>> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| Field { name, schema })
}

/// The field that says which variant this is.
fn tag(variant: &Value) -> Option<Field<'_>> {
    properties(variant).find(|field| field.schema.get("const").is_some())
}

fn row(field: &Field<'_>, object: &Value, way: Way) -> Vec<String> {
    let required = list(object, "required")
        .iter()
        .any(|name| name == field.name);
    let kind = kind(field.schema);
    let meaning = text(field.schema, "description").to_owned();
    let name = format!("`{}`", field.name);
    match way {
        Way::Argument if required => vec![name, kind, "required".to_owned(), meaning],
        Way::Argument => {
            let default = match field.schema.get("default") {
                None if kind == "boolean" => "false".to_owned(),
                None | Some(Value::Null) => "none".to_owned(),
                Some(Value::String(text)) if text.is_empty() => "empty".to_owned(),
                Some(Value::String(text)) => format!("`{text}`"),
                Some(Value::Number(number)) => {
                    format!("{}", Grouped(number.as_u64().expect("whole")))
                }
                Some(Value::Array(_)) => "none".to_owned(),
                Some(Value::Object(_)) => "all defaults".to_owned(),
                Some(Value::Bool(flag)) => flag.to_string(),
            };
            vec![name, kind, default, meaning]
        }
        Way::Result if required => vec![name, kind, meaning],
        Way::Result => vec![name, format!("{kind}, or missing"), meaning],
    }
}

/// A type in JSON's words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let [one, Value::Object(null)] = list(schema, "anyOf")
        && null.get("type").is_some_and(|kind| kind == "null")
    {
        return format!("{} or null", kind(one));
    }
    match schema.get("type") {
        Some(Value::String(kind)) => simple(kind, schema),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            let kinds: Vec<_> = kinds.map(|kind| simple(kind, schema)).collect();
            kinds.join(" or ")
        }
        _ => "any JSON".to_owned(),
    }
}

fn simple(kind: &str, schema: &Value) -> String {
    match kind {
        "integer" => match schema.get("minimum").and_then(Value::as_u64) {
            Some(least) => format!("whole number, at least {least}"),
            None => "whole number".to_owned(),
        },
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("object of {}", self::kind(values)),
            _ => "object".to_owned(),
        },
        "array" => match schema.get("items") {
            Some(items) => format!("array of {}", self::kind(items)),
            None => "array".to_owned(),
        },
        other => other.to_owned(),
    }
}

/// A number with `,` between thousands.
struct Grouped(u64);

impl std::fmt::Display for Grouped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.char_indices() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

fn markdown(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.fold("|".to_owned(), |line, cell| format!("{line} {cell} |")) + "\n"
    };
    let mut table = line(&mut heads.iter().copied());
    table += &line(&mut heads.iter().map(|_| "---"));
    for row in rows {
        assert_eq!(row.len(), heads.len(), "{row:?}");
        table += &line(&mut row.iter().map(String::as_str));
    }
    table
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
