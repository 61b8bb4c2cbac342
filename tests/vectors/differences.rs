//! Where this product differs from the peer on purpose, as rules.
//!
//! A rule never names a case. It either switches the manners of a model (see [`crate::oracle`]):
//! then it covers every case that the model answers otherwise, and the model's answer is ours; or
//! it says by a predicate which cases it covers, and makes our answer from the case. A covered case
//! passes only if the product gives exactly that answer.

mod answers;
mod files;
mod telemetry;

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    bench::StoreKind,
    case::Case,
    oracle::{notebook, search, store},
    topics::script::{self, Labels},
};

/// A deliberate difference.
#[derive(Debug)]
pub(crate) struct Rule {
    /// What holds here, in a few words.
    pub(crate) name: &'static str,
    /// Why.
    pub(crate) reason: &'static str,
    /// Whether no committed case shows it: another set of cases does.
    pub(crate) elsewhere: bool,
    /// What it changes.
    pub(crate) change: Change,
}

/// What a rule changes.
#[derive(Debug)]
pub(crate) enum Change {
    /// How the tools that write, read and delete behave.
    Notebook(fn(&mut notebook::Manners)),
    /// How search behaves.
    Search(fn(&mut search::Manners)),
    /// How a store of some kind behaves.
    Store(fn(&mut store::Manners, StoreKind)),
    /// The answer to certain cases: ours for this kind of store, made from the case and the answer
    /// so far; `None` where the rule doesn't cover the case.
    Answer(fn(&Case, StoreKind, &Value) -> Option<Value>),
    /// As [`Change::Answer`], and no other rule has a say.
    WholeAnswer(fn(&Case) -> Option<Value>),
}

/// Our answer to a case, and the rules that made it another than the peer's.
#[derive(Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) answer: Value,
    pub(crate) rules: Vec<&'static str>,
}

