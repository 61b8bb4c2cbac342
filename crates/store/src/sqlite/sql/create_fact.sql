-- Makes a fact with its terms, and its receipt.
-- $1 scope, $2 operation id or null, $3 key, $4 value, $5 folded, $6 terms, as a JSON array,
-- $7 fingerprint
-- Differs because no statement in a `with` may write here: four statements, in the transaction that
-- holds the write lock and found no fact. Numbers come from a table, and arrays are JSON.
update note_versions set newest = newest + 1;

insert into facts (scope, key, value, folded, terms, order_number)
select $1, $3, $4, $5, $6, newest
from note_versions;

insert into fact_terms (scope, term, key)
select $1, added.value, $3
from json_each($6) as added
where true -- Without it, `on conflict` would read as a part of a join.
-- One that a person left there with a console.
on conflict (scope, term, key) do nothing;

insert into receipts (scope, id, fingerprint, kind, name, status, existed)
select $1, $2, $7, 'remember', $3, 'remembered', false
where $2 is not null;
