use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use notekeeper_domain::NoteName;
use notekeeper_models::HashingEmbedder;
use notekeeper_store::{Expected, InMemoryStore, NoteStore as _, Store, WriteRequest};

use super::*;
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, fake::Caller, patience::Patience,
};

#[derive(Debug, Default)]
struct Notes(Arc<InMemoryStore>);

#[async_trait]
impl OpenStores for Notes {
    async fn open(&self, _: &str, _: &SourceCall<'_>) -> Result<Arc<dyn Store>, SourceError> {
        Ok(self.0.clone())
    }
}

async fn put(notes: &Notes, caller: &Caller, name: &str, text: &str) {
    let name = NoteName::parse(name).unwrap();
    let request = WriteRequest::new(text, &Expected::Any);
    let written = notes
        .0
        .write(caller.call().scope, &name, &request, None)
        .await;
    written.unwrap();
}

/// Its answer for somebody who waits no time, and yet doesn't give up.
async fn asked_in_haste(source: &dyn Source, caller: &Caller) -> Answer {
    let no_time = Patience::of_query(Duration::ZERO, Duration::ZERO);
    let answer = no_time.leaving_a_third(caller.query(source, "courier", 9));
    answer.await.unwrap()
}

fn ids(answer: &Answer) -> Vec<&str> {
    let items = answer.items.iter();
    items.map(|item| item.id.as_deref().unwrap()).collect()
}

#[tokio::test]
async fn where_time_is_short_what_was_found_until_then_stands_and_the_legs_are_late() {
    let (notes, caller) = (Arc::new(Notes::default()), Caller::of("acme"));
    put(&notes, &caller, "a.md", "The courier rings.").await;
    put(
        &notes,
        &caller,
        "b.md",
        &"Green tea, no sugar.\n\n".repeat(2_000),
    )
    .await;
    put(&notes, &caller, "c.md", "The courier waits.").await;
    let words = NotesSource::new("notes", notes.clone(), "default");
    let hybrid = HybridSource::new(
        "hybrid",
        notes,
        "default",
        Arc::new(HashingEmbedder::default()),
    );
    let hybrid = hybrid.with_legs(&[HybridLeg::Words, HybridLeg::Similar]);
    let late: [(&dyn Source, &[&str]); 2] = [
        (&words, &["notes"]),
        (&hybrid, &["hybrid.words", "hybrid.similar"]),
    ];
    for (source, late) in late {
        let hasty = asked_in_haste(source, &caller).await;
        assert_eq!(ids(&hasty), ["note:default/a.md#1"], "{late:?}");
        assert_eq!(hasty.timed_out, late);
        let whole = caller.query(source, "courier", 9).await.unwrap();
        assert_eq!(ids(&whole), ["note:default/a.md#1", "note:default/c.md#1"]);
        assert!(whole.is_whole());
    }
}
