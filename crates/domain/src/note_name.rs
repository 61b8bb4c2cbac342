//! Names of notes: one segment inside a scope.

use std::fmt;

use crate::{
    MAIN_NOTE, TOOL_NAME_CHARS_MAX,
    scope::{SegmentFault, check_segment},
    text::trim_space,
};

/// The name of a note inside its scope, such as `MEMORY.md`.
///
/// A store accepts every valid path segment. Tools address fewer names, see
/// [`NoteName::from_tool`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoteName(String);

impl NoteName {
    /// Accepts a name as a store holds it: one path segment.
    ///
    /// # Errors
    ///
    /// [`InvalidNoteName::Segment`] with what is wrong.
    pub fn parse(name: &str) -> Result<Self, InvalidNoteName> {
        check_segment(name).map_err(InvalidNoteName::Segment)?;
        Ok(Self(name.to_owned()))
    }

    /// Normalises the `file` argument of a tool call: trims white space, adds `.md` where it is
    /// missing, and checks the result.
    ///
    /// # Errors
    ///
    /// [`InvalidNoteName::Tool`], which the model can correct.
    pub fn from_tool(file: &str) -> Result<Self, InvalidNoteName> {
        let trimmed = trim_space(file);
        let name = if trimmed.is_empty() || trimmed.ends_with(".md") {
            trimmed.to_owned()
        } else {
            format!("{trimmed}.md")
        };
        if is_tool_name(&name) {
            Ok(Self(name))
        } else {
            Err(InvalidNoteName::Tool)
        }
    }

    /// The name of the main note, `MEMORY.md`.
    pub fn main() -> Self {
        Self(MAIN_NOTE.to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the main note. `memory.md` is another note.
    pub fn is_main(&self) -> bool {
        self.0 == MAIN_NOTE
    }

    /// Whether tools can address this note by this very name.
    pub fn is_tool_addressable(&self) -> bool {
        self.0.ends_with(".md") && is_tool_name(&self.0)
    }
}

impl fmt::Debug for NoteName {
    /// Hides the name: note names are content, and content stays out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NoteName({} chars)", self.0.len())
    }
}

/// Why a text names no note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNoteName {
    /// Not one path segment.
    #[error("note name {0}")]
    Segment(SegmentFault),
    /// Not a name that tools address.
    #[error(
        "not a file name this tool accepts: start with an ASCII letter or digit, go on with letters, digits, `.`, `_` and `-`, without `..`, at most {TOOL_NAME_CHARS_MAX} characters including `.md`"
    )]
    Tool,
}

/// Whether `name` keeps the rule of tool arguments, whatever it ends in. Names that don't are odd:
/// something other than the tools made them, and results leave them out.
pub(crate) fn is_tool_name(name: &str) -> bool {
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric());
    starts_well
        && name.len() <= TOOL_NAME_CHARS_MAX
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn from_tool(file: &str) -> Option<String> {
        NoteName::from_tool(file)
            .ok()
            .map(|name| name.as_str().to_owned())
    }

    #[test]
    fn a_file_argument_is_trimmed_and_gets_its_suffix() {
        let cases = [
            ("MEMORY", "MEMORY.md"),
            ("memory", "memory.md"),
            ("notes.md", "notes.md"),
            ("MEMORY.MD", "MEMORY.MD.md"),
            ("a.txt", "a.txt.md"),
            ("a.md.md", "a.md.md"),
            ("  notes.md\r\n", "notes.md"),
            ("\u{b}\u{c}\u{1f}\u{a0}notes\u{2003}", "notes.md"),
            ("0", "0.md"),
            ("a-b_c.d", "a-b_c.d.md"),
        ];
        for (file, name) in cases {
            assert_eq!(from_tool(file).as_deref(), Some(name), "{file:?}");
        }
    }

    #[test]
    fn look_alike_names_are_refused_or_map_to_one_name() {
        let refused = [
            "a/../b.md",
            "./b.md",
            "../b",
            "/memories_backup/x",
            "%2e%2e/b",
            "..\\b",
            "b/",
            "b\0.md",
            "é.md",
            "e\u{301}.md",
            "\u{ff41}.md",
            "a\u{661}.md",
            "b\u{200b}.md",
            "\u{202e}b.md",
            "b\u{feff}.md",
            "b.",
            "b..",
            "a..b",
            ".",
            "..",
            "",
            " ",
            ".md",
            ".hidden",
            "-a",
            "_x",
            "~a",
            "no\ntes.md",
            "a b.md",
            "C:b.md",
        ];
        for file in refused {
            assert_eq!(
                NoteName::from_tool(file),
                Err(InvalidNoteName::Tool),
                "{file:?}"
            );
        }
        assert_eq!(from_tool("b.md "), from_tool("b"));
        assert_eq!(from_tool("B.MD").as_deref(), Some("B.MD.md"));
        assert_ne!(from_tool("B"), from_tool("b"));
        assert_eq!(from_tool("con.md").as_deref(), Some("con.md"));
    }

    #[test]
    fn tools_address_eighty_characters_with_the_suffix() {
        assert!(from_tool(&"a".repeat(77)).is_some());
        assert!(from_tool(&"a".repeat(78)).is_none());
        assert!(from_tool(&format!("{}.md", "a".repeat(77))).is_some());
        assert!(from_tool(&"a".repeat(200)).is_none());
    }

    #[test]
    fn a_store_holds_names_that_tools_cannot_address() {
        for (name, addressable) in [
            ("MEMORY.md", true),
            ("data.json", false),
            ("_x.md", false),
            (".h.md", false),
            ("a", false),
        ] {
            assert_eq!(
                NoteName::parse(name).unwrap().is_tool_addressable(),
                addressable,
                "{name}"
            );
        }
        for name in ["", "a/b", "..", "a\n", "é.md"] {
            assert!(NoteName::parse(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn only_the_main_note_is_main() {
        assert!(NoteName::from_tool(" MEMORY ").unwrap().is_main());
        assert_eq!(NoteName::from_tool("MEMORY").unwrap(), NoteName::main());
        assert!(!NoteName::from_tool("memory").unwrap().is_main());
        assert!(!NoteName::from_tool("MEMORY.md.md").unwrap().is_main());
    }

    #[test]
    fn debug_output_hides_the_name() {
        assert_eq!(format!("{:?}", NoteName::main()), "NoteName(9 chars)");
    }

    proptest! {
        #[test]
        fn any_argument_is_refused_or_maps_to_a_name_that_maps_to_itself(file in any::<String>()) {
            if let Ok(name) = NoteName::from_tool(&file) {
                prop_assert!(name.is_tool_addressable());
                prop_assert_eq!(NoteName::parse(name.as_str()), Ok(name.clone()));
                prop_assert_eq!(NoteName::from_tool(name.as_str()), Ok(name));
            }
        }

        #[test]
        fn names_of_the_allowed_shape_are_accepted(stem in "[A-Za-z0-9][A-Za-z0-9_-]{0,76}") {
            prop_assert_eq!(from_tool(&stem), Some(format!("{stem}.md")));
        }
    }
}
