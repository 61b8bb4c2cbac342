//! How long a query may still take, and who gets how much of it.

use std::time::Duration;

use tokio::time::Instant;

/// How long a query of compositions takes altogether, where none of them is told to wait longer for a leg:
/// less than an activity that asks, so that what was found gets out.
pub const QUERY_TIMEOUT: Duration = Duration::from_secs(8);

tokio::task_local! {
    /// When whoever waits for the source at hand wants its answer.
    static WANTED: Wanted;
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    at: Instant,
    /// Whether nobody listens any more after that.
    is_strict: bool,
}

/// The time that a composition or decorator has for a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Until when it waits for what is inside.
    inner: Instant,
    /// Until when it may work on what it was answered.
    all: Instant,
    is_strict: bool,
}

impl Patience {
    /// Where somebody gives up on the source at hand, nine tenths of what is left are for what is inside of it, so
    /// that what was found gets out in time. Where nobody does, `total`, or `leg_timeout` where that is
    /// longer; and a tenth of it more for what comes after.
    pub(crate) fn of_query(total: Duration, leg_timeout: Duration) -> Self {
        let now = Instant::now();
        let wanted = WANTED.try_with(|wanted| *wanted);
        let (left, is_strict) = match wanted {
            Ok(wanted) => (wanted.at.saturating_duration_since(now), wanted.is_strict),
            Err(_) => (total, false),
        };
        let (inner, all) = match is_strict {
            true => (left - left / 10, left - left / 20),
            false => {
                let inner = left.max(leg_timeout);
                (inner, inner + inner / 10)
            }
        };
        Self {
            inner: now + inner,
            all: now + all,
            is_strict,
        }
    }

    /// When to give up on a leg that is asked now: after `timeout`, or sooner where it and those that come
    /// after it, `turns` in all, wouldn't get as much each.
    pub(crate) fn for_leg(&self, timeout: Duration, turns: usize) -> Instant {
        let now = Instant::now();
        let left = self.inner.saturating_duration_since(now);
        let turns = u32::try_from(turns).unwrap_or(u32::MAX).max(1);
        now + timeout.min(left / turns)
    }

    /// When to give up on what is done with the answers. Where nobody gives up on us it has this much time,
    /// however late the answers came.
    pub(crate) fn for_rest(&self, at_least: Duration) -> Instant {
        match self.is_strict {
            true => self.all,
            false => self.all.max(Instant::now() + at_least),
        }
    }

    /// What a decorator decorates, asked with two thirds of its time; the rest is its own. It isn't cut
    /// off here: sources have time-outs of their own.
    pub(crate) async fn leaving_a_third<F: Future>(&self, inner: F) -> F::Output {
        let now = Instant::now();
        let left = self.inner.saturating_duration_since(now);
        let wanted = Wanted {
            at: now + left - left / 3,
            is_strict: self.is_strict,
        };
        WANTED.scope(wanted, inner).await
    }
}

/// How long whoever waits for the source at hand still does, where somebody does.
pub(crate) fn time_left() -> Option<Duration> {
    let left = WANTED.try_with(|wanted| wanted.at.saturating_duration_since(Instant::now()));
    left.ok()
}

/// What comes of this before that time; `None` where nothing does.
pub(crate) async fn until<F: Future>(at: Instant, answer: F) -> Option<F::Output> {
    let wanted = Wanted {
        at,
        is_strict: true,
    };
    let answer = WANTED.scope(wanted, answer);
    tokio::time::timeout_at(at, answer).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Whole tenths of a second from now to then; a busy machine makes them fewer, so they are told with what they
    /// may be at most.
    fn at_most(at: Instant, most: Duration) -> bool {
        at.saturating_duration_since(Instant::now()) <= most
    }

    #[tokio::test]
    async fn legs_that_come_one_after_the_other_share_what_is_left() {
        let before = Instant::now();
        let patience = Patience::of_query(seconds(8), seconds(2));
        // Four have what they are allowed; of more each has as much as the next.
        assert!(at_most(patience.for_leg(seconds(2), 4), seconds(2)));
        assert!(at_most(patience.for_leg(seconds(2), 8), seconds(1)));
        assert!(at_most(patience.for_leg(seconds(60), 1), seconds(8)));
        assert!(patience.for_leg(seconds(2), 1) > before + seconds(1));
    }

    #[tokio::test]
    async fn who_is_told_to_wait_longer_for_a_leg_waits_longer() {
        let before = Instant::now();
        let patience = Patience::of_query(seconds(8), seconds(30));
        assert!(patience.for_leg(seconds(30), 1) > before + seconds(20));
        assert!(patience.for_rest(seconds(1)) > before + seconds(30));
    }

    #[tokio::test]
    async fn inside_of_others_nothing_waits_longer_than_they_do() {
        let at = Instant::now() + seconds(10);
        let inside = async { Patience::of_query(seconds(60), seconds(60)) };
        let inside = until(at, inside).await.unwrap();
        let leg = inside.for_leg(seconds(60), 1);
        let rest = inside.for_rest(seconds(60));
        assert!(at_most(leg, seconds(9)) && leg < rest && rest < at);
        let inner = inside.leaving_a_third(async { Patience::of_query(seconds(60), seconds(60)) });
        let inner = inner.await.for_leg(seconds(60), 1);
        assert!(at_most(inner, seconds(6)));
    }

    #[tokio::test]
    async fn what_never_comes_is_given_up() {
        let at = Instant::now() + Duration::from_millis(1);
        assert_eq!(until(at, std::future::pending::<()>()).await, None);
        assert_eq!(until(at, async { 1 }).await, Some(1));
    }
}
