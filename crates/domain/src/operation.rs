//! Operations: the stable identity of a mutation.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    ConversationId, Fact, FactKey, Item, NoteName, OPERATION_ID_CHARS_MAX, Scope, StoredMessage,
    scope::hex,
};

/// A mutation's identity: the id that stays the same when it is repeated, and the fingerprint of
/// its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operation {
    /// What a repetition has in common with the first call.
    pub id: OperationId,
    /// What the call asks for; the same id with another fingerprint is a conflict.
    pub fingerprint: Fingerprint,
}

/// Id of an operation inside a scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OperationId(String);

impl OperationId {
    /// Accepts an id that a caller chose: 1 to [`OPERATION_ID_CHARS_MAX`] printable ASCII
    /// characters.
    ///
    /// # Errors
    ///
    /// [`InvalidOperation::Id`].
    pub fn parse(id: &str) -> Result<Self, InvalidOperation> {
        let fits = (1..=OPERATION_ID_CHARS_MAX).contains(&id.len());
        if fits && id.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
            Ok(Self(id.to_owned()))
        } else {
            Err(InvalidOperation::Id)
        }
    }

    /// Derives the id of a tool call: SHA-256 over the canonical form of run id, step, scope and
    /// tool call id.
    ///
    /// # Errors
    ///
    /// [`InvalidOperation::Missing`] where run id or tool call id is empty.
    pub fn derive(
        run_id: &str,
        run_step: u64,
        scope: &Scope,
        tool_call_id: &str,
    ) -> Result<Self, InvalidOperation> {
        if run_id.is_empty() {
            return Err(InvalidOperation::Missing("run id"));
        }
        if tool_call_id.is_empty() {
            return Err(InvalidOperation::Missing("tool call id"));
        }
        let identity = json!({
            "run_id": run_id,
            "run_step": run_step,
            "scope": scope.as_str(),
            "tool_call_id": tool_call_id,
        });
        Ok(Self(digest(&identity)))
    }

    /// Derives an id from any parts, for callers that have no step: SHA-256 over the canonical
    /// form of the list.
    pub fn from_parts(parts: &[&str]) -> Self {
        Self(digest(&json!(parts)))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Digest of a mutation's kind, arguments and storage key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Fingerprint of a `write_memory` call. The normalised name stands in it, so `n` and `n.md`
    /// are the same arguments.
    pub fn of_write(scope: &Scope, name: &NoteName, content: &str, old_text: Option<&str>) -> Self {
        Self(digest(&json!({
            "kind": "write",
            "model_args": {"content": content, "file": name.as_str(), "old_text": old_text},
            "path": scope.key(name),
        })))
    }

    /// Fingerprint of putting a whole text in place of a note's. No `write_memory` call has it.
    pub fn of_whole_write(scope: &Scope, name: &NoteName, content: &str) -> Self {
        Self(digest(&json!({
            "kind": "write_whole",
            "content": content,
            "path": scope.key(name),
        })))
    }

    /// Fingerprint of a `delete_memory` call.
    pub fn of_delete(scope: &Scope, name: &NoteName) -> Self {
        Self(digest(&json!({
            "kind": "delete",
            "model_args": {"file": name.as_str()},
            "path": scope.key(name),
        })))
    }

    /// Fingerprint of adding these messages to a conversation. It is of their JSON texts with sorted
    /// keys, so the order of keys makes no difference, and numbers may be of any kind.
    pub fn of_added_messages(conversation: &ConversationId, messages: &[StoredMessage]) -> Self {
        let text = |message: &StoredMessage| {
            let mut text = String::new();
            write_canonical_object(message.object(), &mut text);
            text
        };
        let texts: Vec<String> = messages.iter().map(text).collect();
        Self(digest(&json!({
            "kind": "add_messages",
            "conversation": conversation.as_str(),
            "messages": texts,
        })))
    }

    /// Fingerprint of clearing a conversation.
    pub fn of_cleared_messages(conversation: &ConversationId) -> Self {
        Self(digest(&json!({
            "kind": "clear_messages",
            "conversation": conversation.as_str(),
        })))
    }

    /// Fingerprint of remembering a fact.
    pub fn of_remembered(fact: &Fact) -> Self {
        Self(digest(&json!({
            "kind": "remember",
            "key": fact.key.as_str(),
            "value": fact.value(),
        })))
    }

    /// Fingerprint of forgetting a fact.
    pub fn of_forgotten(key: &FactKey) -> Self {
        Self(digest(&json!({"kind": "forget", "key": key.as_str()})))
    }

    /// Fingerprint of writing these items to a source. Where they say that they come from isn't kept, so
    /// it makes no difference.
    pub fn of_written_items(source: &str, items: &[Item]) -> Self {
        let of_item = |item: &Item| {
            let mut metadata = String::new();
            write_canonical_object(&item.metadata.to_object(), &mut metadata);
            json!({"content": item.content, "id": item.id, "metadata": metadata})
        };
        let items: Vec<Value> = items.iter().map(of_item).collect();
        Self(digest(
            &json!({"kind": "write_source", "source": source, "items": items}),
        ))
    }

    /// Wraps a fingerprint as a store holds it, or as another kind of mutation computes it.
    pub fn new(fingerprint: impl Into<String>) -> Self {
        Self(fingerprint.into())
    }

    /// The fingerprint as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why an operation can't be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOperation {
    /// A part of the identity is empty.
    #[error("operation identity needs a {0}")]
    Missing(&'static str),
    /// The id isn't acceptable.
    #[error("operation id must be 1 to {OPERATION_ID_CHARS_MAX} printable ASCII characters")]
    Id,
}

/// Canonical JSON text: keys sorted by code point, no spaces, ASCII only (others as lower-case
/// `\uXXXX`, astral characters as surrogate pairs), short escapes for `\b \t \n \f \r`, `/` and
/// U+007F as they are.
///
/// Fractions are the fewest digits that read back the same, such as `0.1`, `1.0` and `1e300`. Identities of
/// tool calls and notes hold integers only: other implementations may write fractions in another way.
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

/// JSON text as a model or a person reads it: as [`canonical_json`], but for characters beyond ASCII, which
/// stand there as they are.
///
/// ```
/// use notekeeper_domain::readable_json;
/// use serde_json::json;
///
/// assert_eq!(readable_json(&json!({"z": 1.0, "Straße": "\u{1f600}\n"})), r#"{"Straße":"😀\n","z":1.0}"#);
/// ```
pub fn readable_json(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text, write_readable_string);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    write_value(value, text, write_canonical_string);
}

