use notekeeper_activities::{ExpectedNote, ReplaceWhole};
use notekeeper_contract::{
    DEFAULT_STORE, FailureType, OperationRef, Outcome, ScopeRef, WrittenMemory,
};

use crate::fixture::{Bench, bench, done, refusal, scope};

fn change(content: &str, expected: ExpectedNote, operation: &str) -> ReplaceWhole {
    ReplaceWhole {
        store: DEFAULT_STORE.to_owned(),
        workspace: None,
        scope: ScopeRef::from(&scope()),
        file: "n".to_owned(),
        content: content.to_owned(),
        expected,
        operation: OperationRef {
            id: operation.to_owned(),
        },
        metadata: None,
        max_memory_size: 10,
    }
}

async fn replace(bench: &Bench, change: ReplaceWhole) -> Outcome<WrittenMemory> {
    let replaced = bench.notebook.replace_whole(change).await;
    replaced.expect("the change doesn't fail")
}

#[tokio::test]
async fn a_note_gets_exactly_the_new_text_once_and_a_repetition_is_answered() {
    let bench = bench();
    let made = done(replace(&bench, change(" tea \r\n\n", ExpectedNote::Absent, "a")).await);
    assert_eq!(
        (made.file.as_str(), made.status.as_str()),
        ("n.md", "created")
    );
    assert_eq!(bench.text("n.md").await.as_deref(), Some(" tea \r\n\n"));

    let at = ExpectedNote::Version(made.version.clone());
    let changed = done(replace(&bench, change("milk", at.clone(), "b")).await);
    assert_eq!(changed.status, "updated");
    bench.put("n.md", "since").await;
    let again = done(replace(&bench, change("milk", at, "b")).await);
    assert_eq!(
        again,
        WrittenMemory {
            replayed: true,
            ..changed
        }
    );
    assert_eq!(bench.text("n.md").await.as_deref(), Some("since"));
}

#[tokio::test]
async fn a_note_that_is_not_as_expected_stays_as_it_is() {
    let bench = bench();
    bench.put("n.md", "tea").await;
    for expected in [ExpectedNote::Absent, ExpectedNote::Version("0".to_owned())] {
        let failure = bench
            .notebook
            .replace_whole(change("milk", expected, "a"))
            .await
            .expect_err("it is not so");
        assert_eq!(failure.kind, FailureType::VersionConflict);
    }
    assert_eq!(bench.text("n.md").await.as_deref(), Some("tea"));
    let any = done(replace(&bench, change("milk", ExpectedNote::Any, "a")).await);
    assert_eq!(any.status, "updated");
}

#[tokio::test]
async fn the_bounds_of_write_memory_hold_and_a_note_that_is_too_long_can_be_shortened() {
    let bench = bench();
    bench.put("n.md", "longer than ten characters").await;
    let any = ExpectedNote::Any;
    let too_long = change("12345678901", any.clone(), "a");
    assert_eq!(refusal(replace(&bench, too_long).await), "too_large");
    let nul = change("a\0b", any.clone(), "a");
    assert_eq!(refusal(replace(&bench, nul).await), "nul");
    let mut elsewhere = change("tea", any.clone(), "a");
    elsewhere.file = "../n".to_owned();
    assert_eq!(refusal(replace(&bench, elsewhere).await), "invalid_path");

    done(replace(&bench, change("1234567890", any, "a")).await);
    assert_eq!(bench.text("n.md").await.as_deref(), Some("1234567890"));
}

#[tokio::test]
async fn a_blank_text_empties_a_note_and_makes_none() {
    let bench = bench();
    let any = ExpectedNote::Any;
    let nothing = replace(&bench, change(" \n", any.clone(), "a")).await;
    assert_eq!(refusal(nothing), "empty_content");
    assert_eq!(bench.text("n.md").await, None);

    bench.put("n.md", "tea").await;
    done(replace(&bench, change("", any.clone(), "a")).await);
    assert_eq!(bench.text("n.md").await.as_deref(), Some(""));
    // A repetition is answered, whatever became of the note.
    assert!(done(replace(&bench, change("", any, "a")).await).replayed);
}

#[tokio::test]
async fn an_operation_of_other_arguments_is_a_conflict() {
    let bench = bench();
    done(replace(&bench, change("tea", ExpectedNote::Any, "a")).await);
    let other = bench
        .notebook
        .replace_whole(change("milk", ExpectedNote::Any, "a"))
        .await;
    assert_eq!(other.unwrap_err().kind, FailureType::OperationConflict);
}
