-- The facts that have one of some terms, or one that begins with one of some others.
-- $1 scope, $2 terms, $3 beginnings, $4 for each of these the first term after all that begin so
with found as (
    -- The offsets keep the planner from reading all terms of the scope instead.
    select same.key
    from unnest($2::text[]) as wanted (term)
    cross join lateral (
        select key
        from fact_terms
        where scope = $1 and term = wanted.term
        offset 0
    ) as same
    union
    select begun.key
    from unnest($3::text[], $4::text[]) as wanted (first, after)
    cross join lateral (
        select key
        from fact_terms
        where scope = $1 and term >= wanted.first and term < wanted.after
        offset 0
    ) as begun
)
select fact.scope, fact.key, fact.value, fact.order_number, fact.age_seconds
from found
-- This one keeps it from reading all facts of the scope.
cross join lateral (
    select scope, key, value, order_number,
        floor(greatest(extract(epoch from now() - remembered_at), 0))::bigint as age_seconds
    from facts
    where scope = $1 and key = found.key
    offset 0
) as fact
