//! Strings of the vector files: ordinary JSON, or one of three wrappers.
//!
//! A string that no UTF-8 text can hold, because it has a lone surrogate, stays an object
//! `{"$codepoints": […]}`; everything else becomes a JSON string.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};

const REPEAT: &str = "$repeat";
const CONCAT: &str = "$concat";
const CODEPOINTS: &str = "$codepoints";

/// `value` with every wrapper replaced by the string that it stands for.
pub(crate) fn unwrap_strings(value: Value) -> Result<Value> {
    match value {
        Value::Array(items) => Ok(Value::Array(
            items
                .into_iter()
                .map(unwrap_strings)
                .collect::<Result<_>>()?,
        )),
        Value::Object(map) => match wrapper(&map) {
            Some(_) => from_codepoints(codepoints(&Value::Object(map))?),
            None => Ok(Value::Object(
                map.into_iter()
                    .map(|(key, item)| Ok((key, unwrap_strings(item)?)))
                    .collect::<Result<Map<_, _>>>()?,
            )),
        },
        plain => Ok(plain),
    }
}

/// Whether `value` is a string with a lone surrogate.
pub(crate) fn is_unencodable(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|map| wrapper(map) == Some(CODEPOINTS))
}

/// Whether `value` holds, at any depth, a string with a lone surrogate.
pub(crate) fn holds_unencodable(value: &Value) -> bool {
    is_unencodable(value) || any_child(value, holds_unencodable)
}

/// Whether `value` holds, at any depth, a string with U+0000.
pub(crate) fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        _ if is_unencodable(value) => codepoints(value).is_ok_and(|points| points.contains(&0)),
        _ => any_child(value, holds_nul),
    }
}

/// JSON text of `value`, lone surrogates as the `\uXXXX` escapes that a caller in another
/// language could send.
pub(crate) fn json_text(value: &Value) -> Result<String> {
    Ok(match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(json_text).collect::<Result<_>>()?;
            format!("[{}]", items.join(","))
        }
        Value::Object(_) if is_unencodable(value) => escaped(&codepoints(value)?),
        Value::Object(map) => {
            let entries: Vec<_> = map
                .iter()
                .map(|(key, item)| Ok(format!("{}:{}", json!(key), json_text(item)?)))
                .collect::<Result<_>>()?;
            format!("{{{}}}", entries.join(","))
        }
        plain => plain.to_string(),
    })
}

/// The code points of a string or wrapper.
pub(crate) fn codepoints(value: &Value) -> Result<Vec<u32>> {
    if let Some(text) = value.as_str() {
        return Ok(text.chars().map(u32::from).collect());
    }
    let map = value.as_object().context("expected a string")?;
    let kind = wrapper(map).context("expected a string or one of its wrappers")?;
    let parts = map[kind]
        .as_array()
        .with_context(|| format!("`{kind}` takes a list"))?;
    match kind {
        REPEAT => {
            let [unit, count] = parts.as_slice() else {
                bail!("`{REPEAT}` takes a unit and a count");
            };
            let count = count.as_u64().context("the count is no natural number")?;
            Ok(codepoints(unit)?.repeat(usize::try_from(count)?))
        }
        CONCAT => Ok(parts
            .iter()
            .map(codepoints)
            .collect::<Result<Vec<_>>>()?
            .concat()),
        _ => parts
            .iter()
            .map(|point| {
                let point = point.as_u64().context("a code point is a number")?;
                ensure!(point <= u64::from(u32::from(char::MAX)), "no code point");
                Ok(u32::try_from(point)?)
            })
            .collect(),
    }
}

/// The string of these code points, or `{"$codepoints": […]}` where there is none.
pub(crate) fn from_codepoints(points: Vec<u32>) -> Result<Value> {
    let text: Option<String> = points.iter().copied().map(char::from_u32).collect();
    Ok(text.map_or_else(|| json!({ CODEPOINTS: points }), Value::String))
}

fn wrapper(map: &Map<String, Value>) -> Option<&'static str> {
    let (key, _) = map.iter().next().filter(|_| map.len() == 1)?;
    [REPEAT, CONCAT, CODEPOINTS]
        .into_iter()
        .find(|name| name == key)
}

fn any_child(value: &Value, test: fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(test),
        Value::Object(map) => map.values().any(test),
        _ => false,
    }
}

fn escaped(points: &[u32]) -> String {
    let mut text = String::from("\"");
    for point in points {
        match char::from_u32(*point) {
            Some(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            None => text.push_str(&format!("\\u{point:04x}")),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_become_the_strings_they_stand_for() {
        let nested =
            json!({"a": {"$concat": [{"$repeat": ["xy", 2]}, "é", {"$codepoints": [128_512]}]}});
        assert_eq!(unwrap_strings(nested).unwrap(), json!({"a": "xyxyé😀"}));
    }

    #[test]
    fn a_lone_surrogate_survives_as_code_points_and_is_sent_as_an_escape() {
        let value = unwrap_strings(json!([{"$concat": ["a", {"$codepoints": [55_296]}, "\n"]}]));
        let value = value.unwrap();
        assert_eq!(value, json!([{"$codepoints": [97, 55_296, 10]}]));
        assert!(holds_unencodable(&value));
        assert_eq!(json_text(&value).unwrap(), "[\"\\u0061\\ud800\\u000a\"]");
        assert!(serde_json::from_str::<Value>(&json_text(&value).unwrap()).is_err());
    }

    #[test]
    fn a_wrapper_with_bad_parts_is_an_error() {
        for bad in [
            json!({"$repeat": ["x"]}),
            json!({"$repeat": ["x", -1]}),
            json!({"$codepoints": [1_114_112]}),
            json!({"$concat": "x"}),
        ] {
            assert!(unwrap_strings(bad.clone()).is_err(), "{bad}");
        }
    }
}
