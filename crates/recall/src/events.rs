//! What is told of writes, without content: an activity logs it, and where the write is no failure returns
//! it in the result, and so on the run's own timeline. Queries tell of nothing.

use std::sync::{Mutex, PoisonError};

/// Something that a person who follows a run wants to know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceEvent {
    /// Items were kept: `memory.written`.
    Written {
        /// By which source.
        source: String,
        /// How many.
        items: usize,
    },
    /// Items were turned away: `memory.write_refused`.
    WriteRefused {
        /// By which source.
        source: String,
        /// How many.
        items: usize,
        /// What the source does with writes: `refuse` or `ignore`.
        policy: &'static str,
    },
}

impl SourceEvent {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Written { .. } => "memory.written",
            Self::WriteRefused { .. } => "memory.write_refused",
        }
    }
}

/// What happened during one call.
#[derive(Debug, Default)]
pub struct SourceEvents(Mutex<Vec<SourceEvent>>);

impl SourceEvents {
    /// Adds one.
    pub fn tell(&self, event: SourceEvent) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(event);
    }

    /// Takes all, in their order.
    pub fn take(&self) -> Vec<SourceEvent> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
