//! Random conversations, and what they come to by the plainest possible rules.

use proptest::prelude::*;

use crate::MessageOutline;

fn ids(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    let id = prop::sample::select(vec!["", "call_0", "call_0", "call_1", "a", "b", "c"]);
    prop::collection::vec(id.prop_map(str::to_owned), count)
}

/// A message; its position and tokens come later.
fn message(role: &str, calls: Vec<String>, results: Vec<String>, prompt: bool) -> MessageOutline {
    MessageOutline {
        position: 0,
        role: role.to_owned(),
        tokens: 1,
        calls,
        results,
        prompt,
    }
}

/// Any message whatever.
fn stray() -> impl Strategy<Value = MessageOutline> {
    prop_oneof![
        4 => Just(message("user", vec![], vec![], true)),
        3 => Just(message("assistant", vec![], vec![], false)),
        3 => ids(1..4).prop_map(|calls| message("assistant", calls, vec![], false)),
        4 => ids(1..3).prop_map(|results| message("tool", vec![], results, false)),
        1 => ids(1..3).prop_map(|results| message("user", vec![], results, true)),
        1 => Just(message("system", vec![], vec![], false)),
    ]
}

/// What one writer adds in a turn: a prompt, some rounds of calls with most of their results, and an
/// answer.
fn turn() -> impl Strategy<Value = Vec<MessageOutline>> {
    let rounds = prop::collection::vec((ids(1..4), 0..8_usize), 0..4);
    rounds.prop_map(|rounds| {
        let mut messages = vec![message("user", vec![], vec![], true)];
        for (calls, missing) in rounds {
            let results = calls.iter().enumerate();
            let results = results.filter(|(index, _)| *index != missing);
            let results: Vec<MessageOutline> = results
                .map(|(_, id)| message("tool", vec![], vec![id.clone()], false))
                .collect();
            messages.push(message("assistant", calls, vec![], false));
            messages.extend(results);
        }
        messages.push(message("assistant", vec![], vec![], false));
        messages
    })
}

/// A conversation: what one to three writers add, in runs of several messages or message by message,
/// and a few strays. Positions begin at `first`.
pub(super) fn conversation(first: u64) -> impl Strategy<Value = Vec<MessageOutline>> {
    let writer = prop::collection::vec(turn(), 0..7).prop_map(|turns| turns.concat());
    let writers = prop::collection::vec(writer, 1..4);
    let runs = prop::collection::vec((0..3_usize, 1..9_usize), 0..60);
    let strays = prop::collection::vec((any::<prop::sample::Index>(), stray()), 0..5);
    let interleaved = (writers, runs, strays).prop_map(|(writers, runs, strays)| {
        let mut writers: Vec<_> = writers.into_iter().map(Vec::into_iter).collect();
        let mut messages = Vec::new();
        for (writer, run) in runs {
            let index = writer % writers.len();
            messages.extend(writers[index].by_ref().take(run));
        }
        messages.extend(writers.into_iter().flatten());
        for (place, stray) in strays {
            messages.insert(place.index(messages.len() + 1), stray);
        }
        messages
    });
    let conversation = prop_oneof![
        3 => interleaved,
        1 => prop::collection::vec(stray(), 0..40),
    ];
    let tokens = prop_oneof![6 => 1_u64..60, 1 => 1_u64..900];
    conversation
        .prop_flat_map(move |messages| {
            let tokens = prop::collection::vec(tokens.clone(), messages.len());
            (Just(messages), tokens)
        })
        .prop_map(move |(mut messages, tokens)| {
            for ((position, message), tokens) in (first..).zip(&mut messages).zip(tokens) {
                (message.position, message.tokens) = (position, tokens);
            }
            messages
        })
}

/// A call: its message, which of its calls, the turn, the id.
#[derive(Debug, Clone)]
struct Call {
    message: usize,
    index: usize,
    turn: usize,
    id: String,
    answered: bool,
}

/// A result's message with the place of its call: the message, and which of its calls.
pub(super) type Pair = (usize, (usize, usize));

/// Which results belong to which calls, by looking through all calls for each result.
pub(super) fn pairs(messages: &[MessageOutline]) -> Vec<Pair> {
    let (mut turn, mut calls, mut pairs) = (0, Vec::<Call>::new(), Vec::new());
    for (message, outline) in messages.iter().enumerate() {
        calls.extend(outline.calls.iter().enumerate().map(|(index, id)| Call {
            message,
            index,
            turn,
            id: id.clone(),
            answered: false,
        }));
        for id in &outline.results {
            let of_id = |call: &&mut Call| call.id == *id;
            let latest_turn = calls
                .iter()
                .filter(|call| call.id == *id)
                .map(|call| call.turn)
                .max();
            let open = calls.iter_mut().filter(of_id).filter(|call| {
                let in_reach =
                    Some(call.turn) == latest_turn && (!id.is_empty() || call.turn == turn);
                in_reach && !call.answered
            });
            let chosen = open.max_by_key(|call| (call.message, std::cmp::Reverse(call.index)));
            if let Some(call) = chosen {
                call.answered = true;
                pairs.push((message, (call.message, call.index)));
            }
        }
        turn += usize::from(outline.prompt);
    }
    pairs
}
