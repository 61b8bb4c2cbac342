-- The facts that have one of some terms, or one that begins with one of some others.
-- $1 scope, $2 terms, $3 beginnings, $4 for each of these the first term after all that begin so;
-- each as a JSON array
-- Differs because times are kept as text, and counted with unixepoch. Arrays are JSON, and a cross
-- join says what is read first.
with found as (
    select key
    from fact_terms
    where scope = $1 and term in (select wanted.value from json_each($2) as wanted)
    union
    select fact_terms.key
    from json_each($3) as wanted
    cross join fact_terms
    where fact_terms.scope = $1 and fact_terms.term >= wanted.value
        and fact_terms.term < $4 ->> wanted.key
)
select facts.scope, facts.key, facts.value, facts.order_number,
    max(unixepoch() - unixepoch(facts.remembered_at), 0) as age_seconds
from found
cross join facts
where facts.scope = $1 and facts.key = found.key
