//! How near embeddings are: the same arithmetic for all stores that do it themselves.

/// Rows that are looked at before other tasks get their turn: a fraction of a millisecond, at a few
/// hundred numbers each.
const ROWS_BETWEEN_PAUSES: usize = 256;

/// An embedding as stores keep it and ask by it: of length 1, or all zero. The similarity of two such is
/// a sum of products, which no length can make overflow, and 0 where one of them is zero.
pub(crate) fn unit(embedding: &[f32]) -> Vec<f32> {
    let squares = embedding.iter().map(|number| f64::from(*number).powi(2));
    let length = squares.sum::<f64>().sqrt();
    if length == 0.0 {
        return vec![0.0; embedding.len()];
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "numbers from -1 to 1 lose digits alone"
    )]
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
    looked_at: usize,
}

impl<T: Ord> Nearest<T> {
    pub(crate) fn new() -> Self {
        Self {
            found: Vec::new(),
            looked_at: 0,
        }
    }

    /// Takes one that matches.
    pub(crate) fn take(&mut self, similarity: f64, found: T) {
        self.found.push((similarity, found));
    }

    /// Counts one, whether it matches or not, and lets other tasks have their turn now and then.
    pub(crate) async fn pause(&mut self) {
        self.looked_at += 1;
        if self.looked_at.is_multiple_of(ROWS_BETWEEN_PAUSES) {
            tokio::task::yield_now().await;
        }
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
