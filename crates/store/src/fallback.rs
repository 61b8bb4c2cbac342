//! Lists, views and searches of stores that have nothing better than names and bounded reads.

use notekeeper_domain::{
    MainNote, MainPart, NoteName, Notebook, Scan, Scope, SearchAnswer, SearchLimits, SearchQuery,
};

use crate::{
    CONTENT_BYTES_MAX, Denial, ListedNote, Listing, Names, NotePart, NoteStore, NoteText,
    NoteTexts, NotebookBounds, StoreError, TextBounds, scoring::score,
};

pub(crate) async fn list<S: NoteStore + ?Sized>(
    store: &S,
    scope: &Scope,
    notes_max: usize,
) -> Result<Listing, StoreError> {
    let Names { names, more } = store.names(scope, notes_max).await?;
    let mut notes = Vec::with_capacity(names.len());
    for name in names {
        // Gone since it was listed: then it is not there.
        if let Some(note) = store.read(scope, &name, CONTENT_BYTES_MAX).await? {
            notes.push(ListedNote {
                name,
                version: note.version,
                chars: note.content.chars().count(),
                updated_at: None,
                metadata: note.metadata,
            });
        }
        tokio::task::yield_now().await;
    }
    Ok(Listing { notes, more })
}

pub(crate) async fn texts<S: NoteStore + ?Sized>(
    store: &S,
    scope: &Scope,
    after: Option<&NoteName>,
    bounds: TextBounds,
) -> Result<NoteTexts, StoreError> {
    let names = store.names(scope, usize::MAX).await?.names;
    let names = names
        .into_iter()
        .filter(|name| after.is_none_or(|after| *name > *after));
    let mut part = NoteTexts::default();
    let mut bytes = 0;
    for name in names {
        if part.notes.len() == bounds.notes_max || bytes > bounds.bytes_max {
            part.more = true;
            break;
        }
        let read = match store.read(scope, &name, bounds.chars_max).await {
            // What is no note, or isn't to be read, keeps nobody from the others.
            Err(StoreError::OddNote(_) | StoreError::Denied(Denial::Permission)) => continue,
            read => read?,
        };
        // Gone since it was listed: then it is not there.
        if let Some(note) = read {
            bytes += note.content.len();
            part.notes.push(NoteText {
                scope: note.scope,
                name,
                content: note.content,
                version: note.version,
            });
        }
        tokio::task::yield_now().await;
    }
    Ok(part)
}

pub(crate) async fn notebook<S: NoteStore + ?Sized>(
    store: &S,
    scope: &Scope,
    bounds: NotebookBounds,
) -> Result<Notebook, StoreError> {
    let (names, more_names) = markdown_names(store, scope, bounds.names_max).await?;
    Ok(Notebook {
        main: main_note(store, scope, bounds.main_chars_max).await?,
        names,
        more_names,
    })
}

/// The first names that end in `.md`, without the main note's, and whether there are more.
async fn markdown_names<S: NoteStore + ?Sized>(
    store: &S,
    scope: &Scope,
    names_max: usize,
) -> Result<(Vec<String>, bool), StoreError> {
    // The main note may be among them.
    let mut asked = names_max.saturating_add(2);
    let mut listed_before = None;
    loop {
        let listed = store.names(scope, asked).await?;
        // A store that says that there are more and has none to give is not asked for ever.
        let stuck = listed_before.replace(listed.names.len()) == Some(listed.names.len());
        let mut names: Vec<String> = listed
            .names
            .iter()
            .filter(|name| !name.is_main() && name.as_str().ends_with(".md"))
            .map(|name| name.as_str().to_owned())
            .collect();
        let more = names.len() > names_max;
        if more || !listed.more || stuck {
            names.truncate(names_max);
            return Ok((names, more || listed.more));
        }
        // Other files took the room: they are not to hide the notes behind them.
        asked = asked.saturating_mul(2);
    }
}

async fn main_note<S: NoteStore + ?Sized>(
    store: &S,
    scope: &Scope,
    chars_max: usize,
) -> Result<Option<MainNote>, StoreError> {
    let name = NoteName::main();
    let (read, cut_part): (Option<NotePart>, _) = match store.tails() {
        Some(tails) => (
            tails.read_tail(scope, &name, chars_max).await?,
            MainPart::Tail,
        ),
        None => (store.read(scope, &name, chars_max).await?, MainPart::Head),
    };
    Ok(read.map(|note| MainNote {
        content: note.content,
        part: if note.truncated {
            cut_part
        } else {
            MainPart::Whole
        },
    }))
}

pub(crate) async fn search<S: NoteStore + ?Sized>(
    store: &S,
    scope: &Scope,
    query: &SearchQuery,
    limits: &SearchLimits,
) -> Result<SearchAnswer, StoreError> {
    let Names { names, more } = store.names(scope, limits.files_max).await?;
    let mut scan = Scan::new(query, *limits);
    let mut scanned = 0;
    let mut incomplete = more;
    for name in names {
        // Gone since it was listed: then there is nothing to examine.
        let Some(note) = store.read(scope, &name, limits.note_chars_max).await? else {
            continue;
        };
        scanned += 1;
        incomplete |= note.truncated;
        score(&mut scan, name.as_str(), &note.content).await;
    }
    Ok(scan.finish(scanned, incomplete))
}
