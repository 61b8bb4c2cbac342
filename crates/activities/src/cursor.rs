//! Where to go on in a list that is given in several answers.

use notekeeper_contract::DEFAULT_STORE;
use notekeeper_domain::{ConversationId, Scope, canonical_json, short_hash};
use serde_json::{Value, json};

use crate::Failure;

/// The messages of a conversation that are still to be given. As text it is opaque to callers; it
/// holds for one [`Transcript`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Position of the first of them.
    pub(crate) at: u64,
    /// Position after the last of them.
    pub(crate) end: u64,
}

/// A conversation where it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transcript<'a> {
    /// Name of the store.
    pub(crate) store: &'a str,
    pub(crate) scope: &'a Scope,
    pub(crate) conversation: &'a ConversationId,
}

impl Cursor {
    /// The cursor that a caller hands back.
    pub(crate) fn parse(text: &str, of: Transcript<'_>) -> Result<Self, Failure> {
        let cursor = numbers(text).filter(|cursor| cursor.text(of) == text);
        cursor.ok_or_else(|| {
            Failure::invalid(
                "`cursor` is none that an answer gave for this store, scope and conversation; hand it \
                 back as it was, or leave it out to begin anew",
            )
        })
    }

    pub(crate) fn text(self, of: Transcript<'_>) -> String {
        let Self { at, end } = self;
        // It keeps mistakes out, not attackers: whoever can call may read all of the scope.
        let mut sealed = vec![
            json!("get_messages"),
            json!(of.scope.as_str()),
            json!(of.conversation.as_str()),
            json!(at),
            json!(end),
        ];
        // Left out where it is the default one, so that cursors from before there was a store in them hold.
        if of.store != DEFAULT_STORE {
            sealed.push(json!(of.store));
        }
        let seal = short_hash(&canonical_json(&Value::Array(sealed)));
        format!("{at:x}.{end:x}.{seal}")
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
        let of = Transcript {
            store: DEFAULT_STORE,
            scope: &acme,
            conversation: &main,
        };
        let cursor = Cursor { at: 30, end: 4_000 };
        let text = cursor.text(of);
        assert_eq!(Cursor::parse(&text, of), Ok(cursor));
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
            assert!(Cursor::parse(&other, of).is_err(), "{other}");
        }
        let (other_scope, other_conversation) = (scope("other"), conversation("other"));
        let archive = Transcript {
            store: "archive",
            ..of
        };
        for elsewhere in [
            archive,
            Transcript {
                scope: &other_scope,
                ..of
            },
            Transcript {
                conversation: &other_conversation,
                ..of
            },
        ] {
            assert!(Cursor::parse(&text, elsewhere).is_err(), "{elsewhere:?}");
            let theirs = cursor.text(elsewhere);
            assert_eq!(Cursor::parse(&theirs, elsewhere), Ok(cursor));
            assert!(Cursor::parse(&theirs, of).is_err(), "{elsewhere:?}");
        }
    }

    #[test]
    fn a_cursor_of_the_default_store_is_the_one_that_versions_before_gave() {
        let scope = Scope::resolve("acme", "main").unwrap();
        let of = Transcript {
            store: DEFAULT_STORE,
            scope: &scope,
            conversation: &ConversationId::parse("main").unwrap(),
        };
        let sealed = json!(["get_messages", scope.as_str(), "main", 30, 4_000]);
        let before = format!("1e.fa0.{}", short_hash(&canonical_json(&sealed)));
        assert_eq!(Cursor { at: 30, end: 4_000 }.text(of), before);
    }
}
