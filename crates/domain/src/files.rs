//! Files of a notebook that lie where the model's file tool sees them.

use crate::{MAIN_NOTE, NoteName, Scope};

/// Where the files of a scope lie, seen from the root of the workspace that the model's file tool
/// reads, and how that tool is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleFiles {
    directory: String,
    reader: String,
}

impl VisibleFiles {
    /// The files of `scope` in a store that keeps its files in `directory` (empty for the root of
    /// the workspace), which the tool `reader` reads.
    pub fn new(directory: &str, scope: &Scope, reader: &str) -> Self {
        let directory = match directory.trim_end_matches('/') {
            "" | "." => scope.as_str().to_owned(),
            directory => format!("{directory}/{}", scope.as_str()),
        };
        Self {
            directory,
            reader: reader.to_owned(),
        }
    }

    /// The sentence of a block that says where they are.
    ///
    /// ```
    /// use notekeeper_domain::{Scope, VisibleFiles};
    ///
    /// let files = VisibleFiles::new(".agent-memory", &Scope::parse("main")?, "read_file");
    /// assert_eq!(
    ///     files.location(),
    ///     "These files are in `.agent-memory/main/` in the workspace."
    /// );
    /// # Ok::<(), notekeeper_domain::InvalidScope>(())
    /// ```
    pub fn location(&self) -> String {
        format!("These files are in `{}/` in the workspace.", self.directory)
    }

    /// How the model reads the main note there.
    pub fn main_note_call(&self) -> String {
        self.call(MAIN_NOTE)
    }

    /// What the model is told of a passage that it wanted replaced and that isn't in the note.
    pub fn old_text_not_found(&self, name: &NoteName) -> String {
        format!(
            "old_text was not found in the file; use {} and copy the passage exactly",
            self.call(name.as_str())
        )
    }

    fn call(&self, file: &str) -> String {
        format!("{} on `{}/{file}`", self.reader, self.directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(directory: &str, scope: &str) -> VisibleFiles {
        let scope = Scope::parse(scope).expect("a scope");
        VisibleFiles::new(directory, &scope, "read_file")
    }

    #[test]
    fn the_path_goes_from_the_root_of_the_workspace_over_directory_and_scope() {
        assert_eq!(
            files(".agent-memory", "acme/main").main_note_call(),
            "read_file on `.agent-memory/acme/main/MEMORY.md`"
        );
        for root in ["", ".", "./"] {
            assert_eq!(
                files(root, "main").location(),
                "These files are in `main/` in the workspace."
            );
        }
        assert_eq!(
            files("notes/", "main").location(),
            "These files are in `notes/main/` in the workspace."
        );
    }

    #[test]
    fn a_passage_that_is_not_there_is_looked_for_with_the_reader() {
        let name = NoteName::from_tool("teas").expect("a name");
        assert_eq!(
            files("notes", "main").old_text_not_found(&name),
            "old_text was not found in the file; use read_file on `notes/main/teas.md` and copy \
             the passage exactly"
        );
    }
}
