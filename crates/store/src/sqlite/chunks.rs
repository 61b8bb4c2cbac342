//! Changes and reads of chunks.

use std::{collections::BTreeMap, convert::Infallible};

use futures::TryStreamExt as _;
use notekeeper_domain::{Operation, Scope, Where};
use serde_json::{Value, json};
use sqlx::{Connection as _, Row as _, SqliteConnection};

use super::{
    fault::Fault, json_array::json_array, mutation::Mutation, receipt::find_receipt,
    store::SqliteStore,
};
use crate::{
    ChunkMark, ChunksKept, FoundChunk, MutationError, VectorCollection,
    counts::bounded,
    kept_chunks::{Batch, FoundRows, kept_item_metadata, metadata_text, numbers_of},
    kept_receipt::Outcome,
    nearness::{Nearest, Pauses, similarity, unit},
};

const KEEP_CHUNKS: &str = include_str!("sql/keep_chunks.sql");
const NEAREST_CHUNKS: &str = include_str!("sql/nearest_chunks.sql");
const READ_CHUNKS: &str = include_str!("sql/read_chunks.sql");
const CHUNK_MARKS: &str = include_str!("sql/chunk_marks.sql");
const REMOVE_CHUNKS: &str = include_str!("sql/remove_chunks.sql");

/// Keeps chunks. Made before the lock is taken, so that other writers don't wait for the arithmetic.
#[derive(Debug)]
pub(super) struct Keep<'a> {
    scope: &'a Scope,
    collection: &'a VectorCollection,
    operation: Option<&'a Operation>,
    dimensions: i32,
    /// Id, content, metadata and mark of each.
    rows: String,
    embeddings: Vec<u8>,
}

impl<'a> Keep<'a> {
    pub(super) async fn new(
        scope: &'a Scope,
        collection: &'a VectorCollection,
        batch: &Batch<'_>,
        operation: Option<&'a Operation>,
    ) -> Self {
        let embeddings = batch.bytes().await;
        let rows = batch.chunks().map(|chunk| {
            json!([
                chunk.id,
                chunk.content,
                metadata_text(&chunk.metadata),
                chunk.mark
            ])
        });
        Self {
            scope,
            collection,
            operation,
            dimensions: batch.dimensions(),
            rows: Value::from_iter(rows).to_string(),
            embeddings,
        }
    }
}

impl Mutation for Keep<'_> {
    type Done = ChunksKept;
    type Refused = MutationError;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Outcome<ChunksKept>, Fault> {
        if let Some(outcome) = find_receipt(connection, self.scope, self.operation).await? {
            return Ok(outcome);
        }
        let fingerprint = self.operation.map(|operation| &operation.fingerprint);
        sqlx::query(KEEP_CHUNKS)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(&self.collection.name)
            .bind(fingerprint.map(|fingerprint| fingerprint.as_str()))
            .bind(&self.collection.model)
            .bind(self.dimensions)
            .bind(&self.rows)
            .bind(&self.embeddings)
            .execute(connection)
            .await?;
        Ok(Ok(ChunksKept { replayed: false }))
    }
}

/// Removes the chunks that have some ids.
#[derive(Debug)]
pub(super) struct Remove<'a> {
    pub(super) scope: &'a Scope,
    pub(super) collection: &'a VectorCollection,
    pub(super) ids: &'a [&'a str],
}

impl Mutation for Remove<'_> {
    type Done = ();
    type Refused = Infallible;

    async fn run(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<(), Infallible>, Fault> {
        sqlx::query(REMOVE_CHUNKS)
            .bind(self.scope.as_str())
            .bind(&self.collection.name)
            .bind(json_array(self.ids.iter().copied()))
            .execute(connection)
            .await?;
        Ok(Ok(()))
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) scope: &'a Scope,
    pub(super) collection: &'a VectorCollection,
    pub(super) embedding: &'a [f32],
    pub(super) condition: &'a Where,
    pub(super) limit: usize,
}

impl Asked<'_> {
    /// The nearest, and then their contents: all of one moment, because one transaction reads them.
    pub(super) async fn run(self, store: &SqliteStore) -> Result<Vec<FoundChunk>, Fault> {
        let mut connection = store.reader().await?;
        let mut moment = connection.begin().await?;
        let nearest = self.nearest(&mut moment).await?;
        let found = self.contents(&mut moment, nearest).await?;
        moment.rollback().await?;
        Ok(found)
    }

    /// Similarities and ids, the nearest first.
    async fn nearest(self, moment: &mut SqliteConnection) -> Result<Vec<(f64, String)>, Fault> {
        let wanted = unit(self.embedding);
        let mut rows = sqlx::query(NEAREST_CHUNKS)
            .bind(self.scope.as_str())
            .bind(&self.collection.name)
            .bind(&self.collection.model)
            .bind(bounded(wanted.len()))
            .fetch(moment);
        let (mut nearest, mut pauses) = (Nearest::new(), Pauses::default());
        while let Some(row) = rows.try_next().await? {
            let matches = self.condition.is_empty()
                || kept_item_metadata(row.try_get("metadata")?)
                    .is_some_and(|metadata| self.condition.matches(&metadata));
            if matches {
                let numbers = numbers_of(row.try_get("embedding")?);
                nearest.take(similarity(&numbers, &wanted), row.try_get("id")?);
            }
            pauses.after(wanted.len()).await;
        }
        Ok(nearest.finish(self.limit))
    }

    async fn contents(
        self,
        moment: &mut SqliteConnection,
        nearest: Vec<(f64, String)>,
    ) -> Result<Vec<FoundChunk>, Fault> {
        let ids = nearest.iter().map(|(_, id)| id.as_str());
        let rows: Vec<(String, String, String, String)> = sqlx::query_as(READ_CHUNKS)
            .bind(self.scope.as_str())
            .bind(&self.collection.name)
            .bind(json_array(ids))
            .fetch_all(moment)
            .await?;
        let rows = rows.into_iter().map(|row| (row.1.clone(), row));
        let mut rows: BTreeMap<_, _> = rows.collect();
        let mut found = FoundRows::new(self.condition, self.limit);
        for (similarity, id) in nearest {
            if let Some((scope, id, metadata, content)) = rows.remove(&id) {
                found.take((scope, id, content, metadata, similarity));
            }
        }
        Ok(found.finish())
    }
}

pub(super) async fn chunk_marks(
    store: &SqliteStore,
    scope: &Scope,
    collection: &VectorCollection,
) -> Result<Vec<ChunkMark>, Fault> {
    let marks: Vec<(String, Option<String>)> = sqlx::query_as(CHUNK_MARKS)
        .bind(scope.as_str())
        .bind(&collection.name)
        .bind(&collection.model)
        .fetch_all(&mut *store.reader().await?)
        .await?;
    let marks = marks.into_iter().map(|(id, mark)| ChunkMark { id, mark });
    Ok(marks.collect())
}
