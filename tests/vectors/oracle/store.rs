//! Model of a store: compare-and-swap, receipts, listings.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::text::{is_store_path, model_text};

/// What can be done in more than one way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    /// First number of the counter that versions come from.
    pub(crate) first_version: u64,
    /// A version that a case spells out can be a current one.
    pub(crate) versions_can_be_guessed: bool,
    /// Receipts that are kept; the oldest make room.
    pub(crate) receipts_max: Option<usize>,
    /// Receipts belong to their scope: ids are looked up, and counted, there.
    pub(crate) receipts_per_scope: bool,
    /// Operation ids are 1 to 200 printable ASCII characters.
    pub(crate) ids_are_bounded: bool,
    /// A listing shows one scope; otherwise everything that starts with the prefix.
    pub(crate) listings_are_of_one_scope: bool,
    /// A listing of no names is empty; otherwise an error.
    pub(crate) listings_may_be_empty: bool,
    /// U+0000 is refused.
    pub(crate) nul_is_refused: bool,
    /// Every note is in a scope; otherwise a path of one segment is a note too.
    pub(crate) notes_have_a_scope: bool,
    /// Longest scope in characters.
    pub(crate) scope_chars_max: usize,
}

impl Manners {
    /// The ways in which the peer's stores were seen to answer.
    pub(crate) fn of_peers() -> impl Iterator<Item = Self> {
        [None, Some(1_024)].into_iter().flat_map(|receipts_max| {
            [1, 0].into_iter().map(move |first_version| Self {
                first_version,
                versions_can_be_guessed: true,
                receipts_max,
                receipts_per_scope: false,
                ids_are_bounded: false,
                listings_are_of_one_scope: false,
                listings_may_be_empty: false,
                nul_is_refused: false,
                notes_have_a_scope: false,
                scope_chars_max: usize::MAX,
            })
        })
    }
}

#[derive(Debug)]
struct Note {
    content: String,
    version: String,
    operation_id: Option<String>,
    metadata: Value,
}

#[derive(Debug)]
struct Receipt {
    scope: String,
    id: String,
    fingerprint: String,
    result: Value,
}

#[derive(Debug)]
struct Model {
    manners: Manners,
    counter: u64,
    notes: BTreeMap<String, Note>,
    receipts: Vec<Receipt>,
    /// Raw versions that the steps returned.
    returned: Vec<Option<String>>,
}

/// Results of the steps, versions unlabelled.
pub(crate) fn results(steps: &[Value], manners: Manners) -> Result<Vec<Value>> {
    let mut model = Model {
        manners,
        counter: manners.first_version,
        notes: BTreeMap::new(),
        receipts: Vec::new(),
        returned: Vec::new(),
    };
    steps.iter().map(|step| model.step(step)).collect()
}

fn error(kind: &str) -> Value {
    json!({ "error": kind })
}

/// Metadata as it is kept, null for none, or what is wrong with it.
fn metadata(given: Option<&Value>) -> Result<Value, &'static str> {
    let entries = match given {
        None | Some(Value::Null) => return Ok(Value::Null),
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err("metadata_type"),
    };
    let texts = entries.values().map(Value::as_str);
    let Some(texts) = texts.collect::<Option<Vec<_>>>() else {
        return Err("metadata_type");
    };
    let all = entries.keys().map(String::as_str).chain(texts);
    // Two braces, and of each entry four quotes, a colon, and a comma that the last one lacks.
    let mut chars = 2 + 6 * entries.len() - 1;
    for text in all {
        if text.contains('\0') {
            return Err("metadata_nul");
        }
        let written = text.chars().map(|c| match c {
            '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
            '\0'..='\u{1f}' => 6,
            _ => 1,
        });
        chars += written.sum::<usize>();
    }
    match chars {
        _ if entries.is_empty() => Ok(Value::Null),
        4_097.. => Err("metadata_too_large"),
        _ => Ok(json!(entries)),
    }
}

fn scope_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(scope, _)| scope)
}

impl Model {
    fn step(&mut self, step: &Value) -> Result<Value> {
        let result = match step["op"].as_str().context("no op")? {
            "write" | "write_with_metadata" => {
                let content = model_text(&step["content"])?;
                self.mutate(step, Some(content))?
            }
            "delete" => self.mutate(step, None)?,
            "read" => self.read(step)?,
            "get_operation" => self
                .receipt("", &step["operation"], true)?
                .unwrap_or(Value::Null),
            "list" => self.list(step)?,
            "bulk_write" => self.bulk_write(step)?,
            op => bail!("unknown op {op}"),
        };
        self.returned
            .push(result["version"].as_str().map(str::to_owned));
        Ok(result)
    }

    fn path_is_valid(&self, path: &str) -> bool {
        let in_scope = path.contains('/') && scope_of(path).len() <= self.manners.scope_chars_max;
        is_store_path(path) && (in_scope || !self.manners.notes_have_a_scope)
    }

    fn mutate(&mut self, step: &Value, content: Option<String>) -> Result<Value> {
        let path = model_text(&step["path"])?;
        if !self.path_is_valid(&path) {
            return Ok(error("invalid_path"));
        }
        let operation = step
            .get("operation")
            .filter(|operation| !operation.is_null());
        if let Some(operation) = operation
            && let Some(answer) = self.refused_operation(operation)?
        {
            return Ok(answer);
        }
        let metadata = match metadata(step.get("metadata")) {
            Ok(metadata) => metadata,
            Err(kind) => return Ok(error(kind)),
        };
        let has_nul = content
            .as_ref()
            .is_some_and(|content| content.contains('\0'));
        if self.manners.nul_is_refused && has_nul {
            return Ok(error("nul"));
        }
        if let Some(operation) = operation
            && let Some(answer) = self.receipt(scope_of(&path), operation, false)?
        {
            return Ok(answer);
        }
        let current = self.notes.get(&path).map(|note| note.version.clone());
        if current != self.expected(&step["expected_version"])? {
            return Ok(error("conflict"));
        }
        let id = operation
            .map(|operation| model_text(&operation["id"]))
            .transpose()?;
        let result = self.change(&path, content, id, metadata);
        if let Some(operation) = operation {
            self.keep_receipt(scope_of(&path), operation, &result)?;
        }
        Ok(result)
    }

