//! Replies by message id, so that a message sent again is answered once.

use super::Reply;

/// Most bytes of replies that continue-as-new hands over, as JSON. Beside the rest of the input (256 KiB)
/// and what else a run carries, a transcript that no store keeps or an exchange that isn't stored yet
/// (512 KiB), with its reply again, they leave the next run's input below Temporal's 2 MiB payload limit.
/// What grounds the conversation comes on top (128 KiB), and the text of a summary, which is as long as its
/// policy allows.
const HANDED_OVER_BYTES_MAX: usize = 256 * 1024;

/// The replies to messages with an id, oldest first. One run's fit its history, so they fit here.
#[derive(Debug, Default)]
pub(super) struct Answered {
    replies: Vec<(String, Reply)>,
}

impl Answered {
    pub(super) fn resume(replies: Vec<(String, Reply)>) -> Self {
        Self { replies }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Reply> {
        let mut known = self.replies.iter().rev();
        known.find(|(known, _)| known == id).map(|(_, reply)| reply)
    }

    pub(super) fn keep(&mut self, id: String, reply: Reply) {
        self.replies.push((id, reply));
    }

    /// The newest replies that fit, oldest first.
    pub(super) fn handed_over(&self) -> Vec<(String, Reply)> {
        let mut left = HANDED_OVER_BYTES_MAX;
        let mut newest: Vec<_> = self
            .replies
            .iter()
            .rev()
            .take_while(|entry| {
                let bytes = serde_json::to_vec(entry).map_or(usize::MAX, |json| json.len() + 1);
                left.checked_sub(bytes).map(|rest| left = rest).is_some()
            })
            .cloned()
            .collect();
        newest.reverse();
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Reply {
        Reply {
            text: text.to_owned(),
            ..Reply::default()
        }
    }

    #[test]
    fn the_newest_replies_are_handed_over_as_far_as_they_fit() {
        let mut answered = Answered::default();
        // Six bytes of JSON each.
        let control = "\u{1}".repeat(HANDED_OVER_BYTES_MAX / 6 / 4);
        for id in 0..8 {
            answered.keep(id.to_string(), reply(&control));
        }
        let handed_over = answered.handed_over();
        let ids: Vec<_> = handed_over.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["5", "6", "7"]);
        let json = serde_json::to_vec(&handed_over).expect("JSON");
        assert!(json.len() <= HANDED_OVER_BYTES_MAX + 2);
        assert!(answered.get("0").is_some(), "the run itself forgets none");
    }

    #[test]
    fn a_reply_over_the_bound_hands_nothing_over() {
        let mut answered = Answered::default();
        answered.keep("a".to_owned(), reply("x"));
        answered.keep("b".to_owned(), reply(&"x".repeat(HANDED_OVER_BYTES_MAX)));
        assert_eq!(answered.handed_over(), []);
    }
}
