//! How near embeddings are: the same arithmetic for all stores that do it themselves.

/// Numbers of embeddings that are gone through before other tasks get their turn: a fraction of a
/// millisecond.
const NUMBERS_BETWEEN_PAUSES: usize = 128 * 1024;

/// What an embedding costs that isn't looked at, in numbers of one that is.
const NUMBERS_OF_NONE: usize = 64;

/// Counts numbers that are gone through, and lets other tasks have their turn now and then.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    numbers: usize,
}

impl Pauses {
    pub(crate) async fn after(&mut self, numbers: usize) {
        self.numbers += numbers + NUMBERS_OF_NONE;
        if self.numbers > NUMBERS_BETWEEN_PAUSES {
            self.numbers = 0;
            tokio::task::yield_now().await;
        }
    }
}

/// An embedding as stores keep it and ask by it: of length 1, or all zero. The similarity of two such is
/// a sum of products, which no length can make overflow, and 0 where one of them is zero.
pub(crate) fn unit(embedding: &[f32]) -> Vec<f32> {
    let squares = embedding.iter().map(|number| f64::from(*number).powi(2));
    let length = squares.sum::<f64>().sqrt();
    if length == 0.0 {
        return vec![0.0; embedding.len()];
    }
    // From -1 to 1, they lose digits alone.
    let part = |number: &f32| (f64::from(*number) / length) as f32;
    embedding.iter().map(part).collect()
}

/// Cosine similarity of two embeddings that [`unit`] made.
pub(crate) fn similarity(one: &[f32], other: &[f32]) -> f64 {
    let products = one
        .iter()
        .zip(other)
        .map(|(one, other)| f64::from(*one) * f64::from(*other));
    bounded_similarity(products.sum())
}

/// What was computed of rounded numbers, as similarities are.
pub(crate) fn bounded_similarity(computed: f64) -> f64 {
    // The one zero.
    computed.clamp(-1.0, 1.0) + 0.0
}

/// What was looked at, until the nearest of it are known.
#[derive(Debug)]
pub(crate) struct Nearest<T> {
    found: Vec<(f64, T)>,
}

impl<T: Ord> Nearest<T> {
    pub(crate) fn new() -> Self {
        Self { found: Vec::new() }
    }

    /// Takes one that matches.
    pub(crate) fn take(&mut self, similarity: f64, found: T) {
        self.found.push((similarity, found));
    }

    /// The nearest, nearest first; of those that are as near the least first.
    pub(crate) fn finish(mut self, limit: usize) -> Vec<(f64, T)> {
        self.found
            .sort_unstable_by(|(one, first), (other, second)| {
                other.total_cmp(one).then_with(|| first.cmp(second))
            });
        self.found.truncate(limit);
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(one: &[f32], other: &[f32]) -> f64 {
        similarity(&unit(one), &unit(other))
    }

    #[track_caller]
    fn assert_near(found: f64, right: f64) {
        assert!((found - right).abs() < 1e-6, "{found}, not {right}");
    }

    #[test]
    fn similarity_is_of_directions_alone() {
        assert_near(of(&[1.0, 0.0], &[5.0, 0.0]), 1.0);
        assert_near(of(&[1.0, 0.0], &[0.0, 2.0]), 0.0);
        assert_near(of(&[1.0, 2.0], &[-2.0, -4.0]), -1.0);
        assert_near(of(&[1.0, 0.0], &[1.0, 1.0]), 0.5_f64.sqrt());
    }

    #[test]
    fn numbers_at_the_ends_of_their_type_overflow_nothing() {
        let (largest, smallest) = (f32::MAX, f32::from_bits(1));
        assert_near(of(&[largest; 4096], &[largest; 4096]), 1.0);
        assert_near(of(&[largest, 0.0], &[smallest, 0.0]), 1.0);
        assert_near(of(&[smallest; 3], &[-smallest; 3]), -1.0);
        assert!(unit(&[largest, smallest]).iter().all(|n| n.is_finite()));
    }

    #[test]
    fn nothing_is_near_to_zero() {
        for other in [[0.0, 0.0], [-0.0, 0.0], [1.0, -3.0]] {
            let found = of(&[0.0, -0.0], &other);
            assert_eq!((found, found.is_sign_positive()), (0.0, true));
        }
    }
}
