//! `summarize_messages`: a model's summary of a part of a conversation.

use notekeeper_contract::{
    ConversationRange, ConversationSummary, FailureType, SummarizeMessagesInput,
    SummarizeMessagesOutput,
};
use notekeeper_domain::{
    Message, fit_summary, is_blank, snapshot_digest, summary_request, whole_exchanges,
};
use notekeeper_models::ChatRequest;

use crate::{Failure, ModelRequests, bounds, encoded::check_encoded, fault, kept_text::keep_text};

impl ModelRequests {
    /// Asks a model for a summary. Of a stored conversation it is kept beside the transcript, where
    /// that can be done, and the answer says so. `attempt` counts the attempts from 1.
    ///
    /// # Errors
    ///
    /// A [`Failure`]: `InvalidArgument` where there is nothing to summarise, for one because it was
    /// cleared; `ModelRefused` for an answer without a word; and those of [`ModelRequests::call`].
    pub async fn summarize(
        &self,
        input: SummarizeMessagesInput,
        attempt: u32,
    ) -> Result<SummarizeMessagesOutput, Failure> {
        let model = self.models.get(&input.model)?;
        let max_tokens = bounds::at_least_one("max_tokens", input.max_tokens)?;
        let (previous, mut messages) = match &input.conversation {
            Some(range) => self.stored(range, input.previous.as_ref()).await?,
            None => (carried(input.previous)?, Vec::new()),
        };
        messages.extend(input.messages.into_iter().map(Message::from));
        if messages.is_empty() {
            return Err(Failure::invalid(
                "there are no messages to summarise; those of `conversation` were cleared, or there \
                 never were any",
            ));
        }
        let asked = summary_request(
            previous.as_deref(),
            &whole_exchanges(messages),
            input.instructions.as_deref(),
            max_tokens,
        );
        let request = ChatRequest {
            instructions: asked.instructions,
            messages: vec![Message::user(asked.text)],
            tools: Vec::new(),
            attempt,
        };
        fault::reach(fault::SUMMARY_BEFORE_REQUEST)?;
        let response = model.respond(&request).await?;
        let text = fit_summary(&response.text, max_tokens);
        if is_blank(&text) {
            return Err(Failure::new(
                FailureType::ModelRefused,
                "model refused: its summary is empty",
            ));
        }
        self.answer(input.conversation, text).await
    }

    async fn stored(
        &self,
        range: &ConversationRange,
        previous: Option<&ConversationSummary>,
    ) -> Result<(Option<String>, Vec<Message>), Failure> {
        if previous.is_some() {
            return Err(Failure::invalid(
                "`previous` is for conversations that aren't stored; give `conversation.summary`",
            ));
        }
        let range = self.stored_range(range).await?;
        Ok((range.summary, range.messages))
    }

    async fn answer(
        &self,
        conversation: Option<ConversationRange>,
        text: String,
    ) -> Result<SummarizeMessagesOutput, Failure> {
        let digest = snapshot_digest(&text);
        let mut output = SummarizeMessagesOutput {
            text,
            digest,
            kept: false,
        };
        check_encoded(&output, "the summary", "lower `max_tokens`")?;
        if let Some(range) = conversation {
            let at = self.stores.get(&range.store, range.workspace.as_deref())?;
            let scope = range.scope.resolve()?;
            output.kept = keep_text(&at, &scope, &output.digest, &output.text).await;
        }
        Ok(output)
    }
}

/// The summary of a conversation that isn't stored.
fn carried(previous: Option<ConversationSummary>) -> Result<Option<String>, Failure> {
    match previous {
        None => Ok(None),
        Some(ConversationSummary::Inline { text }) => Ok(Some(text)),
        Some(ConversationSummary::Reference { .. }) => Err(Failure::invalid(
            "`previous` of a conversation that isn't stored must be `inline`",
        )),
    }
}