    fn refused_operation(&self, operation: &Value) -> Result<Option<Value>> {
        let id = model_text(&operation["id"])?;
        let fits = (1..=200).contains(&id.len()) && id.bytes().all(|b| (b' '..=b'~').contains(&b));
        Ok((self.manners.ids_are_bounded && !fits).then(|| error("invalid_operation")))
    }

    fn change(
        &mut self,
        path: &str,
        content: Option<String>,
        id: Option<String>,
        metadata: Value,
    ) -> Value {
        let version = self.counter.to_string();
        self.counter += 1;
        let existed = match content {
            Some(content) => {
                let note = Note {
                    content,
                    version: version.clone(),
                    operation_id: id,
                    metadata,
                };
                let existed = self.notes.insert(path.to_owned(), note).is_some();
                return json!({"version": version, "replayed": false, "existed": existed});
            }
            None => self.notes.remove(path).is_some(),
        };
        json!({"version": null, "replayed": false, "existed": existed})
    }

    fn expected(&self, expected: &Value) -> Result<Option<String>> {
        if expected.is_null() {
            return Ok(None);
        }
        let text = model_text(expected)?;
        let step = text
            .strip_prefix('$')
            .and_then(|number| number.parse::<usize>().ok());
        match step.and_then(|step| self.returned.get(step)) {
            Some(Some(version)) => Ok(Some(version.clone())),
            _ if self.manners.versions_can_be_guessed => Ok(Some(text)),
            _ => Ok(Some(format!("not a version: {text}"))),
        }
    }

    fn receipt(&self, scope: &str, operation: &Value, anywhere: bool) -> Result<Option<Value>> {
        if let Some(answer) = self.refused_operation(operation)? {
            return Ok(Some(answer));
        }
        let id = model_text(&operation["id"])?;
        let fingerprint = model_text(&operation["fingerprint"])?;
        let here = |receipt: &&Receipt| {
            anywhere || !self.manners.receipts_per_scope || receipt.scope == scope
        };
        let found = self
            .receipts
            .iter()
            .filter(here)
            .find(|receipt| receipt.id == id);
        Ok(found.map(|receipt| {
            if receipt.fingerprint == fingerprint {
                let mut result = receipt.result.clone();
                result["replayed"] = json!(true);
                result
            } else {
                error("operation_conflict")
            }
        }))
    }

    fn keep_receipt(&mut self, scope: &str, operation: &Value, result: &Value) -> Result<()> {
        self.receipts.push(Receipt {
            scope: scope.to_owned(),
            id: model_text(&operation["id"])?,
            fingerprint: model_text(&operation["fingerprint"])?,
            result: result.clone(),
        });
        let per_scope = self.manners.receipts_per_scope;
        let counts = |receipt: &Receipt| !per_scope || receipt.scope == scope;
        let kept = self
            .receipts
            .iter()
            .filter(|receipt| counts(receipt))
            .count();
        if self.manners.receipts_max.is_some_and(|max| kept > max)
            && let Some(oldest) = self.receipts.iter().position(counts)
        {
            self.receipts.remove(oldest);
        }
        Ok(())
    }

    fn read(&self, step: &Value) -> Result<Value> {
        let path = model_text(&step["path"])?;
        if !self.path_is_valid(&path) {
            return Ok(error("invalid_path"));
        }
        Ok(self.notes.get(&path).map_or(Value::Null, |note| {
            json!({
                "content": note.content,
                "version": note.version,
                "operation_id": note.operation_id,
                "metadata": note.metadata,
            })
        }))
    }

    fn list(&self, step: &Value) -> Result<Value> {
        let prefix = model_text(&step["prefix"])?;
        let limit = step["limit"].as_i64().context("no limit")?;
        let bare = prefix.strip_suffix('/').unwrap_or(&prefix);
        let whole = prefix.is_empty() && !self.manners.listings_are_of_one_scope;
        if !whole && !is_store_path(bare) {
            return Ok(error("invalid_path"));
        }
        let Ok(limit) = usize::try_from(limit) else {
            return Ok(error("value_error"));
        };
        if limit == 0 && !self.manners.listings_may_be_empty {
            return Ok(error("value_error"));
        }
        let shown = |path: &&String| {
            if self.manners.listings_are_of_one_scope {
                scope_of(path) == bare
            } else {
                path.starts_with(&prefix)
            }
        };
        Ok(self
            .notes
            .keys()
            .filter(shown)
            .take(limit)
            .cloned()
            .collect())
    }

    fn bulk_write(&mut self, step: &Value) -> Result<Value> {
        let first = step["first"].as_u64().context("no first")?;
        let count = step["count"].as_u64().context("no count")?;
        let path = model_text(&step["path"])?;
        for number in first..first + count {
            let current = self.notes.get(&path).map(|note| note.version.clone());
            let result = self.change(
                &path,
                Some(number.to_string()),
                Some(format!("bulk-{number}")),
                Value::Null,
            );
            debug_assert_eq!(
                result["existed"],
                json!(current.is_some()),
                "sequential writes"
            );
            let operation = json!({"id": format!("bulk-{number}"), "fingerprint": "f"});
            self.keep_receipt(scope_of(&path), &operation, &result)?;
        }
        Ok(json!({ "done": count }))
    }
}
