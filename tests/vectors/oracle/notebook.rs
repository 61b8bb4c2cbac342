//! Model of the tools that write, read and delete.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::text::{
    case_text, chars, has_surrogate, is_space, is_store_path, model_text, prefix, tool_name,
    trimmed_end,
};
use crate::topics::script::{Call, Notes, Outcome, Script, Tool};

/// What can be done in more than one way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manners {
    /// U+0000 in what is written is refused.
    pub(crate) nul_is_refused: bool,
    /// A lone surrogate in an argument is refused.
    pub(crate) surrogates_are_refused: bool,
    /// An append to a note whose lines end in CR LF goes on so.
    pub(crate) crlf_is_kept: bool,
    /// Two spellings of one name are the same argument.
    pub(crate) spellings_are_one_name: bool,
    /// A repetition gets the status that the first call got.
    pub(crate) status_is_recorded: bool,
    /// The agent name is one segment.
    pub(crate) agent_is_one_segment: bool,
}

#[derive(Debug)]
struct Receipt {
    fingerprint: (Tool, String, String, String, Option<String>),
    existed: bool,
    version: Option<String>,
    status: &'static str,
}

#[derive(Debug)]
struct Model {
    manners: Manners,
    notes: BTreeMap<String, String>,
    receipts: BTreeMap<(String, (String, u64, String)), Receipt>,
    versions: u64,
}

/// Arguments of a call, checked.
#[derive(Debug)]
struct Arguments {
    scope: String,
    path: String,
    name: String,
    file: String,
    content: String,
    old_text: Option<String>,
    chars_max: usize,
}

/// What the calls come to, and the notes afterwards.
pub(crate) fn run(script: &Script, manners: Manners) -> Result<(Vec<Outcome>, Notes)> {
    let mut model = Model {
        manners,
        notes: BTreeMap::new(),
        receipts: BTreeMap::new(),
        versions: 0,
    };
    for (path, text) in &script.seeds {
        model.notes.insert(path.clone(), model_text(text)?);
    }
    let outcomes = script
        .calls
        .iter()
        .map(|call| model.call(call))
        .collect::<Result<_>>()?;
    let notes = model
        .notes
        .iter()
        .map(|(path, text)| Ok((path.clone(), case_text(text)?)));
    Ok((outcomes, notes.collect::<Result<_>>()?))
}

impl Model {
    fn call(&mut self, call: &Call) -> Result<Outcome> {
        let arguments = match self.check(call)? {
            Ok(arguments) => arguments,
            Err(outcome) => return Ok(outcome),
        };
        if call.tool == Tool::Read {
            return self.read(&arguments);
        }
        let fingerprint = self.fingerprint(call.tool, &arguments);
        let key = (arguments.scope.clone(), call.identity.clone());
        if let Some(receipt) = self.receipts.get(&key) {
            return Ok(self.answer_again(receipt, &fingerprint, &arguments));
        }
        let current = self.notes.get(&arguments.path).cloned();
        let existed = current.is_some();
        let change = match call.tool {
            Tool::Delete => Ok((None, if existed { "deleted" } else { "not_found" })),
            _ => self.edit(current.as_deref(), &arguments),
        };
        let (text, status) = match change {
            Ok(change) => change,
            Err(kind) => return Ok(Outcome::refused(kind)),
        };
        self.versions += 1;
        let version = text.is_some().then(|| self.versions.to_string());
        match text {
            Some(text) => drop(self.notes.insert(arguments.path.clone(), text)),
            None => drop(self.notes.remove(&arguments.path)),
        }
        let receipt = Receipt {
            fingerprint,
            existed,
            version: version.clone(),
            status,
        };
        self.receipts.insert(key, receipt);
        Ok(Outcome::Done {
            file: arguments.name,
            version,
            replayed: false,
            status: status.to_owned(),
        })
    }

