//! Links in a directory of notes, and what else isn't a note there.

use std::{
    fs::File,
    os::unix::{fs::symlink, net::UnixListener},
};

use notekeeper_domain::{SearchAnswer, SearchLimits, SearchQuery};
use notekeeper_store::{
    Expected, FileOptions, FileStore, MutationError, NoteStore as _, NotebookBounds, OddNote,
    OddScope, StoreError, TextBounds, WriteRequest,
};

use crate::{
    database::{CHARS_MAX, append, name, operation, scope, text},
    file_root::FileRoot,
};

async fn names(store: &FileStore, path: &str) -> Vec<String> {
    let names = store.names(&scope(path), 99).await.expect("names").names;
    names.iter().map(|name| name.as_str().to_owned()).collect()
}

async fn search(store: &FileStore, path: &str, query: &str) -> SearchAnswer {
    let query = SearchQuery::parse(query).expect("a query");
    let limits = SearchLimits {
        results_max: 10,
        result_chars_max: 4_000,
        files_max: 100,
        note_chars_max: 65_536,
    };
    let answer = store.search(&scope(path), &query, &limits).await;
    answer.expect("search")
}

/// What is said of each way to a note: reading it, writing to it, editing and deleting it.
async fn refusals(store: &FileStore, path: &str, file: &str) -> [String; 4] {
    let (scope, file) = (&scope(path), &name(file));
    let write = WriteRequest::new("x", &Expected::Any);
    let said = [
        store
            .read(scope, file, 9)
            .await
            .map(drop)
            .map_err(MutationError::Store),
        store.write(scope, file, &write, None).await.map(drop),
        append(store, scope, file.as_str(), "x", &operation("1", "f"))
            .await
            .map(drop),
        store
            .delete(scope, file, &Expected::Any, None)
            .await
            .map(drop),
    ];
    said.map(|result| match result {
        Err(MutationError::Store(StoreError::OddNote(odd))) => format!("{odd:?}"),
        Err(MutationError::Store(StoreError::OddScope(odd))) => format!("scope {odd:?}"),
        Ok(()) => "done".to_owned(),
        Err(error) => panic!("{error}"),
    })
}

fn all(odd: OddNote) -> [String; 4] {
    [(); 4].map(|()| format!("{odd:?}"))
}

#[tokio::test]
async fn a_link_to_a_note_is_another_name_for_it() {
    let root = FileRoot::new();
    let store = root.store().await;
    let scope = scope("acme/main");
    append(&store, &scope, "a.md", "one", &operation("1", "f"))
        .await
        .expect("append");
    for (link, to) in [
        ("l.md", "a.md".into()),
        ("up.md", "../main/./a.md".into()),
        ("whole.md", root.path("acme/main/a.md")),
        ("twice.md", "l.md".into()),
    ] {
        symlink::<std::path::PathBuf, _>(to, root.path("acme/main").join(link)).expect("link");
        let target = store
            .read(&scope, &name("a.md"), CHARS_MAX)
            .await
            .expect("read");
        assert_eq!(
            store
                .read(&scope, &name(link), CHARS_MAX)
                .await
                .expect("read"),
            target
        );
        let write = operation(&format!("write {link}"), "f");
        append(&store, &scope, link, link, &write)
            .await
            .expect("append");
        assert!(root.text("acme/main/a.md").ends_with(&format!("{link}\n")));
        assert!(
            root.path("acme/main").join(link).is_symlink(),
            "it stays a link"
        );
    }
    assert_eq!(
        names(&store, "acme/main").await,
        ["a.md", "l.md", "twice.md", "up.md", "whole.md"]
    );
    assert_eq!(search(&store, "acme/main", "one").await.matches.len(), 5);
    // The link goes, and the note stays as it is.
    let before = store
        .read(&scope, &name("a.md"), CHARS_MAX)
        .await
        .expect("read");
    let expected = Expected::Version(before.as_ref().expect("there").version.clone());
    let deleted = store
        .delete(&scope, &name("l.md"), &expected, Some(&operation("d", "f")))
        .await;
    assert!(deleted.expect("delete").existed);
    assert_eq!(
        store
            .read(&scope, &name("a.md"), CHARS_MAX)
            .await
            .expect("read"),
        before
    );
    assert_eq!(
        text(&store, &scope, "twice.md").await,
        None,
        "its link leads nowhere"
    );
    assert_eq!(
        names(&store, "acme/main").await,
        ["a.md", "up.md", "whole.md"]
    );
    assert_eq!(root.prepared().await, 0);
}

