//! What was said in a conversation, as a person wants to see it again.

use notekeeper_contract::ChatMessage;
use notekeeper_domain::{Message, StoredMessage, UserPart};
use serde_json::Value;

/// Something that was said. Tool calls aren't among it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// By the person.
    Prompt(String),
    /// By the agent.
    Answer(String),
}

impl Said {
    /// What is said in a stored message, of whichever form.
    pub(super) fn of(message: Value) -> Vec<Self> {
        let message = StoredMessage::new(message);
        let messages = message.map(|message| message.to_messages());
        let messages = messages.unwrap_or_default().into_iter();
        messages.filter_map(Self::of_message).collect()
    }

    /// What is said in messages that a run holds.
    pub(super) fn of_run(messages: Vec<ChatMessage>) -> Vec<Self> {
        let messages = messages.into_iter().map(Message::from);
        messages.filter_map(Self::of_message).collect()
    }

    pub(super) fn is_prompt(&self) -> bool {
        matches!(self, Self::Prompt(_))
    }

    fn of_message(message: Message) -> Option<Self> {
        match message {
            Message::User { parts } => {
                let texts: Vec<String> = parts
                    .into_iter()
                    .filter_map(|part| match part {
                        UserPart::Text { text } => Some(text),
                        UserPart::Memory { .. } | UserPart::Summary { .. } => None,
                    })
                    .collect();
                (!texts.is_empty()).then(|| Self::Prompt(texts.join("\n\n")))
            }
            Message::Assistant { text, .. } => (!text.is_empty()).then_some(Self::Answer(text)),
            Message::System { .. } | Message::Tool { .. } => None,
        }
    }
}

/// The latest exchanges, at most so many: each from a prompt to the next one.
pub(super) fn latest_exchanges(said: &[Said], exchanges: usize) -> &[Said] {
    let prompts = said.iter().enumerate().filter(|(_, said)| said.is_prompt());
    match prompts.rev().take(exchanges).last() {
        Some((start, _)) => &said[start..],
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_said_is_seen_again_in_whichever_form_it_is_stored() {
        let messages = [
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}]}),
            json!({"role": "tool", "tool_call_id": "c", "content": "done"}),
            json!({"role": "assistant", "content": "ab"}),
        ];
        let said: Vec<Said> = messages.into_iter().flat_map(Said::of).collect();
        assert_eq!(
            said,
            [
                Said::Prompt("a\n\nb".to_owned()),
                Said::Answer("ab".to_owned())
            ]
        );
    }

    #[test]
    fn the_latest_exchanges_begin_with_their_prompts() {
        let [a, b] = ["a", "b"].map(|text| Said::Prompt(text.to_owned()));
        let [one, two] = ["1", "2"].map(|text| Said::Answer(text.to_owned()));
        let said = [a, one, b, two];
        assert_eq!(latest_exchanges(&said, 1), &said[2..]);
        assert_eq!(latest_exchanges(&said, 2), &said);
        assert_eq!(latest_exchanges(&said, usize::MAX), &said);
        assert_eq!(latest_exchanges(&said[1..2], 1), &said[1..2]);
    }
}
