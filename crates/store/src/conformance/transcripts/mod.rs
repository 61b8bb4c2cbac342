//! Transcripts, of stores that keep them.

mod apart;
mod conversation;
mod forms;
mod listing;
mod operations;
mod positions;
mod racing;
mod selections;

pub(super) use conversation::Conversation;

use crate::Store;

pub(super) async fn exercise<S: Store>(store: &S) {
    let Some(transcripts) = store.transcripts() else {
        return;
    };
    positions::exercise(transcripts).await;
    forms::exercise(transcripts).await;
    selections::exercise(transcripts).await;
    operations::exercise(transcripts).await;
    apart::exercise(transcripts).await;
    listing::exercise(transcripts).await;
    racing::exercise(transcripts).await;
}
