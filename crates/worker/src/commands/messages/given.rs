//! Messages that a user gives: JSON lines, JSON arrays, or both.

use std::io::Read;

use anyhow::Context as _;
use notekeeper_contract::FailureType;
use notekeeper_domain::{InvalidMessage, StoredMessage};
use serde_json::Value;

use crate::output::CodedError;

/// What JSON takes for blanks.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Reads all messages. Where one can't be kept the error names its line, its number and what is
/// wrong where, and there are none.
pub(super) fn read(mut from: impl Read) -> anyhow::Result<Vec<StoredMessage>> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)
        .context("can't read standard input")?;
    let text = match std::str::from_utf8(&bytes) {
        // Some programs begin a text with a byte order mark.
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let line = lines(&bytes[..error.valid_up_to()]) + 1;
            return Err(unusable(
                FailureType::InvalidArgument,
                format!("line {line}: it isn't UTF-8 text"),
            ));
        }
    };
    let mut reader = Reader {
        text,
        at: 0,
        messages: Vec::new(),
    };
    reader.read_all()?;
    if reader.messages.is_empty() {
        let message = "there are no messages; give them on standard input, as JSON lines or a JSON \
                       array";
        return Err(unusable(FailureType::InvalidArgument, message.to_owned()));
    }
    Ok(reader.messages)
}

/// Reads one value after another, so that it is known where each begins.
struct Reader<'a> {
    text: &'a str,
    /// Where the rest begins, in bytes.
    at: usize,
    messages: Vec<StoredMessage>,
}

impl Reader<'_> {
    fn read_all(&mut self) -> anyhow::Result<()> {
        while let Some(next) = self.next() {
            match next {
                '[' => self.array()?,
                _ => self.message()?,
            }
        }
        Ok(())
    }

    /// The next character that is no blank.
    fn next(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start_matches(BLANKS);
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    fn array(&mut self) -> anyhow::Result<()> {
        self.at += 1;
        if self.next() == Some(']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.next();
            self.message()?;
            match self.next() {
                Some(',') => self.at += 1,
                Some(']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.broken(self.at, "expected `,` or `]` after a message")),
            }
        }
    }

    fn message(&mut self) -> anyhow::Result<()> {
        let begin = self.at;
        if !self.text[begin..].starts_with('{') {
            return Err(self.refused(begin, &InvalidMessage::NoObject));
        }
        let values = serde_json::Deserializer::from_str(&self.text[begin..]);
        let mut values = values.into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) => return Err(self.no_json(begin, &error)),
            None => return Err(self.refused(begin, &InvalidMessage::NoObject)),
        };
        self.at = begin + values.byte_offset();
        let message = StoredMessage::new(value).map_err(|error| self.refused(begin, &error))?;
        self.messages.push(message);
        Ok(())
    }

    /// An error in a message that is JSON.
    fn refused(&self, begin: usize, error: &InvalidMessage) -> anyhow::Error {
        let kind = match error {
            InvalidMessage::TooLarge { .. } => FailureType::TooLarge,
            _ => FailureType::InvalidArgument,
        };
        let number = self.messages.len() + 1;
        let line = self.line(begin);
        unusable(kind, format!("line {line}: message {number} {error}"))
    }

    /// An error in what is to be JSON, at a place inside it.
    fn no_json(&self, begin: usize, error: &serde_json::Error) -> anyhow::Error {
        let said = error.to_string();
        if said.starts_with("recursion limit exceeded") {
            return self.refused(begin, &InvalidMessage::TooDeep);
        }
        let what = said.split(" at line ").next().unwrap_or(&said);
        let line = self.line(begin) + error.line() - 1;
        let number = self.messages.len() + 1;
        unusable(
            FailureType::InvalidArgument,
            format!("line {line}: message {number} is no JSON: {what}"),
        )
    }

    fn broken(&self, at: usize, what: &str) -> anyhow::Error {
        let line = self.line(at);
        unusable(FailureType::InvalidArgument, format!("line {line}: {what}"))
    }

    /// The line of a place, from 1.
    fn line(&self, at: usize) -> usize {
        lines(&self.text.as_bytes()[..at]) + 1
    }
}

