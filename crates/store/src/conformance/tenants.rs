//! Tenants: no operation on one scope sees or changes another.

use notekeeper_domain::{MAIN_NOTE, SCOPE_CHARS_MAX, Scope, SearchLimits, SearchQuery};

use super::fixture::{Notebook, append, longest_scope, noise, notebook, operation};
use crate::{Expected, NotebookBounds, Store};

pub(super) async fn exercise<S: Store>(store: &S) {
    look_alike_scopes_are_apart(store).await;
    the_longest_scope_works(store).await;
}

/// Scopes that a pattern, a prefix, a case rule or a separator could take for each other.
pub(super) const LOOK_ALIKES: [&str; 12] = [
    "john-doe/main",
    "john_doe/main",
    "john.doe/main",
    "johnXdoe/main",
    "John-Doe/main",
    "john-doe",
    "john-doe/main/main",
    "john-doe/mai",
    "john-doe/main2",
    "john/doe/main",
    "main",
    "-/_/.x",
];

async fn look_alike_scopes_are_apart<S: Store>(store: &S) {
    let notebooks = LOOK_ALIKES.map(|scope| notebook(store, scope));
    for notebook in &notebooks {
        let secret = format!("secret of {}", notebook.scope.as_str());
        let first = notebook
            .edit(MAIN_NOTE, &append(&secret), &operation("id", "f"))
            .await;
        assert!(!first.expect("edit").replayed);
        notebook.put("extra.md", &secret).await;
    }
    for notebook in &notebooks {
        assert_sees_only_its_own(notebook).await;
    }
    notebooks[0]
        .delete("extra.md", Expected::Any, None)
        .await
        .expect("delete");
    notebooks[0].put(MAIN_NOTE, "changed").await;
    for notebook in &notebooks[1..] {
        assert_sees_only_its_own(notebook).await;
    }
    // What would be a pattern in a query language isn't a scope at all.
    for scope in [
        "john%",
        "john*",
        "john\\_doe",
        "john?doe",
        "",
        "john-doe/",
        "john-doe/%",
    ] {
        assert!(Scope::parse(scope).is_err(), "`{scope}`");
    }
}

async fn assert_sees_only_its_own<S: Store>(notebook: &Notebook<'_, S>) {
    let secret = format!("secret of {}", notebook.scope.as_str());
    let (store, scope) = (notebook.store, &notebook.scope);
    assert_eq!(notebook.text("extra.md").await.as_ref(), Some(&secret));
    let listed = store.names(scope, 100).await.expect("names");
    assert_eq!(listed.names.len(), 2);
    let bounds = NotebookBounds {
        main_chars_max: 1_000,
        names_max: 10,
    };
    let view = store.notebook(scope, bounds).await.expect("notebook");
    assert_eq!(
        view.main.map(|main| main.content),
        Some(format!("{secret}\n"))
    );
    assert_eq!(view.names, ["extra.md"]);
    let query = SearchQuery::parse("secret").expect("valid");
    let limits = SearchLimits {
        results_max: 100,
        result_chars_max: 10_000,
        files_max: 100,
        note_chars_max: 1_000,
    };
    let answer = store.search(scope, &query, &limits).await.expect("search");
    assert_eq!((answer.matches.len(), answer.scanned), (2, 2));
    assert!(
        answer
            .matches
            .iter()
            .all(|found| found.snippet.trim_end() == secret)
    );
}

async fn the_longest_scope_works<S: Store>(store: &S) {
    let path = longest_scope();
    assert_eq!(path.len(), SCOPE_CHARS_MAX);
    let notebook = notebook(store, &path);
    let file = format!("{}.md", noise(1, 197, '0'..='z'));
    let id = noise(2, notekeeper_domain::OPERATION_ID_CHARS_MAX, '0'..='z');
    notebook
        .edit(&file, &append("x"), &operation(&id, "f"))
        .await
        .expect("edit");
    assert_eq!(notebook.text(&file).await.as_deref(), Some("x\n"));
}
