//! What a person sees: answers on standard output, all else on standard error.

use std::io::{self, IsTerminal as _};

use notekeeper_contract::ChatMessage;

use crate::output::{print, remark, short, shown};

use super::said::{Said, latest_exchanges};

/// Longest arguments of a tool call that are shown, in characters.
const ARGUMENTS_CHARS_MAX: usize = 100;

/// Longest message that is shown of an earlier conversation, in characters.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Where things are written, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    dims: bool,
    answers_to_terminal: bool,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self {
            dims: io::stderr().is_terminal(),
            answers_to_terminal: io::stdout().is_terminal(),
        }
    }

    /// Writes an answer. A program gets it as it is; a terminal must not be steered by it.
    pub(super) fn answer(&self, text: &str) -> anyhow::Result<()> {
        let text = match (text.trim().is_empty(), self.answers_to_terminal) {
            (true, true) => "(no words)".to_owned(),
            (false, true) => shown(&text.replace("\r\n", "\n")),
            (_, false) => text.to_owned(),
        };
        print(&format!("{text}\n"))
    }

    /// Says something beside the answers. Where nobody can read it, it is lost.
    pub(super) fn remark(&self, text: &str) {
        let text = shown(&text.replace("\r\n", "\n"));
        match self.dims {
            true => remark(&format!("\u{1b}[2m{text}\u{1b}[0m")),
            false => remark(&text),
        }
    }

    /// Ends the line in which a terminal shows Ctrl-C.
    pub(super) fn end_line(&self) {
        if self.dims {
            remark("");
        }
    }

    /// Says why there is no answer.
    pub(super) fn problem(&self, text: &str) {
        remark(&shown(&text.replace("\r\n", "\n")));
    }

    /// Shows the latest exchanges: what was said, without the tool calls.
    pub(super) fn history(&self, said: &[Said], exchanges: usize) {
        self.said(latest_exchanges(said, exchanges));
    }

    /// Shows what was said.
    pub(super) fn said(&self, said: &[Said]) {
        for said in said {
            match said {
                Said::Prompt(text) => self.remark(&format!("> {}", short(text, MESSAGE_CHARS_MAX))),
                Said::Answer(text) => self.remark(&short(text, MESSAGE_CHARS_MAX)),
            }
        }
    }

    /// Shows the tool calls of an exchange.
    pub(super) fn tools(&self, messages: &[ChatMessage]) {
        let failed = |id: &str| {
            messages.iter().any(|message| {
                matches!(message, ChatMessage::Tool { tool_call_id, is_error: true, .. } if tool_call_id == id)
            })
        };
        for message in messages {
            let ChatMessage::Assistant { tool_calls, .. } = message else {
                continue;
            };
            for call in tool_calls {
                let arguments = short(&call.arguments.to_string(), ARGUMENTS_CHARS_MAX);
                let end = if failed(&call.id) { " (refused)" } else { "" };
                self.remark(&format!("· {} {arguments}{end}", call.name));
            }
        }
    }
}
