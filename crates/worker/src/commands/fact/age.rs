//! How long ago something was, for people.

/// Units, largest first, and their seconds.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];

/// An age in its largest whole unit, such as `3 min`.
pub(super) fn age(seconds: u64) -> String {
    let (unit, length) = UNITS
        .into_iter()
        .find(|(_, length)| seconds >= *length)
        .unwrap_or(("s", 1));
    format!("{} {unit}", seconds / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_its_largest_whole_unit() {
        let ages = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 90 * 86_400].map(age);
        assert_eq!(
            ages,
            [
                "0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "90 d"
            ]
        );
    }
}
