-- The first conversations of a scope after an id, ascending by code point of their ids.
-- $1 scope, $2 id, or an empty text, $3 most conversations
select scope, id, first, next,
    to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as updated_at
from conversations
where scope = $1 and id > $2
order by id
limit $3
