-- The facts of a scope that were remembered last, the last one first.
-- $1 scope, $2 most facts
select scope, key, value, order_number,
    floor(greatest(extract(epoch from now() - remembered_at), 0))::bigint as age_seconds
from facts
where scope = $1
order by order_number desc
limit $2
