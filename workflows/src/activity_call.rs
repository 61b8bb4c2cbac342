//! Scheduling an activity: on a task queue, or within the workflow task.

use std::{future::Future, io, time::Duration};

use futures::future::Either;
use notekeeper_contract::FailureType;
use serde::Serialize;
use temporalio_common_wasm::{ActivityDefinition, data_converters::TemporalDeserializable};
use temporalio_workflow::{
    ActivityCloseTimeouts, ActivityExecutionError, ActivityOptions, LocalActivityOptions,
    RetryPolicy, WorkflowCancellationToken, WorkflowContext,
};

use crate::CallFailure;

/// Wait after the first attempt that failed; each further one is twice as long.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Longest wait between two attempts on a task queue.
const RETRY_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// Longest wait between two attempts of a local activity.
const LOCAL_RETRY_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// A local activity that waits longer than this would wait on a timer of the workflow. None does,
/// and none may: of more than 30 that wait so at once, the SDK never resumes any.
const LOCAL_TIMER_THRESHOLD: Duration = Duration::from_secs(10);

/// How long an activity may be silent that tells every few seconds that it is under way. What a dead worker
/// had in hand waits this long and not for its start-to-close time-out, and a cancellation reaches the
/// activity with the next of these signs.
pub(crate) const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(15);

/// How one activity is scheduled.
pub(crate) enum CallOptions {
    /// On a task queue.
    Queued(Box<ActivityOptions>),
    /// By the workflow's own worker, within the workflow task.
    Local(Box<LocalActivityOptions>),
}

impl CallOptions {
    /// For an activity on this task queue, or the workflow's own, with finite time-outs.
    pub(crate) fn queued(
        activity_id: String,
        task_queue: Option<String>,
        start_to_close_ms: u64,
        schedule_to_close_ms: u64,
    ) -> Self {
        Self::Queued(Box::new(activity_options(
            activity_id,
            task_queue,
            start_to_close_ms,
            schedule_to_close_ms,
        )))
    }

    /// For a local activity, with finite time-outs.
    ///
    /// Core drops the time-out of all attempts where it passes between two of them, and one that
    /// passes during an attempt hides why the attempts before failed. Hence the attempts are counted:
    /// the last one's failure is what the caller gets. The third time-out stops what is left.
    pub(crate) fn local(
        activity_id: String,
        start_to_close_ms: u64,
        schedule_to_close_ms: u64,
    ) -> Self {
        let schedule_to_close = Duration::from_millis(schedule_to_close_ms);
        let options = LocalActivityOptions::builder()
            .activity_id(activity_id)
            .start_to_close_timeout(Duration::from_millis(
                start_to_close_ms.min(schedule_to_close_ms),
            ))
            .schedule_to_close_timeout(schedule_to_close)
            .schedule_to_start_timeout(schedule_to_close)
            .timer_backoff_threshold(LOCAL_TIMER_THRESHOLD)
            .retry_policy(retry_policy(
                LOCAL_RETRY_INTERVAL_MAX,
                local_attempts_max(schedule_to_close),
            ))
            .build();
        Self::Local(Box::new(options))
    }
}

impl CallOptions {
    /// For an activity that tells now and then that it is under way. A local one has the workflow task for
    /// that.
    pub(crate) fn with_heartbeats(mut self) -> Self {
        if let Self::Queued(options) = &mut self {
            options.heartbeat_timeout = Some(HEARTBEAT_TIMEOUT);
        }
        self
    }

    /// For an activity that a cancellation of the run doesn't reach, so that it also begins in a run that is
    /// cancelled already. Its time-outs are all that ends it.
    pub(crate) fn shielded(mut self) -> Self {
        // Nobody has another hold of this token.
        let token = Some(WorkflowCancellationToken::new());
        match &mut self {
            Self::Queued(options) => options.cancellation_token = token,
            Self::Local(options) => options.cancellation_token = token,
        }
        self
    }
}

/// Largest payload that is scheduled, in bytes of its JSON. Temporal refuses payloads over 2 MiB by failing
/// the workflow task again and again; a codec and the envelope need room.
const PAYLOAD_BYTES_MAX: usize = 3 * 512 * 1024;

/// Measures what an activity is to be given. `remedy` is for a person.
pub(crate) fn check_payload(
    activity: &str,
    input: &impl Serialize,
    remedy: &str,
) -> Result<usize, CallFailure> {
    let mut bytes = Counter(0);
    let is_json = serde_json::to_writer(&mut bytes, input).is_ok();
    if is_json && bytes.0 <= PAYLOAD_BYTES_MAX {
        return Ok(bytes.0);
    }
    Err(CallFailure::new(
        FailureType::TooLarge,
        format!(
            "the input of `{activity}` would have {} bytes as JSON, {PAYLOAD_BYTES_MAX} are allowed; \
             {remedy}",
            bytes.0
        ),
    ))
}

/// Size of a value as JSON, in bytes.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    let mut bytes = Counter(0);
    // What can't be written isn't sent either.
    let _ = serde_json::to_writer(&mut bytes, value);
    bytes.0
}

