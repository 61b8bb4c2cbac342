//! Steps on a store: compare-and-swap, receipts, listings, versions.

use notekeeper_domain::{
    Fingerprint, InvalidOperation, NoteName, Operation, OperationId, Scope, SearchLimits,
    SearchQuery, Version,
};
use notekeeper_store::{Expected, MutationError, Receipt, StoreError, WriteRequest};
use serde_json::{Value, json};

use super::{files, names::listed, script::Labels};
use crate::{
    bench::{Bench, StoreKind, address},
    case::{Answer, Case, Fields, Stop},
};

/// More characters than any note of a case has.
const CHARS_MAX: usize = 10_000_000;

/// A series of steps on one store.
pub(super) struct Run<'a> {
    bench: &'a Bench,
    labels: Labels,
    /// Version that each step returned.
    returned: Vec<Option<String>>,
    /// Scopes that the case names, in order.
    scopes: Vec<Scope>,
}

/// `cas_and_receipts`: the results of the steps, versions labelled.
pub(crate) async fn steps(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let steps = given.list("steps")?;
    // What some topics call this form.
    given.get("kind");
    given.done()?;
    let paths = steps.iter().filter_map(|step| step["path"].as_str());
    let results = Run::over(bench, paths).all(steps).await?;
    Ok(json!({ "steps": results }))
}

fn error(kind: &str) -> Value {
    json!({ "error": kind })
}

