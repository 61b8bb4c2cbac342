//! A database's URL, which may hold a password.

use std::fmt;

use serde::Deserialize;

/// URL of a database. It is shown to nobody, so that no log holds a password.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The URL itself, for those who connect.
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl From<&str> for DatabaseUrl {
    fn from(url: &str) -> Self {
        Self(url.to_owned())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl(…)")
    }
}
