//! A deadline for tests of cost: what is linear takes milliseconds, what is quadratic an hour.

use std::{sync::mpsc, time::Duration};

/// Runs `work` and gives its result; panics where it doesn't come within a minute, so that a
/// regression fails the test and doesn't hang it.
#[expect(
    clippy::disallowed_methods,
    reason = "the rules start no threads, this test guard does"
)]
pub(crate) fn within_a_minute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || sender.send(work()));
    let result = receiver
        .recv_timeout(Duration::from_secs(60))
        .expect("done within a minute");
    worker
        .join()
        .expect("no panic after the result")
        .expect("the result was taken");
    result
}