/// Counts what is written.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        self.0 += written.len();
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Schedules an activity at once; the future is for its result. An input that Temporal wouldn't carry is a
/// failure of the type `TooLarge`, and nothing is scheduled.
pub(crate) fn call<W, AD, I>(
    ctx: &WorkflowContext<W>,
    activity: AD,
    input: I,
    options: CallOptions,
) -> impl Future<Output = Result<AD::Output, CallFailure>>
where
    AD: ActivityDefinition,
    AD::Output: TemporalDeserializable,
    I: Serialize + Into<AD::Input>,
{
    let scheduled = check_payload(activity.name(), &input, "give it less at once")
        .map(|_| schedule(ctx, activity, input, options));
    async move { Ok(scheduled?.await?) }
}

/// As [`call`], for a small input and a caller who tells a result that can't be read from a failure.
pub(crate) fn schedule<W, AD>(
    ctx: &WorkflowContext<W>,
    activity: AD,
    input: impl Into<AD::Input>,
    options: CallOptions,
) -> impl Future<Output = Result<AD::Output, ActivityExecutionError>>
where
    AD: ActivityDefinition,
    AD::Output: TemporalDeserializable,
{
    match options {
        CallOptions::Queued(options) => {
            Either::Left(ctx.execute_activity(activity, input, *options))
        }
        CallOptions::Local(options) => {
            Either::Right(ctx.execute_local_activity(activity, input, *options))
        }
    }
}

/// Options with finite time-outs and quick first retries.
pub(crate) fn activity_options(
    activity_id: String,
    task_queue: Option<String>,
    start_to_close_ms: u64,
    schedule_to_close_ms: u64,
) -> ActivityOptions {
    let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
        schedule_to_close: Duration::from_millis(schedule_to_close_ms),
        start_to_close: Duration::from_millis(start_to_close_ms.min(schedule_to_close_ms)),
    };
    ActivityOptions::with_close_timeouts(timeouts)
        .activity_id(activity_id)
        .maybe_task_queue(task_queue)
        .retry_policy(retry_policy(RETRY_INTERVAL_MAX, UNLIMITED))
        .build()
}

/// As many attempts as the time-outs leave room for.
const UNLIMITED: u32 = 0;

fn retry_policy(interval_max: Duration, attempts_max: u32) -> RetryPolicy {
    RetryPolicy::builder()
        .initial_interval(RETRY_INTERVAL)
        .backoff_coefficient(2.0)
        .maximum_interval(interval_max)
        .maximum_attempts(attempts_max)
        .build()
}

/// Attempts of a local activity whose waits fill nine tenths of its time; the last tenth is for the
/// attempts themselves. At least one.
fn local_attempts_max(schedule_to_close: Duration) -> u32 {
    let mut left = schedule_to_close * 9 / 10;
    let mut wait = RETRY_INTERVAL;
    let mut attempts: u32 = 1;
    while wait < LOCAL_RETRY_INTERVAL_MAX {
        let Some(rest) = left.checked_sub(wait) else {
            return attempts;
        };
        left = rest;
        attempts += 1;
        wait *= 2;
    }
    let more = left.as_millis() / LOCAL_RETRY_INTERVAL_MAX.as_millis();
    attempts.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_of_a_local_activity_leave_a_tenth_of_its_time() {
        let attempts = |ms| local_attempts_max(Duration::from_millis(ms));
        // 0.2, 0.4 and 0.8 s, then 1 s each.
        assert_eq!(attempts(1), 1);
        assert_eq!(attempts(222), 1);
        assert_eq!(attempts(223), 2);
        assert_eq!(attempts(2_000), 4);
        assert_eq!(attempts(10_000), 11);
        assert_eq!(attempts(300_000), 4 + 268);
        assert_eq!(attempts(30 * 24 * 3_600 * 1_000), 4 + 2_332_798);
    }

    #[test]
    fn an_input_that_no_payload_holds_is_refused_with_its_size_and_what_to_do() {
        let at_bound = "x".repeat(PAYLOAD_BYTES_MAX - 2);
        assert_eq!(
            check_payload("add_messages", &at_bound, ""),
            Ok(PAYLOAD_BYTES_MAX)
        );
        let over = at_bound + "x";
        let failure = check_payload("add_messages", &over, "give it less").expect_err("too large");
        assert_eq!(failure.failure_type(), Some(FailureType::TooLarge));
        assert_eq!(
            failure.message(),
            "the input of `add_messages` would have 1572865 bytes as JSON, 1572864 are allowed; give it \
             less"
        );
    }

    #[test]
    fn no_local_activity_ever_waits_on_a_timer() {
        let CallOptions::Local(options) = CallOptions::local("nk.0.1".to_owned(), 10_000, 300_000)
        else {
            panic!("a local activity");
        };
        let interval = options.retry_policy.maximum_interval();
        assert!(interval.is_some_and(|interval| Some(interval) < options.timer_backoff_threshold));
    }
}
