//! One table of conditions for all sources that keep metadata, on every store.

use std::sync::Arc;

use notekeeper_recall::{ScratchpadSource, Source};
use serde_json::{Value, json};

use crate::{
    fixture::{Tenant, item},
    stores::{Kept, on_each_store},
};

on_each_store!(conditions_mean_the_same_everywhere);

/// Metadata of the items, by their ids.
fn kept_metadata() -> [(&'static str, Value); 8] {
    [
        ("plain", json!({"tier": "public", "n": 1, "flag": true})),
        ("other", json!({"tier": "Public", "n": 1.5, "flag": false})),
        (
            "list",
            json!({"tags": ["security", "finance", 3], "tier": ["public"]}),
        ),
        ("deep", json!({"o": {"x": [1, {"y": "z"}]}, "none": null})),
        (
            "pattern",
            json!({"tier": "pub%", "a.b": "dotted", "a\"b": "quoted", "": "empty"}),
        ),
        (
            "wild",
            json!({"tier": "pub_ic", "back\\slash": "a\\b", "$.tier": "public"}),
        ),
        (
            "large",
            json!({"n": 9_007_199_254_740_993_u64, "text": "1", "e": 1e300}),
        ),
        ("bare", json!({})),
    ]
}

/// Conditions, and which items meet them.
fn cases() -> Vec<(Value, Vec<&'static str>)> {
    vec![
        (json!({"tier": "public"}), vec!["plain"]),
        (json!({"tier": "PUBLIC"}), vec![]),
        (json!({"tier": ["public"]}), vec!["list"]),
        (json!({"tier": "pub%"}), vec!["pattern"]),
        (json!({"tier": "pub_ic"}), vec!["wild"]),
        (json!({"tier": "%"}), vec![]),
        (json!({"tier": "*"}), vec![]),
        (json!({"tier": ""}), vec![]),
        (json!({"tier": "public' or '1'='1"}), vec![]),
        (json!({"tier": "pub\0lic"}), vec![]),
        (json!({"n": 1}), vec!["plain"]),
        (json!({"n": 1.0}), vec!["plain"]),
        (json!({"n": 1.5}), vec!["other"]),
        (json!({"n": "1"}), vec![]),
        (json!({"text": 1}), vec![]),
        (json!({"n": 9_007_199_254_740_993_u64}), vec!["large"]),
        (json!({"n": 9_007_199_254_740_992_u64}), vec![]),
        (json!({"e": 1e300}), vec!["large"]),
        (json!({"flag": true}), vec!["plain"]),
        (json!({"flag": 1}), vec![]),
        (json!({"flag": "true"}), vec![]),
        (json!({"tags": ["finance"]}), vec!["list"]),
        (json!({"tags": [3.0, "security"]}), vec!["list"]),
        (json!({"tags": ["finance", "finance"]}), vec!["list"]),
        (json!({"tags": []}), vec!["list"]),
        (json!({"tags": ["finance", "absent"]}), vec![]),
        (json!({"tags": "finance"}), vec![]),
        (json!({"o": {"x": [1.0, {"y": "z"}]}}), vec!["deep"]),
        (json!({"o": {"x": [1]}}), vec![]),
        (json!({"o": {}}), vec![]),
        (json!({"o.x": 1}), vec![]),
        (json!({"none": null}), vec!["deep"]),
        (json!({"absent": null}), vec![]),
        (json!({"absent": []}), vec![]),
        (json!({"a.b": "dotted"}), vec!["pattern"]),
        (json!({"a\"b": "quoted"}), vec!["pattern"]),
        (json!({"": "empty"}), vec!["pattern"]),
        (json!({"back\\slash": "a\\b"}), vec!["wild"]),
        (json!({"$.tier": "public"}), vec!["wild"]),
        (json!({"\0": "x"}), vec![]),
        (json!({"tier": "public", "n": 1}), vec!["plain"]),
        (json!({"tier": "public", "n": 2}), vec![]),
        (
            json!({}),
            vec![
                "bare", "deep", "large", "list", "other", "pattern", "plain", "wild",
            ],
        ),
    ]
}

async fn conditions_mean_the_same_everywhere(kept: Kept) {
    let mut sources: Vec<Arc<dyn Source>> = vec![Arc::new(ScratchpadSource::new("pad"))];
    for vectors in kept.vectors() {
        sources.push(Arc::new(vectors));
    }
    let mut tenant = Tenant::of("acme");
    let items = kept_metadata().map(|(id, mut entries)| {
        entries["id"] = json!(id);
        item("alpha", entries)
    });
    for source in sources {
        let written = tenant.write(&*source, &items, "op").await.expect("write");
        tenant.scratchpad.extend(written.scratchpad);
        for (conditions, expected) in cases() {
            let found = tenant
                .found_where(&*source, "alpha", 100, conditions.clone())
                .await;
            let ids = found.into_iter().filter_map(|item| item.id);
            let mut ids: Vec<_> = ids
                .map(|id| id.trim_start_matches("scratchpad:").to_owned())
                .collect();
            ids.sort();
            assert_eq!(ids, expected, "{conditions} of {}", source.name());
        }
    }
}