    /// What is checked before the store is asked.
    fn check(&self, call: &Call) -> Result<Result<Arguments, Outcome>> {
        let text = |key: &str| call.arguments.get(key).map(model_text).transpose();
        let file = match text("file")? {
            Some(file) => file,
            None if call.tool == Tool::Write => "MEMORY.md".to_owned(),
            None => return Err(anyhow::anyhow!("a call names no file")),
        };
        let content = text("content")?.unwrap_or_default();
        let old_text = text("old_text")?;
        let texts = [Some(&file), Some(&content), old_text.as_ref()];
        let any = |test: fn(&str) -> bool| texts.iter().flatten().any(|text| test(text));
        if self.manners.surrogates_are_refused && any(has_surrogate) {
            return Ok(Err(Outcome::failed("invalid_argument")));
        }
        let Some(name) = tool_name(&file) else {
            return Ok(Err(Outcome::refused("invalid_path")));
        };
        if self.manners.nul_is_refused && any(|text| text.contains('\0')) {
            return Ok(Err(Outcome::refused("nul")));
        }
        let blank = content.chars().all(is_space);
        match call.tool {
            Tool::Write if old_text.is_none() && blank => {
                return Ok(Err(Outcome::refused("empty_content")));
            }
            Tool::Delete if name == "MEMORY.md" => {
                return Ok(Err(Outcome::refused("protected")));
            }
            _ => {}
        }
        let (namespace, agent) = &call.scope;
        let scope = if namespace.is_empty() {
            agent.clone()
        } else {
            format!("{namespace}/{agent}")
        };
        let several = self.manners.agent_is_one_segment && agent.contains('/');
        if several || !is_store_path(&scope) {
            return Ok(Err(Outcome::failed("invalid_namespace")));
        }
        let path = format!("{scope}/{name}");
        let chars_max = call.note_chars_max.unwrap_or(65_536);
        Ok(Ok(Arguments {
            scope,
            path,
            name,
            file,
            content,
            old_text,
            chars_max,
        }))
    }

    fn fingerprint(
        &self,
        tool: Tool,
        arguments: &Arguments,
    ) -> (Tool, String, String, String, Option<String>) {
        let file = if self.manners.spellings_are_one_name {
            &arguments.name
        } else {
            &arguments.file
        };
        (
            tool,
            arguments.path.clone(),
            file.clone(),
            arguments.content.clone(),
            arguments.old_text.clone(),
        )
    }

    fn answer_again(
        &self,
        receipt: &Receipt,
        fingerprint: &(Tool, String, String, String, Option<String>),
        arguments: &Arguments,
    ) -> Outcome {
        if receipt.fingerprint != *fingerprint {
            return Outcome::failed("operation_conflict");
        }
        let derived = match (fingerprint.0, &arguments.old_text, receipt.existed) {
            (Tool::Delete, _, _) => receipt.status,
            (_, Some(_), _) => "updated",
            (_, None, true) => "appended",
            (_, None, false) => "created",
        };
        let status = if self.manners.status_is_recorded {
            receipt.status
        } else {
            derived
        };
        Outcome::Done {
            file: arguments.name.clone(),
            version: receipt.version.clone(),
            replayed: true,
            status: status.to_owned(),
        }
    }

    fn edit(
        &self,
        current: Option<&str>,
        arguments: &Arguments,
    ) -> Result<(Option<String>, &'static str), &'static str> {
        if current.is_some_and(|text| chars(text) > arguments.chars_max) {
            return Err("too_large_existing");
        }
        let (text, status) = match &arguments.old_text {
            Some(old_text) => replaced(current, old_text, &arguments.content)?,
            None => self.appended(current, &arguments.content),
        };
        if chars(&text) > arguments.chars_max {
            return Err("too_large");
        }
        Ok((Some(text), status))
    }

    fn appended(&self, current: Option<&str>, content: &str) -> (String, &'static str) {
        let content = trimmed_end(content);
        match current.filter(|text| !text.chars().all(is_space)) {
            None => (format!("{content}\n"), "created"),
            Some(old) => {
                let joined = format!("{}\n{content}\n", trimmed_end(old));
                let every_line = old.contains('\n') && !old.replace("\r\n", "").contains('\n');
                let text = if self.manners.crlf_is_kept && every_line {
                    joined.replace("\r\n", "\n").replace('\n', "\r\n")
                } else {
                    joined
                };
                (text, "appended")
            }
        }
    }

    fn read(&self, arguments: &Arguments) -> Result<Outcome> {
        Ok(match self.notes.get(&arguments.path) {
            None => Outcome::refused("not_found"),
            Some(text) => Outcome::Text {
                content: case_text(&prefix(text, arguments.chars_max))
                    .context("the model made no text")?,
                truncated: chars(text) > arguments.chars_max,
            },
        })
    }
}

fn replaced(
    current: Option<&str>,
    old_text: &str,
    content: &str,
) -> Result<(String, &'static str), &'static str> {
    let Some(current) = current else {
        return Err("not_found");
    };
    let mut pieces = current.split(old_text);
    if old_text.is_empty() {
        return Err("old_text_not_found");
    }
    match (pieces.next(), pieces.next(), pieces.next()) {
        (Some(before), Some(after), None) => Ok((format!("{before}{content}{after}"), "updated")),
        (_, None, _) => Err("old_text_not_found"),
        _ => Err("ambiguous"),
    }
}
