-- The messages of a selection, each with the bounds of the conversation. The last column is null where
-- there is no message; no row where there is no conversation.
-- $1 scope, $2 conversation, $3 first position, $4 position after the last one, $5 most messages,
-- the newest ones
-- Differs because the database is in this process: whoever reads the rows stops where they are
-- enough. So they must come as the index has them, unsorted: there is nothing in front of the
-- conversation that the planner doesn't know to be one row. `min` and `max` of several values are
-- what `least` and `greatest` are elsewhere.
select kept.first, kept.next, message.scope, message.message
from conversations as kept
left join messages as message
    on message.scope = $1 and message.conversation = $2
        and message.position >= max(kept.first, $3, kept.next - $5)
        and message.position < min(kept.next, $4)
where kept.scope = $1 and kept.id = $2
order by message.position
