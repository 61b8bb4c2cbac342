//! Lists as SQLite takes them.

/// A list of texts as a JSON array.
pub(super) fn json_array<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    serde_json::Value::from_iter(texts).to_string()
}
