//! What was probably meant by a name that nobody knows.

/// Least likeness of two names, from 0 to 1, at which one is offered for the other where all known
/// ones are listed anyway.
const LIKENESS_MIN: f64 = 0.7;

/// The known name that is most like `unknown`; `None` where none is known.
///
/// ```
/// use notekeeper_domain::nearest;
///
/// assert_eq!(nearest("max_token", ["max_lines", "max_tokens", "prefix"]), Some("max_tokens"));
/// ```
pub fn nearest<'k>(unknown: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(unknown, known), known))
        // The first of those that are alike: `max_by` would give the last.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, known)| known)
}

/// serde's message on an unknown key with the name at its end that was probably meant;
/// any other message as it is.
///
/// ```
/// use notekeeper_domain::with_nearest;
///
/// assert_eq!(
///     with_nearest("unknown field `adress`, expected `address` or `namespace`"),
///     "unknown field `adress`, expected `address` or `namespace`; did you mean `address`?"
/// );
/// ```
pub fn with_nearest(message: &str) -> String {
    match meant(message) {
        Some(key) => format!("{message}; did you mean `{key}`?"),
        None => message.to_owned(),
    }
}

/// The key that was probably meant where serde's message, which lists the known ones, is on an unknown
/// one; `None` where none is much like it.
pub fn meant(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("unknown field `")?;
    // What was found may hold anything; what was expected are names of ours, at the end.
    let (unknown, expected) = rest.rsplit_once("`, expected ")?;
    nearest(unknown, expected.split('`').skip(1).step_by(2))
        .filter(|meant| strsim::jaro_winkler(unknown, meant) >= LIKENESS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_the_name_that_was_meant() {
        let known = [
            "store",
            "agent_name",
            "heading",
            "inject_memory",
            "max_tokens",
            "max_lines",
            "max_memory_size",
            "max_search_results",
            "max_search_result_chars",
            "max_search_files",
            "injection_errors",
            "guidance",
            "prefix",
        ];
        for (unknown, meant) in [
            ("max_token", "max_tokens"),
            ("maxTokens", "max_tokens"),
            ("tokens", "max_tokens"),
            ("injection_error", "injection_errors"),
            ("inject", "inject_memory"),
            ("agentName", "agent_name"),
            ("headding", "heading"),
            ("max_search_result", "max_search_results"),
            ("stores", "store"),
        ] {
            assert_eq!(nearest(unknown, known), Some(meant), "{unknown}");
        }
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn of_names_equally_alike_the_first_is_meant() {
        assert_eq!(nearest("ab", ["ax", "ay"]), Some("ax"));
        assert_eq!(nearest("q", ["b", "a"]), Some("b"));
    }

    #[test]
    fn messages_on_other_things_stay_as_they_are() {
        for message in [
            "missing field `url`",
            "invalid type: string \"`, expected `x`\", expected usize",
            "unknown field `a`, there are no fields",
        ] {
            assert_eq!(with_nearest(message), message);
        }
        let odd = "unknown field `kex`, expected `b`, expected one of `kez`, `kind`";
        assert_eq!(meant(odd), None);
        let odd = "unknown field `keys`, expected `kez`, expected one of `key`, `kind`";
        assert_eq!(meant(odd), Some("key"));
    }

    #[test]
    fn of_listed_names_none_is_offered_that_is_nothing_like_it() {
        assert_eq!(meant("unknown field `x1`, expected `key` or `kind`"), None);
    }
}
