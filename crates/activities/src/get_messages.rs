//! `get_messages`: the transcript of a conversation, in as many answers as it takes.

use notekeeper_contract::{
    GetMessagesInput, GetMessagesOutput, MessageForm, OutlinedMessage, RESULT_BYTES_MAX,
};
use notekeeper_domain::{MESSAGE_BYTES_MAX, StoredMessage, outline};
use notekeeper_store::{MessageSelection, TranscriptPart};
use serde_json::Value;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook, StoreAt,
    cursor::{Cursor, Transcript},
    encoded::encoded_bytes,
    span::{operation_span, record_count, record_stop},
    transcripts::{LAST_POSITION, check_keeps_transcripts, conversation_id, transcripts},
};

/// Bytes of an answer that messages don't take: names of fields, three positions, a cursor.
const FRAME_BYTES: usize = 512;

/// Bytes that the messages of an answer may take. One always fits: the outline of a message is
/// hardly longer than the message.
const PAGE_BYTES: usize = RESULT_BYTES_MAX - FRAME_BYTES;
const _: () = assert!(PAGE_BYTES > MESSAGE_BYTES_MAX + FRAME_BYTES);

/// Messages that are read for one answer of outlines, in bytes of their JSON, and at once.
const OUTLINED_BYTES_MAX: usize = 16 * 1024 * 1024;
const READ_BYTES: usize = 4 * 1024 * 1024;

impl Notebook {
    /// The messages of a conversation, ascending, or their outlines. What one result can't carry is
    /// left for the call that hands the cursor back.
    ///
    /// # Errors
    ///
    /// As [`Notebook::add_messages`]; `InvalidArgument` also where the conversation was cleared since
    /// the answer that gave the cursor.
    pub async fn get_messages(
        &self,
        input: GetMessagesInput,
    ) -> Result<GetMessagesOutput, Failure> {
        let at = self.stores.get(&input.store, input.workspace.as_deref())?;
        check_keeps_transcripts(&at)?;
        let conversation = conversation_id("conversation", &input.conversation)?;
        let scope = input.scope.resolve()?;
        let cursor = input.cursor.as_deref();
        let of = Transcript {
            store: &input.store,
            scope: &scope,
            conversation: &conversation,
        };
        let cursor = cursor.map(|text| Cursor::parse(text, of));
        let wanted = Wanted {
            limit: input.limit,
            from: input.from,
            cursor: cursor.transpose()?,
            form: input.form,
        };

        let span = operation_span!(
            "memory.get_messages",
            self,
            at,
            scope,
            memory.messages = Empty,
            memory.truncated = Empty,
        );
        let output = wanted
            .answer(&at, of)
            .instrument(span.clone())
            .await
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        span.record("memory.outcome", "ok");
        let count = output.messages.len() + output.outlines.len();
        record_count(&span, "memory.messages", count);
        span.record("memory.truncated", output.cursor.is_some());
        Ok(output)
    }
}

/// What a caller wants to see of a conversation.
struct Wanted {
    limit: Option<u64>,
    from: Option<u64>,
    cursor: Option<Cursor>,
    form: MessageForm,
}

