//! The notes that the demonstration begins with.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, bail};
use notekeeper_domain::{NOTE_CHARS_MAX_DEFAULT, NoteName};

/// Notes of the repository.
const OWN: [(&str, &str); 5] = [
    (
        "MEMORY.md",
        include_str!("../../../../../demo/notes/MEMORY.md"),
    ),
    (
        "lighthouse.md",
        include_str!("../../../../../demo/notes/lighthouse.md"),
    ),
    (
        "people.md",
        include_str!("../../../../../demo/notes/people.md"),
    ),
    (
        "reading.md",
        include_str!("../../../../../demo/notes/reading.md"),
    ),
    (
        "travel.md",
        include_str!("../../../../../demo/notes/travel.md"),
    ),
];

/// Notes by name.
pub(super) struct Notes {
    origin: String,
    by_name: BTreeMap<NoteName, String>,
}

impl Notes {
    /// Reads the Markdown files directly in `directory`; ours where none is given.
    pub(super) fn read(directory: Option<&Path>) -> anyhow::Result<Self> {
        let Some(directory) = directory else {
            let by_name = OWN
                .iter()
                .map(|(name, text)| Ok((NoteName::parse(name)?, (*text).to_owned())));
            return Ok(Self {
                origin: "this repository".to_owned(),
                by_name: by_name.collect::<anyhow::Result<_>>()?,
            });
        };
        let mut by_name = BTreeMap::new();
        let entries = std::fs::read_dir(directory)
            .with_context(|| format!("can't list the notes in `{}`", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            let Some(name) = usable_name(&path) else {
                continue;
            };
            match std::fs::read_to_string(&path) {
                Ok(text) if text.chars().count() > NOTE_CHARS_MAX_DEFAULT => {
                    println!(
                        "`{}` is left out: over {NOTE_CHARS_MAX_DEFAULT} characters",
                        path.display()
                    );
                }
                Ok(text) if text.contains('\0') => {
                    println!("`{}` is left out: it holds a NUL character", path.display());
                }
                Ok(text) => {
                    by_name.insert(name, text);
                }
                Err(error) => println!("`{}` is left out: {error}", path.display()),
            }
        }
        if by_name.is_empty() {
            bail!(
                "there are no Markdown notes (`.md`) directly in `{}`",
                directory.display()
            );
        }
        Ok(Self {
            origin: format!("`{}`", directory.display()),
            by_name,
        })
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(super) fn by_name(&self) -> &BTreeMap<NoteName, String> {
        &self.by_name
    }
}

/// The note's name, of a Markdown file whose name a tool accepts as it is.
fn usable_name(path: &Path) -> Option<NoteName> {
    let name = path.file_name()?.to_str()?;
    if !name.ends_with(".md") || !path.is_file() {
        return None;
    }
    let parsed = NoteName::parse(name)
        .ok()
        .filter(NoteName::is_tool_addressable);
    if parsed.is_none() {
        println!(
            "`{}` is left out: tools can't address this name",
            path.display()
        );
    }
    parsed
}
