-- The facts that hold one of some texts. That can't be had from an index, so all facts of the scope
-- are looked through.
-- $1 scope, $2 texts, as a JSON array
-- Differs because what find_facts.sql finds isn't here as well: one transaction reads both at one
-- moment, and costs nothing. Times are kept as text, and counted with unixepoch. Arrays are JSON.
select scope, key, value, order_number,
    max(unixepoch() - unixepoch(remembered_at), 0) as age_seconds
from facts
where scope = $1
    and exists (
        select 1
        from json_each($2) as wanted
        where instr(facts.folded, wanted.value) > 0
    )
