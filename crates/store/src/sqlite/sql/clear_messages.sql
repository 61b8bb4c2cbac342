-- Removes the messages of a conversation and writes the receipt. Always one row.
-- $1 scope, $2 operation id or null, $3 conversation, $4 fingerprint
-- Differs because no statement in a `with` may write here: four statements, in the transaction that
-- holds the write lock. The conversation goes last, because the others ask for it.
select coalesce(max(first), 0) as first, coalesce(max(next), 0) as next
from conversations
where scope = $1 and id = $3;

insert into receipts (scope, id, fingerprint, kind, name, status, existed, first, next)
select $1, $2, $4, 'clear_messages', $3, 'cleared', next > first, first, next
from (
    select coalesce(max(first), 0) as first, coalesce(max(next), 0) as next
    from conversations
    where scope = $1 and id = $3
)
where $2 is not null;

delete from messages
where scope = $1 and conversation = $3;

update conversations
set first = next, updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where scope = $1 and id = $3;
