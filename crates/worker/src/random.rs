//! Names that no other process draws.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hasher as _},
};

/// A number that differs in each start of a program, and in each call. Not for secrets.
pub(crate) fn number() -> u64 {
    // The one source of randomness in the standard library.
    RandomState::new().build_hasher().finish()
}

/// 32 hexadecimal digits.
pub(crate) fn name() -> String {
    format!("{:016x}{:016x}", number(), number())
}