/// The rules.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "lone surrogates are refused",
        reason: "no UTF-8 text holds one, so JSON with one is no argument: typed, on every store \
                 and in every field",
        elsewhere: false,
        change: Change::WholeAnswer(answers::unencodable),
    },
    Rule {
        name: "lone surrogates in the arguments of a call are refused",
        reason: "as above; the calls before and after it are not affected",
        elsewhere: false,
        change: Change::Notebook(|manners| manners.surrogates_are_refused = true),
    },
    Rule {
        name: "lone surrogates in a query are refused",
        reason: "as above",
        elsewhere: false,
        change: Change::Search(|manners| manners.surrogates_are_refused = true),
    },
    Rule {
        name: "stored text holds no NUL",
        reason: "databases cut or refuse texts at U+0000, so every store refuses it, and what a \
                 case stores beforehand never gets there",
        elsewhere: false,
        change: Change::WholeAnswer(answers::nul_in_seed),
    },
    Rule {
        name: "NUL in the arguments of a call is refused",
        reason: "as above, before anything is stored; the model is told which argument",
        elsewhere: false,
        change: Change::Notebook(|manners| manners.nul_is_refused = true),
    },
    Rule {
        name: "NUL in a query is refused",
        reason: "as above: nothing that is stored could match it",
        elsewhere: true,
        change: Change::Search(|manners| manners.nul_is_refused = true),
    },
    Rule {
        name: "NUL in a store's argument is refused",
        reason: "as above, below the tools too",
        elsewhere: true,
        change: Change::Store(|manners, _| manners.nul_is_refused = true),
    },
    Rule {
        name: "NUL in the arguments of an operation is refused",
        reason: "as above: a refused call has no operation",
        elsewhere: false,
        change: Change::Answer(answers::nul_in_operation),
    },
    Rule {
        name: "the agent name is one segment",
        reason: "with a slash in it, two pairs of namespace and agent name would be one scope",
        elsewhere: false,
        change: Change::Answer(answers::agent_with_slash),
    },
    Rule {
        name: "the agent name of a call is one segment",
        reason: "as above",
        elsewhere: true,
        change: Change::Notebook(|manners| manners.agent_is_one_segment = true),
    },
    Rule {
        name: "a scope has at most 2,000 characters",
        reason: "its path is part of index keys, whose size the database bounds",
        elsewhere: true,
        change: Change::Answer(answers::scope_too_long),
    },
    Rule {
        name: "CR LF notes keep CR LF",
        reason: "an append doesn't leave a note with two kinds of line ends",
        elsewhere: false,
        change: Change::Notebook(|manners| manners.crlf_is_kept = true),
    },
    Rule {
        name: "two spellings of a name are the same arguments",
        reason: "`n` and `n.md` name one note, so repeating a call with the other is a repetition",
        elsewhere: true,
        change: Change::Notebook(|manners| manners.spellings_are_one_name = true),
    },
    Rule {
        name: "fingerprints hold the normalised name",
        reason: "as above",
        elsewhere: false,
        change: Change::Answer(answers::normalised_fingerprint),
    },
    Rule {
        name: "a repetition returns the recorded status",
        reason: "the receipt holds the whole result, so the answer is the first one again",
        elsewhere: true,
        change: Change::Notebook(|manners| manners.status_is_recorded = true),
    },
    Rule {
        name: "an incomplete operation identity is refused, typed",
        reason: "an empty run id or tool call id would make one identity of many calls",
        elsewhere: false,
        change: Change::Answer(answers::incomplete_identity),
    },
    Rule {
        name: "operation ids are 1 to 200 printable ASCII characters",
        reason: "they are part of index keys, headers and logs",
        elsewhere: true,
        change: Change::Store(|manners, _| manners.ids_are_bounded = true),
    },
    Rule {
        name: "receipts belong to their scope",
        reason: "no operation of one tenant looks at another's; equal ids in two scopes are two \
                 operations",
        elsewhere: true,
        change: Change::Store(|manners, _| manners.receipts_per_scope = true),
    },
    Rule {
        name: "receipts in memory and beside files: the newest 1,024 of each scope",
        reason: "a busy tenant doesn't push out another's; the database keeps all until they are \
                 pruned",
        elsewhere: false,
        change: Change::Store(|manners, kind| {
            let bounded = [StoreKind::InMemory, StoreKind::File].contains(&kind);
            manners.receipts_max = bounded.then_some(1_024);
            manners.receipts_per_scope = true;
        }),
    },
    Rule {
        name: "versions are opaque and never come back",
        reason: "a literal can't name a current version, and no deletion or new start repeats one",
        elsewhere: true,
        change: Change::Store(|manners, _| manners.versions_can_be_guessed = false),
    },
    Rule {
        name: "versions carry no number",
        reason: "callers compare them for equality; a counter's values are the peer's own",
        elsewhere: false,
        change: Change::Answer(answers::labelled_versions),
    },
    Rule {
        name: "a listing shows one scope",
        reason: "a scope nested under it, or one whose name begins alike, is another's; so they \
                 can't starve a listing either",
        elsewhere: false,
        change: Change::Store(|manners, _| manners.listings_are_of_one_scope = true),
    },
    Rule {
        name: "a listing under a prefix shows one scope",
        reason: "as above",
        elsewhere: false,
        change: Change::Answer(answers::listing_of_one_scope),
    },
    Rule {
        name: "a listing of no names is empty",
        reason: "bounds are unsigned, and zero needs no error below the payloads, which refuse it",
        elsewhere: false,
        change: Change::Store(|manners, _| manners.listings_may_be_empty = true),
    },
    Rule {
        name: "every note is in a scope",
        reason: "a path of one segment names a note of nobody",
        elsewhere: true,
        change: Change::Store(|manners, _| {
            manners.notes_have_a_scope = true;
            manners.scope_chars_max = 2_000;
        }),
    },
    Rule {
        name: "nobody gives up on a contended note",
        reason: "concurrent edits take effect one after the other, without attempts to count",
        elsewhere: false,
        change: Change::Answer(answers::no_give_up),
    },
    Rule {
        name: "every concurrent writer succeeds",
        reason: "as above",
        elsewhere: true,
        change: Change::Answer(answers::every_writer_succeeds),
    },
    Rule {
        name: "a read tells that it is partial by a flag",
        reason: "the tool's result is data; the text for the model is made from it",
        elsewhere: false,
        change: Change::Answer(answers::structured_read),
    },
    Rule {
        name: "odd names are skipped and counted in searches",
        reason: "one file that another program left must not make every search fail",
        elsewhere: true,
        change: Change::Search(|manners| manners.odd_names_are_skipped = true),
    },
    Rule {
        name: "snippets are centred on the original text",
        reason: "some letters grow when they are lower-cased, so an index there is wrong here",
        elsewhere: true,
        change: Change::Search(|manners| manners.snippets_follow_the_original = true),
    },
    Rule {
        name: "the guidance is our own",
        reason: "its wording, and so what it takes of the budget",
        elsewhere: false,
        change: Change::Answer(answers::own_guidance),
    },
    Rule {
        name: "the newest part of an oversize note is shown",
        reason: "a notebook is appended to, so its end is what matters now",
        elsewhere: false,
        change: Change::Answer(answers::newest_part),
    },
    Rule {
        name: "a last line longer than the budget is cut with a mark",
        reason: "all or nothing would hide the whole notebook behind one long line",
        elsewhere: false,
        change: Change::Answer(answers::cut_line),
    },
    Rule {
        name: "a budget too small for a notice shows a remark or nothing",
        reason: "a hard cut leaves half a notice, which tells the model nothing",
        elsewhere: false,
        change: Change::Answer(answers::tiny_budget),
    },
    Rule {
        name: "a blank notebook shows nothing",
        reason: "an empty block is noise in every request",
        elsewhere: true,
        change: Change::Answer(answers::blank_notebook),
    },
    Rule {
        name: "two memories on one scope of one store are an error at construction",
        reason: "each would take out the other's block, and a note changed through one would change \
                 under the other",
        elsewhere: true,
        change: Change::Answer(answers::shared_scope),
    },
    Rule {
        name: "tool names that clash are an error at construction",
        reason: "an agent that can't make a single request shouldn't begin a conversation",
        elsewhere: true,
        change: Change::Answer(answers::clashing_tools),
    },
    Rule {
        name: "only notes that could be listed count as more files",
        reason: "nested scopes and other files neither starve a listing nor make it look cut",
        elsewhere: true,
        change: Change::Answer(answers::files_of_the_scope),
    },
    Rule {
        name: "spans name a store by its kind",
        reason: "as the configuration does; what a class is called is the peer's own affair",
        elsewhere: false,
        change: Change::Answer(telemetry::backend_is_a_kind),
    },
    Rule {
        name: "spans name an error as the result or failure does",
        reason: "a refusal is a result with a reason and no exception, and a failure has a type; \
                 by these names who reads a span finds it in histories and in the contract",
        elsewhere: false,
        change: Change::Answer(telemetry::errors_have_our_names),
    },
    Rule {
        name: "a block goes beside one request and into no history",
        reason: "the documentation's placement: only the current request has the block. What is \
                 worth telling is whether it is still the one that the caller holds",
        elsewhere: false,
        change: Change::Answer(telemetry::no_history),
    },
    Rule {
        name: "the characters of a block are those of our wording",
        reason: "its headings and notices; the number must be that of the block's own text",
        elsewhere: false,
        change: Change::Answer(telemetry::own_wording),
    },
    Rule {
        name: "a failed load leaves a span, whatever the run makes of it",
        reason: "failures record the exception type, says the documentation; where errors are \
                 raised it is wanted no less",
        elsewhere: false,
        change: Change::Answer(telemetry::raised_is_seen),
    },
    Rule {
        name: "the journal of a store of files is a database",
        reason: "it recovers an operation that was interrupted anywhere, and holds between processes, \
                 which a list in one file can't; receipts don't repeat what a call expected",
        elsewhere: false,
        change: Change::Answer(files::journal),
    },
    Rule {
        name: "versions of files don't follow from their text alone",
        reason: "versions never repeat: going back to an old text is a new version",
        elsewhere: false,
        change: Change::Answer(files::random_versions),
    },
    Rule {
        name: "every note that is a file is in a scope",
        reason: "a path of one segment names a note of nobody",
        elsewhere: false,
        change: Change::Answer(files::notes_have_a_scope),
    },
    Rule {
        name: "a listing of files shows one scope",
        reason: "a scope nested under it is another's, and the root is nobody's",
        elsewhere: false,
        change: Change::Answer(files::listing_of_one_scope),
    },
    Rule {
        name: "a file that is no text is passed over and counted, and never written over",
        reason: "one undecodable file must not make every search fail; reading it is refused, typed",
        elsewhere: true,
        change: Change::Answer(files::no_text_is_passed_over),
    },
    Rule {
        name: "a directory with a note's name stays what it is",
        reason: "a text that is moved into it would be lost with success reported",
        elsewhere: true,
        change: Change::Answer(files::directories_stay),
    },
];

