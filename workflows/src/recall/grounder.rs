//! Grounding: what a source finds for a question, as text for the model's instructions.

use std::{cell::RefCell, rc::Rc};

use notekeeper_domain::{
    CHARS_PER_TOKEN, GROUNDING_HEADER, GROUNDING_TOKENS_DEFAULT, GROUNDING_TOKENS_MAX,
    GroundingStyle, InvalidItemFormat, Item, ItemFormat, RenderedItems, Where,
};
use serde::{Deserialize, Serialize};
use temporalio_workflow::WorkflowContext;

use super::{
    Found, Recall,
    settings::{check_condition, check_k},
};
use crate::{CallFailure, OpenError};

/// Longest header, in characters.
const HEADER_CHARS_MAX: usize = 1_000;

/// How a source grounds a conversation.
#[derive(Debug, Clone)]
pub struct Grounding {
    /// Most items, 1 to 100; what the handle's settings say where there is none.
    pub k: Option<usize>,
    /// What the metadata of the items must be; what the handle's settings say where there is none.
    pub condition: Option<Where>,
    /// How items become text.
    pub format: GroundingFormat,
    /// The line over the items, at most 1,000 characters; none where it is empty.
    pub header: String,
    /// Most that the text may have, header included, in tokens of four characters, 1 to 16,000.
    pub max_tokens: usize,
    /// Whether each turn asks anew. Otherwise the text stays for which every source was heard first.
    pub reground_every_turn: bool,
}

impl Default for Grounding {
    fn default() -> Self {
        Self {
            k: None,
            condition: None,
            format: GroundingFormat::default(),
            header: GROUNDING_HEADER.to_owned(),
            max_tokens: GROUNDING_TOKENS_DEFAULT,
            reground_every_turn: false,
        }
    }
}

impl Grounding {
    /// Names the first setting that is out of bounds.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(k) = self.k {
            check_k("k", k)?;
        }
        if let Some(condition) = &self.condition {
            check_condition("where", condition)?;
        }
        if self.header.contains('\0') || self.header.chars().count() > HEADER_CHARS_MAX {
            return Err(format!(
                "`header` must have at most {HEADER_CHARS_MAX} characters, none of them NUL"
            ));
        }
        match (1..=GROUNDING_TOKENS_MAX).contains(&self.max_tokens) {
            true => Ok(()),
            false => Err(format!("`max_tokens` must be 1 to {GROUNDING_TOKENS_MAX}")),
        }
    }

    fn chars_max(&self) -> usize {
        self.max_tokens.saturating_mul(CHARS_PER_TOKEN)
    }

    /// Most characters of all contents together that are of use: one more than fits, so that what was cut there
    /// is seen not to fit. What code makes of contents, or a format that names none, may be shorter.
    pub(super) fn contents_chars_max(&self) -> Option<usize> {
        match &self.format {
            GroundingFormat::Each(format) if format.names_content() => Some(self.chars_max() + 1),
            GroundingFormat::Each(_) | GroundingFormat::All(_) => None,
        }
    }

    fn render(&self, items: &[Item], omitted: usize) -> RenderedItems {
        let style = GroundingStyle {
            header: self.header.clone(),
            format: match &self.format {
                GroundingFormat::Each(format) => format.clone(),
                GroundingFormat::All(_) => ItemFormat::default(),
            },
            chars_max: self.chars_max(),
        };
        match &self.format {
            GroundingFormat::Each(_) => style.render(items, omitted),
            GroundingFormat::All(_) if items.is_empty() => RenderedItems::default(),
            GroundingFormat::All(write) => style.frame(&write(items), items.len(), omitted),
        }
    }
}

/// Code that makes a text of items.
type WriteItems = dyn Fn(&[Item]) -> String;

/// How items become text.
#[derive(Clone)]
pub enum GroundingFormat {
    /// Each in the same form, one after the other.
    Each(ItemFormat),
    /// All at once, by code. It must depend on nothing but the items.
    All(Rc<WriteItems>),
}

impl GroundingFormat {
    /// Each item by a template, such as `- {content} ({source})`; see
    /// [`ItemFormat`](notekeeper_domain::ItemFormat).
    ///
    /// # Errors
    ///
    /// [`InvalidItemFormat`] says what to change.
    pub fn template(text: &str) -> Result<Self, InvalidItemFormat> {
        ItemFormat::parse(text).map(Self::Each)
    }

    /// All items by code, which must depend on nothing but them.
    pub fn code(write: impl Fn(&[Item]) -> String + 'static) -> Self {
        Self::All(Rc::new(write))
    }
}

impl Default for GroundingFormat {
    /// `[{source}] {content}`, one line an item.
    fn default() -> Self {
        Self::Each(ItemFormat::default())
    }
}

