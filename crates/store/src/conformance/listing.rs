//! Names, and the view for snapshots.

use notekeeper_domain::{MAIN_NOTE, MainNote, MainPart, Scope};

use super::fixture::{Notebook, name, notebook};
use crate::{Expected, Listing, NotebookBounds, Store, TailRead};

pub(super) async fn exercise<S: Store>(store: &S) {
    names_ascend_by_code_point(&notebook(store, "l/order")).await;
    listing_keeps_to_its_bound(&notebook(store, "l/bound")).await;
    a_list_has_version_length_and_time(&notebook(store, "l/list")).await;
    nested_scopes_stay_out(store).await;
    a_notebook_has_the_main_note_and_other_markdown(&notebook(store, "l/notebook")).await;
}

/// In the order that they must be listed in. A database's own collation orders them otherwise.
const ORDERED: [&str; 12] = [
    "-.md",
    ".md",
    "0.md",
    "10.md",
    "9.md",
    "A.md",
    "MEMORY.md",
    "Z.md",
    "_.md",
    "a-1.md",
    "a_1.md",
    "b.md",
];

async fn names_ascend_by_code_point<S: Store>(notebook: &Notebook<'_, S>) {
    for file in ORDERED.iter().rev() {
        notebook.put(file, "x").await;
    }
    notebook.put("gone.md", "x").await;
    notebook
        .delete("gone.md", Expected::Any, None)
        .await
        .expect("delete");
    let listed = notebook
        .store
        .names(&notebook.scope, 100)
        .await
        .expect("names");
    assert_eq!(listed.names, ORDERED.map(name));
    assert!(!listed.more);
}

async fn listing_keeps_to_its_bound<S: Store>(notebook: &Notebook<'_, S>) {
    let names = async |names_max| {
        notebook
            .store
            .names(&notebook.scope, names_max)
            .await
            .expect("names")
    };
    let none = names(0).await;
    assert_eq!((none.names.len(), none.more), (0, false));
    for file in ["c.md", "a.md", "b.md"] {
        notebook.put(file, "x").await;
    }
    let none = names(0).await;
    assert_eq!((none.names.len(), none.more), (0, true));
    let two = names(2).await;
    assert_eq!(
        (two.names, two.more),
        (vec![name("a.md"), name("b.md")], true)
    );
    let three = names(3).await;
    assert_eq!((three.names.len(), three.more), (3, false));
    assert_eq!(names(usize::MAX).await.names.len(), 3);
}

async fn a_list_has_version_length_and_time<S: Store>(notebook: &Notebook<'_, S>) {
    let list = async |notes_max| {
        let listed = notebook.store.list(&notebook.scope, notes_max).await;
        listed.expect("list")
    };
    assert_eq!(list(10).await, Listing::default());
    for (file, text) in [("b.md", "固固"), (MAIN_NOTE, "- tea\n"), ("a.md", "")] {
        notebook.put(file, text).await;
    }
    let listed = list(10).await;
    assert!(!listed.more);
    let names: Vec<_> = listed.notes.iter().map(|note| note.name.as_str()).collect();
    assert_eq!(names, [MAIN_NOTE, "a.md", "b.md"]);
    let chars: Vec<_> = listed.notes.iter().map(|note| note.chars).collect();
    assert_eq!(chars, [6, 0, 2]);
    for note in &listed.notes {
        let read = notebook.store.read(&notebook.scope, &note.name, 1).await;
        let read = read.expect("read").expect("it is there");
        assert_eq!(note.version, read.version);
        // `2026-11-30T04:05:06Z`, where the store keeps times.
        if let Some(time) = &note.updated_at {
            let form = time.replace(|c: char| c.is_ascii_digit(), "0");
            assert_eq!(form, "0000-00-00T00:00:00Z");
        }
    }
    let two = list(2).await;
    assert_eq!((&two.notes[..], two.more), (&listed.notes[..2], true));
    assert!(!list(3).await.more);
    let none = list(0).await;
    assert_eq!((none.notes.len(), none.more), (0, true));
}