#[tokio::test]
async fn a_link_into_another_scope_says_where_the_note_is_kept() {
    let root = FileRoot::new();
    let store = root.store().await;
    let (own, other) = (scope("acme/main"), scope("other/main"));
    append(&store, &own, "a.md", "one", &operation("1", "f"))
        .await
        .expect("append");
    append(&store, &other, "a.md", "two", &operation("2", "f"))
        .await
        .expect("append");
    std::fs::write(root.path("top.md"), "three").expect("write");
    for (link, to) in [
        ("beside.md", "a.md"),
        ("across.md", "../../other/main/a.md"),
        ("up.md", "../../top.md"),
    ] {
        symlink(to, root.path("acme/main").join(link)).expect("link");
    }
    let bounds = TextBounds {
        notes_max: 10,
        chars_max: CHARS_MAX,
        bytes_max: 10_000,
    };
    let texts = store.texts(&own, None, bounds).await.expect("texts");
    let told: Vec<(&str, &str)> = texts
        .notes
        .iter()
        .map(|note| (note.name.as_str(), note.scope.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("a.md", "acme/main"),
            ("across.md", "other/main"),
            ("beside.md", "acme/main"),
            ("up.md", ""),
        ]
    );
}

#[tokio::test]
async fn links_and_paths_that_leave_the_root_are_refused_and_touch_nothing() {
    let root = FileRoot::new();
    let store = root.store().await;
    std::fs::create_dir(root.beside("out")).expect("make");
    std::fs::write(root.beside("out/s.md"), "secret").expect("write");
    root.write("m/a.md", "tea");
    symlink(root.beside("out/s.md"), root.path("m/l.md")).expect("link");
    symlink("../../out/s.md", root.path("m/r.md")).expect("link");
    symlink("r.md", root.path("m/chain.md")).expect("link");
    symlink(root.beside("out"), root.path("m/d")).expect("link");
    symlink("circle.md", root.path("m/circle.md")).expect("link");
    symlink("/etc", root.path("etc")).expect("link");
    for (path, file) in [
        ("m", "l.md"),
        ("m", "r.md"),
        ("m", "chain.md"),
        ("m", "circle.md"),
        ("m/d", "s.md"),
        ("m/d", "new.md"),
        ("etc", "passwd"),
    ] {
        assert_eq!(
            refusals(&store, path, file).await,
            all(OddNote::LeadsOut),
            "{path} {file}"
        );
    }
    let said = store
        .read(&scope("m"), &name("l.md"), 9)
        .await
        .expect_err("refused")
        .to_string();
    assert!(!said.contains("l.md") && !said.contains("out/"), "{said}");
    for path in ["m/d", "etc"] {
        assert_eq!(names(&store, path).await, Vec::<String>::new());
        assert_eq!(search(&store, path, "secret root").await.scanned, 0);
    }
    let answer = search(&store, "m", "secret").await;
    assert_eq!(
        (answer.matches.len(), answer.scanned, answer.truncated),
        (0, 1, false)
    );
    let bounds = NotebookBounds {
        main_chars_max: 9,
        names_max: 9,
    };
    let notebook = store.notebook(&scope("m"), bounds).await.expect("notebook");
    assert!(!notebook.names.contains(&"d".to_owned()));
    assert_eq!(
        std::fs::read_to_string(root.beside("out/s.md")).expect("there"),
        "secret"
    );
    assert_eq!(
        std::fs::read_dir(root.beside("out"))
            .expect("there")
            .count(),
        1
    );
}