fn write_canonical_object(map: &Map<String, Value>, text: &mut String) {
    write_object(map, text, write_canonical_string);
}

/// How strings are written.
type WriteString = fn(&str, &mut String);

fn write_value(value: &Value, text: &mut String, write_string: WriteString) {
    use std::fmt::Write as _;
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_value(item, text, write_string);
            }
            text.push(']');
        }
        Value::Object(map) => write_object(map, text, write_string),
        Value::String(string) => write_string(string, text),
        // How serde_json writes these has changed between its versions.
        Value::Number(number) if number.is_f64() => {
            let _ = write!(text, "{:?}", number.as_f64().unwrap_or_default());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => text.push_str(&value.to_string()),
    }
}

fn write_object(map: &Map<String, Value>, text: &mut String, write_string: WriteString) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.as_str());
    text.push('{');
    for (index, (key, item)) in entries.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_string(key, text);
        text.push(':');
        write_value(item, text, write_string);
    }
    text.push('}');
}

fn write_readable_string(string: &str, text: &mut String) {
    text.push_str(&Value::from(string).to_string());
}

fn write_canonical_string(string: &str, text: &mut String) {
    use std::fmt::Write as _;
    text.push('"');
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            ' '..='\u{7f}' => text.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
        }
    }
    text.push('"');
}

