-- Replaces the value of a fact and its terms, and writes the receipt.
-- $1 scope, $2 operation id or null, $3 key, $4 value, $5 folded, $6 terms, as a JSON array,
-- $7 fingerprint
-- Differs because no statement in a `with` may write here: five statements, in the transaction that
-- holds the write lock and found the fact. Numbers come from a table, and arrays are JSON.
update note_versions set newest = newest + 1;

delete from fact_terms
where scope = $1 and key = $3 and term in (
    select old.value
    from facts
    cross join json_each(facts.terms) as old
    where facts.scope = $1 and facts.key = $3
    except
    select new.value
    from json_each($6) as new
);

update facts
set value = $4, folded = $5, terms = $6, order_number = (select newest from note_versions),
    remembered_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
where scope = $1 and key = $3;

insert into fact_terms (scope, term, key)
select $1, added.value, $3
from json_each($6) as added
where true -- Without it, `on conflict` would read as a part of a join.
on conflict (scope, term, key) do nothing;

insert into receipts (scope, id, fingerprint, kind, name, status, existed)
select $1, $2, $7, 'remember', $3, 'remembered', true
where $2 is not null;
