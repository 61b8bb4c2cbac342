//! What telemetry calls a scope.

use std::{fmt, sync::Arc};

use hmac::{Hmac, KeyInit as _, Mac as _};
use notekeeper_domain::Scope;
use sha2::Sha256;

/// Fewest bytes of a key. Fewer can be tried out, and then the hash hides nothing.
const KEY_BYTES_MIN: usize = 16;

/// Bytes of a hash that are shown, as many as [`Scope::hash`] has: 16 hexadecimal digits.
const SHOWN_BYTES: usize = 8;

/// Key of the scope hashes in telemetry: with it, nobody who only guesses a tenant can confirm the
/// guess. Activity ids and what is recorded keep the unkeyed hash, by which a replay is checked.
///
/// It is shown nowhere, and differs from a passphrase only in that it must be long.
#[derive(Clone)]
pub struct ScopeHashKey(Arc<Hmac<Sha256>>);

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key of scope hashes has at least {KEY_BYTES_MIN} bytes; `openssl rand -hex 32` makes one"
)]
pub struct WeakScopeHashKey;

impl ScopeHashKey {
    /// A key from its text, whose bytes count as they are.
    ///
    /// # Errors
    ///
    /// [`WeakScopeHashKey`] where it has less than 16 bytes.
    pub fn new(key: &str) -> Result<Self, WeakScopeHashKey> {
        if key.len() < KEY_BYTES_MIN {
            return Err(WeakScopeHashKey);
        }
        let hmac = Hmac::new_from_slice(key.as_bytes()).map_err(|_| WeakScopeHashKey)?;
        Ok(Self(Arc::new(hmac)))
    }

    /// First 16 lower-case hexadecimal digits of HMAC-SHA-256 over the scope's path form.
    fn hash(&self, scope: &Scope) -> String {
        let mut hmac = Hmac::clone(&self.0);
        hmac.update(scope.as_str().as_bytes());
        let digest = hmac.finalize().into_bytes();
        let digits = digest[..SHOWN_BYTES].iter();
        digits.map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for ScopeHashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScopeHashKey")
    }
}

/// What telemetry calls a scope: keyed where there is a key.
pub(crate) fn scope_hash(key: Option<&ScopeHashKey>, scope: &Scope) -> String {
    key.map_or_else(|| scope.hash(), |key| key.hash(scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        Scope::parse("acme/alice/main").expect("a scope")
    }

    #[test]
    fn a_keyed_hash_is_the_beginning_of_an_hmac_of_the_path() {
        let key = ScopeHashKey::new("0123456789abcdef").expect("a key");
        // printf %s acme/alice/main | openssl dgst -sha256 -hmac 0123456789abcdef
        assert_eq!(scope_hash(Some(&key), &scope()), "4299a48af281fb34");
    }

    #[test]
    fn without_a_key_the_hash_is_the_one_of_activity_ids() {
        assert_eq!(scope_hash(None, &scope()), scope().hash());
    }

    #[test]
    fn a_key_that_can_be_tried_out_is_refused_and_told_how_to_make_a_better_one() {
        let refused = ScopeHashKey::new("hunter2hunter2x").expect_err("a short key");
        let said = refused.to_string();
        assert!(said.contains("openssl rand"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }

    #[test]
    fn a_key_is_not_shown() {
        let key = ScopeHashKey::new("hunter2hunter2hunter2").expect("a key");
        assert_eq!(format!("{key:?}"), "ScopeHashKey");
    }
}
