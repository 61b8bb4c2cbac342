//! How much of an SQLite file is read for a part of a long transcript: all that needn't be is made
//! unreadable first.

use std::{ops::Range, path::Path};

use notekeeper_domain::{ConversationId, Scope};
use notekeeper_store::{MessageSelection, StoreError, TranscriptPart, TranscriptStore as _};
use sqlx::{Connection as _, Executor as _};

use crate::{
    database::scope,
    database_file::DatabaseFile,
    messages::{conversation, message, said},
};

/// Messages of the conversation.
const MESSAGES: usize = 20_000;

/// Bytes that a part may have: a few hundred messages.
const BYTES_MAX: usize = 64 * 1024;

/// Pages of messages that a part may read. It takes about twenty, and those of the rows that are on
/// their way when it is full.
const PAGES_MAX: usize = 40;

/// A file with one long conversation.
struct Long {
    file: DatabaseFile,
    scope: Scope,
    conversation: ConversationId,
    /// As it is when nobody has it open.
    bytes: Vec<u8>,
    page_bytes: usize,
    /// The pages that hold messages, in the order of these, counted from 1.
    pages: Vec<usize>,
}

impl Long {
    async fn new() -> Self {
        let file = DatabaseFile::new();
        let (scope, conversation) = (scope("long/main"), conversation("c"));
        let store = file.store().await;
        let numbers: Vec<usize> = (0..MESSAGES).collect();
        for batch in numbers.chunks(1_000) {
            let batch: Vec<_> = batch.iter().map(|number| text_of(*number)).collect();
            let batch: Vec<_> = batch.iter().map(|text| message(text)).collect();
            let added = store.add_messages(&scope, &conversation, &batch, None);
            added.await.expect("added");
        }
        store.close().await;
        let mut connection = file.connection().await;
        connection
            .execute("pragma wal_checkpoint(truncate)")
            .await
            .expect("all is in one file");
        let pages: Vec<i64> = sqlx::query_scalar(
            "select pageno from dbstat where name = 'messages' and pagetype = 'leaf' order by path",
        )
        .fetch_all(&mut connection)
        .await
        .expect("pages");
        let page_bytes: i64 = sqlx::query_scalar("pragma page_size")
            .fetch_one(&mut connection)
            .await
            .expect("a size");
        connection.close().await.expect("close");
        Self {
            bytes: std::fs::read(&file.options.path).expect("a file"),
            page_bytes: usize::try_from(page_bytes).expect("a size"),
            pages: pages
                .into_iter()
                .map(|page| usize::try_from(page).expect("a number"))
                .collect(),
            file,
            scope,
            conversation,
        }
    }

    /// Makes all messages unreadable but those on some of the pages, in their order.
    fn leave(&self, path: &Path, left: Range<usize>) {
        let mut bytes = self.bytes.clone();
        for (at, page) in self.pages.iter().enumerate() {
            if !left.contains(&at) {
                bytes[(page - 1) * self.page_bytes..page * self.page_bytes].fill(0);
            }
        }
        std::fs::write(path, bytes).expect("written");
    }

    /// A part, where only those pages are readable.
    async fn read(
        &self,
        selection: MessageSelection,
        left: Range<usize>,
    ) -> Result<TranscriptPart, StoreError> {
        self.leave(&self.file.options.path, left);
        let store = self.file.store().await;
        let read = store.messages(&self.scope, &self.conversation, selection, BYTES_MAX);
        let read = read.await;
        store.close().await;
        read
    }
}

fn text_of(number: usize) -> String {
    format!("{number} {}", "word ".repeat(40))
}

#[tokio::test]
async fn a_part_of_a_long_transcript_reads_few_pages_wherever_it_is() {
    use MessageSelection::{All, Newest, Range};
    let long = Long::new().await;
    let pages = long.pages.len();
    assert!(pages > 20 * PAGES_MAX, "{pages} pages");
    let middle = pages / 2;
    let parts = [
        (All, 0, 0..PAGES_MAX),
        (Newest(200), 19_800, pages - PAGES_MAX..pages),
        (
            Range(10_000, 20_000),
            10_000,
            middle - PAGES_MAX / 2..middle + PAGES_MAX,
        ),
    ];
    for (selection, first, left) in parts {
        let part = long.read(selection, left).await.expect("read");
        assert_eq!(part.first, first, "{selection:?}");
        assert!(part.messages.len() >= 200, "{selection:?}");
        assert_eq!(part.bounds.next, MESSAGES as u64);
        let at = usize::try_from(first).expect("a number");
        assert_eq!(said(&part.messages[0]), text_of(at), "{selection:?}");
    }
    let elsewhere = long.read(All, middle..pages).await;
    assert!(elsewhere.is_err(), "what is unreadable is noticed");
}
