//! The product's own statements, for those that run them without the product.

/// The look-up of an operation: receipt, or else the note.
pub(crate) const LOOK_UP: &str = include_str!("../../crates/store/src/postgres/sql/look_up.sql");
/// The guarded write of note and receipt.
pub(crate) const UPDATE_NOTE: &str =
    include_str!("../../crates/store/src/postgres/sql/update_note.sql");
/// The lock of a contended note.
pub(crate) const LOCK_NOTE: &str =
    include_str!("../../crates/store/src/postgres/sql/lock_note.sql");
/// The receipt of an operation, looked up under the lock.
pub(crate) const FIND_RECEIPT: &str =
    include_str!("../../crates/store/src/postgres/sql/find_receipt.sql");
/// The first characters of a note.
pub(crate) const READ_NOTE: &str =
    include_str!("../../crates/store/src/postgres/sql/read_note.sql");
/// What a snapshot is rendered from.
pub(crate) const READ_NOTEBOOK: &str =
    include_str!("../../crates/store/src/postgres/sql/read_notebook.sql");
/// The names of a scope.
pub(crate) const LIST_NAMES: &str =
    include_str!("../../crates/store/src/postgres/sql/list_names.sql");

/// A statement as pgbench takes it: `$n` becomes what stands for it, mostly `:variable`. Comments
/// go, because pgbench would look for variables in them too.
pub(crate) fn for_pgbench(statement: &str, parameters: &[&str]) -> String {
    let code = statement
        .lines()
        .map(|line| line.split("--").next().unwrap_or_default().trim_end())
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n");
    // From the last, so that `$1` doesn't take the beginning of `$10`.
    let numbered = parameters.iter().enumerate().rev();
    numbered.fold(code, |code, (index, parameter)| {
        code.replace(&format!("${}", index + 1), parameter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_variables_and_comments_go() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|n| format!(":{n}"));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let statement = "-- $1 is: this\nselect $1, $10::text -- $2\n\nfrom t where x = $2";
        assert_eq!(
            for_pgbench(statement, &names),
            "select :a, :j::text\nfrom t where x = :b"
        );
    }

    #[test]
    fn no_statement_keeps_a_parameter_that_was_not_named() {
        let eleven = [":p"; 11];
        for statement in [
            LOOK_UP,
            UPDATE_NOTE,
            LOCK_NOTE,
            FIND_RECEIPT,
            READ_NOTE,
            READ_NOTEBOOK,
            LIST_NAMES,
        ] {
            let script = for_pgbench(statement, &eleven);
            assert!(!script.contains('$'), "{script}");
        }
    }
}
