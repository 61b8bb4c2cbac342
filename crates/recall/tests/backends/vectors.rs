//! Vectors that live in memory.

use notekeeper_recall::{Source as _, VectorSource};
use serde_json::json;

use crate::fixture::{Tenant, item};

#[tokio::test]
async fn what_shares_words_with_the_query_is_found_under_the_sources_own_name() {
    let source = VectorSource::in_memory("vector");
    let tenant = Tenant::of("1");
    let items = [
        item("Refunds are issued within 5 business days.", json!({})),
        item("Store credit never expires.", json!({})),
    ];
    let written = tenant.write(&source, &items, "op").await.expect("written");
    assert_eq!(written.accepted, ["vector"]);
    assert!(source.accepts_writes());

    let found = tenant.found(&source, "how long do refunds take", 2).await;
    let said: Vec<String> = found
        .iter()
        .map(|item| {
            format!(
                "{:.3} {} | {}",
                item.score().unwrap_or_default(),
                item.source,
                item.content
            )
        })
        .collect();
    assert_eq!(
        said,
        ["0.169 vector | Refunds are issued within 5 business days."]
    );
}
