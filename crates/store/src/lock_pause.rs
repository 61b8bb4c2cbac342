//! How long to wait before a lock is asked for again.

use std::time::Duration;

/// Shortest and longest pause, in milliseconds. Beside processes that write without a break the lock
/// is free for moments only, and whoever looks rarely can wait for seconds: of 1,500 writes to an
/// SQLite file beside six such processes the slowest took 0.18 s in this way, and 1.5 s in SQLite's
/// own, which asks ten times a second in the end.
const LOCK_PAUSE_MS: std::ops::Range<f64> = 0.5..3.0;

/// A pause of another length each time, so that those who wait don't ask together.
pub(crate) fn lock_pause() -> Duration {
    Duration::from_secs_f64(rand::random_range(LOCK_PAUSE_MS) / 1_000.0)
}
