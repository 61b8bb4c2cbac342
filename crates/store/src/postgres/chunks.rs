//! Changes and reads of chunks.

use futures::TryStreamExt as _;
use notekeeper_domain::{Operation, Scope, Where};
use sqlx::{AssertSqlSafe, PgConnection};

use super::{
    extension::{PLACEHOLDER, find_extension},
    fault::Fault,
    receipt::{find_receipt, settle_taken},
    store::PostgresStore,
};
use crate::{
    ChunkMark, ChunksKept, FoundChunk, VectorCollection,
    counts::{bounded, limit},
    kept_chunks::{Batch, FoundRows, Prefilter, metadata_text},
    kept_receipt::Outcome,
    nearness::unit,
};

const KEEP_CHUNKS: &str = include_str!("sql/keep_chunks.sql");
const NEAREST_CHUNKS: &str = include_str!("sql/nearest_chunks.sql");
const CHUNK_MARKS: &str = include_str!("sql/chunk_marks.sql");
const REMOVE_CHUNKS: &str = include_str!("sql/remove_chunks.sql");

/// Chunks that are kept, and the operation that does.
#[derive(Debug)]
pub(super) struct Keeping<'a> {
    pub(super) scope: &'a Scope,
    pub(super) collection: &'a VectorCollection,
    pub(super) batch: Batch<'a>,
    pub(super) operation: Option<&'a Operation>,
}

impl Keeping<'_> {
    /// Two round trips; one where the receipt answers, or where there is no operation.
    pub(super) async fn run(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Outcome<ChunksKept>, Fault> {
        if let Some(outcome) = find_receipt(connection, self.scope, self.operation).await? {
            return Ok(outcome);
        }
        match self.keep(connection).await {
            Ok(()) => Ok(Ok(ChunksKept { replayed: false })),
            Err(Fault::ReceiptTaken) => settle_taken(connection, self.scope, self.operation).await,
            Err(fault) => Err(fault),
        }
    }

    async fn keep(&self, connection: &mut PgConnection) -> Result<(), Fault> {
        let chunks = || self.batch.chunks();
        let ids: Vec<&str> = chunks().map(|chunk| &*chunk.id).collect();
        let contents: Vec<&str> = chunks().map(|chunk| &*chunk.content).collect();
        let metadata: Vec<String> = chunks()
            .map(|chunk| metadata_text(&chunk.metadata))
            .collect();
        let marks: Vec<Option<&str>> = chunks().map(|chunk| chunk.mark.as_deref()).collect();
        let fingerprint = self.operation.map(|operation| &operation.fingerprint);
        sqlx::query(KEEP_CHUNKS)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(&self.collection.name)
            .bind(fingerprint.map(|fingerprint| fingerprint.as_str()))
            .bind(&self.collection.model)
            .bind(self.batch.dimensions())
            .bind(ids)
            .bind(contents)
            .bind(metadata)
            .bind(marks)
            .bind(self.batch.numbers().await)
            .execute(connection)
            .await?;
        Ok(())
    }
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    scope: &'a str,
    collection: &'a VectorCollection,
    /// Of length 1.
    embedding: Vec<f32>,
    condition: &'a Where,
    prefilter: Prefilter,
    limit: usize,
}

impl<'a> Asked<'a> {
    /// `None` where nothing can match.
    pub(super) fn new(
        scope: &'a str,
        collection: &'a VectorCollection,
        embedding: &[f32],
        condition: &'a Where,
        limit: usize,
    ) -> Option<Self> {
        Some(Self {
            scope,
            collection,
            embedding: unit(embedding),
            condition,
            prefilter: Prefilter::of(condition)?,
            limit,
        })
    }

    /// One round trip; one more where it isn't known yet in which schema the extension lies.
    pub(super) async fn run(
        &self,
        store: &PostgresStore,
        connection: &mut PgConnection,
    ) -> Result<Vec<FoundChunk>, Fault> {
        if let Some(schema) = store.extension().get() {
            match self.ask(connection, &schema).await {
                // It was moved meanwhile, or dropped.
                Err(Fault::Missing) => store.extension().set(None),
                answer => return answer,
            }
        }
        let schema = find_extension(connection).await?;
        let answer = self.ask(connection, &schema).await?;
        store.extension().set(Some(&schema));
        Ok(answer)
    }

    async fn ask(
        &self,
        connection: &mut PgConnection,
        schema: &str,
    ) -> Result<Vec<FoundChunk>, Fault> {
        // The name comes from the database, which quotes it where it must be.
        let statement = NEAREST_CHUNKS.replace(PLACEHOLDER, &format!("{schema}."));
        // Where something is left to decide, nobody knows how many it takes.
        let rows_max = match self.prefilter.exact {
            true => limit(self.limit),
            false => i64::MAX,
        };
        let mut rows = sqlx::query_as(AssertSqlSafe(statement))
            .bind(self.scope)
            .bind(&self.collection.name)
            .bind(&self.collection.model)
            .bind(bounded(self.embedding.len()))
            .bind(&self.embedding)
            .bind(&self.prefilter.held)
            .bind(rows_max)
            .fetch(connection);
        let mut found = FoundRows::new(self.condition, self.limit);
        while let Some(row) = rows.try_next().await? {
            // To the end: what isn't read here, the next operation would have to.
            if !found.is_full() {
                found.take(row);
            }
        }
        Ok(found.finish())
    }
}

pub(super) async fn chunk_marks(
    connection: &mut PgConnection,
    scope: &Scope,
    collection: &VectorCollection,
) -> Result<Vec<ChunkMark>, Fault> {
    let marks: Vec<(String, Option<String>)> = sqlx::query_as(CHUNK_MARKS)
        .bind(scope.as_str())
        .bind(&collection.name)
        .bind(&collection.model)
        .fetch_all(connection)
        .await?;
    let marks = marks.into_iter().map(|(id, mark)| ChunkMark { id, mark });
    Ok(marks.collect())
}

pub(super) async fn remove_chunks(
    connection: &mut PgConnection,
    scope: &Scope,
    collection: &VectorCollection,
    ids: &[&str],
) -> Result<(), Fault> {
    sqlx::query(REMOVE_CHUNKS)
        .bind(scope.as_str())
        .bind(&collection.name)
        .bind(ids)
        .execute(connection)
        .await?;
    Ok(())
}
