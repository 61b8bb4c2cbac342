//! What is said of each history, to a person or to a program.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde::Serialize;

use crate::{
    exit::Exit,
    output::{print, print_json, shown},
};

/// Which history it is.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Subject {
    /// That of a file.
    File {
        /// Its path.
        file: PathBuf,
    },
    /// That of a run on a server.
    Run {
        workflow_id: String,
        /// None where it isn't known: nothing was fetched.
        #[serde(skip_serializing_if = "Option::is_none")]
        run_id: Option<String>,
        /// Where it was saved.
        #[serde(skip_serializing_if = "Option::is_none")]
        saved: Option<PathBuf>,
    },
}

/// What became of a history.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(super) enum Outcome {
    /// Today's code does what is recorded.
    Replayed {
        events: usize,
        /// Whether ids and types of activities were compared.
        compares_identities: bool,
    },
    /// It doesn't.
    Refused { events: usize, reason: String },
    /// There is no history to replay.
    Unreadable { reason: String },
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    subject: &'a Subject,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// Says what became of each history, and counts.
pub(super) struct Report {
    json: bool,
    replayed: usize,
    refused: usize,
    unreadable: usize,
}

impl Report {
    /// One line for each history: text, or a JSON object.
    pub(super) fn new(json: bool) -> Self {
        let (replayed, refused, unreadable) = (0, 0, 0);
        Self {
            json,
            replayed,
            refused,
            unreadable,
        }
    }

    /// Says what became of one.
    pub(super) fn add(&mut self, subject: &Subject, outcome: &Outcome) -> anyhow::Result<()> {
        match outcome {
            Outcome::Replayed { .. } => self.replayed += 1,
            Outcome::Refused { .. } => self.refused += 1,
            Outcome::Unreadable { .. } => self.unreadable += 1,
        }
        if self.json {
            print_json(&Line { subject, outcome })
        } else {
            print(&format!("{}\n", line(&text(subject, outcome))))
        }
    }

    /// Says how many came to what, to a person; a program counts itself.
    pub(super) fn end(self) -> anyhow::Result<ExitCode> {
        let Self {
            replayed,
            refused,
            unreadable,
            ..
        } = self;
        if !self.json {
            print(&format!(
                "{replayed} replayed, {refused} refused, {unreadable} unreadable\n"
            ))?;
        }
        Ok(match refused + unreadable {
            0 => Exit::Done.into(),
            _ => Exit::Failed.into(),
        })
    }
}

/// A history may be anybody's. What it names steers no terminal, and looks like no other line.
fn line(text: &str) -> String {
    shown(text).replace('\n', "\n    ")
}

fn text(subject: &Subject, outcome: &Outcome) -> String {
    let (name, saved) = match subject {
        Subject::File { file } => (file.display().to_string(), None),
        Subject::Run {
            workflow_id,
            run_id,
            saved,
        } => {
            let run = run_id.as_ref().map(|run| format!(" run {run}"));
            let name = format!("workflow `{workflow_id}`{}", run.unwrap_or_default());
            (name, saved.as_deref().map(Path::display))
        }
    };
    let saved = saved.map_or_else(String::new, |path| format!("; saved as {path}"));
    match outcome {
        Outcome::Replayed {
            events,
            compares_identities,
        } => {
            let unchecked = if *compares_identities {
                ""
            } else {
                "; recorded by an SDK that doesn't compare ids and types of activities"
            };
            format!("replayed    {name} ({events} events{unchecked}{saved})")
        }
        Outcome::Refused { reason, .. } => format!("refused     {name}: {reason}{saved}"),
        Outcome::Unreadable { reason } => format!("unreadable  {name}: {reason}{saved}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_foreign_history_names_neither_steers_a_terminal_nor_passes_for_another_line() {
        let subject = Subject::File {
            file: PathBuf::from("h.json"),
        };
        let outcome = Outcome::Refused {
            events: 1,
            reason: "no workflow `\u{1b}]52;c;AA\u{7}\nreplayed    x`".to_owned(),
        };
        assert_eq!(
            line(&text(&subject, &outcome)),
            "refused     h.json: no workflow `\u{fffd}]52;c;AA\u{fffd}\n    replayed    x`"
        );
    }
}
