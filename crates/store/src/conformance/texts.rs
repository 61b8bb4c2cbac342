//! Texts of many notes, part by part.

use notekeeper_domain::NoteName;

use super::{
    fixture::{Notebook, name, notebook},
    tenants::LOOK_ALIKES,
};
use crate::{Expected, NoteTexts, Store, TextBounds};

pub(super) async fn exercise<S: Store>(store: &S) {
    texts_come_by_name_with_their_versions(&notebook(store, "x/all")).await;
    parts_make_the_whole(&notebook(store, "x/parts")).await;
    texts_are_cut_by_characters(&notebook(store, "x/cut")).await;
    a_part_has_about_as_many_bytes_as_may_be(&notebook(store, "x/bytes")).await;
    bytes_are_those_of_the_parts_that_are_read(&notebook(store, "x/uneven")).await;
    look_alike_scopes_are_apart(store).await;
}

const ALL: TextBounds = TextBounds {
    notes_max: 1_000,
    chars_max: 10_000,
    bytes_max: 1_000_000,
};

async fn texts<S: Store>(
    notebook: &Notebook<'_, S>,
    after: Option<&NoteName>,
    bounds: TextBounds,
) -> NoteTexts {
    let texts = notebook.store.texts(&notebook.scope, after, bounds).await;
    let texts = texts.expect("texts are read");
    for note in &texts.notes {
        assert_eq!(
            note.scope,
            notebook.scope.as_str(),
            "each text says its scope, which is the caller's alone"
        );
    }
    texts
}

fn said(part: &NoteTexts) -> Vec<(&str, &str)> {
    let notes = part.notes.iter();
    notes
        .map(|note| (note.name.as_str(), note.content.as_str()))
        .collect()
}

async fn texts_come_by_name_with_their_versions<S: Store>(notebook: &Notebook<'_, S>) {
    assert_eq!(texts(notebook, None, ALL).await, NoteTexts::default());
    let notes = [
        ("b.md", "second"),
        ("a-1.md", ""),
        ("data.json", "{}"),
        ("MEMORY.md", "main \u{1f600}\r\n"),
        ("a_1.md", "x"),
    ];
    for (file, content) in notes {
        notebook.put(file, content).await;
    }
    let found = texts(notebook, None, ALL).await;
    let mut right = notes.to_vec();
    right.sort_unstable();
    assert_eq!(said(&found), right, "texts come by name, by code point");
    assert!(!found.more);
    for note in &found.notes {
        let read = notebook.read(note.name.as_str()).await.expect("there");
        assert_eq!(note.version, read.version, "each text is of its version");
    }
    notebook.put("b.md", "changed").await;
    notebook
        .delete("a_1.md", Expected::Any, None)
        .await
        .expect("delete");
    let found = texts(notebook, Some(&name("a-1.md")), ALL).await;
    assert_eq!(
        said(&found),
        [("b.md", "changed"), ("data.json", "{}")],
        "what is after a name doesn't begin with it"
    );
    let found = texts(notebook, Some(&name("b.mc")), ALL).await;
    assert_eq!(said(&found).len(), 2, "the name needn't be a note's");
    let found = texts(notebook, Some(&name("zzz.md")), ALL).await;
    assert_eq!(found, NoteTexts::default());
}

async fn parts_make_the_whole<S: Store>(notebook: &Notebook<'_, S>) {
    for index in 0..25 {
        let content = "x".repeat(index * 10);
        notebook.put(&format!("{index:02}.md"), &content).await;
    }
    let whole = texts(notebook, None, ALL).await;
    assert_eq!(whole.notes.len(), 25);
    for (notes_max, bytes_max) in [(1, 1_000), (7, 1_000), (25, 100), (100, 0), (3, 300)] {
        let bounds = TextBounds {
            notes_max,
            bytes_max,
            ..ALL
        };
        let mut parts: Vec<_> = Vec::new();
        loop {
            let after = parts.last().map(|note: &crate::NoteText| note.name.clone());
            let part = texts(notebook, after.as_ref(), bounds).await;
            assert!(
                (1..=notes_max).contains(&part.notes.len()),
                "a part has one note at least, and no more than may be"
            );
            parts.extend(part.notes);
            if !part.more {
                break;
            }
        }
        assert_eq!(parts, whole.notes, "the parts make the whole");
    }
    let none = TextBounds {
        notes_max: 0,
        ..ALL
    };
    let none = texts(notebook, None, none).await;
    assert!(none.notes.is_empty() && none.more);
}

