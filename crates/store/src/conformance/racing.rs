//! Calls at the same time.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

use futures::future::join_all;
use notekeeper_domain::{Edit, Operation, Refusal};

use super::fixture::{CHARS_MAX, Notebook, append, notebook, operation};
use crate::{Expected, MutationError, Receipt, ReceiptStatus, Store};

const RACERS: usize = 20;

/// Whether some edits gave up because others came between too often: they may, and have no effect
/// then.
pub(super) async fn exercise<S: Store>(store: &S) -> bool {
    let gave_up = AtomicBool::new(false);
    every_racing_append_takes_effect(&notebook(store, "c/append"), &gave_up).await;
    one_racing_creation_wins(&notebook(store, "c/create")).await;
    one_racing_change_of_a_version_wins(&notebook(store, "c/change")).await;
    a_repeated_operation_takes_effect_once(&notebook(store, "c/repeated"), &gave_up).await;
    a_repeated_deletion_takes_effect_once(&notebook(store, "c/deleted")).await;
    gave_up.into_inner()
}

/// An edit that is called again where it gave up, as a model would.
async fn edit<S: Store>(
    notebook: &Notebook<'_, S>,
    file: &str,
    request: (&Edit, Expected),
    operation: &Operation,
    gave_up: &AtomicBool,
) -> Receipt {
    let (edit, expected) = request;
    // Each time that all of them gave up, at least one other had come between.
    for _ in 0..=2 * RACERS {
        let result = notebook
            .edit_within(file, edit, CHARS_MAX, expected.clone(), operation)
            .await;
        match result {
            Err(MutationError::Refused(Refusal::ConflictExhausted)) => {
                gave_up.store(true, Ordering::SeqCst)
            }
            result => return result.expect("edit"),
        }
    }
    panic!("an edit gave up again and again, although others come to an end")
}

async fn every_racing_append_takes_effect<S: Store>(
    notebook: &Notebook<'_, S>,
    gave_up: &AtomicBool,
) {
    let lines: Vec<String> = (0..RACERS).map(|racer| format!("line {racer}")).collect();
    let appends = lines.iter().map(async |line| {
        let (line, own) = (append(line), operation(line, "f"));
        edit(notebook, "new.md", (&line, Expected::Any), &own, gave_up).await
    });
    let receipts = join_all(appends).await;
    let created = receipts
        .iter()
        .filter(|r| r.status == ReceiptStatus::Created)
        .count();
    assert_eq!(created, 1, "one of them makes the note");
    let versions: HashSet<_> = receipts.iter().filter_map(|r| r.version.clone()).collect();
    assert_eq!(versions.len(), RACERS, "each makes a version of its own");
    let text = notebook.text("new.md").await.expect("the note is there");
    let mut found: Vec<_> = text.lines().collect();
    found.sort_unstable();
    let mut expected: Vec<_> = lines.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

async fn one_racing_creation_wins<S: Store>(notebook: &Notebook<'_, S>) {
    let texts: Vec<String> = (0..RACERS).map(|racer| racer.to_string()).collect();
    let writes = texts.iter().map(async |text| {
        let write = operation(text, "f");
        notebook
            .write("new.md", text, Expected::Absent, Some(&write))
            .await
    });
    let results = join_all(writes).await;
    let won: Vec<_> = (0..RACERS)
        .filter(|racer| results[*racer].is_ok())
        .collect();
    assert_eq!(won.len(), 1, "{results:?}");
    assert!(
        results
            .iter()
            .all(|r| matches!(r, Ok(_) | Err(MutationError::VersionConflict)))
    );
    assert_eq!(notebook.text("new.md").await.as_ref(), Some(&texts[won[0]]));
}

async fn one_racing_change_of_a_version_wins<S: Store>(notebook: &Notebook<'_, S>) {
    let version = notebook.put("a.md", "start").await;
    let changes = (0..RACERS).map(async |racer| {
        let expected = Expected::Version(version.clone());
        if racer % 2 == 0 {
            notebook.write("a.md", "changed", expected, None).await
        } else {
            notebook
                .delete("a.md", expected, Some(&operation(&racer.to_string(), "f")))
                .await
        }
    });
    let results = join_all(changes).await;
    assert_eq!(
        results.iter().filter(|result| result.is_ok()).count(),
        1,
        "{results:?}"
    );
}

async fn a_repeated_operation_takes_effect_once<S: Store>(
    notebook: &Notebook<'_, S>,
    gave_up: &AtomicBool,
) {
    let same = operation("same", "f");
    for expected in [Expected::Any, Expected::Absent] {
        let file = if expected == Expected::Any {
            "any.md"
        } else {
            "absent.md"
        };
        let (one, x) = (operation(file, "f"), append("x"));
        let calls = (0..RACERS)
            .map(async |_| edit(notebook, file, (&x, expected.clone()), &one, gave_up).await);
        let receipts = join_all(calls).await;
        assert_eq!(
            receipts.iter().filter(|receipt| !receipt.replayed).count(),
            1
        );
        assert!(
            receipts
                .iter()
                .all(|receipt| receipt.version == receipts[0].version)
        );
        assert_eq!(notebook.text(file).await.as_deref(), Some("x\n"));
    }
    // Where the note is contended by others as well.
    let (same_line, own_line) = (append("same"), append("own"));
    let calls = (0..RACERS).map(async |racer| {
        let own = operation(&format!("own {racer}"), "f");
        let (first, second) = futures::join!(
            edit(
                notebook,
                "any.md",
                (&same_line, Expected::Any),
                &same,
                gave_up
            ),
            edit(
                notebook,
                "any.md",
                (&own_line, Expected::Any),
                &own,
                gave_up
            )
        );
        assert!(!second.replayed);
        first.replayed
    });
    let replayed = join_all(calls).await;
    assert_eq!(replayed.iter().filter(|replayed| !**replayed).count(), 1);
    let text = notebook.text("any.md").await.expect("the note is there");
    assert_eq!(text.matches("same").count(), 1);
    assert_eq!(text.matches("own").count(), RACERS);
}

async fn a_repeated_deletion_takes_effect_once<S: Store>(notebook: &Notebook<'_, S>) {
    let version = notebook.put("a.md", "x").await;
    let deletion = operation("same", "f");
    let calls = (0..RACERS).map(async |_| {
        let expected = Expected::Version(version.clone());
        notebook
            .delete("a.md", expected, Some(&deletion))
            .await
            .expect("deletion")
    });
    let receipts = join_all(calls).await;
    assert!(
        receipts
            .iter()
            .all(|receipt| receipt.status == ReceiptStatus::Deleted)
    );
    assert_eq!(
        receipts.iter().filter(|receipt| !receipt.replayed).count(),
        1
    );
}