impl std::fmt::Debug for GroundingFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Each(format) => f.debug_tuple("Each").field(format).finish(),
            Self::All(_) => f.write_str("All(code)"),
        }
    }
}

/// What a source found for a question, as text for the model's instructions. A run that continues as new
/// hands it over as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounded {
    /// The text; empty where nothing was found.
    pub text: String,
    /// How many items stand in it.
    #[serde(default)]
    pub items: usize,
    /// How many were found and left out for their size.
    #[serde(default)]
    pub left_out: usize,
    /// Names of sources of a composition that weren't ready in time, or failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<String>,
}

impl Grounded {
    /// Whether every source was heard. What is left out for its size is no part that is missing: it
    /// would be left out again.
    pub fn is_whole(&self) -> bool {
        self.unheard.is_empty()
    }

    pub(super) fn new(grounding: &Grounding, found: &Found) -> Self {
        let rendered = grounding.render(&found.items, found.omitted);
        Self {
            left_out: found.items.len() - rendered.shown + found.omitted,
            text: rendered.text,
            items: rendered.shown,
            unheard: found.unheard(),
        }
    }
}

/// Grounds a conversation: asks its source once, or once for each turn, and holds what it said. Clones are
/// the same grounder.
#[derive(Debug, Clone)]
pub struct Grounder {
    recall: Recall,
    grounding: Rc<Grounding>,
    held: Rc<RefCell<Option<Grounded>>>,
}

impl Recall {
    /// The source as what grounds a conversation.
    ///
    /// # Errors
    ///
    /// [`OpenError::Source`] names the setting that is out of bounds.
    pub fn as_grounder(&self, grounding: Grounding) -> Result<Grounder, OpenError> {
        grounding.check().map_err(OpenError::Source)?;
        Ok(Grounder {
            recall: self.clone(),
            grounding: Rc::new(grounding),
            held: Rc::default(),
        })
    }
}

impl Grounder {
    /// The text for a turn that begins with this question. Call it once for each turn, before the first
    /// model request, and put the text into the instructions of all requests of the turn.
    ///
    /// The first whole answer stays, also an empty one: later calls give it back and schedule nothing, so that
    /// what stands before the conversation doesn't change. One for which some sources of a composition weren't
    /// heard is for its turn alone, and the next call asks anew. With
    /// [`reground_every_turn`](Grounding::reground_every_turn) each call does. A call that failed leaves
    /// nothing behind.
    ///
    /// # Errors
    ///
    /// As [`Recall::query`].
    pub async fn ground<W>(
        &self,
        ctx: &WorkflowContext<W>,
        question: &str,
    ) -> Result<Grounded, CallFailure> {
        let patience = self.recall.settings().activities.schedule_to_close_ms;
        self.ground_within(ctx, question, patience).await
    }

    /// As [`Grounder::ground`], and ends within so many milliseconds.
    pub(crate) async fn ground_within<W>(
        &self,
        ctx: &WorkflowContext<W>,
        question: &str,
        schedule_to_close_ms: u64,
    ) -> Result<Grounded, CallFailure> {
        if let Some(held) = self.held().filter(|_| self.stays()) {
            return Ok(held);
        }
        self.forget();
        let settings = self.recall.settings();
        let k = self.grounding.k.unwrap_or(settings.k);
        let condition = self.grounding.condition.as_ref();
        let condition = condition.unwrap_or(&settings.condition);
        let options = self.recall.options_within(schedule_to_close_ms);
        let found = self
            .recall
            .ask(
                ctx,
                question,
                k,
                condition,
                self.grounding.contents_chars_max(),
                options,
            )
            .await?;
        let grounded = Grounded::new(&self.grounding, &found);
        self.held.replace(Some(grounded.clone()));
        Ok(grounded)
    }

    /// What the latest call came to, for the next run's input; `None` before the first one, and after one
    /// that failed.
    pub fn held(&self) -> Option<Grounded> {
        self.held.borrow().clone()
    }

    /// Whether later calls give the held text back, and schedule nothing.
    pub fn stays(&self) -> bool {
        let held = self.held.borrow();
        !self.grounding.reground_every_turn && held.as_ref().is_some_and(Grounded::is_whole)
    }

    /// Goes on with what the run before held.
    pub fn resume(&self, held: Option<Grounded>) {
        self.held.replace(held);
    }

    /// Forgets the text: the next call asks anew.
    pub fn forget(&self) {
        self.held.replace(None);
    }

    /// The handle that it asks.
    pub fn recall(&self) -> &Recall {
        &self.recall
    }

    /// How it grounds.
    pub fn grounding(&self) -> &Grounding {
        &self.grounding
    }
}
