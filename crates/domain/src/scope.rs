//! Scopes: whose notes an operation addresses.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::{NoteName, SCOPE_CHARS_MAX, SEGMENT_CHARS_MAX};

/// Namespace and agent name together: what every operation addresses.
///
/// Its path form, `{namespace}/{agent_name}` or the agent name alone where the namespace is
/// empty, is the storage key of the scope. The agent name is one segment, so two different
/// pairs never share a path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    path: String,
}

impl Scope {
    /// Builds a scope from a namespace (empty, or `/`-separated segments) and an agent name.
    ///
    /// ```
    /// use notekeeper_domain::Scope;
    ///
    /// let scope = Scope::resolve("acme/alice", "main")?;
    /// assert_eq!(scope.as_str(), "acme/alice/main");
    /// assert!(Scope::resolve("acme/../alice", "main").is_err());
    /// # Ok::<(), notekeeper_domain::InvalidScope>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidScope`] says which part is wrong and what is allowed; it doesn't quote the
    /// value, which may identify a tenant.
    pub fn resolve(namespace: &str, agent_name: &str) -> Result<Self, InvalidScope> {
        if agent_name.contains('/') {
            return Err(InvalidScope::AgentNameSegments);
        }
        check_segment(agent_name).map_err(InvalidScope::AgentName)?;
        let path = if namespace.is_empty() {
            agent_name.to_owned()
        } else {
            for segment in namespace.split('/') {
                check_segment(segment).map_err(InvalidScope::Namespace)?;
            }
            format!("{namespace}/{agent_name}")
        };
        if path.len() > SCOPE_CHARS_MAX {
            return Err(InvalidScope::TooLong { chars: path.len() });
        }
        Ok(Self { path })
    }

    /// Reads a scope from its path form.
    ///
    /// # Errors
    ///
    /// As [`Scope::resolve`].
    pub fn parse(path: &str) -> Result<Self, InvalidScope> {
        match path.rsplit_once('/') {
            Some(("", _)) => Err(InvalidScope::Namespace(SegmentFault::Empty)),
            Some((namespace, agent_name)) => Self::resolve(namespace, agent_name),
            None => Self::resolve("", path),
        }
    }

    /// The path form, `{namespace}/{agent_name}`.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// The namespace; empty where there is none.
    pub fn namespace(&self) -> &str {
        self.path
            .rsplit_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    /// The agent name.
    pub fn agent_name(&self) -> &str {
        self.path
            .rsplit_once('/')
            .map_or(&self.path, |(_, agent_name)| agent_name)
    }

    /// The storage key of a note in this scope, `{scope}/{name}`.
    pub fn key(&self, name: &NoteName) -> String {
        format!("{}/{}", self.path, name.as_str())
    }

    /// First 16 lower-case hexadecimal digits of SHA-256 over the path form.
    ///
    /// Unkeyed: who can guess a scope can confirm it. It keeps identities out of sight, no more.
    pub fn hash(&self) -> String {
        short_hash(&self.path)
    }
}

impl fmt::Debug for Scope {
    /// Shows the hash, so that a scope that lands in a log names no tenant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", self.hash())
    }
}

/// Why a namespace and agent name make no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidScope {
    /// A namespace segment breaks the segment rule.
    #[error(
        "namespace has a segment that {0}; use `/`-separated segments of ASCII letters, digits, `_`, `-` and `.`"
    )]
    Namespace(SegmentFault),
    /// The agent name breaks the segment rule.
    #[error("agent name {0}; use ASCII letters, digits, `_`, `-` and `.`")]
    AgentName(SegmentFault),
    /// The agent name has more than one segment.
    #[error("agent name holds a `/`; put all but the last segment into the namespace")]
    AgentNameSegments,
    /// The path form is over the bound.
    #[error(
        "namespace and agent name together have {chars} characters; at most {SCOPE_CHARS_MAX} are allowed"
    )]
    TooLong {
        /// Characters of the path form.
        chars: usize,
    },
}

/// What is wrong with one path segment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentFault {
    /// Nothing between two slashes, or at an end.
    #[error("is empty")]
    Empty,
    /// `.`, or `..` anywhere.
    #[error("is `.` or contains `..`")]
    Dots,
    /// A character outside `[A-Za-z0-9_.-]`.
    #[error("contains a character that is not allowed")]
    Character,
    /// More than [`SEGMENT_CHARS_MAX`] characters.
    #[error("has more than {SEGMENT_CHARS_MAX} characters")]
    TooLong,
}

