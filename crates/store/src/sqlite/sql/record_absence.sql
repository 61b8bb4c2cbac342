-- Writes the receipt of a deletion that found no note; no row where there is one.
-- $1 scope, $2 operation id or null, $3 name, $4 fingerprint
-- Differs because no statement in a `with` may write here: three statements, in the transaction
-- that holds the write lock. Numbers come from a table.
update note_versions set newest = newest + 1
where $2 is not null;

insert into receipts
    (scope, id, fingerprint, kind, name, status, version, existed, order_number)
select $1, $2, $4, 'delete', $3, 'not_found', null, false, newest
from note_versions
where $2 is not null and not exists (select 1 from notes where scope = $1 and name = $3);

select false as existed
where not exists (select 1 from notes where scope = $1 and name = $3);