impl Wanted {
    async fn answer(
        &self,
        at: &StoreAt<'_>,
        of: Transcript<'_>,
    ) -> Result<GetMessagesOutput, Failure> {
        let store = at.open().await?;
        let transcripts = transcripts(at, store.as_ref())?;
        let read = async |selection, bytes_max| {
            transcripts
                .messages(of.scope, of.conversation, selection, bytes_max)
                .await
        };
        let selection = match (self.cursor, self.limit, self.from) {
            (Some(Cursor { at, end }), _, _) => MessageSelection::Range(at, end),
            (None, None, None) => MessageSelection::All,
            (None, Some(limit), None) => MessageSelection::Newest(limit.min(LAST_POSITION)),
            (None, None, Some(from)) => {
                MessageSelection::Range(from.min(LAST_POSITION), LAST_POSITION)
            }
            (None, Some(limit), Some(from)) => {
                let next = read(MessageSelection::Newest(0), 0).await?.bounds.next;
                MessageSelection::Range(next.saturating_sub(limit).max(from).min(next), next)
            }
        };
        // Where the messages end of which these are the last: what comes after that was added later.
        let seen_end = match selection {
            MessageSelection::Range(_, end) if end < LAST_POSITION => Some(end),
            _ => None,
        };
        let mut page = Page::new(self.form);
        let part = read(selection, page.read_bytes()).await?;
        let first = part.bounds.first;
        if self.cursor.is_some_and(|cursor| cursor.at < first) {
            return Err(Failure::invalid(
                "the conversation was cleared since the answer that gave `cursor`; leave it out to \
                 begin anew",
            ));
        }
        // Later reads and answers go up to where the first one saw the end.
        let end = seen_end.unwrap_or(part.bounds.next);
        let oldest = part.bounds.first.min(end);
        let mut more = page.take(part);
        while more && !page.is_full {
            let rest = MessageSelection::Range(page.next, end);
            let rest = read(rest, page.read_bytes()).await?;
            if rest.messages.is_empty() || rest.first != page.next {
                // The conversation was cleared since the last read, which the call that goes on says.
                break;
            }
            more = page.take(rest);
        }
        let cursor = more.then_some(Cursor { at: page.next, end });
        Ok(GetMessagesOutput {
            first: if page.is_empty() { end } else { page.first },
            messages: page.messages,
            outlines: page.outlines,
            next: end,
            oldest,
            cursor: cursor.map(|cursor| cursor.text(of)),
        })
    }
}

/// The messages of one answer, or their outlines.
struct Page {
    form: MessageForm,
    messages: Vec<Value>,
    outlines: Vec<OutlinedMessage>,
    /// Position of the first of them.
    first: u64,
    /// Position after the last of them.
    next: u64,
    /// What may still stand in the answer.
    bytes_left: usize,
    /// What may still be read for it.
    read_bytes_left: usize,
    is_full: bool,
}

impl Page {
    fn new(form: MessageForm) -> Self {
        Self {
            form,
            messages: Vec::new(),
            outlines: Vec::new(),
            first: 0,
            next: 0,
            bytes_left: PAGE_BYTES,
            read_bytes_left: OUTLINED_BYTES_MAX,
            is_full: false,
        }
    }

    /// What to read for it at once.
    fn read_bytes(&self) -> usize {
        match self.form {
            MessageForm::Whole => PAGE_BYTES,
            MessageForm::Outline => READ_BYTES,
        }
    }

    fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// Takes in as many messages as it has room for. Answers whether there are more.
    fn take(&mut self, part: TranscriptPart) -> bool {
        if self.is_empty() {
            (self.first, self.next) = (part.first, part.first);
        }
        // A whole answer is read at once.
        self.is_full = self.form == MessageForm::Whole;
        for message in part.messages {
            let read_bytes = message.as_json().len();
            self.read_bytes_left = self.read_bytes_left.saturating_sub(read_bytes);
            if !self.put(message) {
                self.is_full = true;
                return true;
            }
        }
        self.is_full |= self.read_bytes_left == 0;
        part.more
    }

    /// Takes in one message; `false` where there is no room.
    fn put(&mut self, message: StoredMessage) -> bool {
        let outlined = match self.form {
            MessageForm::Whole => None,
            MessageForm::Outline => Some(outlined(self.next, &message)),
        };
        let bytes = match &outlined {
            None => message.as_json().len(),
            Some(outlined) => encoded_bytes(outlined),
        };
        // One more for the comma.
        let Some(bytes_left) = self.bytes_left.checked_sub(bytes + 1) else {
            return false;
        };
        match outlined {
            None => self.messages.push(message.into_value()),
            Some(outlined) => self.outlines.push(outlined),
        }
        self.bytes_left = bytes_left;
        self.next += 1;
        true
    }
}

fn outlined(position: u64, message: &StoredMessage) -> OutlinedMessage {
    let outline = outline(position, message);
    OutlinedMessage {
        role: outline.role,
        tokens: outline.tokens,
        prompt: outline.prompt,
        calls: outline.calls,
        results: outline.results,
    }
}
