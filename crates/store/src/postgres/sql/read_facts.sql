-- The facts of some keys.
-- $1 scope, $2 keys
select fact.scope, fact.key, fact.value, fact.order_number, fact.age_seconds
from unnest($2::text[]) as wanted (key)
-- The offset keeps the planner from reading all facts of the scope.
cross join lateral (
    select scope, key, value, order_number,
        floor(greatest(extract(epoch from now() - remembered_at), 0))::bigint as age_seconds
    from facts
    where scope = $1 and key = wanted.key
    offset 0
) as fact
