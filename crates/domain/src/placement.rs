//! Placement of memory blocks in the messages of one model request.

use crate::Message;

/// A block to place, and the memory it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The scope hash of the memory.
    pub scope_hash: String,
    /// The delimited text.
    pub text: String,
}

/// Removes the blocks of these memories from `messages`, whatever earlier run left them. User
/// messages that are empty then stay, with no parts.
pub fn remove_blocks(messages: &mut [Message], scope_hashes: &[&str]) {
    let _ = (messages, scope_hashes);
    todo!()
}

/// Adds each block as the last part of the latest user message that holds a text part; where no
/// message does, a user message with the blocks is added at the end.
pub fn place_blocks(messages: &mut Vec<Message>, blocks: Vec<Block>) {
    let _ = (messages, blocks);
    todo!()
}
