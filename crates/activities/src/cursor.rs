//! Where to go on in a list that is given in several answers.

use notekeeper_domain::{ConversationId, Scope, canonical_json, short_hash};
use serde_json::json;

use crate::Failure;

/// The messages of a conversation that are still to be given. As text it is opaque to callers; it
/// holds for one conversation of one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Position of the first of them.
    pub(crate) at: u64,
    /// Position after the last of them.
    pub(crate) end: u64,
}

impl Cursor {
    /// The cursor that a caller hands back.
    pub(crate) fn parse(
        text: &str,
        scope: &Scope,
        conversation: &ConversationId,
    ) -> Result<Self, Failure> {
        let cursor = numbers(text).filter(|cursor| cursor.text(scope, conversation) == text);
        cursor.ok_or_else(|| {
            Failure::invalid(
                "`cursor` is none that an answer gave for this scope and conversation; hand it back \
                 as it was, or leave it out to begin anew",
            )
        })
    }

    pub(crate) fn text(self, scope: &Scope, conversation: &ConversationId) -> String {
        let Self { at, end } = self;
        // It keeps mistakes out, not attackers: whoever can call may read all of the scope.
        let sealed = json!([
            "get_messages",
            scope.as_str(),
            conversation.as_str(),
            at,
            end
        ]);
        format!("{at:x}.{end:x}.{}", short_hash(&canonical_json(&sealed)))
    }
}

fn numbers(text: &str) -> Option<Cursor> {
    let mut parts = text.split('.');
    let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
    Some(Cursor {
        at: number()?,
        end: number()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_where_it_was_given_and_nowhere_else() {
        let scope = |namespace| Scope::resolve(namespace, "main").unwrap();
        let conversation = |id| ConversationId::parse(id).unwrap();
        let (acme, main) = (scope("acme"), conversation("main"));
        let cursor = Cursor { at: 30, end: 4_000 };
        let text = cursor.text(&acme, &main);
        assert_eq!(Cursor::parse(&text, &acme, &main), Ok(cursor));
        let mut others = vec![
            String::new(),
            "1e".to_owned(),
            "1e.fa0".to_owned(),
            "1e.fa0.".to_owned(),
            text.to_uppercase(),
            format!("{text} "),
            format!("0{text}"),
            text.replacen("1e", "1d", 1),
            text.replacen("fa0", "fa1", 1),
        ];
        others.extend((0..text.len()).map(|end| text[..end].to_owned()));
        for other in others {
            assert!(Cursor::parse(&other, &acme, &main).is_err(), "{other}");
        }
        assert!(Cursor::parse(&text, &scope("other"), &main).is_err());
        assert!(Cursor::parse(&text, &acme, &conversation("other")).is_err());
    }
}
