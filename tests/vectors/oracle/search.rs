//! Model of `search_memory`.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::text::{case_text, chars, has_surrogate, is_space, is_tool_name, model_text, prefix};
use crate::case::Case;

/// What can be done in more than one way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manners {
    /// A match whose name tools don't accept is passed over; otherwise it fails the search.
    pub(crate) odd_names_are_skipped: bool,
    /// A snippet is placed by the hit in the original text; otherwise by its index in the
    /// lower-cased one.
    pub(crate) snippets_follow_the_original: bool,
    /// U+0000 in a query is refused.
    pub(crate) nul_is_refused: bool,
    /// A lone surrogate in a query is refused.
    pub(crate) surrogates_are_refused: bool,
}

#[derive(Debug)]
struct Limits {
    results: usize,
    result_chars: usize,
    files: usize,
    note_chars: usize,
}

/// The answer to a case.
pub(crate) fn answer(case: &Case, manners: Manners) -> Result<Value> {
    let query = model_text(&case.given["query"])?;
    let limits = Limits {
        results: limit(case, "max_search_results", 10)?,
        result_chars: limit(case, "max_search_result_chars", 4_000)?,
        files: limit(case, "max_search_files", 1_000)?,
        note_chars: limit(case, "max_memory_size", 65_536)?,
    };
    let terms = match terms(&query, manners) {
        Ok(terms) => terms,
        Err(error) => return Ok(error),
    };
    let notes = notes_in_scope(case)?;
    let scanned = &notes[..notes.len().min(limits.files)];
    let mut found: Vec<Hit> = scanned
        .iter()
        .filter_map(|(name, text)| Hit::of(name, &prefix(text, limits.note_chars), &terms))
        .filter(|hit| !manners.odd_names_are_skipped || is_tool_name(&hit.name))
        .collect();
    found.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.name.cmp(&b.name)));
    let cut = scanned
        .iter()
        .any(|(_, text)| chars(text) > limits.note_chars);
    let matches = matches(&found, &limits, manners);
    if matches.iter().any(|(hit, _)| !is_tool_name(&hit.name)) {
        return Ok(json!({"error": "backend_result_rejected", "disposition": "fatal"}));
    }
    let truncated = cut || notes.len() > limits.files || found.len() > matches.len();
    let matches: Vec<Value> = matches
        .into_iter()
        .map(|(hit, snippet)| {
            #[expect(clippy::cast_precision_loss, reason = "cases are far below 2^52 hits")]
            let score = hit.score as f64;
            Ok(json!({"file": hit.name, "snippet": case_text(&snippet)?, "score": score}))
        })
        .collect::<Result<_>>()?;
    Ok(json!({"matches": matches, "scanned": scanned.len(), "truncated": truncated}))
}

fn limit(case: &Case, key: &str, default: usize) -> Result<usize> {
    let limits = case.given.get("limits").filter(|limits| !limits.is_null());
    match limits.and_then(|limits| limits.get(key)) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => Ok(usize::try_from(
            value.as_u64().context("limit below zero")?,
        )?),
    }
}

fn notes_in_scope(case: &Case) -> Result<Vec<(String, String)>> {
    let scope = case.given["scope"].as_str().unwrap_or("main");
    let files = case.given["files"].as_object().context("no files")?;
    let mut notes = Vec::new();
    for (path, text) in files {
        let name = path
            .strip_prefix(scope)
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(name) = name.filter(|name| !name.contains('/')) {
            notes.push((name.to_owned(), model_text(text)?));
        }
    }
    notes.sort();
    Ok(notes)
}

fn terms(query: &str, manners: Manners) -> Result<Vec<String>, Value> {
    let refused = |error: &str| json!({"error": error, "disposition": "model_retry"});
    if manners.surrogates_are_refused && has_surrogate(query) {
        return Err(json!({"error": "invalid_argument", "disposition": "fatal"}));
    }
    if manners.nul_is_refused && query.contains('\0') {
        return Err(refused("nul"));
    }
    if chars(query) > 1_000 {
        return Err(refused("query_too_long"));
    }
    let mut terms = Vec::new();
    for term in query.split(is_space).filter(|term| !term.is_empty()) {
        let term = term.to_lowercase();
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    match terms.len() {
        0 => Err(refused("query_empty")),
        1..=32 => Ok(terms),
        _ => Err(refused("query_too_many_terms")),
    }
}

#[derive(Debug)]
struct Hit {
    name: String,
    text: Vec<char>,
    score: usize,
    /// Index of the first hit in the lower-cased text, and in the original.
    at_lowered: usize,
    at_original: usize,
}

impl Hit {
    fn of(name: &str, text: &str, terms: &[String]) -> Option<Self> {
        let lowered = text.to_lowercase();
        let in_name = |term: &String| name.to_lowercase().matches(term.as_str()).count();
        let score = terms
            .iter()
            .map(|term| lowered.matches(term.as_str()).count() + 2 * in_name(term))
            .sum();
        let first = terms
            .iter()
            .filter_map(|term| lowered.find(term.as_str()))
            .min();
        let at_lowered = first.map_or(0, |byte| chars(&lowered[..byte]));
        (score > 0).then(|| Self {
            name: name.to_owned(),
            text: text.chars().collect(),
            score,
            at_lowered,
            at_original: original_index(text, at_lowered),
        })
    }
}

/// Index of the character that the lowered character at `lowered` came from.
fn original_index(text: &str, lowered: usize) -> usize {
    let origins = text
        .chars()
        .enumerate()
        .flat_map(|(index, c)| c.to_lowercase().map(move |_| index));
    origins.into_iter().nth(lowered).unwrap_or(0)
}

fn matches<'h>(found: &'h [Hit], limits: &Limits, manners: Manners) -> Vec<(&'h Hit, String)> {
    let mut remaining = limits.result_chars;
    let mut matches = Vec::new();
    for hit in found.iter().take(limits.results) {
        let available = remaining.saturating_sub(chars(&hit.name));
        if available == 0 {
            break;
        }
        let at = if manners.snippets_follow_the_original {
            hit.at_original
        } else {
            hit.at_lowered
        };
        let snippet = snippet(&hit.text, at, available);
        remaining = available - chars(&snippet);
        matches.push((hit, snippet));
    }
    matches
}

fn snippet(text: &[char], at: usize, available: usize) -> String {
    let start = at.saturating_sub(available / 3);
    let end = text.len().min(start.saturating_add(available));
    let start = end.saturating_sub(available);
    let mut part = text[start..end].to_vec();
    let dots = part.len().min(3);
    if start > 0 {
        part[..dots].fill('.');
    }
    if end < text.len() {
        let length = part.len();
        part[length - dots..].fill('.');
    }
    part.into_iter().collect()
}
