-- Adds messages to a conversation and writes the receipt.
-- $1 scope, $2 operation id or null, $3 conversation, $4 fingerprint, $5 messages
with conversation as (
    -- Waits for whoever changes the conversation, and goes on from where that one ended. All else
    -- reads what this gives, so the conversation is locked first.
    insert into conversations (scope, id, next)
    values ($1, $3, cardinality($5::text[]))
    on conflict (scope, id)
        do update set next = conversations.next + excluded.next, updated_at = now()
    returning next - cardinality($5::text[]) as first, next
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, existed, first, next)
    select $1, $2, $4, 'add_messages', $3, 'added', conversation.first > 0, conversation.first,
           conversation.next
    from conversation
    where $2::text is not null
), message as (
    insert into messages (scope, conversation, position, message)
    select $1, $3, conversation.first + added.place - 1, added.message
    from conversation
    cross join unnest($5::text[]) with ordinality as added (message, place)
)
select first, next from conversation
