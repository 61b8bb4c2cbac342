//! Changes and reads of transcripts.
//!
//! A change is one statement, which holds the conversation's row until its end: whoever changes the
//! same conversation waits, and goes on from where that one ended. The row comes before the receipt,
//! as a note does, so operations can't wait for each other in a circle.

use futures::TryStreamExt as _;
use notekeeper_domain::{ConversationId, Operation, Scope, StoredMessage};
use sqlx::{PgConnection, Postgres, Row as _, postgres::PgArguments, query::Query};

use super::{
    fault::Fault,
    receipt::{find_receipt, settle_taken},
};
use crate::{
    Conversations, MessageSelection, MessagesAdded, MessagesCleared, StoreError, TranscriptPart,
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
    /// Two round trips; one where the receipt answers, or where there is no operation.
    pub(super) async fn add(
        &self,
        connection: &mut PgConnection,
        messages: &[StoredMessage],
    ) -> Result<Outcome<MessagesAdded>, Fault> {
        if let Some(outcome) = find_receipt(connection, self.scope, self.operation).await? {
            return Ok(outcome);
        }
        let texts: Vec<&str> = messages.iter().map(StoredMessage::as_json).collect();
        let query = self.bind(ADD_MESSAGES).bind(texts);
        match range(query, connection).await {
            Ok((first, next)) => Ok(Ok(MessagesAdded {
                first,
                next,
                replayed: false,
            })),
            Err(Fault::ReceiptTaken) => settle_taken(connection, self.scope, self.operation).await,
            Err(fault) => Err(fault),
        }
    }

    /// As many round trips as [`add`](Self::add).
    pub(super) async fn clear(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Outcome<MessagesCleared>, Fault> {
        if let Some(outcome) = find_receipt(connection, self.scope, self.operation).await? {
            return Ok(outcome);
        }
        match range(self.bind(CLEAR_MESSAGES), connection).await {
            Ok((first, next)) => Ok(Ok(MessagesCleared {
                first,
                next,
                replayed: false,
            })),
            Err(Fault::ReceiptTaken) => settle_taken(connection, self.scope, self.operation).await,
            Err(fault) => Err(fault),
        }
    }

    /// The values that both statements take, in their order.
    fn bind(&self, statement: &'static str) -> Query<'a, Postgres, PgArguments> {
        let fingerprint = self.operation.map(|operation| &operation.fingerprint);
        sqlx::query(statement)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.conversation.as_str())
            .bind(fingerprint.map(|fingerprint| fingerprint.as_str()))
    }
}

/// The range that a statement changed.
async fn range(
    query: Query<'_, Postgres, PgArguments>,
    connection: &mut PgConnection,
) -> Result<(u64, u64), Fault> {
    let row = query.fetch_one(connection).await?;
    Ok((
        position_of(row.try_get("first")?),
        position_of(row.try_get("next")?),
    ))
}

/// One round trip: the server sends no more than fits.
pub(super) async fn messages(
    connection: &mut PgConnection,
    scope: &Scope,
    conversation: &ConversationId,
    selection: MessageSelection,
    bytes_max: usize,
) -> Result<TranscriptPart, Fault> {
    let (from, to, newest) = limits(selection);
    let mut rows = sqlx::query(READ_MESSAGES)
        .bind(scope.as_str())
        .bind(conversation.as_str())
        .bind(from)
        .bind(to)
        .bind(newest)
        .bind(limit(bytes_max))
        .fetch(connection);
    let mut part = PartOfRows::new(selection, bytes_max);
    let mut bounds: Option<(i64, i64)> = None;
    while let Some(row) = rows.try_next().await? {
        bounds = Some((row.try_get("first")?, row.try_get("next")?));
        if let Some(message) = row.try_get("message")? {
            part.take(row.try_get("scope")?, message)
                .map_err(Fault::Lasting)?;
        }
    }
    let bounds = bounds.ok_or_else(|| {
        let reason = "a transcript came without its bounds".to_owned();
        Fault::Lasting(StoreError::Unexpected(reason))
    })?;
    Ok(part.finish(bounds))
}

pub(super) async fn conversations(
    connection: &mut PgConnection,
    scope: &Scope,
    after: Option<&ConversationId>,
    conversations_max: usize,
) -> Result<Conversations, Fault> {
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
