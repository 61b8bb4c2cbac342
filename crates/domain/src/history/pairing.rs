//! Which result belongs to which call.

use std::collections::{BTreeMap, VecDeque};

/// Calls whose results are still to come, as a conversation is read from its beginning.
///
/// A result belongs to the latest message that has a call with its id still open; of several such
/// calls in one message, to the first. Ids needn't be unique: some models number their calls from 0
/// in each answer. So an id is taken over by a call of a later turn, and what a call of an earlier
/// turn then still waits for, it waits for in vain. An empty id means the turn it stands in and no
/// other. A turn goes from one prompt to the next.
#[derive(Debug, Default)]
pub(super) struct OpenCalls<'m> {
    turn: u64,
    by_id: BTreeMap<&'m str, Open>,
}

/// A call: the message that it stands in, and which of its calls it is.
pub(super) type CallPlace = (usize, usize);

/// The open calls of one id, all of one turn.
#[derive(Debug, Default)]
struct Open {
    turn: u64,
    /// By message, ascending; none is empty.
    messages: Vec<(usize, VecDeque<usize>)>,
}

impl<'m> OpenCalls<'m> {
    /// A user speaks.
    pub(super) fn prompt(&mut self) {
        self.turn += 1;
    }

    /// A call is made. Messages come in their order, and calls of a message in theirs.
    pub(super) fn call(&mut self, id: &'m str, (message, index): CallPlace) {
        let open = self.by_id.entry(id).or_default();
        if open.turn != self.turn {
            open.turn = self.turn;
            open.messages.clear();
        }
        match open.messages.last_mut() {
            Some((latest, indices)) if *latest == message => indices.push_back(index),
            _ => open.messages.push((message, [index].into())),
        }
    }

    /// A result comes; the call it belongs to, which is open no longer.
    pub(super) fn result(&mut self, id: &str) -> Option<CallPlace> {
        let open = self.by_id.get_mut(id)?;
        if id.is_empty() && open.turn != self.turn {
            return None;
        }
        let (message, indices) = open.messages.last_mut()?;
        let place = (*message, indices.pop_front()?);
        if indices.is_empty() {
            open.messages.pop();
        }
        Some(place)
    }
}
