-- Adds messages to a conversation and writes the receipt.
-- $1 scope, $2 operation id or null, $3 conversation, $4 fingerprint, $5 messages, as a JSON array
-- of texts
-- Differs because no statement in a `with` may write here: four statements, in the transaction that
-- holds the write lock. Arrays are JSON.
insert into conversations (scope, id, next)
values ($1, $3, json_array_length($5))
on conflict (scope, id) do update
set next = next + excluded.next, updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now');

insert into messages (scope, conversation, position, message)
select $1, $3, conversation.next - json_array_length($5) + added.key, added.value
from conversations as conversation
cross join json_each($5) as added
where conversation.scope = $1 and conversation.id = $3;

insert into receipts (scope, id, fingerprint, kind, name, status, existed, first, next)
select $1, $2, $4, 'add_messages', $3, 'added', next > json_array_length($5),
       next - json_array_length($5), next
from conversations
where scope = $1 and id = $3 and $2 is not null;

select next - json_array_length($5) as first, next
from conversations
where scope = $1 and id = $3;
