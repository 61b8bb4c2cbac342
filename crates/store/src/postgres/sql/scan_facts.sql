-- The facts that find_facts.sql finds, and those that hold one of some texts. The second can't be
-- had from an index, so all facts of the scope are looked through; the first are here as well, so
-- that all are of one moment.
-- $1 scope, $2 terms, $3 beginnings, $4 for each of these the first term after all that begin so,
-- $5 texts
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
select scope, key, value, order_number,
    floor(greatest(extract(epoch from now() - remembered_at), 0))::bigint as age_seconds
from facts
where scope = $1
    and (
        key in (select found.key from found)
        or exists (
            select
            -- A long text is fetched once, not for each of those that are looked for.
            from (select facts.folded || '' as folded offset 0) as whole
            cross join unnest($5::text[]) as wanted (part)
            where strpos(whole.folded, wanted.part) > 0
        )
    )
