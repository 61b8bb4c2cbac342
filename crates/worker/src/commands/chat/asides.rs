//! What there is to know of a reply beside its text.

use notekeeper_contract::ChatMessage;
use notekeeper_workflows::Reply;

use super::{conversation::Conversation, screen::Screen};

/// Shows which tools were called for a reply, and what it had to do without.
pub(super) async fn show(conversation: &Conversation, screen: Screen, reply: &Reply) {
    if reply.requests > 1
        && let Ok(messages) = conversation.transcript().await
    {
        let prompt = |message: &ChatMessage| matches!(message, ChatMessage::User { .. });
        let start = messages.iter().rposition(prompt).unwrap_or_default();
        screen.tools(&messages[start..]);
    }
    for line in missed(reply) {
        screen.remark(&line);
    }
}

/// What a reply had to do without.
fn missed(reply: &Reply) -> Vec<String> {
    let anew = reply.begun_anew.then(|| {
        "what was said before isn't in its store any more, so the conversation begins anew with this message"
            .to_owned()
    });
    let memory = reply.skipped.last().map(|skip| {
        let error = &skip.error_type;
        format!("answered without memory, whose store failed: {error}")
    });
    let summary = reply.summary_skipped.as_ref().map(|error| {
        format!("answered without a new summary of what is older, which couldn't be made: {error}")
    });
    let grounding = reply.grounding_skipped.as_ref().map(|error| {
        format!("answered without what grounds the conversation, whose source failed: {error}")
    });
    let unheard = (!reply.grounding_partial.is_empty()).then(|| {
        let unheard = reply.grounding_partial.join(", ");
        format!("answered without what these sources know, which weren't heard: {unheard}")
    });
    let lines = [anew, memory, summary, grounding, unheard];
    lines.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use notekeeper_workflows::MemorySkip;

    use super::*;

    #[test]
    fn each_thing_that_a_reply_had_to_do_without_has_a_line() {
        assert_eq!(missed(&Reply::default()), [""; 0]);
        let skip = MemorySkip {
            request: 1,
            memory: 0,
            error_type: "Unavailable".to_owned(),
        };
        let reply = Reply {
            skipped: vec![skip.clone(), skip],
            summary_skipped: Some("ModelRefused".to_owned()),
            grounding_skipped: Some("Unsupported".to_owned()),
            grounding_partial: vec!["a".to_owned(), "b".to_owned()],
            begun_anew: true,
            ..Reply::default()
        };
        let told = missed(&reply);
        let parts = [
            "isn't in its store any more",
            "without memory, whose store failed: Unavailable",
            "without a new summary of what is older, which couldn't be made: ModelRefused",
            "whose source failed: Unsupported",
            "weren't heard: a, b",
        ];
        assert_eq!(told.len(), parts.len(), "{told:?}");
        for (line, part) in told.iter().zip(parts) {
            assert!(line.contains(part), "{line}");
        }
    }
}
