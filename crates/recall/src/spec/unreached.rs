//! Time-outs of search tools that never take effect, because a composition around gives up sooner.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{Member, SOURCE_LEVELS_MAX, SourceKind, SourceSpec};

/// A time-out that was chosen for a search tool and that a composition doesn't leave it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreachedTimeout {
    /// Where the tool's time-out stands, as in `sources.search.timeout_seconds`.
    pub path: String,
    /// The tool's time-out, in seconds.
    pub seconds: u64,
    /// Which setting ends the call sooner, as in `sources.kb.leg_timeout_ms`.
    pub ended_by: String,
    /// What that setting says, in milliseconds.
    pub leg_timeout_ms: u64,
}

impl fmt::Display for UnreachedTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            seconds,
            ended_by,
            leg_timeout_ms,
        } = self;
        write!(
            f,
            "`{path}` is {seconds} s, but `{ended_by}`, {leg_timeout_ms} ms, ends a query's call sooner, so the \
             tool never has its time there; raise `{ended_by}`, or lower `{path}`"
        )
    }
}

/// The time-outs of search tools that can't take effect in a query of the sources of these names, each with
/// each setting that sees to that. A time-out that nobody chose isn't among them.
///
/// Settings that [`build`](super::build) accepts are asked for; names that aren't there are passed over.
///
/// ```
/// use notekeeper_recall::unreached_timeouts;
///
/// let file = r#"
///     [search]
///     kind = "tool"
///     url = "https://search.internal/query"
///     timeout_seconds = 30
///
///     [kb]
///     kind = "composite"
///     sources = ["search"]
/// "#;
/// let unreached = unreached_timeouts(&toml::from_str(file)?, ["kb"]);
/// assert_eq!(unreached[0].path, "sources.search.timeout_seconds");
/// assert_eq!((unreached[0].seconds, unreached[0].leg_timeout_ms), (30, 2_000));
/// # Ok::<(), toml::de::Error>(())
/// ```
pub fn unreached_timeouts<'n>(
    specs: &BTreeMap<String, SourceSpec>,
    names: impl IntoIterator<Item = &'n str>,
) -> Vec<UnreachedTimeout> {
    let mut walk = Walk {
        specs,
        found: BTreeSet::new(),
    };
    for name in names {
        walk.named(name, None, SOURCE_LEVELS_MAX);
    }
    walk.found.into_iter().collect()
}

/// How long a query leaves whoever stands in a composition.
#[derive(Clone, Copy)]
struct Limit<'p> {
    /// What is left inside of all compositions around, in milliseconds.
    left_ms: u64,
    /// The setting that makes it so little.
    path: &'p str,
    /// What that setting says.
    leg_timeout_ms: u64,
}

struct Walk<'a> {
    specs: &'a BTreeMap<String, SourceSpec>,
    found: BTreeSet<UnreachedTimeout>,
}

impl Walk<'_> {
    fn named(&mut self, name: &str, limit: Option<Limit<'_>>, levels: usize) {
        if let Some(spec) = self.specs.get(name) {
            self.kind(&spec.kind, &format!("sources.{name}"), limit, levels);
        }
    }

    fn member(&mut self, member: &Member, path: &str, limit: Option<Limit<'_>>, levels: usize) {
        match member {
            Member::Named(name) => self.named(name, limit, levels),
            Member::Inline(spec) => self.kind(&spec.kind, path, limit, levels),
        }
    }

    fn kind(&mut self, kind: &SourceKind, path: &str, limit: Option<Limit<'_>>, levels: usize) {
        let Some(levels) = levels.checked_sub(1) else {
            return;
        };
        match kind {
            SourceKind::Composite {
                sources,
                leg_timeout_ms,
                ..
            }
            | SourceKind::Sequential {
                sources,
                leg_timeout_ms,
            } => {
                let own = format!("{path}.leg_timeout_ms");
                let limit = Limit::of_legs(&own, *leg_timeout_ms, limit);
                for (index, member) in sources.iter().enumerate() {
                    let path = format!("{path}.sources[{index}]");
                    self.member(member, &path, Some(limit), levels);
                }
            }
            SourceKind::Scoped { inner, .. }
            | SourceKind::Cached { inner, .. }
            | SourceKind::Compacted { inner, .. }
            | SourceKind::ReadOnly { inner, .. } => {
                self.member(inner, &format!("{path}.inner"), limit, levels);
            }
            SourceKind::Tool { tool, .. } => {
                if let (Some(seconds), Some(limit)) = (tool.chosen_timeout_seconds(), limit)
                    && seconds.saturating_mul(1_000) > limit.left_ms
                {
                    self.found.insert(UnreachedTimeout {
                        path: format!("{path}.timeout_seconds"),
                        seconds,
                        ended_by: limit.path.to_owned(),
                        leg_timeout_ms: limit.leg_timeout_ms,
                    });
                }
            }
            SourceKind::Vector { .. }
            | SourceKind::File { .. }
            | SourceKind::Journal { .. }
            | SourceKind::Facts { .. }
            | SourceKind::Transcript { .. }
            | SourceKind::Notes { .. }
            | SourceKind::Hybrid { .. }
            | SourceKind::Scratchpad => {}
        }
    }
}

