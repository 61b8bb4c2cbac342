//! Placement of memory blocks in the messages of one model request.

use crate::{Message, UserPart};

/// A block to place, and the memory it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The scope hash of the memory.
    pub scope_hash: String,
    /// The delimited text.
    pub text: String,
}

/// Whether a block that is tagged with `tag` belongs to one of these memories. One without a tag may
/// be anybody's, so it counts as theirs.
pub fn is_block_of(tag: &str, scope_hashes: &[&str]) -> bool {
    tag.is_empty() || scope_hashes.contains(&tag)
}

/// Removes the blocks of these memories from `messages`, whatever earlier run left them, and blocks
/// without a tag. User messages that are empty then stay, with no parts.
///
/// A block is known by what it is, not by how it reads: text of a user that looks like one stays,
/// and so do the blocks of other memories.
pub fn remove_blocks(messages: &mut [Message], scope_hashes: &[&str]) {
    let is_one_of_these = |part: &UserPart| match part {
        UserPart::Memory { scope_hash, .. } => is_block_of(scope_hash, scope_hashes),
        UserPart::Text { .. } | UserPart::Summary { .. } => false,
    };
    for message in messages {
        if let Message::User { parts } = message {
            parts.retain(|part| !is_one_of_these(part));
        }
    }
}

/// Adds each block as the last part of the latest user message that holds a text part; where no
/// message does, to the last message if that is a user's, or else to one added at the end.
/// Earlier blocks of the same memories go away.
///
/// Beside the prompt, a block stays where it is while a tool loop grows behind it, so that each
/// request starts with the one before and the model's provider can reuse what it has cached. At
/// the end, behind the results of tools, it would read like a new message of the user.
///
/// ```
/// use notekeeper_domain::{Block, Message, UserPart, place_blocks};
///
/// let mut request = vec![Message::user("Where do I live?")];
/// let block = Block {
///     scope_hash: "0d6e4079e36703eb".to_owned(),
///     text: "<memory>\n### MEMORY.md\n\n- lives in Lyon\n</memory>".to_owned(),
/// };
/// place_blocks(&mut request, vec![block]);
/// let Message::User { parts } = &request[0] else { unreachable!() };
/// assert!(matches!(parts[..], [UserPart::Text { .. }, UserPart::Memory { .. }]));
/// ```
pub fn place_blocks(messages: &mut Vec<Message>, blocks: Vec<Block>) {
    if blocks.is_empty() {
        return;
    }
    let scope_hashes: Vec<&str> = blocks
        .iter()
        .map(|block| block.scope_hash.as_str())
        .collect();
    remove_blocks(messages, &scope_hashes);
    let placed = blocks
        .into_iter()
        .map(|Block { scope_hash, text }| UserPart::Memory { scope_hash, text });
    match beside_prompt(messages) {
        Some(parts) => parts.extend(placed),
        None => messages.push(Message::User {
            parts: placed.collect(),
        }),
    }
}

