-- The facts of a scope that were remembered last, the last one first.
-- $1 scope, $2 most facts
-- Differs because times are kept as text, and counted with unixepoch.
select scope, key, value, order_number,
    max(unixepoch() - unixepoch(remembered_at), 0) as age_seconds
from facts
where scope = $1
order by order_number desc
limit $2
