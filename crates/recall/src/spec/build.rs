//! From settings to sources.

mod leaves;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use notekeeper_domain::{HYBRID_SOURCE, check_source_name};

use super::{Member, Require, Rerank, SourceKind, SourceParts, SourceSpec};
use crate::{
    CacheOptions, CachedSource, CompactedSource, Compactor, CompositeOptions, CompositeSource,
    HeadCompactor, InvalidSetting, ModelCompactor, NamespaceExact, NamespacePrefix,
    NamespaceRequired, ReadOnlySource, ReciprocalRankFusion, Reranker, ScopePolicy, ScopedSource,
    ScoreSort, SequentialSource, Source,
};

/// Most levels of a tree of sources, itself counted: each takes its share of time from those inside.
pub const SOURCE_LEVELS_MAX: usize = 16;

/// Most sources that one query asks, those that stand in several places of its tree counted for each: what
/// they answer is held at once.
pub const SOURCE_LEAVES_MAX: usize = 256;

/// Why settings make no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {message}")]
pub struct InvalidSource {
    /// Where, as in `sources.kb.sources[1].inner`.
    pub path: String,
    /// What is wrong there and what to change.
    pub message: String,
}

/// Makes the sources that these settings describe, each under its name. One that several others name is
/// made once, and shared.
///
/// Nothing is opened and nobody asked: what can be seen without that is checked here, so that a program
/// doesn't start with a source that can't work.
///
/// # Errors
///
/// [`InvalidSource`], the first in the order of names.
pub fn build(
    specs: BTreeMap<String, SourceSpec>,
    parts: &SourceParts,
) -> Result<BTreeMap<String, Arc<dyn Source>>, InvalidSource> {
    let mut specs = specs;
    if !specs.contains_key(HYBRID_SOURCE)
        && let Some(hybrid) = leaves::ready_made_hybrid(parts)
    {
        specs.insert(HYBRID_SOURCE.to_owned(), hybrid);
    }
    for (name, spec) in &specs {
        let path = format!("sources.{name}");
        check_source_name(name).map_err(|fault| invalid(&path, fault))?;
        if spec.name.is_some() {
            return Err(invalid(
                &format!("{path}.name"),
                "is the name of the table already; leave it out",
            ));
        }
    }
    let mut builder = Builder {
        specs: &specs,
        parts,
        built: BTreeMap::new(),
        under_way: Vec::new(),
        depth: 0,
    };
    for name in specs.keys() {
        builder.named(name, &format!("sources.{name}"))?;
    }
    let built = builder.built.into_iter();
    Ok(built.map(|(name, it)| (name, it.source)).collect())
}

fn invalid(path: &str, message: impl ToString) -> InvalidSource {
    InvalidSource {
        path: path.to_owned(),
        message: message.to_string(),
    }
}

fn too_deep(path: &str) -> InvalidSource {
    invalid(
        path,
        format!(
            "its tree has more than {SOURCE_LEVELS_MAX} levels; put fewer sources inside of each other"
        ),
    )
}

fn too_wide(path: &str) -> InvalidSource {
    invalid(
        path,
        format!(
            "its tree asks more than {SOURCE_LEAVES_MAX} sources, those that stand in several places counted for \
             each; put fewer into it"
        ),
    )
}

/// The fault of a setting of the table at this path.
fn at(path: &str) -> impl Fn(InvalidSetting) -> InvalidSource {
    move |fault| InvalidSource {
        path: format!("{path}.{}", fault.key),
        message: fault.problem,
    }
}

/// That something that a setting names isn't there.
fn unknown<'k>(
    path: &str,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'k String>,
) -> InvalidSource {
    let known: Vec<String> = known.map(|known| format!("`{known}`")).collect();
    let list = match known.is_empty() {
        true => "none".to_owned(),
        false => known.join(", "),
    };
    invalid(
        path,
        format!("there is no {what} `{name}`; configured: {list}"),
    )
}

