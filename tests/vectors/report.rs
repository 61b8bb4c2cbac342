//! What a run came to, for a person.

use std::{collections::BTreeMap, fmt, fs, path::Path};

use crate::{bench::StoreKind, judge::Verdict};

/// Verdicts of one topic.
#[derive(Debug)]
pub(crate) struct Report {
    topic: String,
    verdicts: Vec<(String, Option<StoreKind>, Verdict)>,
}

impl Report {
    /// An empty report.
    pub(crate) fn new(topic: &str) -> Self {
        Self {
            topic: topic.to_owned(),
            verdicts: Vec::new(),
        }
    }

    /// Adds what a case came to on a kind of store; `None` where it ran on none.
    pub(crate) fn add(&mut self, id: &str, kind: Option<StoreKind>, verdict: Verdict) {
        self.verdicts.push((id.to_owned(), kind, verdict));
    }

    /// Prints the report and keeps it beside the other build output, where `vectors-*.txt` of all
    /// topics make the whole table.
    pub(crate) fn publish(&self) {
        println!("{self}");
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("vectors-{}.txt", self.topic));
        if let Err(error) = fs::write(&path, self.to_string()) {
            eprintln!("{} could not be written: {error}", path.display());
        }
    }

    /// Cases that failed on some store.
    pub(crate) fn failures(&self) -> usize {
        self.verdicts
            .iter()
            .filter(|(_, _, verdict)| matches!(verdict, Verdict::Failed(_)))
            .count()
    }

    fn counts<T: Ord>(
        &self,
        kind: Option<StoreKind>,
        names: impl Fn(&Verdict) -> Vec<T>,
    ) -> BTreeMap<T, usize> {
        let mut counts = BTreeMap::new();
        for (_, other, verdict) in &self.verdicts {
            if *other == kind {
                for name in names(verdict) {
                    *counts.entry(name).or_default() += 1;
                }
            }
        }
        counts
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = StoreKind::ALL.map(Some).into_iter().chain([None]);
        for kind in kinds {
            let columns = self.counts(kind, |verdict| {
                vec![match verdict {
                    Verdict::Passed => "passed",
                    Verdict::ByDifference(_) => "by difference",
                    Verdict::Failed(_) => "failed",
                }]
            });
            if columns.is_empty() {
                continue;
            }
            let column = |name: &str| columns.get(name).copied().unwrap_or(0);
            writeln!(
                f,
                "{:<28} {:<9} {:>4} passed {:>4} by difference {:>4} failed",
                self.topic,
                kind.map_or("", StoreKind::name),
                column("passed"),
                column("by difference"),
                column("failed"),
            )?;
            let rules = self.counts(kind, |verdict| match verdict {
                Verdict::ByDifference(rules) => rules.clone(),
                _ => Vec::new(),
            });
            for (rule, count) in rules {
                writeln!(f, "{count:>10} by the rule: {rule}")?;
            }
        }
        for (id, kind, verdict) in &self.verdicts {
            if let Verdict::Failed(why) = verdict {
                let place = kind.map_or(String::new(), |kind| format!(" on {kind}"));
                writeln!(f, "  FAILED {id}{place}")?;
                for line in why.lines() {
                    writeln!(f, "      {line}")?;
                }
            }
        }
        Ok(())
    }
}
