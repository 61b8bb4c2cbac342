//! What a process or a worker did before makes no difference to a replay.

use crate::{
    changed_code::{Code, replay, replay_all},
    recorded,
};

#[tokio::test]
async fn a_history_comes_to_the_same_each_time() {
    for recorded in recorded::all() {
        for code in [Code::AsRecorded, Code::Moved] {
            let cold = replay(&recorded.history, &code).await;
            let again = replay(&recorded.history, &code).await;
            assert_eq!(
                cold.is_none(),
                matches!(code, Code::AsRecorded),
                "{}",
                recorded.name
            );
            assert_eq!(cold, again, "{} with {code:?}", recorded.name);
        }
    }
}

#[tokio::test]
async fn a_history_comes_to_the_same_on_a_worker_that_served_others() {
    let all = recorded::all();
    for (recorded, other) in all.iter().zip(all.iter().cycle().skip(3)) {
        for code in [Code::AsRecorded, Code::Moved] {
            let cold = replay(&recorded.history, &code).await;
            let histories = [
                &other.history,
                &recorded.history,
                &other.history,
                &recorded.history,
            ];
            let served = replay_all(histories, &code).await;
            assert_eq!(served.len(), histories.len());
            assert_eq!(served[1], cold, "{} after {}", recorded.name, other.name);
            assert_eq!(
                served[3], cold,
                "{} after itself and {}",
                recorded.name, other.name
            );
            assert_eq!(
                served[0], served[2],
                "{} after {}",
                other.name, recorded.name
            );
        }
    }
}