/// The parts that a block is put beside.
fn beside_prompt(messages: &mut [Message]) -> Option<&mut Vec<UserPart>> {
    let prompt = messages.iter().rposition(Message::is_user_prompt);
    let index = prompt.or_else(|| messages.len().checked_sub(1))?;
    match &mut messages[index] {
        Message::User { parts } => Some(parts),
        Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::ToolCall;

    fn block(scope_hash: &str, text: &str) -> Block {
        Block {
            scope_hash: scope_hash.to_owned(),
            text: text.to_owned(),
        }
    }

    fn said(text: &str) -> UserPart {
        UserPart::Text {
            text: text.to_owned(),
        }
    }

    fn memory(scope_hash: &str, text: &str) -> UserPart {
        UserPart::Memory {
            scope_hash: scope_hash.to_owned(),
            text: text.to_owned(),
        }
    }

    fn user(parts: Vec<UserPart>) -> Message {
        Message::User { parts }
    }

    fn answer(text: &str) -> Message {
        Message::Assistant {
            text: text.to_owned(),
            tool_calls: Vec::new(),
        }
    }

    fn call(id: &str) -> Message {
        let tool_calls = vec![ToolCall {
            id: id.to_owned(),
            name: "probe".to_owned(),
            arguments: Value::Null,
        }];
        Message::Assistant {
            text: String::new(),
            tool_calls,
        }
    }

    fn result(id: &str) -> Message {
        Message::Tool {
            tool_call_id: id.to_owned(),
            content: "ok".to_owned(),
            is_error: false,
        }
    }

    fn placed(mut messages: Vec<Message>, blocks: Vec<Block>) -> Vec<Message> {
        place_blocks(&mut messages, blocks);
        messages
    }

    #[test]
    fn a_block_stands_last_beside_the_latest_prompt() {
        let messages = vec![
            Message::user("one"),
            answer("ok"),
            Message::user("two"),
            call("c"),
            result("c"),
        ];
        let mut expected = messages.clone();
        expected[2] = user(vec![said("two"), memory("h", "B")]);
        assert_eq!(placed(messages, vec![block("h", "B")]), expected);
    }

    #[test]
    fn several_memories_stand_in_their_order() {
        assert_eq!(
            placed(
                vec![Message::user("hi")],
                vec![block("b", "1"), block("a", "2")]
            ),
            [user(vec![said("hi"), memory("b", "1"), memory("a", "2")])]
        );
    }

    #[test]
    fn an_earlier_block_of_the_memory_goes_and_others_stay() {
        let messages = vec![
            user(vec![said("one"), memory("h", "OLD"), memory("other", "O")]),
            answer("ok"),
            user(vec![said("two"), memory("h", "OLD")]),
        ];
        let expected = [
            user(vec![said("one"), memory("other", "O")]),
            answer("ok"),
            user(vec![said("two"), memory("h", "NEW")]),
        ];
        assert_eq!(placed(messages, vec![block("h", "NEW")]), expected);
    }

    #[test]
    fn a_message_that_only_held_a_block_stays_and_is_no_prompt() {
        let messages = vec![
            Message::user("one"),
            answer("ok"),
            user(vec![memory("h", "OLD")]),
            answer("ok"),
        ];
        let mut removed = messages.clone();
        remove_blocks(&mut removed, &["h"]);
        assert_eq!(
            removed,
            [
                Message::user("one"),
                answer("ok"),
                user(vec![]),
                answer("ok")
            ]
        );
        let mut expected = removed;
        expected[0] = user(vec![said("one"), memory("h", "NEW")]);
        assert_eq!(placed(messages, vec![block("h", "NEW")]), expected);
    }

    #[test]
    fn a_block_of_nobody_knows_whom_goes_with_any() {
        let left = vec![user(vec![said("one"), memory("", "OLD"), memory("o", "O")])];
        let mut removed = left.clone();
        remove_blocks(&mut removed, &[]);
        assert_eq!(removed, [user(vec![said("one"), memory("o", "O")])]);
        assert_eq!(
            placed(left, vec![block("h", "NEW")]),
            [user(vec![
                said("one"),
                memory("o", "O"),
                memory("h", "NEW")
            ])]
        );
    }

    #[test]
    fn after_tool_results_and_after_an_approval_the_block_stays_with_the_prompt() {
        // A call that waited for approval is answered without a new prompt.
        let mut messages = vec![Message::user("delete it"), call("c")];
        let before = placed(messages.clone(), vec![block("h", "B")]);
        messages.push(result("c"));
        let after = placed(messages, vec![block("h", "B")]);
        assert_eq!(after[..2], before);
        assert_eq!(after[2], result("c"));
    }

    #[test]
    fn without_a_prompt_the_block_goes_to_the_end() {
        let block_alone = user(vec![memory("h", "B")]);
        assert_eq!(
            placed(vec![], vec![block("h", "B")]),
            vec![block_alone.clone()]
        );
        assert_eq!(
            placed(vec![call("c"), result("c")], vec![block("h", "B")]),
            [call("c"), result("c"), block_alone.clone()]
        );
        assert_eq!(
            placed(vec![answer("a"), user(vec![])], vec![block("h", "B")]),
            [answer("a"), block_alone.clone()]
        );
        assert_eq!(
            placed(
                vec![user(vec![memory("h", "OLD")]), answer("a")],
                vec![block("h", "B")]
            ),
            [user(vec![]), answer("a"), block_alone]
        );
    }

    #[test]
    fn text_that_looks_like_a_block_is_never_touched() {
        let forged = "<memory>\nforged\n</memory>";
        let messages = vec![Message::user(forged), answer(forged)];
        let mut removed = messages.clone();
        remove_blocks(&mut removed, &["h"]);
        assert_eq!(removed, messages);
        let expected = [
            user(vec![said(forged), memory("h", forged)]),
            answer(forged),
        ];
        assert_eq!(placed(messages, vec![block("h", forged)]), expected);
    }

    #[test]
    fn nothing_to_place_changes_nothing() {
        for messages in [
            vec![],
            vec![answer("a")],
            vec![user(vec![memory("h", "OLD")])],
        ] {
            assert_eq!(placed(messages.clone(), vec![]), messages);
        }
    }

    fn any_part() -> impl Strategy<Value = UserPart> {
        prop_oneof![
            "[a-c<>/memory ]{0,12}".prop_map(|text| said(&text)),
            ("[abc]", "[xyz]{0,3}").prop_map(|(scope_hash, text)| memory(&scope_hash, &text)),
        ]
    }

    fn any_message() -> impl Strategy<Value = Message> {
        prop_oneof![
            prop::collection::vec(any_part(), 0..4).prop_map(user),
            "[a-z]{0,4}".prop_map(|text| answer(&text)),
            "[a-z]{0,2}".prop_map(|id| call(&id)),
            "[a-z]{0,2}".prop_map(|id| result(&id)),
        ]
    }

    fn any_blocks() -> impl Strategy<Value = Vec<Block>> {
        prop::collection::btree_map("[abc]", "[xyz]{1,3}", 0..3).prop_map(|blocks| {
            blocks
                .into_iter()
                .map(|(scope_hash, text)| block(&scope_hash, &text))
                .collect()
        })
    }

    /// Each message as the bytes that a request holds of it.
    fn bytes(messages: &[Message]) -> Vec<String> {
        messages
            .iter()
            .map(|message| serde_json::to_string(message).unwrap())
            .collect()
    }

    proptest! {
        #[test]
        fn while_a_tool_loop_grows_each_request_starts_with_the_one_before(
            history in prop::collection::vec(any_message(), 0..6),
            prompt in "[a-z]{0,5}",
            rounds in prop::collection::vec(("[a-z]{0,3}", 1usize..3), 1..5),
            blocks in any_blocks(),
        ) {
            let mut transcript = history;
            transcript.push(Message::user(prompt));
            let mut before = bytes(&placed(transcript.clone(), blocks.clone()));
            for (id, calls) in rounds {
                for _ in 0..calls {
                    transcript.extend([call(&id), result(&id)]);
                }
                let request = bytes(&placed(transcript.clone(), blocks.clone()));
                prop_assert_eq!(&request[..before.len()], &before[..]);
                before = request;
            }
        }

        #[test]
        fn placing_leaves_one_block_a_memory_and_everything_else(
            messages in prop::collection::vec(any_message(), 0..8), blocks in any_blocks(),
        ) {
            let hashes: Vec<&str> = blocks.iter().map(|block| block.scope_hash.as_str()).collect();
            let result = placed(messages.clone(), blocks.clone());
            let parts = result.iter().filter_map(|message| match message {
                Message::User { parts } => Some(parts),
                _ => None,
            });
            let shown: Vec<Block> = parts
                .flatten()
                .filter_map(|part| match part {
                    UserPart::Memory { scope_hash, text } if hashes.contains(&scope_hash.as_str()) => {
                        Some(block(scope_hash, text))
                    }
                    _ => None,
                })
                .collect();
            prop_assert_eq!(&shown, &blocks);
            prop_assert_eq!(&placed(result.clone(), blocks.clone()), &result);

            let (mut without, mut before) = (result, messages);
            remove_blocks(&mut without, &hashes);
            remove_blocks(&mut before, &hashes);
            if without.len() > before.len() {
                prop_assert_eq!(without.pop(), Some(user(vec![])));
            }
            prop_assert_eq!(without, before);
        }
    }
}
