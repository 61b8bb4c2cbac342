//! Changes and reads of transcripts.

use futures::TryStreamExt as _;
use notekeeper_domain::{ConversationId, Operation, Scope, StoredMessage};
use sqlx::{
    Row as _, Sqlite, SqliteConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};

use super::{
    fault::Fault, json_array::json_array, mutation::Mutation, receipt::find_receipt,
    store::SqliteStore,
};
use crate::{
    Conversations, MessageSelection, MessagesAdded, MessagesCleared, MutationError, StoreError,
    TranscriptPart,
    counts::{limit, position_of},
    kept_messages::{ConversationsOfRows, PartOfRows, limits},
    kept_receipt::Outcome,
};

const ADD_MESSAGES: &str = include_str!("sql/add_messages.sql");
const CLEAR_MESSAGES: &str = include_str!("sql/clear_messages.sql");
const READ_MESSAGES: &str = include_str!("sql/read_messages.sql");
const LIST_CONVERSATIONS: &str = include_str!("sql/list_conversations.sql");

/// A conversation, and the operation that changes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) scope: &'a Scope,
    pub(super) conversation: &'a ConversationId,
    pub(super) operation: Option<&'a Operation>,
}

impl<'a> Target<'a> {
    /// The values that both statements take, in their order.
    fn bind(&self, statement: &'static str) -> Query<'a, Sqlite, SqliteArguments> {
        let fingerprint = self.operation.map(|operation| &operation.fingerprint);
        sqlx::query(statement)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.conversation.as_str())
            .bind(fingerprint.map(|fingerprint| fingerprint.as_str()))
    }
}

/// Adds messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Add<'a> {
    pub(super) target: Target<'a>,
    pub(super) messages: &'a [StoredMessage],
}

impl Mutation for Add<'_> {
    type Done = MessagesAdded;
    type Refused = MutationError;

    async fn run(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Outcome<MessagesAdded>, Fault> {
        let Target {
            scope, operation, ..
        } = self.target;
        if let Some(outcome) = find_receipt(connection, scope, operation).await? {
            return Ok(outcome);
        }
        let texts = self.messages.iter().map(StoredMessage::as_json);
        let query = self.target.bind(ADD_MESSAGES).bind(json_array(texts));
        let (first, next) = range(query, connection).await?;
        Ok(Ok(MessagesAdded {
            first,
            next,
            replayed: false,
        }))
    }
}

/// Removes all messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clear<'a>(pub(super) Target<'a>);

impl Mutation for Clear<'_> {
    type Done = MessagesCleared;
    type Refused = MutationError;

    async fn run(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Outcome<MessagesCleared>, Fault> {
        let Target {
            scope, operation, ..
        } = self.0;
        if let Some(outcome) = find_receipt(connection, scope, operation).await? {
            return Ok(outcome);
        }
        let (first, next) = range(self.0.bind(CLEAR_MESSAGES), connection).await?;
        Ok(Ok(MessagesCleared {
            first,
            next,
            replayed: false,
        }))
    }
}

/// The range that statements changed.
async fn range(
    query: Query<'_, Sqlite, SqliteArguments>,
    connection: &mut SqliteConnection,
) -> Result<(u64, u64), Fault> {
    // To the end of the last statement: only one of them gives a row.
    let rows: Vec<SqliteRow> = query.fetch_all(connection).await?;
    let row = rows.first().ok_or_else(|| {
        let reason = "a change of a transcript came without its range".to_owned();
        Fault::Lasting(StoreError::Unexpected(reason))
    })?;
    Ok((
        position_of(row.try_get("first")?),
        position_of(row.try_get("next")?),
    ))
}

pub(super) async fn messages(
    store: &SqliteStore,
    scope: &Scope,
    conversation: &ConversationId,
    selection: MessageSelection,
    bytes_max: usize,
) -> Result<TranscriptPart, Fault> {
    let (from, to, newest) = limits(selection);
    let mut connection = store.reader().await?;
    let mut rows = sqlx::query(READ_MESSAGES)
        .bind(scope.as_str())
        .bind(conversation.as_str())
        .bind(from)
        .bind(to)
        .bind(newest)
        .fetch(&mut *connection);
    let mut part = PartOfRows::new(selection, bytes_max);
    // Those of a conversation that nothing was added to.
    let mut bounds: (i64, i64) = (0, 0);
    while let Some(row) = rows.try_next().await? {
        bounds = (row.try_get("first")?, row.try_get("next")?);
        if let Some(message) = row.try_get("message")?
            && !part
                .take(row.try_get("scope")?, message)
                .map_err(Fault::Lasting)?
        {
            break;
        }
    }
    Ok(part.finish(bounds))
}

pub(super) async fn conversations(
    store: &SqliteStore,
    scope: &Scope,
    after: Option<&ConversationId>,
    conversations_max: usize,
) -> Result<Conversations, Fault> {
    let mut connection = store.reader().await?;
    let mut list = ConversationsOfRows::of_conversations(after, conversations_max);
    while let Some((after, rows_max)) = list.wanted() {
        let rows = sqlx::query_as(LIST_CONVERSATIONS)
            .bind(scope.as_str())
            .bind(after)
            .bind(limit(rows_max))
            .fetch_all(&mut *connection)
            .await?;
        list.take(rows);
    }
    Ok(list.into())
}