/// Our answer to a case on a kind of store.
pub(crate) fn expected(case: &Case, kind: StoreKind) -> Result<Expected> {
    let mut answer = case.expectation();
    let mut rules = Vec::new();
    for rule in RULES {
        if let Change::WholeAnswer(whole) = rule.change
            && let Some(ours) = whole(case)
        {
            return Ok(Expected {
                answer: ours,
                rules: vec![rule.name],
            });
        }
    }
    for model in [notebook_model, search_model, store_model] {
        if let Some(ours) = by_model(case, kind, &answer, model)? {
            answer = ours.answer;
            rules.extend(ours.rules);
        }
    }
    for rule in RULES {
        if let Change::Answer(change) = rule.change
            && let Some(ours) = change(case, kind, &answer)
            && ours != answer
        {
            answer = ours;
            rules.push(rule.name);
        }
    }
    Ok(Expected { answer, rules })
}

/// A model's answer to a case with some rules switched on, from one of its starting points. `None`
/// where it has nothing to say of the case, or no such starting point.
type Model = fn(&Case, StoreKind, usize, &[&Rule]) -> Result<Option<Value>>;

/// Our answer by a model, where the model reproduces the peer's.
fn by_model(case: &Case, kind: StoreKind, peer: &Value, model: Model) -> Result<Option<Expected>> {
    let every_rule: Vec<&Rule> = RULES.iter().collect();
    for start in 0.. {
        let Some(reproduced) = model(case, kind, start, &[])? else {
            break;
        };
        if reproduced != *peer {
            continue;
        }
        let answer = model(case, kind, start, &every_rule)?.unwrap_or_default();
        if answer == *peer {
            return Ok(None);
        }
        let mut rules = Vec::new();
        for rule in RULES {
            if model(case, kind, start, &[rule])?.as_ref() != Some(peer) {
                rules.push(rule.name);
            }
        }
        return Ok(Some(Expected { answer, rules }));
    }
    Ok(None)
}

