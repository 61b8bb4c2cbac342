//! History policies as they are configured.

use serde::{Deserialize, Serialize};

use crate::{REQUEST_MESSAGES_MAX, text::is_blank};

/// Most policies of a list. Each thing that one can do is in three.
const POLICIES_MAX: usize = 8;

/// Largest number of messages or turns in a policy: with more, requests would be refused before it
/// does anything.
const MESSAGES_MAX: u64 = REQUEST_MESSAGES_MAX as u64;

/// Largest number of tokens in a policy: as much as a request names, and more than models read.
const TOKENS_MAX: u64 = 2_000_000;

/// Smallest threshold of a summary, so that a quarter of it is something.
const OVER_MIN: u64 = 4;

/// Messages that a summary leaves as they are, where its policy doesn't say.
const KEEP_MESSAGES_DEFAULT: u64 = 20;

/// Tokens of a summary, where its policy doesn't say.
const SUMMARY_TOKENS_DEFAULT: u64 = 500;

/// Longest instructions for a summary, in characters.
const INSTRUCTIONS_CHARS_MAX: usize = 4_000;

/// Longest name of a model, in bytes.
const MODEL_BYTES_MAX: usize = 200;

/// What a summary's threshold is divided by for the least that one covers, and the most that it may
/// hold itself. A summary leaves at most the other parts.
pub(super) const WORTH: u64 = 4;

/// One rule about what of a conversation is sent to the model. Rules are applied in the order of
/// their list, each to what the one before it left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryPolicy {
    /// The latest messages or turns.
    Window(WindowPolicy),
    /// As many of the latest messages as fit a budget.
    Tokens(TokensPolicy),
    /// A summary in place of what is older.
    Summary(SummaryPolicy),
}

/// Sends the latest messages, or the latest turns. Exactly one of the two is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowPolicy {
    /// At most so many messages: 1 to 20,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// At most so many turns, from a prompt to the next: 1 to 20,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// Sends the latest messages that fit a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokensPolicy {
    /// At most so many tokens of four characters, the summary among them: 1 to 2,000,000.
    pub max_tokens: u64,
}

/// Has a model summarise what is older, once the messages that no summary covers are over a
/// threshold. At least one of the two thresholds is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryPolicy {
    /// Summarise when there are more tokens: 4 to 2,000,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_tokens: Option<u64>,
    /// Summarise when there are more messages: 4 to 20,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_messages: Option<u64>,
    /// The latest messages that stay as they are, at most half of `over_messages`; 20, or half of
    /// `over_messages` where that is less. Fewer stay where so many hold more than three
    /// quarters of `over_tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_messages: Option<u64>,
    /// Most tokens of the summary, at most a quarter of `over_tokens`; 500, or that quarter where it
    /// is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Name of the model that summarises; the conversation's own where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What to keep in mind while summarising: 1 to 4,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// Why policies can't be used: the place, and what goes there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at `{place}`: {reason}")]
pub struct InvalidHistory {
    /// Where, such as `history[1].summary.keep_messages`.
    pub place: String,
    /// What is expected there.
    pub reason: String,
}

/// Checks a list of policies.
///
/// # Errors
///
/// [`InvalidHistory`] for the first thing that is wrong.
pub fn check_policies(policies: &[HistoryPolicy]) -> Result<(), InvalidHistory> {
    if policies.len() > POLICIES_MAX {
        let reason = format!("at most {POLICIES_MAX} policies make a list");
        return Err(InvalidHistory {
            place: "history".to_owned(),
            reason,
        });
    }
    let mut summaries = 0;
    for (index, policy) in policies.iter().enumerate() {
        let checked = match policy {
            HistoryPolicy::Window(window) => window.check(),
            HistoryPolicy::Tokens(tokens) => tokens.check(),
            HistoryPolicy::Summary(summary) => {
                summaries += 1;
                match summaries {
                    1 => summary.check(),
                    _ => fault("", "a list has one summary; take the others out".to_owned()),
                }
            }
        };
        checked.map_err(|(field, reason)| InvalidHistory {
            place: format!("history[{index}].{}{field}", policy.name()),
            reason,
        })?;
    }
    Ok(())
}

