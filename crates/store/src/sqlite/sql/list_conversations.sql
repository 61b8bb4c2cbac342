-- The first conversations of a scope after an id, ascending by code point of their ids.
-- $1 scope, $2 id, or an empty text, $3 most conversations
-- Differs because times are kept as text, and formatted with strftime.
select scope, id, first, next, strftime('%Y-%m-%dT%H:%M:%SZ', updated_at) as updated_at
from conversations
where scope = $1 and id > $2
order by id
limit $3
