use notekeeper_activities::Caller;
use serde_json::json;

use crate::fixture::{bench, caller, done, input};

/// Writes without an operation of its own: the same caller once, another one again.
async fn writes_as_one(first: &Caller, second: &Caller) -> bool {
    let bench = bench();
    let fields = json!({"content": "tea"});
    done(
        bench
            .notebook
            .write(input(fields.clone()), first)
            .await
            .unwrap(),
    );
    done(bench.notebook.write(input(fields), second).await.unwrap()).replayed
}

#[tokio::test]
async fn a_repeated_activity_without_an_operation_takes_effect_once() {
    assert!(writes_as_one(&caller("1"), &caller("1")).await);
    let standalone = Caller {
        workflow_id: None,
        ..caller("1")
    };
    assert!(writes_as_one(&standalone, &standalone.clone()).await);
}

#[tokio::test]
async fn each_part_of_the_callers_identity_counts() {
    let others = [
        Caller {
            temporal_namespace: "other".to_owned(),
            ..caller("1")
        },
        Caller {
            workflow_id: Some("chat-2".to_owned()),
            ..caller("1")
        },
        Caller {
            workflow_id: None,
            ..caller("1")
        },
        Caller {
            run_id: "run-2".to_owned(),
            ..caller("1")
        },
        caller("2"),
        Caller {
            activity_type: "other".to_owned(),
            ..caller("1")
        },
        Caller {
            is_local: true,
            ..caller("1")
        },
        // The same characters, cut elsewhere.
        Caller {
            workflow_id: Some("chat-1r".to_owned()),
            run_id: "un-1".to_owned(),
            ..caller("1")
        },
    ];
    for other in others {
        assert!(!writes_as_one(&caller("1"), &other).await, "{other:?}");
    }
}

#[tokio::test]
async fn an_operation_of_the_callers_own_counts_whoever_calls() {
    let bench = bench();
    let fields = json!({"content": "tea", "operation": {"id": "mine"}});
    done(
        bench
            .notebook
            .write(input(fields.clone()), &caller("1"))
            .await
            .unwrap(),
    );
    let again = bench
        .notebook
        .write(input(fields), &caller("2"))
        .await
        .unwrap();
    assert!(done(again).replayed);
}

#[tokio::test]
async fn writes_and_deletions_of_one_caller_do_not_share_an_id() {
    let bench = bench();
    let write = Caller {
        activity_type: "write_memory".to_owned(),
        ..caller("1")
    };
    let delete = Caller {
        activity_type: "delete_memory".to_owned(),
        ..caller("1")
    };
    done(
        bench
            .notebook
            .write(input(json!({"content": "tea", "file": "n"})), &write)
            .await
            .unwrap(),
    );
    let deleted = bench
        .notebook
        .delete(input(json!({"file": "n"})), &delete)
        .await
        .unwrap();
    assert_eq!(done(deleted).status, "deleted");
}
