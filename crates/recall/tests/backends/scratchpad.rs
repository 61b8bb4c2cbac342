//! The scratchpad as a source.

use notekeeper_domain::ITEM_CHARS_MAX;
use notekeeper_recall::{ScratchpadSource, Source as _};
use serde_json::json;

use crate::fixture::{Tenant, item, metadata, operation};

#[tokio::test]
async fn what_a_workflow_holds_is_looked_through_and_what_is_written_goes_back_to_it() {
    let source = ScratchpadSource::new("pad");
    let mut tenant = Tenant::of("acme");
    tenant
        .scratchpad
        .insert("customer".to_owned(), json!("Ada"));
    let found = tenant.found(&source, "ada", 5).await;
    assert_eq!(found[0].content, "customer: Ada");
    assert_eq!((found[0].source.as_str(), found[0].score()), ("pad", None));
    assert!(source.accepts_writes());

    let items = [
        item(
            "alpha",
            json!({"id": "k", "tier": "public", "dedupe_count": 3}),
        ),
        item("beta", json!({})),
    ];
    let written = tenant.write(&source, &items, "op").await.expect("written");
    assert_eq!(written.accepted, ["pad"]);
    let expected = [
        (
            "k".to_owned(),
            json!({"content": "alpha", "metadata": {"tier": "public"}}),
        ),
        (operation("op").item_id(1, "beta"), json!("beta")),
    ];
    assert_eq!(written.scratchpad, expected.into());
    let again = tenant.write(&source, &items, "op").await.expect("written");
    assert_eq!(again, written, "a repetition has the same entries");

    tenant.scratchpad.extend(written.scratchpad);
    assert_eq!(tenant.found(&source, "beta", 5).await[0].content, "beta");
    assert_eq!(found[0].id.as_deref(), Some("scratchpad:customer"));
    let nothing = tenant.write(&source, &[], "op").await.expect("nothing");
    assert_eq!(nothing, notekeeper_recall::Written::default());
    let bad = [item("good", json!({})), item("\0", json!({}))];
    let error = tenant
        .write(&source, &bad, "op")
        .await
        .expect_err("an error");
    assert!(error.to_string().starts_with("`items[1]` "), "{error}");
}

#[tokio::test]
async fn an_item_of_the_workflows_own_making_can_be_written_back_whatever_its_metadata() {
    let source = ScratchpadSource::new("pad");
    let mut tenant = Tenant::of("acme");
    let kept = json!({"content": "alpha", "metadata": {"id": "7", "tier": "public"}});
    tenant.scratchpad.extend([("kept".to_owned(), kept)]);
    let found = tenant.found(&source, "alpha", 1).await;
    assert_eq!(found[0].id.as_deref(), Some("scratchpad:kept"));
    assert_eq!(found[0].metadata, metadata(json!({"tier": "public"})));
    let written = tenant.write(&source, &found, "op").await.expect("written");
    let back = json!({"content": "alpha", "metadata": {"tier": "public"}});
    assert_eq!(written.scratchpad, [("kept".to_owned(), back)].into());
}

#[tokio::test]
async fn an_entry_that_is_written_back_stays_as_it_was() {
    let source = ScratchpadSource::new("pad");
    let mut tenant = Tenant::of("acme");
    let kept = json!({"content": "alpha", "metadata": {"tier": "public"}});
    tenant.scratchpad.extend([
        ("customer".to_owned(), json!("Ada")),
        ("k".repeat(500), json!("long")),
        ("kept".to_owned(), kept),
        ("sha256:x".to_owned(), json!("no digest")),
        (format!("sha256:{}", "0f".repeat(32)), json!("as a digest")),
        ("a\nb".to_owned(), json!("two lines")),
        (
            "m".repeat(500),
            json!({"content": "beta", "metadata": {"key": "x", "tier": "public"}}),
        ),
    ]);
    let before = tenant.scratchpad.clone();
    // Who writes doesn't send the scratchpad along.
    let nothing_sent = Tenant::of("acme");
    for round in 0..3 {
        let found = tenant.found(&source, "", 10).await;
        assert_eq!(found.len(), before.len());
        let id = format!("op-{round}");
        let written = nothing_sent.write(&source, &found, &id).await;
        tenant
            .scratchpad
            .extend(written.expect("written").scratchpad);
        assert_eq!(tenant.scratchpad, before);
    }

    // An id that tells no key is refused, also where the metadata tells another's.
    let found = tenant.found(&source, "long", 1).await;
    let mut told = Vec::new();
    for known in [json!({}), json!({"scratchpad_key": "other"})] {
        let item = found[0].clone().with_metadata(metadata(known));
        let refused = source.check_items(&[item], &operation("op"));
        told.push(refused.expect_err("an error").to_string());
    }
    assert_eq!(told[0], told[1]);
    insta::assert_snapshot!(told[0], @"`items[0]` has the id of an entry whose key no id can hold, and doesn't tell the key; give it as `scratchpad_key` in the metadata, as a query does");

    // What is but the beginning of an entry doesn't take the place of all of it.
    let long = format!("alpha {}", "x".repeat(ITEM_CHARS_MAX));
    tenant.scratchpad = [("long".to_owned(), json!(long))].into();
    let found = tenant.found(&source, "alpha", 1).await;
    assert_eq!(found[0].metadata, metadata(json!({"truncated": true})));
    let error = tenant.write(&source, &found, "op").await;
    let error = error.expect_err("an error").to_string();
    assert!(error.starts_with("`items[0]` is only a part of"), "{error}");
    // A composition learns that before it gives other legs anything.
    let checked = source.check_items(&found, &operation("op"));
    assert_eq!(checked.expect_err("an error").to_string(), error);
}
