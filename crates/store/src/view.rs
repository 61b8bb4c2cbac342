//! What is read of notes.

use notekeeper_domain::{NoteName, Version, WriteMetadata};

use crate::{counts::token, kept_metadata::kept_metadata};

/// A note, or its first characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotePart {
    /// Path form of the scope that the note is kept in, as the store has it: who asks compares it.
    pub scope: String,
    /// The text, cut to the bound of the read.
    pub content: String,
    /// Whether anything was cut.
    pub truncated: bool,
    /// Version of the whole note.
    pub version: Version,
    /// Operation of the write that produced this version; `None` where it had none.
    pub operation_id: Option<String>,
    /// Who made that write; `None` where it recorded nothing, or the store keeps none.
    pub metadata: Option<WriteMetadata>,
}

/// Names of notes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Ascending by code point.
    pub names: Vec<NoteName>,
    /// Whether there are more.
    pub more: bool,
}

impl Names {
    /// The first names of a list that goes one further where there are more.
    ///
    /// Nothing but this program writes names, but a person with a console can. One odd name mustn't
    /// take the others with it, so it is passed over.
    pub(crate) fn of_listed(mut listed: Vec<String>, names_max: usize) -> Self {
        let more = listed.len() > names_max;
        listed.truncate(names_max);
        let names: Vec<_> = listed
            .iter()
            .filter_map(|name| NoteName::parse(name).ok())
            .collect();
        let skipped = listed.len() - names.len();
        if skipped > 0 {
            tracing::warn!(skipped, "the store holds names that no operation accepts");
        }
        Self { names, more }
    }
}

/// Notes with their texts: one part of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoteTexts {
    /// Ascending by name, compared by code point.
    pub notes: Vec<NoteText>,
    /// Whether there are more after them.
    pub more: bool,
}

/// A note with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteText {
    /// Path form of the scope that the row belongs to, as the store has it: who asks compares it.
    pub scope: String,
    /// Name of the note.
    pub name: NoteName,
    /// The text, cut to the bound of the read.
    pub content: String,
    /// Version of the whole note.
    pub version: Version,
}

/// Notes without their text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Ascending by name, compared by code point.
    pub notes: Vec<ListedNote>,
    /// Whether there are more.
    pub more: bool,
}

/// A note without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedNote {
    /// Name of the note.
    pub name: NoteName,
    /// Its version.
    pub version: Version,
    /// Characters of its text.
    pub chars: usize,
    /// When it was last changed, in UTC and whole seconds, as `2026-11-30T04:05:06Z`; `None` where
    /// the store keeps no times.
    pub updated_at: Option<String>,
    /// Who made this version; `None` where the write recorded nothing, or the store keeps none.
    pub metadata: Option<WriteMetadata>,
}

/// A row of a listing, as databases have it: name, version, characters, time, metadata.
pub(crate) type ListedRow = (String, i64, i32, String, Option<String>);

impl Listing {
    /// The first rows of a list that goes one further where there are more. Odd names are passed
    /// over as by [`Names::of_listed`].
    pub(crate) fn of_rows(rows: Vec<ListedRow>, notes_max: usize) -> Self {
        let listed = rows.iter().map(|(name, ..)| name.clone()).collect();
        let Names { names, more } = Names::of_listed(listed, notes_max);
        let mut names = names.into_iter().peekable();
        let notes = rows
            .into_iter()
            .filter_map(|(name, version, chars, updated_at, metadata)| {
                let name = names.next_if(|next| next.as_str() == name)?;
                Some(ListedNote {
                    name,
                    version: token(version),
                    chars: usize::try_from(chars).unwrap_or_default(),
                    updated_at: Some(updated_at),
                    metadata: kept_metadata(metadata.as_deref()),
                })
            });
        Self {
            notes: notes.collect(),
            more,
        }
    }
}

/// Bounds of the view that a snapshot is rendered from.
#[derive(Debug, Clone, Copy)]
pub struct NotebookBounds {
    /// Most characters of the main note.
    pub main_chars_max: usize,
    /// Most names of other notes.
    pub names_max: usize,
}

/// Bounds of one part of the texts of a scope.
#[derive(Debug, Clone, Copy)]
pub struct TextBounds {
    /// Most notes.
    pub notes_max: usize,
    /// Most characters of each.
    pub chars_max: usize,
    /// Bytes of text in all; the part ends with the note that takes it beyond them.
    pub bytes_max: usize,
}
