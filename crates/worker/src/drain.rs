//! How long a stop waits for what is in hand.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use temporalio_client::{Client, grpc::WorkflowService, tonic::IntoRequest as _};
use temporalio_common::protos::temporal::api::workflowservice::v1::GetSystemInfoRequest;
use temporalio_sdk::interceptors::{
    ActivityInboundInterceptor, ExecuteActivityInput, ExecuteActivityOutput, Next,
};

use crate::exit_limits::Begun;

/// Silence after which Temporal counts as out of reach. A stop that finds it so may take two
/// seconds, the closing of connections included.
const SILENCE: Duration = Duration::from_millis(1_200);

/// Longest time for one answer. Two questions at least go into the silence.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Between two questions: an error comes at once, and a server that is starting needs a moment.
const PAUSE: Duration = Duration::from_millis(200);

/// The activities of a worker that are under way, or ended a moment ago. Each that begins is counted,
/// local ones too.
#[derive(Clone, Default)]
pub(crate) struct InHand {
    counts: Arc<Mutex<Counts>>,
    begun: Begun,
}

#[derive(Default)]
struct Counts {
    running: usize,
    last_ended: Option<Instant>,
}

impl InHand {
    /// None in hand; those that begin are added to `begun`.
    pub(crate) fn counted_in(begun: Begun) -> Self {
        Self {
            begun,
            ..Self::default()
        }
    }

    /// Whether Temporal may not know yet how an activity ended that ran at `since` or later.
    fn unreported(&self, since: Instant) -> bool {
        let counts = self.counts();
        counts.running > 0 || counts.last_ended.is_some_and(|ended| ended >= since)
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        // Nothing panics while it holds the lock.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Running {
        self.begun.add();
        self.counts().running += 1;
        Running(self.clone())
    }
}

/// An activity that is under way, until it is dropped.
struct Running(InHand);

impl Drop for Running {
    fn drop(&mut self) {
        let mut counts = self.0.counts();
        counts.running -= 1;
        counts.last_ended = Some(Instant::now());
    }
}

impl ActivityInboundInterceptor for InHand {
    fn execute_activity<'a>(
        &'a self,
        input: ExecuteActivityInput,
        next: Next<'a, ExecuteActivityInput, ExecuteActivityOutput<'a>>,
    ) -> ExecuteActivityOutput<'a> {
        let running = self.begin();
        Box::pin(async move {
            let _running = running;
            next.run(input).await
        })
    }
}

/// Waits until going on with a drain is in vain: there is nobody to report to. Says whether
/// activities are given up.
///
/// Where Temporal is out of reach from the beginning that is at once. Where it goes away later,
/// as servers do that are restarted beside their workers, activities that are in hand keep the
/// whole time `drain`.
pub(crate) async fn in_vain(client: &Client, in_hand: &InHand, drain: Duration) -> bool {
    let asked = Instant::now();
    let mut answered = None;
    let mut missed = false;
    loop {
        let question = Instant::now();
        if answers(client).await {
            if answered.is_none() {
                tracing::info!("activities in hand have {drain:?} to end");
            }
            answered = Some(question);
            missed = false;
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let unreported = in_hand.unreported(answered.unwrap_or(asked));
        if answered.is_none() || !unreported || asked.elapsed() >= drain {
            return unreported;
        }
        if !missed {
            tracing::warn!("Temporal can't be reached; what is in hand goes on");
        }
        missed = true;
    }
}

/// Whether the server answers before the silence is long enough.
async fn answers(client: &Client) -> bool {
    let mut client = client.clone();
    let ask = async {
        loop {
            let request = GetSystemInfoRequest::default().into_request();
            let answer = WorkflowService::get_system_info(&mut client, request);
            if let Ok(Ok(_)) = tokio::time::timeout(ANSWER_TIMEOUT, answer).await {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(SILENCE, ask).await.is_ok()
}
