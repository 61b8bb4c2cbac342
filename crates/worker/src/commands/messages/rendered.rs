//! Messages for people.

use notekeeper_domain::{Message, StoredMessage, UserPart};
use serde_json::Value;

use crate::output::{short, shown, shown_name};

/// Longest text of a message, in characters, where texts are shortened.
const TEXT_CHARS_MAX: usize = 1_000;

/// Longest arguments of a call.
const ARGUMENTS_CHARS_MAX: usize = 200;

/// Longest result of a call.
const RESULT_CHARS_MAX: usize = 400;

/// Longest role in a heading. Stores keep any.
const ROLE_CHARS_MAX: usize = 40;

/// How long texts may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Short,
    Full,
}

/// A message under its position and role, in lines that end.
pub(super) fn rendered(position: u64, message: Value, length: Length) -> String {
    let Ok(message) = StoredMessage::new(message) else {
        // No store keeps such a thing; a newer worker's may.
        return format!("#{position}\n  (this version can't read it; --json shows it)\n");
    };
    let mut text = format!(
        "#{position} {}\n",
        shown_name(&short(message.role(), ROLE_CHARS_MAX))
    );
    let parts = parts(&message, length);
    if parts.is_empty() {
        text.push_str("  (nothing that a model reads; --json shows it)\n");
    }
    for part in parts {
        for line in part.lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
    }
    text
}

/// What is said in it, one after the other.
fn parts(message: &StoredMessage, length: Length) -> Vec<String> {
    let mut parts = Vec::new();
    for message in message.to_messages() {
        match message {
            Message::System { text } => parts.push(cut(&text, TEXT_CHARS_MAX, length)),
            Message::User { parts: said } => parts.extend(said.iter().map(|part| match part {
                UserPart::Text { text }
                | UserPart::Memory { text, .. }
                | UserPart::Summary { text, .. } => cut(text, TEXT_CHARS_MAX, length),
            })),
            Message::Assistant { text, tool_calls } => {
                parts.push(cut(&text, TEXT_CHARS_MAX, length));
                parts.extend(tool_calls.iter().map(|call| {
                    let arguments = call.arguments.to_string();
                    let arguments = cut(&arguments, ARGUMENTS_CHARS_MAX, length);
                    format!("· {} {arguments}", shown_name(&call.name))
                }));
            }
            Message::Tool {
                content, is_error, ..
            } => {
                let failed = if is_error { "(failed) " } else { "" };
                let content = cut(&content, RESULT_CHARS_MAX, length).replace('\n', "\n  ");
                parts.push(format!("↳ {failed}{content}"));
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// A text that steers no terminal, and says where it is shortened.
fn cut(text: &str, chars_max: usize, length: Length) -> String {
    let whole = match length {
        Length::Full => true,
        Length::Short => text.chars().nth(chars_max).is_none(),
    };
    if whole {
        return shown(&text.replace("\r\n", "\n"));
    }
    let chars = text.chars().count();
    let beginning = shown(&short(text, chars_max).replace("\r\n", "\n"));
    format!("{beginning} ({chars} characters; --full shows all)")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_of_all_dialects_are_readable_and_steer_nothing() {
        let messages = [
            json!({"role": "user", "content": "I drink\r\ngreen tea.\u{1b}[2J"}),
            json!({"role": "assistant", "content": "Noted.", "tool_calls": [
                {"id": "call_0", "name": "write_memory", "arguments": {"content": "- tea"}}]}),
            json!({"role": "tool", "tool_call_id": "call_0", "content": "created\nMEMORY.md"}),
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1}"}}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": true},
                {"type": "text", "text": "And?"}]}),
            json!({"role": "moderator\n\u{202e}x", "content": "any"}),
        ];
        let text: String = (7..)
            .zip(messages)
            .map(|(position, message)| rendered(position, message, Length::Short))
            .collect();
        insta::assert_snapshot!(text, @r#"
#7 user
  I drink
  green tea.�[2J
#8 assistant
  Noted.
  · write_memory {"content":"- tea"}
#9 tool
  ↳ created
    MEMORY.md
#10 assistant
  · look {"at":1}
#11 user
  ↳ (failed) no
  And?
#12 moderator��x
  (nothing that a model reads; --json shows it)
"#);
    }

    #[test]
    fn what_is_long_is_shortened_with_a_sign_unless_all_is_asked_for() {
        let long = "ä".repeat(TEXT_CHARS_MAX + 1);
        let message = json!({"role": "user", "content": long});
        let cut = rendered(0, message.clone(), Length::Short);
        assert!(
            cut.ends_with("ä… (1001 characters; --full shows all)\n"),
            "{cut}"
        );
        let full = rendered(0, message, Length::Full);
        assert_eq!(full, format!("#0 user\n  {long}\n"));
        let calls = json!({"role": "assistant", "content": "", "tool_calls": [
            {"id": "c", "name": "n", "arguments": {"text": "x".repeat(ARGUMENTS_CHARS_MAX)}}]});
        let cut = rendered(0, calls, Length::Short);
        assert!(
            cut.starts_with("#0 assistant\n  · n {\"text\":\"xxx"),
            "{cut}"
        );
        assert!(cut.contains("… (211 characters"), "{cut}");
    }
}
