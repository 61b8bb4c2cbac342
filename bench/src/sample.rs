//! Timed runs, and what several of them come to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One timed run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Operations that succeeded.
    pub(crate) operations: u64,
    /// Seconds that all of them took together, from the first start to the last end.
    pub(crate) seconds: f64,
    /// Operations that were given up.
    #[serde(default)]
    pub(crate) give_ups: u64,
    /// Median time of one operation, in microseconds; missing where only a mean is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) p50_us: Option<f64>,
    /// Time that nineteen of twenty operations don't exceed, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) p95_us: Option<f64>,
}

impl Sample {
    /// A run whose operations took these times.
    pub(crate) fn of(mut times: Vec<Duration>, elapsed: Duration, give_ups: u64) -> Self {
        times.sort_unstable();
        let at = |part: f64| {
            let index = (times.len().saturating_sub(1)) as f64 * part;
            times
                .get(index.round() as usize)
                .map(|time| microseconds(*time))
        };
        Self {
            operations: times.len() as u64,
            seconds: elapsed.as_secs_f64(),
            give_ups,
            p50_us: at(0.5),
            p95_us: at(0.95),
        }
    }

    /// Successful operations a second.
    pub(crate) fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds
    }
}

/// A time in microseconds.
pub(crate) fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Median and range of one figure over all rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` where there is no figure.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*figures.first()?, *figures.last()?);
        let middle = figures.len() / 2;
        let median = if figures.len() % 2 == 1 {
            figures[middle]
        } else {
            (figures[middle - 1] + figures[middle]) / 2.0
        };
        Some(Self { min, median, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_of_figures_is_between_the_two_in_the_middle() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0]).expect("figures");
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.5, 4.0));
        assert_eq!(Spread::of([7.0, 1.0, 2.0]).expect("figures").median, 2.0);
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn a_sample_counts_and_orders_its_times() {
        let times = (1..=101).rev().map(Duration::from_micros).collect();
        let sample = Sample::of(times, Duration::from_secs(2), 3);
        assert_eq!(sample.rate(), 50.5);
        assert_eq!((sample.p50_us, sample.p95_us), (Some(51.0), Some(96.0)));
        assert_eq!(sample.give_ups, 3);
        assert_eq!(
            Sample::of(Vec::new(), Duration::from_secs(1), 0).p50_us,
            None
        );
    }
}