#[tokio::test]
async fn linked_directories_are_left_out_of_listings_and_searches() {
    let root = FileRoot::new();
    let store = root.store().await;
    root.write("acme/a.md", "tea");
    root.write("acme/main/b.md", "tea");
    root.write("other/c.md", "tea");
    symlink("../other", root.path("acme/linked")).expect("link");
    symlink("main", root.path("acme/self")).expect("link");
    assert_eq!(names(&store, "acme").await, ["a.md"]);
    let answer = search(&store, "acme", "tea").await;
    assert_eq!((answer.matches.len(), answer.scanned), (1, 1));
    let list = store.list(&scope("acme"), 9).await.expect("list");
    assert_eq!((list.notes.len(), list.more), (1, false));
    for path in ["acme/linked", "acme/self"] {
        assert_eq!(names(&store, path).await, Vec::<String>::new());
        assert_eq!(search(&store, path, "tea").await.scanned, 0);
    }
    // Who asks for what is in it gets the one note that it is.
    let linked = store
        .read(&scope("acme/linked"), &name("c.md"), 9)
        .await
        .expect("read");
    let direct = store
        .read(&scope("other"), &name("c.md"), 9)
        .await
        .expect("read");
    assert_eq!(linked, direct);
}

#[tokio::test]
async fn what_is_no_text_is_passed_over_and_never_written_over() {
    let root = FileRoot::new();
    let store = root.store().await;
    let odd: [(&str, &[u8]); 4] = [
        ("m/latin.md", b"caf\xe9 tea"),
        ("m/nul.md", b"tea\0tea"),
        ("m/cut.md", b"tea \xf0\x9f"),
        ("m/late.md", &[&[b'x'; 70_000][..], b"\xff"].concat()),
    ];
    for (path, bytes) in odd {
        root.write(path, bytes);
    }
    root.write("m/fine.md", "tea");
    root.write("m/odd name.md", "tea");
    std::fs::write(root.path("m").join("\u{e9}.md"), "tea").expect("write");
    for (path, bytes) in odd {
        let file = path.strip_prefix("m/").expect("in m");
        assert_eq!(
            refusals(&store, "m", file).await,
            all(OddNote::NoText),
            "{file}"
        );
        assert_eq!(std::fs::read(root.path(path)).expect("there"), bytes);
    }
    let answer = search(&store, "m", "tea").await;
    let found: Vec<_> = answer.matches.iter().map(|m| m.file.as_str()).collect();
    assert_eq!((found, answer.scanned), (vec!["fine.md"], 5));
    let list = store.list(&scope("m"), 9).await.expect("list");
    assert_eq!(list.notes.len(), 1);
    root.write("m/MEMORY.md", b"\xff");
    let bounds = NotebookBounds {
        main_chars_max: 9,
        names_max: 9,
    };
    let refused = store
        .notebook(&scope("m"), bounds)
        .await
        .expect_err("no text");
    assert!(
        matches!(refused, StoreError::OddNote(OddNote::NoText)),
        "{refused}"
    );
}

#[tokio::test]
async fn pipes_sockets_and_directories_are_no_notes_and_stay_as_they_are() {
    let root = FileRoot::new();
    let store = root.store().await;
    root.write("m/a.md", "tea");
    let made = std::process::Command::new("mkfifo")
        .arg(root.path("m/pipe.md"))
        .status();
    assert!(made.expect("mkfifo").success());
    let _socket = UnixListener::bind(root.path("m/socket.md")).expect("bind");
    std::fs::create_dir(root.path("m/dir.md")).expect("make");
    root.write("m/dir.md/b.md", "nested");
    symlink("pipe.md", root.path("m/to-pipe.md")).expect("link");
    assert_eq!(names(&store, "m").await, ["a.md"]);
    assert_eq!(search(&store, "m", "tea").await.scanned, 1);
    for file in ["pipe.md", "socket.md", "to-pipe.md"] {
        assert_eq!(
            refusals(&store, "m", file).await,
            all(OddNote::NoFile),
            "{file}"
        );
    }
    // A nested scope has the name. There is no such note, and none can be made.
    let in_the_way = format!("{:?}", OddNote::InTheWay);
    let right = [
        "done".to_owned(),
        in_the_way.clone(),
        in_the_way,
        "done".to_owned(),
    ];
    assert_eq!(refusals(&store, "m", "dir.md").await, right);
    assert_eq!(text(&store, &scope("m"), "dir.md").await, None);
    assert_eq!(
        text(&store, &scope("m/dir.md"), "b.md").await.as_deref(),
        Some("nested")
    );
    // And the other way round.
    let under = format!("scope {:?}", OddScope::InTheWay);
    let right = ["done".to_owned(), under.clone(), under, "done".to_owned()];
    assert_eq!(refusals(&store, "m/a.md", "b.md").await, right);
    assert_eq!(root.text("m/a.md"), "tea");
    assert!(!root.path("m/.memory-tmp-next").exists());
    assert_eq!(root.prepared().await, 0);
}

