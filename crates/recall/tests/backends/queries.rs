//! What people and models ask is text, and no syntax.

use std::sync::Arc;

use notekeeper_recall::{JournalSource, ScratchpadSource, TranscriptSource};
use serde_json::json;

use crate::{
    fixture::{Tenant, item},
    stores::{Kept, on_each_store},
};

on_each_store!(
    no_query_is_syntax_or_an_error,
    what_is_written_with_signs_is_found_by_them,
);

/// Queries that search engines take for something else.
const ODD: [&str; 24] = [
    "pre-edit",
    "GB/s",
    "v2.1",
    "don't",
    "src/auth.rs",
    "a & | !b",
    "\"unclosed",
    "<->",
    "key:x",
    ":*",
    "NOT foo",
    "%",
    "_",
    "\\",
    "a\0b",
    "\0",
    "\u{feff}\u{200b}",
    "'; drop table notes; --",
    "{\"json\": [}",
    "\u{1f469}\u{200d}\u{1f52c}",
    "${jndi}",
    "\r\n",
    "((((((((",
    "\u{202e}gnp",
];

async fn no_query_is_syntax_or_an_error(kept: Kept) {
    let mut tenant = Tenant::of("acme");
    let mut sources = kept.writable();
    sources.push(Arc::new(ScratchpadSource::new("pad")));
    match (kept.store.transcripts(), kept.store.journal()) {
        (Some(_), Some(_)) => {
            let stores = || kept.stores();
            sources.push(Arc::new(TranscriptSource::new(
                "said",
                stores(),
                "default",
                None,
            )));
            sources.push(Arc::new(JournalSource::new("journal", stores(), "default")));
        }
        _ => kept.is_of_files(),
    }
    let long = [
        "(".repeat(1_000),
        "x ".repeat(9_000),
        "\u{56fa}".repeat(9_000),
    ];
    for source in sources {
        let items = [item("ξύλο", json!({"id": "1", "path": "1.md"}))];
        if source.accepts_writes() {
            let written = tenant.write(&*source, &items, "op").await.expect("write");
            tenant.scratchpad.extend(written.scratchpad);
        }
        for query in ODD.into_iter().chain(long.iter().map(String::as_str)) {
            let answer = tenant.query(&*source, query, 5).await;
            let answer =
                answer.unwrap_or_else(|error| panic!("{query:?} of {}: {error}", source.name()));
            assert!(answer.is_whole(), "{query:?} of {}", source.name());
            // None has a word of what is there: who looks for words finds nothing.
            if ["file", "in_memory", "pad", "said"].contains(&source.name()) {
                let blank = notekeeper_domain::is_blank(query);
                assert!(
                    blank || answer.items.is_empty(),
                    "{query:?} of {}: {answer:?}",
                    source.name()
                );
            }
        }
        // And none of them did anything.
        if source.accepts_writes() {
            let found = tenant.found(&*source, "ξύλο", 5).await;
            let kept = found.iter().filter(|item| item.content.contains("ξύλο"));
            assert_eq!(kept.count(), 1, "{}: {found:?}", source.name());
        }
    }
}

async fn what_is_written_with_signs_is_found_by_them(kept: Kept) {
    let mut tenant = Tenant::of("acme");
    let texts = [
        "we pre-edit drafts",
        "copies 3 GB/s",
        "since v2.1 only",
        "they don't pay",
        "look at src/auth.rs",
        "never rm -rf it",
        "C++ is old",
        "Go is terse",
        "issue #42 is open",
        "runs on k8s",
        "ask R for plots",
        ".NET is there",
    ];
    let queries = [
        "pre-edit",
        "GB/s",
        "v2.1",
        "don't",
        "src/auth.rs",
        "rm -rf",
        "C++",
        "Go",
        "#42",
        "k8s",
        "R",
        ".NET",
    ];
    let items: Vec<_> = (0..)
        .zip(texts)
        .map(|(index, text): (usize, _)| {
            item(
                text,
                json!({"id": format!("k{index}"), "path": format!("k{index}")}),
            )
        })
        .collect();
    let mut sources = kept.writable();
    sources.push(Arc::new(ScratchpadSource::new("pad")));
    for source in sources {
        let written = tenant.write(&*source, &items, "op").await.expect("write");
        tenant.scratchpad.extend(written.scratchpad);
        for (query, text) in queries.into_iter().zip(texts) {
            let found = tenant.found(&*source, query, 12).await;
            let has = found.iter().any(|item| item.content.ends_with(text));
            assert!(has, "{query:?} of {}: {found:?}", source.name());
        }
    }
}
