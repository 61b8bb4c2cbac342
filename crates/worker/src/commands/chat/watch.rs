//! Waiting for an answer without leaving the person in the dark.

use std::{future::Future, time::Duration};

use notekeeper_workflows::AgentWorkflow;
use temporalio_client::{Client, WorkflowDescribeOptions, WorkflowHandle};
use temporalio_common::protos::temporal::api::enums::v1::TaskQueueType;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Instant, sleep_until},
};

use super::{
    failure::Unanswered,
    screen::Screen,
    workers::{LOOK_TIMEOUT, is_served},
};

/// How long to wait before looking whether anybody works.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often to look again.
const INTERVAL: Duration = Duration::from_secs(10);

/// Where a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// On its way to the conversation: a workflow worker has to take it.
    Sending,
    /// In the conversation: activities have to be done for the answer.
    Answering,
}

/// Where a message's work is done.
pub(super) struct Queues {
    pub(super) client: Client,
    pub(super) conversation: WorkflowHandle<Client, AgentWorkflow>,
    pub(super) activities: String,
    pub(super) workflows: String,
}

/// Watches over the wait for one answer after another.
pub(super) struct Watch {
    queues: Queues,
    screen: Screen,
    interrupts: Signal,
    next_look: Instant,
    /// Longest wait for one answer; `None` for any.
    longest: Option<Duration>,
    /// When this wait is over.
    deadline: Option<Instant>,
    /// What was said of this wait: each thing once.
    said: Vec<String>,
}

impl Watch {
    /// Without `longest`, waits are as long as they have to be.
    pub(super) fn new(
        queues: Queues,
        screen: Screen,
        longest: Option<Duration>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            queues,
            screen,
            interrupts: signal(SignalKind::interrupt())?,
            next_look: Instant::now(),
            longest,
            deadline: None,
            said: Vec::new(),
        })
    }

    /// Resolves at the next Ctrl-C.
    pub(super) async fn interrupted(&mut self) {
        self.interrupts.recv().await;
    }

    /// Begins the wait for the answer to a message.
    pub(super) fn begin(&mut self) {
        self.said.clear();
        let now = Instant::now();
        self.next_look = now + PATIENCE;
        self.deadline = self.longest.map(|longest| now + longest);
    }

    /// Says once in a wait that it goes on without Temporal.
    pub(super) fn temporal_is_away(&mut self) {
        const AWAY: &str = "Temporal can't be reached; waiting for it. Ctrl-C stops waiting.";
        self.say_once(AWAY);
    }

    /// Waits for a part of the way to an answer. Says what is missing where it takes long, and ends
    /// at Ctrl-C or where it takes too long.
    pub(super) async fn over<T>(
        &mut self,
        stage: Stage,
        future: impl Future<Output = T>,
    ) -> Result<T, Unanswered> {
        tokio::pin!(future);
        let taken = stage == Stage::Answering;
        loop {
            tokio::select! {
                result = &mut future => return Ok(result),
                _ = self.interrupts.recv() => return Err(Unanswered::Interrupted { taken }),
                () = over(self.deadline) => return Err(Unanswered::TimedOut { taken }),
                () = sleep_until(self.next_look) => {}
            }
            tokio::select! {
                result = &mut future => return Ok(result),
                () = self.look(stage) => {}
            }
        }
    }

    /// Says which worker is missing, if one is.
    async fn look(&mut self, stage: Stage) {
        self.next_look = Instant::now() + INTERVAL;
        let workflows = (&self.queues.workflows, TaskQueueType::Workflow);
        let activities = (&self.queues.activities, TaskQueueType::Activity);
        let needed = match stage {
            Stage::Sending => vec![workflows],
            Stage::Answering => vec![activities, workflows],
        };
        for (queue, kind) in needed {
            if is_served(&self.queues.client, queue, kind).await == Some(false) {
                let what = format!("no worker serves the task queue `{queue}`");
                return self.say(&what);
            }
        }
        match stage {
            // A worker that is there takes a message within milliseconds. One that was just stopped
            // is remembered for a minute.
            Stage::Sending => {
                let queue = &self.queues.workflows;
                let what =
                    format!("no worker on the task queue `{queue}` has taken the message yet");
                self.say(&what);
            }
            Stage::Answering => {
                if let Some((activity, why)) = self.failing().await {
                    self.say_once(&format!(
                        "`{activity}` failed and is tried again: {why}. Ctrl-C stops waiting."
                    ));
                }
            }
        }
    }

    /// An activity of the conversation that has failed and will be tried again, and why it failed.
    async fn failing(&self) -> Option<(String, String)> {
        let described = self
            .queues
            .conversation
            .describe(WorkflowDescribeOptions::default());
        let described = tokio::time::timeout(LOOK_TIMEOUT, described)
            .await
            .ok()?
            .ok()?;
        let pending = described.into_raw().pending_activities.into_iter();
        pending
            .filter_map(|activity| Some((activity.activity_type?.name, activity.last_failure?)))
            .map(|(name, failure)| (name, failure.message))
            .next()
    }

    fn say(&mut self, what: &str) {
        self.say_once(&format!(
            "{what}, so the answer has to wait; start `notekeeper dev` or `notekeeper worker`. \
             Ctrl-C stops waiting."
        ));
    }

    fn say_once(&mut self, what: &str) {
        if !self.said.iter().any(|said| said == what) {
            self.screen.remark(what);
            self.said.push(what.to_owned());
        }
    }
}

/// Resolves when the deadline is over; never where there is none.
async fn over(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
