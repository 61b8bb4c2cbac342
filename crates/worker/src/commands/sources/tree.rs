//! The tree of a configuration's sources, leg by leg.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use notekeeper_activities::Sources;
use notekeeper_contract::DEFAULT_STORE;
use notekeeper_recall::{HYBRID_SOURCE, Member, Source, SourceKind, SourceSpec, VectorPlace};

/// A source, or one that stands in another.
#[derive(Debug, Clone)]
pub(super) struct Leg {
    /// Where it stands, as in the file, such as `kb.sources[1].inner`.
    pub(super) path: String,
    /// As the file names it.
    pub(super) kind: &'static str,
    /// What it is made of, by name or kind.
    pub(super) members: Vec<String>,
    /// The store that it works on; none of a composition, a tool and the like.
    pub(super) store: Option<String>,
    /// Whether what it keeps ends with its process.
    pub(super) ends_with_process: bool,
    pub(super) source: Arc<dyn Source>,
}

/// All legs below the sources of these names, each named source once. A name that isn't there is passed
/// over.
pub(super) fn legs(
    specs: &BTreeMap<String, SourceSpec>,
    sources: &Sources,
    names: impl IntoIterator<Item = String>,
) -> Vec<Leg> {
    let mut legs = Vec::new();
    let mut left: Vec<String> = names.into_iter().collect();
    left.reverse();
    let mut seen = BTreeSet::new();
    while let Some(name) = left.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if let Ok(source) = sources.get(&name) {
            match specs.get(&name) {
                Some(spec) => add(&name, spec, source, &mut legs, &mut left),
                None => add_ready_made(&name, source, &mut legs),
            }
        }
    }
    legs
}

fn add(
    path: &str,
    spec: &SourceSpec,
    source: &Arc<dyn Source>,
    legs: &mut Vec<Leg>,
    named: &mut Vec<String>,
) {
    let members = members(&spec.kind);
    legs.push(Leg {
        path: path.to_owned(),
        kind: spec.kind.as_str(),
        members: members
            .iter()
            .map(|(_, member)| label(member).to_owned())
            .collect(),
        store: store(&spec.kind).map(str::to_owned),
        ends_with_process: ends_with_process(&spec.kind),
        source: Arc::clone(source),
    });
    for ((key, member), source) in members.into_iter().zip(source.members()) {
        match member {
            Member::Named(name) => named.push(name.clone()),
            Member::Inline(spec) => add(&format!("{path}.{key}"), spec, source, legs, named),
        }
    }
}

/// One that is there though no file has it.
fn add_ready_made(name: &str, source: &Arc<dyn Source>, legs: &mut Vec<Leg>) {
    legs.push(Leg {
        path: name.to_owned(),
        kind: HYBRID_SOURCE,
        members: Vec::new(),
        store: Some(DEFAULT_STORE.to_owned()),
        ends_with_process: false,
        source: Arc::clone(source),
    });
}

/// What a source is made of, each with the key under which it stands.
fn members(kind: &SourceKind) -> Vec<(String, &Member)> {
    match kind {
        SourceKind::Composite { sources, .. } | SourceKind::Sequential { sources, .. } => sources
            .iter()
            .enumerate()
            .map(|(index, member)| (format!("sources[{index}]"), member))
            .collect(),
        SourceKind::Scoped { inner, .. }
        | SourceKind::Cached { inner, .. }
        | SourceKind::Compacted { inner, .. }
        | SourceKind::ReadOnly { inner, .. } => vec![("inner".to_owned(), inner.as_ref())],
        _ => Vec::new(),
    }
}

fn label(member: &Member) -> &str {
    match member {
        Member::Named(name) => name,
        Member::Inline(spec) => spec.name.as_deref().unwrap_or(spec.kind.as_str()),
    }
}

fn store(kind: &SourceKind) -> Option<&str> {
    match kind {
        SourceKind::Vector {
            index: VectorPlace::Store { store, .. },
        }
        | SourceKind::File { store }
        | SourceKind::Journal { store }
        | SourceKind::Facts { store }
        | SourceKind::Transcript { store, .. }
        | SourceKind::Notes { store }
        | SourceKind::Hybrid { store, .. } => Some(store),
        _ => None,
    }
}

fn ends_with_process(kind: &SourceKind) -> bool {
    matches!(
        kind,
        SourceKind::Vector {
            index: VectorPlace::InMemory
        }
    )
}

#[cfg(test)]
mod tests {
    use notekeeper_activities::Stores;
    use notekeeper_recall::{SourceParts, StoreKeeps, build};

    use super::*;

    const KB: &str = r#"
        [handbook]
        kind = "vector"
        index = "in_memory"
        [notes]
        kind = "file"
        store = "eu"
        [kb]
        kind = "composite"
        sources = [
            "handbook",
            { kind = "read_only", inner = { kind = "vector", name = "registry", index = "in_memory" } },
            { kind = "sequential", name = "tiers", sources = ["notes", { kind = "scratchpad" }] },
        ]
        [other]
        kind = "scratchpad"
    "#;

    fn told(names: &[&str]) -> Vec<Leg> {
        let specs: BTreeMap<String, SourceSpec> = toml::from_str(KB).expect("sources");
        let kinds = BTreeMap::from([("eu".to_owned(), StoreKeeps::default())]);
        let parts = SourceParts::new(Arc::new(Stores::new([])), kinds);
        let sources = Sources::new(build(specs.clone(), &parts).expect("sources"));
        legs(&specs, &sources, names.iter().map(ToString::to_string))
    }

    #[test]
    fn each_leg_has_its_path_and_a_named_one_stands_by_itself_once() {
        let legs = told(&["kb", "handbook", "nowhere"]);
        let paths: Vec<_> = legs
            .iter()
            .map(|leg| (leg.path.as_str(), leg.kind, leg.source.name()))
            .collect();
        assert_eq!(
            paths,
            [
                ("kb", "composite", "kb"),
                ("kb.sources[1]", "read_only", "registry"),
                ("kb.sources[1].inner", "vector", "registry"),
                ("kb.sources[2]", "sequential", "tiers"),
                ("kb.sources[2].sources[1]", "scratchpad", "scratchpad"),
                ("notes", "file", "notes"),
                ("handbook", "vector", "handbook"),
            ]
        );
        assert_eq!(legs[0].members, ["handbook", "read_only", "tiers"]);
        assert_eq!(legs[5].store.as_deref(), Some("eu"));
        let in_memory: Vec<_> = legs.iter().filter(|leg| leg.ends_with_process).collect();
        assert_eq!(in_memory.len(), 2);
    }
}