fn digest(value: &Value) -> String {
    hex(&Sha256::digest(canonical_json(value).as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope(namespace: &str) -> Scope {
        Scope::resolve(namespace, "main").expect("a valid scope")
    }

    fn name(file: &str) -> NoteName {
        NoteName::from_tool(file).expect("a valid name")
    }

    #[test]
    fn canonical_text_is_sorted_dense_and_ascii() {
        let value = json!({"b": [1, -2, true, null, {}], "a\u{e9}": "\u{1f600}\u{7f}/", "a": []});
        assert_eq!(
            canonical_json(&value),
            r#"{"a":[],"a\u00e9":"\ud83d\ude00\u007f/","b":[1,-2,true,null,{}]}"#
                .replace("\\u007f", "\u{7f}")
        );
    }

    #[test]
    fn canonical_text_escapes_controls_and_quotes_and_nothing_else_of_ascii() {
        let ascii: String = ('\0'..='\u{7f}').collect();
        let plain: String = (' '..='\u{7f}')
            .filter(|c| !matches!(c, '"' | '\\'))
            .collect();
        let escaped = canonical_json(&json!(ascii));
        let short = r#"\b\t\n\u000b\f\r\u000e"#;
        assert!(escaped.contains(short), "{escaped}");
        assert!(escaped.starts_with(r#""\u0000\u0001"#), "{escaped}");
        assert_eq!(
            escaped.replace(r#"\""#, "").replace(r"\\", "").len(),
            2 + 32 * 6 - 5 * 4 + plain.len()
        );
    }

    #[test]
    fn a_derived_id_is_the_digest_of_its_canonical_identity() {
        let identity =
            r#"{"run_id":"r\u00fcn","run_step":2,"scope":"acme/main","tool_call_id":"c0"}"#;
        let id = OperationId::derive("r\u{fc}n", 2, &scope("acme"), "c0").unwrap();
        assert_eq!(id.as_str(), hex(&Sha256::digest(identity)));
    }

    #[test]
    fn fingerprints_are_digests_of_kind_arguments_and_key() {
        let write = r#"{"kind":"write","model_args":{"content":"x\n","file":"a.md","old_text":null},"path":"main/a.md"}"#;
        let of_write = Fingerprint::of_write(&scope(""), &name("a"), "x\n", None);
        assert_eq!(of_write.as_str(), hex(&Sha256::digest(write)));
        let delete = r#"{"kind":"delete","model_args":{"file":"a.md"},"path":"acme/main/a.md"}"#;
        let of_delete = Fingerprint::of_delete(&scope("acme"), &name("a"));
        assert_eq!(of_delete.as_str(), hex(&Sha256::digest(delete)));
    }

    #[test]
    fn a_fingerprint_of_messages_is_of_their_texts_with_sorted_keys() {
        let of = |json: &str| {
            let message = StoredMessage::from_json(json).unwrap();
            let conversation = ConversationId::parse("main").unwrap();
            let fingerprint = Fingerprint::of_added_messages(&conversation, &[message]);
            fingerprint.as_str().to_owned()
        };
        let sorted =
            r#"{"content":"caf\u00e9","n":[0.1,-2.5e300,-0.0,-7,{"a":1,"b":2}],"role":"user"}"#;
        let text = sorted.replace('\\', "\\\\").replace('"', "\\\"");
        let text = format!(
            "{{\"conversation\":\"main\",\"kind\":\"add_messages\",\"messages\":[\"{text}\"]}}"
        );
        let expected = hex(&Sha256::digest(text));
        assert_eq!(of(sorted), expected);
        let given = r#"{"role":"user","n":[0.1,-2.5e+300,-0.0,-7,{"b":2,"a":1}],"content":"café"}"#;
        assert_eq!(of(given), expected);
        assert_eq!(
            expected,
            "4d5e470e917975c9c544fdf65d7807bc043fa6fd32f20f0dc3e2419be4c729fa"
        );
    }

    #[test]
    fn every_part_of_an_identity_changes_the_id() {
        let id = |run, step, namespace, call| {
            OperationId::derive(run, step, &scope(namespace), call).unwrap()
        };
        let ids = [
            id("r", 1, "", "c"),
            id("s", 1, "", "c"),
            id("r", 2, "", "c"),
            id("r", 1, "acme", "c"),
            id("r", 1, "", "d"),
            OperationId::from_parts(&["r", "1", "main", "c"]),
        ];
        let distinct: std::collections::BTreeSet<_> = ids.iter().map(OperationId::as_str).collect();
        assert_eq!(distinct.len(), ids.len());
        assert_ne!(
            OperationId::from_parts(&["ab", "c"]),
            OperationId::from_parts(&["a", "bc"])
        );
    }

    #[test]
    fn one_note_under_two_spellings_has_one_fingerprint() {
        let of = |file| Fingerprint::of_write(&scope(""), &name(file), "x", None);
        assert_eq!(of("n"), of(" n.md\n"));
        assert_ne!(of("n"), of("N"));
    }

    #[test]
    fn absent_and_empty_old_text_are_different_arguments() {
        let of = |old_text| Fingerprint::of_write(&scope(""), &name("n"), "x", old_text);
        assert_ne!(of(None), of(Some("")));
    }

    #[test]
    fn content_is_not_normalised_in_a_fingerprint() {
        let of = |content| Fingerprint::of_write(&scope(""), &name("n"), content, None);
        assert_ne!(of("\u{e9}"), of("e\u{301}"));
        assert_ne!(of("a"), of("a\n"));
    }

    #[test]
    fn an_identity_without_run_or_call_is_refused() {
        assert_eq!(
            OperationId::derive("", 1, &scope(""), "c"),
            Err(InvalidOperation::Missing("run id"))
        );
        assert_eq!(
            OperationId::derive("r", 1, &scope(""), ""),
            Err(InvalidOperation::Missing("tool call id"))
        );
    }

    #[test]
    fn ids_of_callers_are_printable_and_bounded() {
        for id in ["a", "order 7/line#2", &"x".repeat(OPERATION_ID_CHARS_MAX)] {
            assert_eq!(OperationId::parse(id).unwrap().as_str(), id);
        }
        for id in [
            "",
            "a\n",
            "a\0",
            "é",
            "\u{7f}",
            &"x".repeat(OPERATION_ID_CHARS_MAX + 1),
        ] {
            assert_eq!(OperationId::parse(id), Err(InvalidOperation::Id), "{id:?}");
        }
    }

    /// JSON without fractions, a few levels deep.
    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_text_reads_back_as_the_value_and_writes_again_as_the_text(value in json_value()) {
            let text = canonical_json(&value);
            let read: Value = serde_json::from_str(&text).expect("canonical text is JSON");
            prop_assert_eq!(&read, &value);
            prop_assert_eq!(canonical_json(&read), text);
        }

        #[test]
        fn canonical_text_is_ascii_without_controls(value in json_value()) {
            prop_assert!(canonical_json(&value).bytes().all(|b| (b' '..=0x7f).contains(&b)));
        }

        #[test]
        fn different_values_have_different_canonical_texts(a in json_value(), b in json_value()) {
            prop_assert_eq!(a == b, canonical_json(&a) == canonical_json(&b));
        }
    }
}