async fn texts_are_cut_by_characters<S: Store>(notebook: &Notebook<'_, S>) {
    notebook
        .put("a.md", "\u{56fa}\u{1f469}\u{200d}\u{1f469}e\u{301}")
        .await;
    notebook.put("b.md", "ab").await;
    let right = [
        "",
        "\u{56fa}",
        "\u{56fa}\u{1f469}",
        "\u{56fa}\u{1f469}\u{200d}",
        "\u{56fa}\u{1f469}\u{200d}\u{1f469}",
        "\u{56fa}\u{1f469}\u{200d}\u{1f469}e",
        "\u{56fa}\u{1f469}\u{200d}\u{1f469}e\u{301}",
        "\u{56fa}\u{1f469}\u{200d}\u{1f469}e\u{301}",
    ];
    for (chars_max, right) in right.into_iter().enumerate() {
        let bounds = TextBounds { chars_max, ..ALL };
        let found = texts(notebook, None, bounds).await;
        let second = &"ab"[..chars_max.min(2)];
        assert_eq!(
            said(&found),
            [("a.md", right), ("b.md", second)],
            "texts are cut by characters"
        );
    }
}

async fn a_part_has_about_as_many_bytes_as_may_be<S: Store>(notebook: &Notebook<'_, S>) {
    for index in 0..20 {
        notebook
            .put(&format!("{index:02}.md"), &"\u{e9}".repeat(500))
            .await;
    }
    for (chars_max, bytes_max, count) in [(1_000, 5_000, 5..=6), (250, 5_000, 10..=11)] {
        let bounds = TextBounds {
            chars_max,
            bytes_max,
            ..ALL
        };
        let part = texts(notebook, None, bounds).await;
        assert!(
            count.contains(&part.notes.len()) && part.more,
            "a part has about {bytes_max} bytes, not {} notes",
            part.notes.len()
        );
    }
}

/// What comes after a cut may be narrower or wider than what stands before it.
async fn bytes_are_those_of_the_parts_that_are_read<S: Store>(notebook: &Notebook<'_, S>) {
    let (wide, narrow) = ("\u{1f600}".repeat(100), "x".repeat(100));
    for file in ["0.md", "1.md", "2.md", "3.md"] {
        notebook.put(file, &format!("{narrow}{wide}")).await;
    }
    for file in ["4.md", "5.md", "6.md", "7.md"] {
        notebook.put(file, &format!("{wide}{narrow}")).await;
    }
    let three = name("3.md");
    for (after, bytes_max, right) in [
        (None, 99, 1),
        (None, 100, 2),
        (None, 250, 3),
        (Some(&three), 399, 1),
        (Some(&three), 400, 2),
        (Some(&three), 801, 3),
    ] {
        let bounds = TextBounds {
            chars_max: 100,
            bytes_max,
            ..ALL
        };
        let part = texts(notebook, after, bounds).await;
        assert_eq!(
            part.notes.len(),
            right,
            "after {after:?}, once there are more than {bytes_max} bytes, the part ends"
        );
        assert!(part.more);
    }
}

async fn look_alike_scopes_are_apart<S: Store>(store: &S) {
    let notebooks = LOOK_ALIKES.map(|scope| notebook(store, scope));
    for notebook in &notebooks {
        notebook.put("a.md", notebook.scope.as_str()).await;
    }
    for notebook in &notebooks {
        let scope = notebook.scope.as_str();
        let found = texts(notebook, None, ALL).await;
        assert_eq!(said(&found), [("a.md", scope)], "texts of `{scope}` alone");
        let read = notebook.text("a.md").await;
        assert_eq!(read.as_deref(), Some(scope), "the note of `{scope}` alone");
    }
}