async fn nested_scopes_stay_out<S: Store>(store: &S) {
    let outer = notebook(store, "l/nest");
    for below in [
        "l/nest/a",
        "l/nest/a/b",
        "l/nest/MEMORY.md",
        "l/nest-2",
        "l/nes",
    ] {
        let inner = notebook(store, below);
        for file in ["0.md", "inner.md", MAIN_NOTE] {
            inner.put(file, "needle").await;
        }
    }
    let bounds = NotebookBounds {
        main_chars_max: 10,
        names_max: 1,
    };
    let empty = store
        .notebook(&outer.scope, bounds)
        .await
        .expect("notebook");
    assert_eq!(empty, notekeeper_domain::Notebook::default());
    outer.put("z.md", "x").await;
    let listed = store.names(&outer.scope, 1).await.expect("names");
    assert_eq!((listed.names, listed.more), (vec![name("z.md")], false));
    let view = store
        .notebook(&outer.scope, bounds)
        .await
        .expect("notebook");
    assert_eq!((view.main, view.more_names), (None, false));
    assert_eq!(view.names, ["z.md"]);
}

async fn a_notebook_has_the_main_note_and_other_markdown<S: Store>(notebook: &Notebook<'_, S>) {
    let view = async |main_chars_max, names_max| {
        let bounds = NotebookBounds {
            main_chars_max,
            names_max,
        };
        notebook
            .store
            .notebook(&notebook.scope, bounds)
            .await
            .expect("notebook")
    };
    assert_eq!(view(100, 10).await, notekeeper_domain::Notebook::default());
    for file in [
        "data.json",
        "b.md",
        "a.md",
        "x.MD",
        "memory.md",
        "README",
        "a%.md",
    ] {
        // `%` is no character of names; the others are.
        if let Ok(name) = notekeeper_domain::NoteName::parse(file) {
            notebook.put(name.as_str(), "x").await;
        }
    }
    let others = view(100, 10).await;
    assert_eq!(others.main, None);
    assert_eq!(others.names, ["a.md", "b.md", "memory.md"]);
    notebook.put(MAIN_NOTE, "").await;
    let whole = |content: &str| {
        Some(MainNote {
            content: content.to_owned(),
            part: MainPart::Whole,
        })
    };
    let empty = view(100, 2).await;
    assert_eq!(empty.main, whole(""));
    assert_eq!(
        (empty.names, empty.more_names),
        (vec!["a.md".into(), "b.md".into()], true)
    );
    notebook.put(MAIN_NOTE, "固 text").await;
    let filled = view(6, 3).await;
    assert_eq!(filled.main, whole("固 text"));
    assert_eq!((filled.names.len(), filled.more_names), (3, false));
}

/// Whether the end is what is shown of an over-long main note. Either end may be, but the view must
/// say which it is, and a store that reads tails must show the end.
pub(super) async fn shows_ends<S: Store>(store: &S) -> bool {
    let notebook = notebook(store, "l/long");
    let mut parts = Vec::new();
    let text = "old 固\nnew 👩\u{200d}👩é";
    notebook.put(MAIN_NOTE, text).await;
    let chars: Vec<char> = text.chars().collect();
    for main_chars_max in 0..chars.len() {
        let bounds = NotebookBounds {
            main_chars_max,
            names_max: 1,
        };
        let view = notebook
            .store
            .notebook(&notebook.scope, bounds)
            .await
            .expect("notebook");
        let main = view.main.expect("the note is there");
        let right: String = match main.part {
            MainPart::Head => chars[..main_chars_max].iter().collect(),
            MainPart::Tail => chars[chars.len() - main_chars_max..].iter().collect(),
            MainPart::Whole => panic!("{main_chars_max} characters aren't the whole note"),
        };
        assert_eq!(main.content, right, "{main_chars_max} {:?}", main.part);
        parts.push(main.part);
    }
    let ends = parts.iter().filter(|part| **part == MainPart::Tail).count();
    assert!(
        ends == 0 || ends == parts.len(),
        "it is always the same end"
    );
    if let Some(tails) = store.tails() {
        assert!(ends > 0, "a store that reads tails shows them");
        tails_are_read(tails, &notebook.scope, &chars).await;
    }
    ends > 0
}

async fn tails_are_read(tails: &dyn TailRead, scope: &Scope, chars: &[char]) {
    let read = async |file, chars_max| {
        let read = tails.read_tail(scope, &name(file), chars_max).await;
        read.expect("read_tail answers")
    };
    assert_eq!(read("absent.md", 10).await, None);
    for chars_max in 0..chars.len() + 2 {
        let part = read(MAIN_NOTE, chars_max).await.expect("it is there");
        let kept = chars_max.min(chars.len());
        let right: String = chars[chars.len() - kept..].iter().collect();
        assert_eq!(part.content, right);
        assert_eq!(part.truncated, chars_max < chars.len());
    }
}
