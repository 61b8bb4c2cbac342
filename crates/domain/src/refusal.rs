//! Refusals: what a tool call got wrong and the model can correct.

use crate::{InvalidFact, InvalidNoteName, QUERY_CHARS_MAX, QUERY_TERMS_MAX};

/// A tool call that can't be done as asked. It is told to the model, recorded as a result, and
/// never retried.
///
/// The messages name no tool, because a model may see the tools under other names, and quote no
/// content, because refusals end up in histories and logs. Those about the place where notes are
/// kept name the note and nothing else, so that no path and no namespace reaches the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The `file` argument names no note.
    #[error(transparent)]
    InvalidName(#[from] InvalidNoteName),
    /// `content` has nothing to append.
    #[error("content is empty; give the text to append, or old_text to remove a passage")]
    EmptyContent,
    /// A text argument holds U+0000.
    #[error("{argument} contains a NUL character (U+0000); leave it out")]
    Nul {
        /// Name of the argument.
        argument: &'static str,
    },
    /// There is no such note.
    #[error("there is no such file; search the notebook for the right name")]
    NotFound,
    /// `old_text` doesn't occur.
    #[error("old_text was not found in the file; read the file and copy the passage exactly")]
    OldTextNotFound,
    /// `old_text` occurs more than once.
    #[error(
        "old_text occurs {count} times; include more of the text around it so that it occurs once"
    )]
    Ambiguous {
        /// Occurrences, counted without overlap.
        count: usize,
    },
    /// The note would grow past the bound.
    #[error(
        "the file would have {chars} characters, {chars_max} are allowed; shorten the text or use another file"
    )]
    TooLarge {
        /// Characters the note would have.
        chars: usize,
        /// The bound.
        chars_max: usize,
    },
    /// The stored note is past the bound already, so an edit would start from a part of it.
    #[error(
        "the file is larger than {chars_max} characters and can't be edited here; write to another file"
    )]
    ExistingTooLarge {
        /// The bound.
        chars_max: usize,
    },
    /// The main note can't be deleted.
    #[error("MEMORY.md can't be deleted; remove or correct its text instead")]
    Protected,
    /// The notes are where nothing may be written.
    #[error("{file} can't be changed: this notebook is read-only")]
    ReadOnly {
        /// Name of the note.
        file: String,
    },
    /// The place where the notes are kept refuses the change, or took too long over it.
    #[error("{file} could not be changed: the place where it is kept refused; go on without it")]
    WorkspaceRefused {
        /// Name of the note.
        file: String,
    },
    /// The place where the notes are kept lets nobody read them.
    #[error("{what} could not be read: the place where it is kept refused; go on without it")]
    ReadRefused {
        /// Name of the note, or `the notebook`.
        what: String,
    },
    /// Concurrent changes kept winning.
    #[error("the file keeps changing under this call; try again")]
    ConflictExhausted,
    /// The file is a link that leads out of the notebook.
    #[error("the file leads out of the notebook; use another file")]
    PathEscape,
    /// What is there under the name is no note that can be used.
    #[error("the file can't be used: {reason}; use another file")]
    UnusableFile {
        /// What is wrong with it, without its name or content.
        reason: String,
    },
    /// The query is too long.
    #[error("query has {chars} characters, {QUERY_CHARS_MAX} are allowed; use fewer words")]
    QueryTooLong {
        /// Characters of the query.
        chars: usize,
    },
    /// The query has no term.
    #[error("query is empty; give words to look for")]
    QueryEmpty,
    /// The query has too many different terms.
    #[error("query has more than {QUERY_TERMS_MAX} different words; use fewer")]
    QueryTooManyTerms,
    /// Key and value make no fact.
    #[error(transparent)]
    InvalidFact(#[from] InvalidFact),
}

impl Refusal {
    /// Stable code of the refusal, as it stands in results.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidName(_) => "invalid_path",
            Self::EmptyContent => "empty_content",
            Self::Nul { .. } => "nul",
            Self::NotFound => "not_found",
            Self::OldTextNotFound => "old_text_not_found",
            Self::Ambiguous { .. } => "ambiguous",
            Self::TooLarge { .. } => "too_large",
            Self::ExistingTooLarge { .. } => "too_large_existing",
            Self::Protected => "protected",
            Self::ReadOnly { .. } => "read_only",
            Self::WorkspaceRefused { .. } => "workspace_refused",
            Self::ReadRefused { .. } => "read_refused",
            Self::ConflictExhausted => "conflict_exhausted",
            Self::PathEscape => "path_escape",
            Self::UnusableFile { .. } => "unusable_file",
            Self::QueryTooLong { .. } => "query_too_long",
            Self::QueryEmpty => "query_empty",
            Self::QueryTooManyTerms => "query_too_many_terms",
            Self::InvalidFact(fault) => fault.code(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_refusal() -> Vec<Refusal> {
        vec![
            Refusal::InvalidName(InvalidNoteName::Tool),
            Refusal::EmptyContent,
            Refusal::Nul {
                argument: "content",
            },
            Refusal::NotFound,
            Refusal::OldTextNotFound,
            Refusal::Ambiguous { count: 2 },
            Refusal::TooLarge {
                chars: 70_000,
                chars_max: 65_536,
            },
            Refusal::ExistingTooLarge { chars_max: 65_536 },
            Refusal::Protected,
            Refusal::ReadOnly {
                file: "teas.md".to_owned(),
            },
            Refusal::WorkspaceRefused {
                file: "teas.md".to_owned(),
            },
            Refusal::ReadRefused {
                what: "teas.md".to_owned(),
            },
            Refusal::ConflictExhausted,
            Refusal::PathEscape,
            Refusal::UnusableFile {
                reason: "it is no text".to_owned(),
            },
            Refusal::QueryTooLong { chars: 1_001 },
            Refusal::QueryEmpty,
            Refusal::QueryTooManyTerms,
            Refusal::InvalidFact(InvalidFact::Key),
        ]
    }

    #[test]
    fn refusals_tell_the_model_what_to_do_instead() {
        let lines: Vec<_> = every_refusal()
            .iter()
            .map(|refusal| format!("{}: {refusal}", refusal.code()))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn each_refusal_has_a_code_of_its_own() {
        let codes: std::collections::BTreeSet<_> =
            every_refusal().iter().map(Refusal::code).collect();
        assert_eq!(codes.len(), every_refusal().len());
    }

    #[test]
    fn no_refusal_names_a_tool_that_may_be_prefixed() {
        for refusal in every_refusal() {
            assert!(!refusal.to_string().contains("_memory"), "{refusal}");
        }
    }
}
