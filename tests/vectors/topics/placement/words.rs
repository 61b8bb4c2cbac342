//! Messages in the words of the cases of `message_placement`. What runs the cases through a workflow
//! says it in the same words.

use notekeeper_domain::{Message, Scope, UserPart};

/// What is known by name or number so far.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// Scopes that blocks may show.
    scopes: Vec<Scope>,
    /// Texts of blocks, in the order of their appearance.
    texts: Vec<String>,
}

impl Words {
    /// Takes up a scope that blocks may show.
    pub(crate) fn know(&mut self, scope: Scope) {
        self.scopes.push(scope);
    }

    /// A message's role and parts.
    pub(crate) fn of(&mut self, message: &Message) -> (&'static str, Vec<String>) {
        match message {
            Message::User { parts } => {
                let parts = parts.iter().map(|part| self.part(part)).collect();
                ("request", parts)
            }
            Message::System { text } => ("request", vec![format!("system:{text}")]),
            Message::Tool { tool_call_id, .. } => {
                ("request", vec![format!("tool_return:{tool_call_id}")])
            }
            Message::Assistant { text, tool_calls } => {
                let text = (!text.is_empty()).then(|| "text".to_owned());
                let calls = tool_calls
                    .iter()
                    .map(|call| format!("tool_call:{}", call.id));
                ("response", text.into_iter().chain(calls).collect())
            }
        }
    }

    fn part(&mut self, part: &UserPart) -> String {
        match part {
            UserPart::Text { text } => format!("user:{text}"),
            UserPart::Summary { text } => format!("summary:{text}"),
            UserPart::Memory { scope_hash, text } => {
                let scope = self.scopes.iter().find(|scope| scope.hash() == *scope_hash);
                let scope = scope.map_or("", Scope::as_str).to_owned();
                format!("user[memory#{}({scope})]", self.number(text))
            }
        }
    }

    /// Which of the distinct texts of blocks it is, from 1.
    pub(crate) fn number(&mut self, text: &str) -> usize {
        let known = self.texts.iter().position(|known| known == text);
        known.unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        }) + 1
    }
}