/// Checks one segment of a storage path.
pub(crate) fn check_segment(segment: &str) -> Result<(), SegmentFault> {
    if segment.is_empty() {
        return Err(SegmentFault::Empty);
    }
    if !segment
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    {
        return Err(SegmentFault::Character);
    }
    if segment.len() > SEGMENT_CHARS_MAX {
        return Err(SegmentFault::TooLong);
    }
    if segment == "." || segment.contains("..") {
        return Err(SegmentFault::Dots);
    }
    Ok(())
}

/// Checks a storage path: `/`-separated segments, at least one.
///
/// # Errors
///
/// The fault of the first segment that breaks the rule.
pub fn check_store_path(path: &str) -> Result<(), SegmentFault> {
    path.split('/').try_for_each(check_segment)
}

/// Checks a prefix for listings: empty, or a storage path with one optional `/` at its end.
///
/// # Errors
///
/// As [`check_store_path`].
pub fn check_store_prefix(prefix: &str) -> Result<(), SegmentFault> {
    if prefix.is_empty() {
        return Ok(());
    }
    check_store_path(prefix.strip_suffix('/').unwrap_or(prefix))
}

/// First 16 lower-case hexadecimal digits of SHA-256 over `text`.
pub fn short_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..8])
}

/// Lower-case hexadecimal form of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path_of(namespace: &str, agent_name: &str) -> String {
        Scope::resolve(namespace, agent_name)
            .expect("a valid scope")
            .as_str()
            .to_owned()
    }

    #[test]
    fn a_scope_is_the_namespace_and_the_agent_name() {
        assert_eq!(path_of("", "main"), "main");
        assert_eq!(path_of("acme", "main"), "acme/main");
        assert_eq!(path_of("acme/.b/-/_", "MAIN"), "acme/.b/-/_/MAIN");
        assert_eq!(path_of("alice.", "first.last"), "alice./first.last");
        let scope = Scope::resolve("acme/eu", "org").unwrap();
        assert_eq!((scope.namespace(), scope.agent_name()), ("acme/eu", "org"));
        assert_eq!(scope.key(&NoteName::main()), "acme/eu/org/MEMORY.md");
    }

    #[test]
    fn namespaces_that_could_leave_or_blur_a_tenant_are_refused() {
        use SegmentFault::{Character, Dots, Empty};
        let cases = [
            ("/a", Empty),
            ("a/", Empty),
            ("a//b", Empty),
            ("/", Empty),
            (".", Dots),
            ("..", Dots),
            ("...", Dots),
            ("a/../b", Dots),
            ("a..b", Dots),
            ("a b", Character),
            ("a\n", Character),
            ("a\0b", Character),
            ("a\\b", Character),
            ("..\\b", Character),
            ("%2e%2e", Character),
            ("é", Character),
            ("e\u{301}", Character),
            ("\u{202e}abc", Character),
            ("~", Character),
        ];
        for (namespace, fault) in cases {
            assert_eq!(
                Scope::resolve(namespace, "main"),
                Err(InvalidScope::Namespace(fault)),
                "{namespace:?}"
            );
        }
    }

    #[test]
    fn pattern_characters_of_queries_are_refused_or_literal() {
        for namespace in ["%", "a*", "a?", "a\\", "[a]", "a'b", "a;b", "$1", "^"] {
            assert!(Scope::resolve(namespace, "main").is_err(), "{namespace:?}");
        }
        assert_ne!(path_of("john-doe", "main"), path_of("john_doe", "main"));
        assert_ne!(path_of("john.doe", "main"), path_of("johnxdoe", "main"));
    }

    #[test]
    fn an_agent_name_is_exactly_one_segment() {
        assert_eq!(
            Scope::resolve("acme", "a/b"),
            Err(InvalidScope::AgentNameSegments)
        );
        assert_eq!(
            Scope::resolve("acme", "main/"),
            Err(InvalidScope::AgentNameSegments)
        );
        assert_eq!(
            Scope::resolve("acme", ""),
            Err(InvalidScope::AgentName(SegmentFault::Empty))
        );
        assert_eq!(
            Scope::resolve("", ""),
            Err(InvalidScope::AgentName(SegmentFault::Empty))
        );
        assert_eq!(
            Scope::resolve("", "."),
            Err(InvalidScope::AgentName(SegmentFault::Dots))
        );
    }

    #[test]
    fn segments_and_scopes_have_a_greatest_length() {
        let longest = "a".repeat(SEGMENT_CHARS_MAX);
        assert_eq!(path_of(&longest, &longest).len(), 2 * SEGMENT_CHARS_MAX + 1);
        let over = "a".repeat(SEGMENT_CHARS_MAX + 1);
        assert_eq!(
            Scope::resolve(&over, "main"),
            Err(InvalidScope::Namespace(SegmentFault::TooLong))
        );
        let namespace = format!("{}a", "a/".repeat(SCOPE_CHARS_MAX / 2 - 2));
        let agent_chars = SCOPE_CHARS_MAX - namespace.len() - 1;
        let agent_name = "m".repeat(agent_chars);
        assert_eq!(path_of(&namespace, &agent_name).len(), SCOPE_CHARS_MAX);
        assert_eq!(
            Scope::resolve(&namespace, &format!("{agent_name}m")),
            Err(InvalidScope::TooLong {
                chars: SCOPE_CHARS_MAX + 1
            })
        );
    }

    #[test]
    fn the_hash_is_the_start_of_sha256_over_the_path() {
        let hash = |namespace, agent| Scope::resolve(namespace, agent).unwrap().hash();
        assert_eq!(hash("", "main"), "0d6e4079e36703eb");
        assert_eq!(hash("acme", "main"), "fcf864e4527f242a");
        assert_eq!(hash("a/b/c.d_-", "main"), "8337cd86c719f1a2");
    }

    #[test]
    fn neither_debug_output_nor_errors_show_a_tenant() {
        let scope = Scope::resolve("secret-tenant", "main").unwrap();
        assert!(!format!("{scope:?}").contains("secret"));
        let error = Scope::resolve("secret tenant", "main").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"));
    }

    #[test]
    fn invalid_scopes_say_which_part_to_change() {
        let errors = [
            Scope::resolve("a//b", "main"),
            Scope::resolve("a/../b", "main"),
            Scope::resolve("a b", "main"),
            Scope::resolve(&"a".repeat(201), "main"),
            Scope::resolve("acme", ""),
            Scope::resolve("acme", "a/b"),
            Scope::resolve(&"a/".repeat(1_000), "main"),
            Scope::resolve(&format!("{}a", "a/".repeat(1_000)), "main"),
        ];
        let lines: Vec<_> = errors.map(|error| error.unwrap_err().to_string()).to_vec();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn store_paths_and_prefixes_follow_the_segment_rule() {
        for path in ["a", "a/b", "-", ".h/x.md", "a/b/c/d/e/f/g/h/i/j"] {
            assert_eq!(check_store_path(path), Ok(()), "{path:?}");
        }
        for path in ["", "/a", "a/", "a//b", "a/./b", "a/../b", "a\n", "é"] {
            assert!(check_store_path(path).is_err(), "{path:?}");
        }
        for prefix in ["", "a", "a/", "a/b/"] {
            assert_eq!(check_store_prefix(prefix), Ok(()), "{prefix:?}");
        }
        for prefix in ["/", "a//", "/a", "..", "a/../"] {
            assert!(check_store_prefix(prefix).is_err(), "{prefix:?}");
        }
    }

    proptest! {
        #[test]
        fn a_scope_and_its_path_form_are_each_others_inverse(
            namespace in "([A-Za-z0-9_.-]{1,6}/){0,3}",
            agent_name in "[A-Za-z0-9_.-]{1,6}",
        ) {
            let namespace = namespace.trim_end_matches('/');
            if let Ok(scope) = Scope::resolve(namespace, &agent_name) {
                prop_assert_eq!(scope.namespace(), namespace);
                prop_assert_eq!(scope.agent_name(), &*agent_name);
                prop_assert_eq!(Scope::parse(scope.as_str()), Ok(scope));
            }
        }

        #[test]
        fn two_different_pairs_never_share_a_path(
            a in ("([ab.]{1,2}/?){0,3}", "[ab/]{0,3}"),
            b in ("([ab.]{1,2}/?){0,3}", "[ab/]{0,3}"),
        ) {
            let scopes = (Scope::resolve(&a.0, &a.1), Scope::resolve(&b.0, &b.1));
            if let (Ok(one), Ok(other)) = scopes {
                prop_assert_eq!(one == other, a == b);
            }
        }

        #[test]
        fn any_text_is_refused_or_becomes_plain_segments(namespace in any::<String>()) {
            if let Ok(scope) = Scope::resolve(&namespace, "main") {
                prop_assert_eq!(check_store_path(scope.as_str()), Ok(()));
                prop_assert!(scope.as_str().is_ascii());
            }
        }
    }
}
