//! What is known of a change: its identity, and whether it took effect.

use notekeeper_contract::{FailureType, OperationRef};
use serde::Serialize;

use crate::output::CodedError;

/// Of calls that ran, perhaps several times, and came to nothing.
pub(crate) const TIMEOUT: &str = "Timeout";

/// Of calls that may have begun, and whose end can't be learnt.
pub(crate) const NO_ANSWER: &str = "NoAnswer";

/// Of changes that took effect in part.
pub(crate) const INCOMPLETE: &str = "Incomplete";

/// What is known of the effect of a change that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// There is none.
    Nothing,
    /// There may be one.
    Unknown,
    /// There is one, and not all that was to be done.
    Part,
}

impl Effect {
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        let unknown = [TIMEOUT, NO_ANSWER, FailureType::Unavailable.as_str()];
        match error.downcast_ref::<CodedError>() {
            Some(coded) if coded.code == INCOMPLETE => Self::Part,
            Some(coded) if unknown.contains(&coded.code.as_str()) => Self::Unknown,
            _ => Self::Nothing,
        }
    }
}

/// How a change can be repeated of which it isn't known whether it took effect.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Remedy<'a> {
    /// Under its identity, by which repetitions are recognised.
    Repeat(&'a OperationRef),
    /// After a look with this command.
    LookFirst(&'static str),
}

/// Says of a failure whether the change may have taken effect nevertheless, and what to do then.
pub(crate) fn told_if_unsure(error: anyhow::Error, remedy: Remedy<'_>) -> anyhow::Error {
    match (Effect::of(&error), remedy) {
        (Effect::Nothing | Effect::Part, _) => error,
        (Effect::Unknown, Remedy::Repeat(operation)) => error.context(format!(
            "it isn't known to have taken effect; repeat it with `--operation-id {}`",
            operation.id
        )),
        (Effect::Unknown, Remedy::LookFirst(command)) => error.context(format!(
            "it isn't known to have taken effect; see with `{command}` before you repeat it"
        )),
    }
}

/// A change as it is printed: the activity's answer, and under which identity it was made.
#[derive(Serialize)]
pub(crate) struct Changed<T> {
    #[serde(flatten)]
    pub(crate) answer: T,
    pub(crate) operation: OperationRef,
}

/// What is said of a change that had taken effect before.
pub(crate) fn already(replayed: bool) -> &'static str {
    if replayed {
        " (replayed: this operation took effect before)"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: &str) -> anyhow::Error {
        let (code, message) = (code.to_owned(), "why".to_owned());
        anyhow::Error::new(CodedError { code, message })
    }

    #[test]
    fn a_change_that_may_have_taken_effect_says_so_and_how_it_can_be_repeated() {
        let operation = OperationRef {
            id: "op-1".to_owned(),
        };
        for code in ["Timeout", "NoAnswer", "Unavailable"] {
            let said = format!(
                "{:#}",
                told_if_unsure(failed(code), Remedy::Repeat(&operation))
            );
            assert!(said.contains("isn't known"), "{said}");
            assert!(said.contains("--operation-id op-1"), "{said}");
            // The flag would be refused: what repetitions would be told by isn't the same twice.
            let said = format!(
                "{:#}",
                told_if_unsure(failed(code), Remedy::LookFirst("look"))
            );
            assert!(said.contains("isn't known"), "{said}");
            assert!(!said.contains("--operation-id"), "{said}");
        }
        for code in ["NoWorker", "VersionConflict", "NoStore", "Incomplete"] {
            let said = format!(
                "{:#}",
                told_if_unsure(failed(code), Remedy::Repeat(&operation))
            );
            assert_eq!(said, "why");
        }
    }
}
