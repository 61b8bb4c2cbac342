//! Changes and reads of chunks.

use std::collections::BTreeMap;

use futures::{TryStreamExt as _, stream::BoxStream};
use notekeeper_domain::{Operation, Scope, Where};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::{
    extension::{PLACEHOLDER, fault_of_search, find_extension, may_have_moved},
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
const READ_CHUNKS: &str = include_str!("sql/read_chunks.sql");
const COMPARE_VECTORS: &str = include_str!("sql/compare_vectors.sql");
const CHUNK_MARKS: &str = include_str!("sql/chunk_marks.sql");
const REMOVE_CHUNKS: &str = include_str!("sql/remove_chunks.sql");

/// Begins a transaction all of whose statements see the same.
const ONE_MOMENT: &str = "begin isolation level repeatable read, read only";

/// A row of nearest_chunks.sql: scope, id, content, metadata, similarity.
type NearRow = (String, String, Option<String>, String, f64);

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

    /// One round trip; one more where it isn't known yet in which schema the extension lies. Where the
    /// database can't decide alone what matches, two more and a transaction.
    pub(super) async fn run(
        &self,
        store: &PostgresStore,
        connection: &mut PgConnection,
    ) -> Result<Vec<FoundChunk>, Fault> {
        self.search(store, connection, false).await
    }

    /// The same, and the server shows that it compares embeddings even where there are none.
    pub(super) async fn try_out(
        &self,
        store: &PostgresStore,
        connection: &mut PgConnection,
    ) -> Result<Vec<FoundChunk>, Fault> {
        self.search(store, connection, true).await
    }

    async fn search(
        &self,
        store: &PostgresStore,
        connection: &mut PgConnection,
        compare: bool,
    ) -> Result<Vec<FoundChunk>, Fault> {
        if let Some(schema) = store.extension().get() {
            match self.ask(connection, &schema, compare).await {
                Err(error) if may_have_moved(&error) => store.extension().set(None),
                answer => return answer.map_err(fault_of_search),
            }
        }
        let schema = find_extension(connection).await?;
        let answer = self.ask(connection, &schema, compare).await;
        let answer = answer.map_err(fault_of_search)?;
        store.extension().set(Some(&schema));
        Ok(answer)
    }

    async fn ask(
        &self,
        connection: &mut PgConnection,
        schema: &str,
        compare: bool,
    ) -> Result<Vec<FoundChunk>, sqlx::Error> {
        if compare {
            let statement = in_schema(COMPARE_VECTORS, schema);
            sqlx::query(statement).execute(&mut *connection).await?;
        }
        if self.prefilter.exact {
            let (found, passed_over) = self.nearest(connection, schema, limit(self.limit)).await?;
            if !passed_over {
                return Ok(found);
            }
            // Odd rows took places of others.
        }
        self.nearest_of_all(connection, schema).await
    }

    /// The nearest, and whether some of them were passed over.
    async fn nearest(
        &self,
        connection: &mut PgConnection,
        schema: &str,
        rows_max: i64,
    ) -> Result<(Vec<FoundChunk>, bool), sqlx::Error> {
        let mut rows = self.rows(connection, schema, rows_max, true);
        let (mut found, mut count) = (FoundRows::new(self.condition, self.limit), 0);
        while let Some((scope, id, content, metadata, similarity)) = rows.try_next().await? {
            count += 1;
            found.take((scope, id, content.unwrap_or_default(), metadata, similarity));
        }
        let found = found.finish();
        let passed_over = found.len() < count;
        Ok((found, passed_over))
    }

    /// Where something is left to decide, nobody knows how many rows it takes. So contents are read
    /// afterwards, of those alone that were found: of one moment, because one transaction reads both.
    async fn nearest_of_all(
        &self,
        connection: &mut PgConnection,
        schema: &str,
    ) -> Result<Vec<FoundChunk>, sqlx::Error> {
        let mut moment = connection.begin_with(ONE_MOMENT).await?;
        let mut found = FoundRows::new(self.condition, self.limit);
        let mut rows = self.rows(&mut moment, schema, i64::MAX, false);
        while let Some((scope, id, _, metadata, similarity)) = rows.try_next().await? {
            // To the end: what isn't read here, the next statement would have to.
            if !found.is_full() {
                found.take((scope, id, String::new(), metadata, similarity));
            }
        }
        drop(rows);
        let mut found = found.finish();
        let ids: Vec<&str> = found.iter().map(|found| &*found.id).collect();
        let read: Vec<(String, String, String, String)> = sqlx::query_as(READ_CHUNKS)
            .bind(self.scope)
            .bind(&self.collection.name)
            .bind(ids)
            .fetch_all(&mut *moment)
            .await?;
        let read = read.into_iter().map(|(_, id, _, content)| (id, content));
        let mut contents: BTreeMap<String, String> = read.collect();
        for found in &mut found {
            found.content = contents.remove(&found.id).unwrap_or_default();
        }
        moment.rollback().await?;
        Ok(found)
    }

    fn rows<'r>(
        &'r self,
        connection: &'r mut PgConnection,
        schema: &str,
        rows_max: i64,
        contents: bool,
    ) -> BoxStream<'r, Result<NearRow, sqlx::Error>> {
        sqlx::query_as(in_schema(NEAREST_CHUNKS, schema))
            .bind(self.scope)
            .bind(&self.collection.name)
            .bind(&self.collection.model)
            .bind(bounded(self.embedding.len()))
            .bind(&self.embedding)
            .bind(&self.prefilter.held)
            .bind(rows_max)
            .bind(contents)
            .fetch(connection)
    }
}

/// A statement over the extension in its schema, whose name comes from the database, which quotes it
/// where it must be.
fn in_schema(statement: &str, schema: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(statement.replace(PLACEHOLDER, &format!("{schema}.")))
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
