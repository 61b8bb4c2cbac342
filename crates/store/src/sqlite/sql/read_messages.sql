-- The messages of a selection, and before them the bounds of the conversation.
-- $1 scope, $2 conversation, $3 first position, $4 position after the last one, $5 most messages,
-- the newest ones
-- Differs because the database is in this process: whoever reads the rows stops where they are
-- enough. So they must come as they are found, and the bounds as a row of their own. `min` and `max`
-- of several values are what `least` and `greatest` are elsewhere.
with bounds as (
    select coalesce(kept.first, 0) as first, coalesce(kept.next, 0) as next
    from (select 1) as always
    left join conversations as kept
        on kept.scope = $1 and kept.id = $2
), clamped as (
    select first, next, max(first, min(next, $4)) as upto
    from bounds
), selected as (
    select first, next, min(upto, max(first, $3, next - $5)) as start, upto
    from clamped
)
select null as position, first, next, null as message
from selected
union all
select position, null, null, message
from messages
where scope = $1 and conversation = $2
    and position >= (select start from selected) and position < (select upto from selected)
order by position