impl<'a> Run<'a> {
    /// Steps about notes with these paths.
    pub(super) fn over<'p>(bench: &'a Bench, paths: impl Iterator<Item = &'p str>) -> Self {
        let mut scopes: Vec<Scope> = paths.filter_map(|path| Some(address(path)?.0)).collect();
        scopes.dedup();
        Self {
            bench,
            labels: Labels::numbered(),
            returned: Vec::new(),
            scopes,
        }
    }

    /// The results of all steps, in order.
    pub(super) async fn all(&mut self, steps: &[Value]) -> Result<Vec<Value>, Stop> {
        let mut results = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let fields = Fields::of(&format!("given.steps[{index}]"), step)?;
            results.push(self.step(fields).await?);
        }
        Ok(results)
    }

    async fn step(&mut self, step: Fields<'_>) -> Answer {
        let returned = self.returned.len();
        let result = match step.text("op")? {
            "write" | "write_with_metadata" => {
                let content = step.text("content")?;
                self.mutate(step, Some(content)).await?
            }
            "delete" => self.mutate(step, None).await?,
            "read" => self.read(step).await?,
            "get_operation" => self.receipt(step).await?,
            "list" => self.list(step).await?,
            "search" => self.search(step).await?,
            "bulk_write" => self.bulk_write(step).await?,
            _ => return Err(step.complain("op", "is no step that this runner knows")),
        };
        if self.returned.len() == returned {
            self.returned.push(None);
        }
        Ok(result)
    }

    async fn mutate(&mut self, step: Fields<'_>, content: Option<&str>) -> Answer {
        let path = step.text("path")?;
        let expected = step.text_or_null("expected_version")?;
        let expected = match files::text_at(self.bench, path, expected).await? {
            Some(version) => Expected::Version(version),
            None => self.expected(expected),
        };
        let operation = operation(&step)?;
        let metadata = super::metadata::metadata(step.get("metadata"))?;
        step.done()?;
        let Some((scope, name)) = address(path) else {
            return Ok(error("invalid_path"));
        };
        let operation = match operation.transpose() {
            Ok(operation) => operation,
            Err(_) => return Ok(error("invalid_operation")),
        };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(why) => return Ok(error(super::metadata::kind_of(&why))),
        };
        let (store, operation) = (&self.bench.store, operation.as_ref());
        let result = match content {
            Some(content) => {
                let request = WriteRequest {
                    metadata: metadata.as_ref(),
                    ..WriteRequest::new(content, &expected)
                };
                store.write(&scope, &name, &request, operation).await
            }
            None => store.delete(&scope, &name, &expected, operation).await,
        };
        self.settled(result.map(Some))
    }

    /// The version that a step expects: null for absent, `$k` for what step k returned, or a
    /// literal.
    fn expected(&self, expected: Option<&str>) -> Expected {
        let Some(text) = expected else {
            return Expected::Absent;
        };
        let step = text
            .strip_prefix('$')
            .and_then(|number| number.parse::<usize>().ok());
        let returned = step.and_then(|step| self.returned.get(step)?.as_deref());
        Expected::Version(Version::new(returned.unwrap_or(text)))
    }

    /// The result of a mutation, as it stands in the vectors.
    fn settled(&mut self, result: Result<Option<Receipt>, MutationError>) -> Answer {
        Ok(match result {
            Ok(None) => Value::Null,
            Ok(Some(receipt)) => {
                let version = receipt.version.map(|version| version.as_str().to_owned());
                self.returned.push(version.clone());
                json!({
                    "version": self.labels.of(version.as_deref()),
                    "replayed": receipt.replayed,
                    "existed": receipt.existed,
                })
            }
            Err(MutationError::OperationConflict) => error("operation_conflict"),
            Err(MutationError::VersionConflict) => error("conflict"),
            Err(MutationError::Store(StoreError::InvalidValue {
                field: "content", ..
            })) => error("nul"),
            Err(MutationError::Store(other)) => files::refusal(other)?,
            Err(other) => return Err(other.into()),
        })
    }

    async fn read(&mut self, step: Fields<'_>) -> Answer {
        let path = step.text("path")?;
        step.done()?;
        let Some((scope, name)) = address(path) else {
            return Ok(error("invalid_path"));
        };
        let part = match self.bench.store.read(&scope, &name, CHARS_MAX).await {
            Ok(Some(part)) => part,
            Ok(None) => return Ok(Value::Null),
            Err(error) => return files::refusal(error),
        };
        let version = part.version.as_str().to_owned();
        let label = self.labels.of(Some(&version));
        self.returned.push(Some(version));
        Ok(json!({
            "content": part.content,
            "version": label,
            "operation_id": part.operation_id,
            "metadata": super::metadata::shown(part.metadata.as_ref()),
        }))
    }

    /// The receipt of an operation. The step names no scope, so it is looked for in all that the
    /// case names.
    async fn receipt(&mut self, step: Fields<'_>) -> Answer {
        let operation = operation(&step)?;
        step.done()?;
        let operation = match operation.transpose() {
            Ok(Some(operation)) => operation,
            Ok(None) => return Err(Stop::NotUnderstood("no operation is asked for".to_owned())),
            Err(_) => return Ok(error("invalid_operation")),
        };
        for scope in self.scopes.clone() {
            let result = self.bench.store.receipt(&scope, &operation).await;
            if !matches!(result, Ok(None)) {
                return self.settled(result);
            }
        }
        Ok(Value::Null)
    }

    async fn list(&self, step: Fields<'_>) -> Answer {
        let prefix = step.text("prefix")?;
        let limit = step.integer("limit")?;
        step.done()?;
        // A bound is an unsigned number: one below zero can't even be passed on.
        let bound = limit.map_or(Ok(usize::MAX), usize::try_from);
        let paths = listed(self.bench, prefix, bound.unwrap_or(0)).await?;
        Ok(match (paths, bound) {
            (None, _) => error("invalid_path"),
            (Some(_), Err(_)) => error("value_error"),
            (Some(paths), Ok(_)) => json!(paths),
        })
    }

    /// Names of what a search finds, best first.
    async fn search(&self, step: Fields<'_>) -> Answer {
        let prefix = step.text("prefix")?;
        let query = SearchQuery::parse(step.text("query")?)?;
        step.done()?;
        let scope = prefix.strip_suffix('/').unwrap_or(prefix);
        let Ok(scope) = Scope::parse(scope) else {
            return Ok(error("invalid_path"));
        };
        let limits = SearchLimits {
            results_max: 10,
            result_chars_max: 4_000,
            files_max: 1_000,
            note_chars_max: 65_536,
        };
        let found = self.bench.store.search(&scope, &query, &limits).await?;
        let paths = found.matches.iter();
        let paths = paths.map(|found| format!("{}/{}", scope.as_str(), found.file));
        Ok(json!({
            "files": paths.collect::<Vec<_>>(),
            "scanned": found.scanned,
            "truncated": found.truncated,
        }))
    }

    /// Writes one number after the other with compare-and-swap, each with an operation of its own.
    async fn bulk_write(&self, step: Fields<'_>) -> Answer {
        let path = step.text("path")?;
        let first = step.bound("first")?.unwrap_or(0);
        let count = step.bound("count")?;
        let count = count.ok_or_else(|| step.complain("count", "is missing"))?;
        step.done()?;
        let Some((scope, name)) = address(path) else {
            return Ok(error("invalid_path"));
        };
        let current = self.bench.store.read(&scope, &name, 1).await?;
        let mut expected = current.map_or(Expected::Absent, |part| Expected::Version(part.version));
        for number in first..first + count {
            let operation = Operation {
                id: OperationId::parse(&format!("bulk-{number}"))?,
                fingerprint: Fingerprint::new("f"),
            };
            let content = number.to_string();
            let store = &self.bench.store;
            let written = store
                .write(
                    &scope,
                    &name,
                    &WriteRequest::new(&content, &expected),
                    Some(&operation),
                )
                .await?;
            expected = written.version.map_or(Expected::Absent, Expected::Version);
        }
        Ok(json!({ "done": count }))
    }
}