/// Whether a model speaks of this case and reproduces its expectation; `None` where none speaks.
pub(crate) fn reproduces(case: &Case, kind: StoreKind) -> Result<Option<bool>> {
    let peer = case.expectation();
    let mut any = None;
    for model in [notebook_model, search_model, store_model] {
        for start in 0.. {
            let Some(answer) = model(case, kind, start, &[])? else {
                break;
            };
            any = Some(any == Some(true) || answer == peer);
        }
    }
    Ok(any)
}

/// What the peer answers, by the model that speaks of this case.
pub(crate) fn peer_answer(case: &Case, kind: StoreKind) -> Result<Option<Value>> {
    for model in [notebook_model, search_model, store_model] {
        let answer = model(case, kind, 0, &[])?;
        if answer.is_some() {
            return Ok(answer);
        }
    }
    Ok(None)
}

fn notebook_model(
    case: &Case,
    _: StoreKind,
    start: usize,
    rules: &[&Rule],
) -> Result<Option<Value>> {
    let Some(script) = script::script(case).ok().flatten().filter(|_| start == 0) else {
        return Ok(None);
    };
    let mut manners = notebook::Manners::default();
    for rule in rules {
        if let Change::Notebook(switch) = rule.change {
            switch(&mut manners);
        }
    }
    let (outcomes, notes) = notebook::run(&script, manners)?;
    Ok(script::shape(case, &outcomes, &notes).ok())
}

fn search_model(case: &Case, _: StoreKind, start: usize, rules: &[&Rule]) -> Result<Option<Value>> {
    if case.topic != "search" || start > 0 {
        return Ok(None);
    }
    let mut manners = search::Manners::default();
    for rule in rules {
        if let Change::Search(switch) = rule.change {
            switch(&mut manners);
        }
    }
    search::answer(case, manners).map(Some)
}

fn store_model(
    case: &Case,
    kind: StoreKind,
    start: usize,
    rules: &[&Rule],
) -> Result<Option<Value>> {
    let steps = case.given["steps"]
        .as_array()
        .filter(|_| ["cas_and_receipts", "metadata"].contains(&case.topic.as_str()));
    let (Some(steps), Some(mut manners)) = (steps, store::Manners::of_peers().nth(start)) else {
        return Ok(None);
    };
    for rule in rules {
        if let Change::Store(switch) = rule.change {
            switch(&mut manners, kind);
        }
    }
    // A step that the model doesn't know makes the runner say that it isn't understood.
    let Ok(mut results) = store::results(steps, manners) else {
        return Ok(None);
    };
    let mut labels = Labels::numbered();
    for result in &mut results {
        if let Some(version) = result["version"].as_str().map(str::to_owned) {
            result["version"] = labels.of(Some(&version)).unwrap_or_default();
        }
    }
    Ok(Some(json!({ "steps": results })))
}