struct Builder<'a> {
    specs: &'a BTreeMap<String, SourceSpec>,
    parts: &'a SourceParts,
    built: BTreeMap<String, Built>,
    /// Names of the tables that the one at hand stands in.
    under_way: Vec<String>,
    /// In how many sources the one at hand stands.
    depth: usize,
}

/// A source, and how large its tree is.
#[derive(Clone)]
struct Built {
    source: Arc<dyn Source>,
    size: Size,
}

/// How large a tree is.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    levels: usize,
    /// How many sources that aren't made of others are asked at once at most: one that stands in several
    /// places counts for each of them.
    leaves: usize,
}

impl Builder<'_> {
    /// The source of this name, which stands at this path.
    fn named(&mut self, name: &str, path: &str) -> Result<Built, InvalidSource> {
        if let Some(built) = self.built.get(name) {
            return Ok(built.clone());
        }
        let Some(spec) = self.specs.get(name) else {
            return Err(unknown(path, "source", name, self.specs.keys()));
        };
        if let Some(from) = self.under_way.iter().position(|it| it == name) {
            let circle = self.under_way[from..].join("` → `");
            return Err(invalid(
                path,
                format!("`{name}` would stand in itself: `{circle}` → `{name}`; take one out"),
            ));
        }
        self.under_way.push(name.to_owned());
        let source = self.source(&spec.kind, name, &format!("sources.{name}"))?;
        self.under_way.pop();
        self.built.insert(name.to_owned(), source.clone());
        Ok(source)
    }

    fn member(&mut self, member: &Member, path: &str) -> Result<Built, InvalidSource> {
        match member {
            Member::Named(name) => self.named(name, path),
            Member::Inline(spec) => {
                leaves::check_inline(spec, path)?;
                let name = spec.name.as_deref().unwrap_or(spec.kind.as_str());
                check_source_name(name).map_err(|fault| invalid(&format!("{path}.name"), fault))?;
                self.source(&spec.kind, name, path)
            }
        }
    }

    fn members(
        &mut self,
        members: &[Member],
        path: &str,
    ) -> Result<(Vec<Arc<dyn Source>>, Size), InvalidSource> {
        let (mut sources, mut size) = (Vec::new(), Size::default());
        for (index, member) in members.iter().enumerate() {
            let built = self.member(member, &format!("{path}.sources[{index}]"))?;
            sources.push(built.source);
            size.levels = size.levels.max(built.size.levels);
            size.leaves = size.leaves.saturating_add(built.size.leaves);
        }
        Ok((sources, size))
    }

    fn inner(&mut self, member: &Member, path: &str) -> Result<Built, InvalidSource> {
        self.member(member, &format!("{path}.inner"))
    }

    fn source(
        &mut self,
        kind: &SourceKind,
        name: &str,
        path: &str,
    ) -> Result<Built, InvalidSource> {
        // On the way down, so that no tree is too deep to be walked.
        if self.depth == SOURCE_LEVELS_MAX {
            return Err(too_deep(path));
        }
        self.depth += 1;
        let (source, inner) = match kind {
            SourceKind::Composite { .. } | SourceKind::Sequential { .. } => {
                self.composition(kind, name, path)?
            }
            _ if kind.is_decorator() => self.decorator(kind, path)?,
            _ => {
                let leaf = leaves::leaf(kind, name, path, self.parts)?;
                (
                    leaf,
                    Size {
                        levels: 0,
                        leaves: 1,
                    },
                )
            }
        };
        self.depth -= 1;
        // And on the way up: what stands inside may have been made before.
        if inner.levels >= SOURCE_LEVELS_MAX {
            return Err(too_deep(path));
        }
        if inner.leaves > SOURCE_LEAVES_MAX {
            return Err(too_wide(path));
        }
        let size = Size {
            levels: inner.levels + 1,
            ..inner
        };
        Ok(Built { source, size })
    }

    fn composition(
        &mut self,
        kind: &SourceKind,
        name: &str,
        path: &str,
    ) -> Result<(Arc<dyn Source>, Size), InvalidSource> {
        Ok(match kind {
            SourceKind::Composite {
                sources,
                dedupe,
                rerank,
                leg_timeout_ms,
                concurrency,
            } => {
                let options = CompositeOptions {
                    dedupe: *dedupe,
                    reranker: reranker(*rerank),
                    leg_timeout: Duration::from_millis(*leg_timeout_ms),
                    concurrency: *concurrency,
                };
                let (legs, size) = self.members(sources, path)?;
                let made = CompositeSource::new(name, legs, options).map_err(at(path))?;
                (Arc::new(made), size)
            }
            SourceKind::Sequential {
                sources,
                leg_timeout_ms,
            } => {
                let (legs, size) = self.members(sources, path)?;
                let leg_timeout = Duration::from_millis(*leg_timeout_ms);
                let made = SequentialSource::new(name, legs, leg_timeout).map_err(at(path))?;
                (Arc::new(made), size)
            }
            _ => return Err(invalid(path, "is no composition")),
        })
    }

    fn decorator(
        &mut self,
        kind: &SourceKind,
        path: &str,
    ) -> Result<(Arc<dyn Source>, Size), InvalidSource> {
        Ok(match kind {
            SourceKind::Scoped { inner, require } => {
                let inner = self.inner(inner, path)?;
                let policy = self.policy(require, path)?;
                let made = ScopedSource::with_policy(inner.source, policy);
                (Arc::new(made), inner.size)
            }
            SourceKind::Cached {
                inner,
                ttl_seconds,
                entries_max,
            } => {
                let options = CacheOptions {
                    ttl: Duration::from_secs(*ttl_seconds),
                    entries_max: *entries_max,
                };
                let inner = self.inner(inner, path)?;
                let made = CachedSource::new(inner.source, options).map_err(at(path))?;
                (Arc::new(made), inner.size)
            }
            SourceKind::Compacted {
                inner,
                chars_max,
                model,
                max_items,
            } => {
                let inner = self.inner(inner, path)?;
                let compactor = self.compactor(model.as_deref(), *chars_max, path)?;
                let made = CompactedSource::new(inner.source, compactor, *max_items);
                (Arc::new(made.map_err(at(path))?), inner.size)
            }
            SourceKind::ReadOnly { inner, on_write } => {
                let inner = self.inner(inner, path)?;
                let made = ReadOnlySource::new(inner.source, *on_write);
                (Arc::new(made), inner.size)
            }
            _ => return Err(invalid(path, "is no decorator")),
        })
    }

    fn policy(&self, require: &Require, path: &str) -> Result<Arc<dyn ScopePolicy>, InvalidSource> {
        Ok(match require {
            Require::Namespace => Arc::new(NamespaceRequired),
            Require::Prefix(prefix) => Arc::new(NamespacePrefix::new(prefix).map_err(at(path))?),
            Require::Exact(namespace) => {
                Arc::new(NamespaceExact::new(namespace).map_err(at(path))?)
            }
            Require::Policy(name) => {
                let policies = &self.parts.policies;
                let policy = policies.get(name).cloned();
                let path = format!("{path}.require.policy");
                policy.ok_or_else(|| {
                    let mut fault = unknown(&path, "policy", name, policies.keys());
                    fault.message += "; policies come with the program, never from its file, and `notekeeper worker` \
                                      has none";
                    fault
                })?
            }
        })
    }

    fn compactor(
        &self,
        model: Option<&str>,
        chars_max: usize,
        path: &str,
    ) -> Result<Arc<dyn Compactor>, InvalidSource> {
        let Some(name) = model else {
            return Ok(Arc::new(HeadCompactor::new(chars_max).map_err(at(path))?));
        };
        let models = &self.parts.models;
        let model = models.get(name).cloned();
        let model =
            model.ok_or_else(|| unknown(&format!("{path}.model"), "model", name, models.keys()))?;
        Ok(Arc::new(
            ModelCompactor::new(model, chars_max).map_err(at(path))?,
        ))
    }
}

fn reranker(rerank: Rerank) -> Arc<dyn Reranker> {
    match rerank {
        Rerank::Score => Arc::new(ScoreSort),
        Rerank::Rrf => Arc::new(ReciprocalRankFusion),
    }
}

#[cfg(test)]
mod tests;