/// The operation of a step, if it has one.
fn operation(step: &Fields<'_>) -> Result<Option<Result<Operation, InvalidOperation>>, Stop> {
    if step.get_set("operation").is_none() {
        return Ok(None);
    }
    let operation = step.object("operation")?;
    let id = operation.text("id")?;
    let fingerprint = operation.text("fingerprint")?;
    operation.done()?;
    Ok(Some(OperationId::parse(id).map(|id| Operation {
        id,
        fingerprint: Fingerprint::new(fingerprint),
    })))
}

/// `version_hash` of a store that counts: the versions that operations return, labelled.
pub(crate) async fn versions(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    if given.text("store")? == StoreKind::File.name() {
        return files::bytes(case, bench).await;
    }
    if given.text("store")? != "generation" {
        return Err(given.complain("store", "is none that exists"));
    }
    let operations = given.list("ops")?;
    given.done()?;
    let scope = Scope::parse("main")?;
    let mut labels = Labels::numbered();
    let mut versions = Vec::new();
    for operation in operations {
        let Some(version) = version_after(bench, &scope, operation).await? else {
            versions.push(json!("conflict"));
            continue;
        };
        versions.push(
            labels
                .of(version.as_ref().map(Version::as_str))
                .unwrap_or_default(),
        );
    }
    Ok(json!({ "versions": versions }))
}

/// The version of the note after one operation, none where there is no note; nothing where it came to
/// a conflict.
async fn version_after(
    bench: &Bench,
    scope: &Scope,
    operation: &Value,
) -> Result<Option<Option<Version>>, Stop> {
    let words: Option<Vec<&str>> = operation
        .as_array()
        .and_then(|words| words.iter().map(Value::as_str).collect());
    let words = words.ok_or_else(|| Stop::NotUnderstood(format!("{operation} is no list")))?;
    let name = NoteName::parse;
    let version = match words.as_slice() {
        ["w", note, content] => {
            let name = name(note)?;
            let current = bench.store.read(scope, &name, 1).await?;
            let expected = current.map_or(Expected::Absent, |part| Expected::Version(part.version));
            bench
                .store
                .write(scope, &name, &WriteRequest::new(content, &expected), None)
                .await?
                .version
        }
        ["d", note] => {
            let name = name(note)?;
            let current = bench.store.read(scope, &name, 1).await?;
            let expected = current.map_or(Expected::Absent, |part| Expected::Version(part.version));
            bench
                .store
                .delete(scope, &name, &expected, None)
                .await?
                .version
        }
        ["r", note] => bench
            .store
            .read(scope, &name(note)?, 1)
            .await?
            .map(|part| part.version),
        ["bad", note] => {
            let expected = Expected::Version(Version::new("bad"));
            let result = bench
                .store
                .write(scope, &name(note)?, &WriteRequest::new("", &expected), None)
                .await;
            if !matches!(result, Err(MutationError::VersionConflict)) {
                return Err(Stop::Broken(anyhow::anyhow!("no conflict: {result:?}")));
            }
            return Ok(None);
        }
        _ => {
            return Err(Stop::NotUnderstood(format!(
                "{operation} is no known operation"
            )));
        }
    };
    Ok(Some(version))
}
