-- The first facts of a scope after a key, ascending by code point of their keys.
-- $1 scope, $2 key, or an empty text, $3 most facts
-- Differs because times are kept as text, and counted with unixepoch.
select scope, key, value, order_number,
    max(unixepoch() - unixepoch(remembered_at), 0) as age_seconds
from facts
where scope = $1 and key > $2
order by key
limit $3
