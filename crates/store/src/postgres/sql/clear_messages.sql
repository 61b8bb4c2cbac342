-- Removes the messages of a conversation and writes the receipt. Always one row.
-- $1 scope, $2 operation id or null, $3 conversation, $4 fingerprint
-- Who added messages while this waits for the conversation did so after it: what this statement
-- can't see yet, it can't remove, so it ends where it can see to.
with seen as materialized (
    select next
    from conversations
    where scope = $1 and id = $3
), held as materialized (
    -- As it is now. All else reads what this gives, so the conversation is locked first.
    select first
    from conversations
    where scope = $1 and id = $3
    for update
), conversation as (
    update conversations
    -- Another one may have cleared further meanwhile.
    set first = greatest(conversations.first, seen.next), updated_at = now()
    from seen, held
    where conversations.scope = $1 and conversations.id = $3
    returning held.first, conversations.first as next
), outcome as (
    select coalesce(max(first), 0) as first, coalesce(max(next), 0) as next
    from conversation
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, existed, first, next)
    select $1, $2, $4, 'clear_messages', $3, 'cleared', outcome.next > outcome.first,
           outcome.first, outcome.next
    from outcome
    where $2::text is not null
), message as (
    delete from messages
    using outcome
    where messages.scope = $1 and messages.conversation = $3 and messages.position < outcome.next
)
select first, next from outcome
