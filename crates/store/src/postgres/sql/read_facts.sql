-- The facts of some keys.
-- $1 scope, $2 keys
select key, value, order_number,
    floor(greatest(extract(epoch from now() - remembered_at), 0))::bigint as age_seconds
from facts
where scope = $1 and key = any($2::text[])
