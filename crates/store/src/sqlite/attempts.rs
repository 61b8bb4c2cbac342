//! Repeating what failed in passing, within bounds.

use std::time::{Duration, Instant};

use super::{fault::Fault, store::SqliteStore};
use crate::{StoreError, lock_pause::lock_pause};

/// Most attempts at one operation.
const ATTEMPTS_MAX: u32 = 5;

/// Pause before the second attempt; it doubles with each further one.
const PAUSE_FIRST: Duration = Duration::from_millis(10);

/// Does work, and again where it failed in passing.
///
/// None is begun later than the store's time-out after the first: a caller who waited that long is
/// better served by an answer. The work is told when that is.
pub(super) async fn attempted<T, W>(
    store: &SqliteStore,
    work: impl Fn(Instant) -> W,
) -> Result<T, StoreError>
where
    W: Future<Output = Result<T, Fault>>,
{
    let deadline = Instant::now() + store.patience();
    let mut made = 0;
    loop {
        let fault = match work(deadline).await {
            Ok(answer) => return Ok(answer),
            Err(fault) => fault,
        };
        made += 1;
        let pause = PAUSE_FIRST * 2_u32.pow(made - 1);
        let pause = pause.mul_f64(rand::random_range(0.5..1.5));
        let in_time = made < ATTEMPTS_MAX && Instant::now() + pause < deadline;
        let passing = matches!(fault, Fault::Locked | Fault::InTransaction);
        if !(in_time && passing) {
            return Err(fault.settled());
        }
        tracing::debug!(attempts = made, "store repeats an operation");
        tokio::time::sleep(pause).await;
    }
}

/// Returns after a pause where the lock may be had by then; another fault, or the last, otherwise.
pub(super) async fn wait_for_lock(fault: Fault, deadline: Instant) -> Result<(), Fault> {
    let pause = lock_pause();
    if !matches!(fault, Fault::Locked) || Instant::now() + pause >= deadline {
        return Err(fault);
    }
    tokio::time::sleep(pause).await;
    Ok(())
}