/// Line breaks in a text.
fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

fn unusable(kind: FailureType, message: String) -> anyhow::Error {
    anyhow::Error::new(CodedError {
        code: kind.as_str().to_owned(),
        message,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(text: &str) -> Vec<Value> {
        let messages = read(text.as_bytes()).expect("messages");
        messages
            .into_iter()
            .map(StoredMessage::into_value)
            .collect()
    }

    #[test]
    fn lines_and_arrays_and_objects_over_several_lines_are_read() {
        let (a, b) = (
            json!({"role": "user", "content": "a"}),
            json!({"role": "b", "x": [1.5, {"y": null}]}),
        );
        let pretty = serde_json::to_string_pretty(&a).expect("JSON");
        for text in [
            format!("{a}\n{b}\n"),
            format!("\u{feff}{a}\r\n\n{b}"),
            format!("{a}{b}"),
            format!("[{a},{b}]"),
            format!(" [\n {pretty} ,\n {b}\n]\n"),
            format!("[{a}]\n[]\n{b}"),
        ] {
            assert_eq!(values(&text), [a.clone(), b.clone()], "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_place() {
        let good = r#"{"role": "user", "content": "a"}"#;
        let cases = [
            ("".to_owned(), "there are no messages"),
            (" [ ]".to_owned(), "there are no messages"),
            (
                format!("{good}\n\n\"hello\"\n"),
                "line 3: message 2 must be a JSON object",
            ),
            (
                format!("[{good},\n3]"),
                "line 2: message 2 must be a JSON object",
            ),
            (
                format!("[{good}, [{good}]]"),
                "line 1: message 2 must be a JSON object",
            ),
            (
                format!("{good}\n{{\"content\": \"b\"}}\n"),
                "line 2: message 2 needs `role`",
            ),
            (
                format!(
                    "{good}\n{{\"role\": \"user\", \"content\": [{{\"text\": \"b\\u0000\"}}]}}"
                ),
                "line 2: message 2 contains a NUL character (U+0000) in `content[0].text`",
            ),
            (
                format!("{good}\n{{\"role\": \"user\",\n \"content\": nothing}}"),
                "line 3: message 2 is no JSON: expected ident",
            ),
            (
                format!("{good}\n{{\"role\": \"user\", \"content\": \"\\ud800\"}}"),
                "line 2: message 2 is no JSON: ",
            ),
            (
                format!("{good}\n{{\"role\": \"us"),
                "line 2: message 2 is no JSON: EOF while parsing a string",
            ),
            (
                format!("[{good}\n{good}]"),
                "line 2: expected `,` or `]` after a message",
            ),
            (
                format!("[{good},\n{good}\n"),
                "line 3: expected `,` or `]` after a message",
            ),
            (
                format!("[{good},]"),
                "line 1: message 2 must be a JSON object",
            ),
            (
                format!(
                    "{good}\n{{\"role\": \"user\", \"content\": \"{}\"}}",
                    "x".repeat(600_000)
                ),
                "line 2: message 2 has 600",
            ),
        ];
        for (text, told) in cases {
            let error = read(text.as_bytes()).expect_err(told).to_string();
            assert!(error.starts_with(told), "{error}");
        }
        let odd = read(&b"{\n\n\"\xff\""[..])
            .expect_err("not UTF-8")
            .to_string();
        assert_eq!(odd, "line 3: it isn't UTF-8 text");
    }

    #[test]
    fn deep_nesting_is_refused_and_overflows_no_stack() {
        let deep = format!(
            "{{\"role\": \"user\", \"content\": {}",
            "[".repeat(1_000_000)
        );
        let error = read(deep.as_bytes()).expect_err("too deep").to_string();
        let told = "line 1: message 1 has lists or objects in more than 100 levels";
        assert!(error.starts_with(told), "{error}");
    }
}