/// A field, with a dot before it, and what is expected of it.
type Fault = (&'static str, String);

fn fault(field: &'static str, reason: String) -> Result<(), Fault> {
    Err((field, reason))
}

fn within(
    field: &'static str,
    given: Option<u64>,
    bounds: std::ops::RangeInclusive<u64>,
) -> Result<(), Fault> {
    match given {
        Some(given) if !bounds.contains(&given) => {
            let (low, high) = bounds.into_inner();
            fault(field, format!("expected {low} to {high}"))
        }
        _ => Ok(()),
    }
}

impl HistoryPolicy {
    fn name(&self) -> &'static str {
        match self {
            Self::Window(_) => "window",
            Self::Tokens(_) => "tokens",
            Self::Summary(_) => "summary",
        }
    }
}

impl WindowPolicy {
    fn check(&self) -> Result<(), Fault> {
        if self.messages.is_some() == self.turns.is_some() {
            return fault("", "give either `messages` or `turns`".to_owned());
        }
        within(".messages", self.messages, 1..=MESSAGES_MAX)?;
        within(".turns", self.turns, 1..=MESSAGES_MAX)
    }
}

impl TokensPolicy {
    fn check(&self) -> Result<(), Fault> {
        within(".max_tokens", Some(self.max_tokens), 1..=TOKENS_MAX)
    }
}

impl SummaryPolicy {
    /// The latest messages that stay as they are.
    pub fn keep_messages(&self) -> u64 {
        let half = self.over_messages.map_or(u64::MAX, |over| over / 2);
        self.keep_messages
            .unwrap_or(KEEP_MESSAGES_DEFAULT.min(half))
    }

    /// Most tokens of the summary.
    pub fn max_tokens(&self) -> u64 {
        self.max_tokens
            .unwrap_or(SUMMARY_TOKENS_DEFAULT.min(self.most_tokens()))
    }

    fn most_tokens(&self) -> u64 {
        self.over_tokens.map_or(TOKENS_MAX, |over| over / WORTH)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.over_tokens.is_none() && self.over_messages.is_none() {
            return fault("", "give `over_tokens` or `over_messages`".to_owned());
        }
        within(".over_tokens", self.over_tokens, OVER_MIN..=TOKENS_MAX)?;
        within(
            ".over_messages",
            self.over_messages,
            OVER_MIN..=MESSAGES_MAX,
        )?;
        within(".keep_messages", self.keep_messages, 0..=MESSAGES_MAX)?;
        within(".max_tokens", self.max_tokens, 1..=TOKENS_MAX)?;
        if let Some(over) = self
            .over_messages
            .filter(|over| self.keep_messages() > over / 2)
        {
            let most = over / 2;
            return fault(
                ".keep_messages",
                format!(
                    "expected at most {most}, half of `over_messages`; with more, summaries would follow one another too soon"
                ),
            );
        }
        if self.max_tokens() > self.most_tokens() {
            let most = self.most_tokens();
            return fault(
                ".max_tokens",
                format!(
                    "expected at most {most}, a quarter of `over_tokens`; a longer summary would save nothing"
                ),
            );
        }
        self.check_texts()
    }

    fn check_texts(&self) -> Result<(), Fault> {
        let model = self.model.as_deref();
        if model.is_some_and(|name| is_blank(name) || name.len() > MODEL_BYTES_MAX) {
            return fault(
                ".model",
                format!("expected a name of 1 to {MODEL_BYTES_MAX} bytes"),
            );
        }
        let fits = |text: &str| {
            !is_blank(text)
                && !text.contains('\0')
                && text.chars().count() <= INSTRUCTIONS_CHARS_MAX
        };
        if self.instructions.as_deref().is_some_and(|text| !fits(text)) {
            return fault(
                ".instructions",
                format!(
                    "expected 1 to {INSTRUCTIONS_CHARS_MAX} characters, not blank, without NUL"
                ),
            );
        }
        Ok(())
    }
}
