//! Replies by message id, so that a message sent again is answered once.

use std::collections::VecDeque;

use super::Reply;

/// Replies kept. At 4 KiB a reply this is what continue-as-new can carry beside a full
/// transcript: 64 × 4 KiB = 256 KiB.
const REPLIES_MAX: usize = 64;

/// Longest reply kept, in bytes of text. A longer one is not remembered.
const REPLY_BYTES_MAX: usize = 4 * 1024;

/// The latest replies to messages with an id.
#[derive(Debug, Default)]
pub(super) struct Answered {
    replies: VecDeque<(String, Reply)>,
}

impl Answered {
    pub(super) fn resume(replies: Vec<(String, Reply)>) -> Self {
        Self {
            replies: replies.into(),
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Reply> {
        self.replies
            .iter()
            .find(|(known, _)| known == id)
            .map(|(_, reply)| reply)
    }

    pub(super) fn keep(&mut self, id: String, reply: Reply) {
        if reply.text.len() > REPLY_BYTES_MAX {
            return;
        }
        if self.replies.len() == REPLIES_MAX {
            self.replies.pop_front();
        }
        self.replies.push_back((id, reply));
    }

    pub(super) fn to_vec(&self) -> Vec<(String, Reply)> {
        self.replies.iter().cloned().collect()
    }
}
