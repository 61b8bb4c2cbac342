//! What is called alike stays apart, and what is one is found to be one.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{ConversationId, Fact, Item, NoteName, StoredMessage};
use notekeeper_recall::{
    CompositeOptions, CompositeSource, FactsSource, FileSource, OpenStores, ScratchpadSource,
    Source, SourceCall, SourceError, TranscriptSource,
};
use notekeeper_store::{Expected, InMemoryStore, Store, WriteRequest};
use serde_json::json;

use crate::fixture::Tenant;

/// Two stores, `one` and `other`.
#[derive(Debug)]
struct TwoStores {
    one: Arc<dyn Store>,
    other: Arc<dyn Store>,
}

#[async_trait]
impl OpenStores for TwoStores {
    async fn open(&self, store: &str, _: &SourceCall<'_>) -> Result<Arc<dyn Store>, SourceError> {
        Ok(Arc::clone(match store {
            "one" => &self.one,
            _ => &self.other,
        }))
    }
}

/// Both have a note, a fact and a conversation of the same names.
async fn filled(tenant: &Tenant) -> Arc<TwoStores> {
    let stores = TwoStores {
        one: Arc::new(InMemoryStore::default()),
        other: Arc::new(InMemoryStore::default()),
    };
    for (name, store) in [("one", &stores.one), ("other", &stores.other)] {
        let note = NoteName::parse("customer.md").expect("a valid name");
        let text = format!("customer: the note of {name}");
        let request = WriteRequest::new(&text, &Expected::Any);
        let written = store.write(&tenant.scope, &note, &request, None).await;
        written.expect("write");
        let fact = Fact::new("customer", format!("the fact of {name}")).expect("a fact");
        let facts = store.facts().expect("it keeps facts");
        let kept = facts.remember(&tenant.scope, &fact, None).await;
        kept.expect("remember");
        let said = json!({"role": "user", "content": format!("customer: said in {name}")});
        let said = [StoredMessage::new(said).expect("a message")];
        let conversation = ConversationId::parse("customer").expect("a valid id");
        let transcripts = store.transcripts().expect("it keeps transcripts");
        let added = transcripts.add_messages(&tenant.scope, &conversation, &said, None);
        added.await.expect("added");
    }
    Arc::new(stores)
}

fn legs(stores: &Arc<TwoStores>) -> Vec<Arc<dyn Source>> {
    let mut legs: Vec<Arc<dyn Source>> = vec![Arc::new(ScratchpadSource::new("pad"))];
    for store in ["one", "other"] {
        let opening = || Arc::clone(stores) as Arc<dyn OpenStores>;
        let name = |kind: &str| format!("{kind}.{store}");
        legs.push(Arc::new(FileSource::new(name("file"), opening(), store)));
        legs.push(Arc::new(FactsSource::new(name("facts"), opening(), store)));
        let said = TranscriptSource::new(name("said"), opening(), store, None);
        legs.push(Arc::new(said));
    }
    legs
}

fn ids(items: &[Item]) -> Vec<&str> {
    let mut ids: Vec<&str> = items.iter().filter_map(|item| item.id.as_deref()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn records_of_one_name_are_all_found_and_what_is_one_is_found_once() {
    let mut tenant = Tenant::of("acme");
    let pad = ("customer".to_owned(), json!("the entry"));
    tenant.scratchpad.extend([pad]);
    let stores = filled(&tenant).await;
    let all = CompositeSource::new("all", legs(&stores), CompositeOptions::default());
    let found = tenant.found(&all.expect("valid"), "customer", 20).await;
    assert_eq!(
        ids(&found),
        [
            "fact:one/customer",
            "fact:other/customer",
            "message:one/customer#0",
            "message:other/customer#0",
            "note:one/customer.md",
            "note:other/customer.md",
            "scratchpad:customer",
        ]
    );
    assert!(
        found
            .iter()
            .all(|item| item.metadata.get("dedupe_count").is_none()),
        "{found:?}"
    );

    // One store behind two names of sources has each record once.
    let opening = || Arc::clone(&stores) as Arc<dyn OpenStores>;
    let twice: Vec<Arc<dyn Source>> = vec![
        Arc::new(FileSource::new("first", opening(), "one")),
        Arc::new(FileSource::new("second", opening(), "one")),
    ];
    let twice = CompositeSource::new("all", twice, CompositeOptions::default());
    let found = tenant.found(&twice.expect("valid"), "customer", 20).await;
    assert_eq!(ids(&found), ["note:one/customer.md"]);
    assert_eq!(found[0].metadata.get("dedupe_count"), Some(&json!(2)));
}

#[tokio::test]
async fn what_was_found_is_written_back_to_where_it_came_from_as_it_was() {
    let mut tenant = Tenant::of("acme");
    let pad = ("customer".to_owned(), json!("the entry"));
    tenant.scratchpad.extend([pad]);
    let stores = filled(&tenant).await;
    for leg in legs(&stores).into_iter().filter(|leg| leg.accepts_writes()) {
        let contents = async |tenant: &Tenant| {
            let found = tenant.found(&*leg, "customer", 20).await;
            found
                .into_iter()
                .map(|item| (item.id, item.content))
                .collect::<Vec<_>>()
        };
        let before = contents(&tenant).await;
        let found = tenant.found(&*leg, "customer", 20).await;
        let written = tenant.write(&*leg, &found, "back").await.expect("written");
        tenant.scratchpad.extend(written.scratchpad);
        assert_eq!(contents(&tenant).await, before, "{}", leg.name());
    }
}