#[tokio::test]
async fn names_of_the_stores_own_are_no_notes_and_no_scopes() {
    let root = FileRoot::new();
    let store = root.store().await;
    for file in [
        ".memory-store.sqlite3",
        ".Memory-Tmp-next",
        ".memory-operations.json.bak",
    ] {
        assert_eq!(
            refusals(&store, "m", file).await,
            all(OddNote::Reserved),
            "{file}"
        );
    }
    let reserved = [(); 4].map(|()| format!("scope {:?}", OddScope::Reserved));
    for path in [
        ".memory-store.sqlite3",
        "m/.memory-tmp-x/main",
        ".MEMORY-STORE.SQLITE3-journal",
    ] {
        assert_eq!(refusals(&store, path, "a.md").await, reserved, "{path}");
    }
    for (path, file) in [(".hidden", ".a.md"), ("-", "-b"), ("a.", "c.")] {
        append(&store, &scope(path), file, "x", &operation(file, "f"))
            .await
            .expect("append");
        assert_eq!(names(&store, path).await, [file]);
    }
}

/// Opens a root as a caller does that checked the way to it.
fn opened(root: &FileRoot) -> FileOptions {
    let directory = File::open(&root.options.root).expect("open");
    FileOptions::of_directory(std::os::fd::OwnedFd::from(directory), &root.options.root)
}

#[tokio::test]
async fn the_directory_that_was_opened_is_the_one_that_is_used_or_none_is() {
    let root = FileRoot::new();
    std::fs::create_dir(&root.options.root).expect("make");
    let outside = root.beside("outside");
    std::fs::create_dir(&outside).expect("make");
    let before = opened(&root);
    let store = FileStore::open(opened(&root)).await.expect("open");
    append(&store, &scope("m"), "a.md", "x", &operation("1", "f"))
        .await
        .expect("append");

    let away = root.beside("away");
    std::fs::rename(&root.options.root, &away).expect("rename");
    symlink(&outside, &root.options.root).expect("link");

    let refused = FileStore::open(before).await.expect_err("it is a link");
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused}");
    let edit = append(&store, &scope("m"), "a.md", "y", &operation("2", "f")).await;
    let unavailable = matches!(edit, Err(MutationError::Store(StoreError::Unavailable(_))));
    assert!(unavailable, "{edit:?}");
    let read = store.read(&scope("m"), &name("a.md"), 9).await;
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    let made = std::fs::read_dir(&outside).expect("a directory").count();
    assert_eq!(made, 0, "nothing is made outside");

    std::fs::remove_file(&root.options.root).expect("remove");
    std::fs::rename(&away, &root.options.root).expect("rename");
    let edit = append(&store, &scope("m"), "a.md", "y", &operation("2", "f")).await;
    assert!(!edit.expect("append").replayed);
    assert_eq!(root.text("m/a.md"), "x\ny\n");
}

#[tokio::test]
async fn a_directory_that_was_opened_and_is_gone_is_not_made_again() {
    let root = FileRoot::new();
    std::fs::create_dir(&root.options.root).expect("make");
    let options = opened(&root);
    std::fs::remove_dir(&root.options.root).expect("remove");
    let refused = FileStore::open(options).await.expect_err("it is gone");
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused}");
    assert!(!root.options.root.exists());
}