impl<'p> Limit<'p> {
    /// What a composition leaves its legs: inside of another one there are nine tenths of what that one leaves.
    fn of_legs(path: &'p str, leg_timeout_ms: u64, around: Option<Self>) -> Self {
        let own = Self {
            left_ms: leg_timeout_ms,
            path,
            leg_timeout_ms,
        };
        match around {
            Some(around) if around.left_ms / 10 * 9 < leg_timeout_ms => Self {
                left_ms: around.left_ms / 10 * 9,
                ..around
            },
            _ => own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreached(file: &str, names: &[&str]) -> Vec<String> {
        let specs = toml::from_str(file).unwrap();
        let found = unreached_timeouts(&specs, names.iter().copied());
        found.iter().map(ToString::to_string).collect()
    }

    const SEARCH: &str = "
        [search]
        kind = 'tool'
        url = 'https://search.internal/query'
        timeout_seconds = 5
    ";

    #[test]
    fn a_tool_with_more_time_than_its_leg_is_told_with_both_settings() {
        let file = format!("{SEARCH}\n[kb]\nkind = 'composite'\nsources = ['search']");
        insta::assert_snapshot!(unreached(&file, &["kb", "search"]).join("\n"), @"`sources.search.timeout_seconds` is 5 s, but `sources.kb.leg_timeout_ms`, 2000 ms, ends a query's call sooner, so the tool never has its time there; raise `sources.kb.leg_timeout_ms`, or lower `sources.search.timeout_seconds`");
    }

    #[test]
    fn it_is_told_wherever_the_tool_stands() {
        let file = "
            [kb]
            kind = 'sequential'
            leg_timeout_ms = 4999
            [[kb.sources]]
            kind = 'scoped'
            [kb.sources.inner]
            kind = 'cached'
            [kb.sources.inner.inner]
            kind = 'read_only'
            [kb.sources.inner.inner.inner]
            kind = 'compacted'
            [kb.sources.inner.inner.inner.inner]
            kind = 'tool'
            activity = 'search'
            task_queue = 'tools'
            timeout_seconds = 5
        ";
        let told = unreached(file, &["kb"]);
        assert_eq!(told.len(), 1, "{told:?}");
        let path = "`sources.kb.sources[0].inner.inner.inner.inner.timeout_seconds`";
        assert!(told[0].starts_with(path), "{told:?}");
    }

    #[test]
    fn the_composition_that_leaves_the_least_is_named() {
        let file = |inner: u64, outer: u64| {
            format!(
                "{SEARCH}
                 [inner]
                 kind = 'composite'
                 sources = ['search']
                 leg_timeout_ms = {inner}
                 [outer]
                 kind = 'sequential'
                 sources = ['inner']
                 leg_timeout_ms = {outer}"
            )
        };
        let settings = |inner, outer| {
            let specs = toml::from_str(&file(inner, outer)).unwrap();
            let found = unreached_timeouts(&specs, ["inner", "outer"]);
            let found = found.into_iter();
            found.map(|it| it.ended_by).collect::<Vec<_>>()
        };
        assert_eq!(settings(2_000, 9_000), ["sources.inner.leg_timeout_ms"]);
        assert_eq!(settings(9_000, 2_000), ["sources.outer.leg_timeout_ms"]);
        // Nine tenths of what the outer one gives a leg are for the inner one's.
        assert_eq!(settings(9_000, 5_500), ["sources.outer.leg_timeout_ms"]);
        assert!(settings(9_000, 5_560).is_empty());
    }

    #[test]
    fn what_takes_effect_or_was_not_chosen_is_not_told() {
        for (timeout, leg_timeout_ms) in [("", 2_000), ("timeout_seconds = 2", 2_000)] {
            let file = format!(
                "[kb]
                 kind = 'composite'
                 leg_timeout_ms = {leg_timeout_ms}
                 [[kb.sources]]
                 kind = 'tool'
                 url = 'https://search.internal/query'
                 {timeout}"
            );
            assert!(unreached(&file, &["kb"]).is_empty(), "{timeout}");
        }
        // Asked without a composition, it has its time.
        let file = format!("{SEARCH}\n[kb]\nkind = 'composite'\nsources = ['search']");
        assert!(unreached(&file, &["search", "missing"]).is_empty());
    }
}
