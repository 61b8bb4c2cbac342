-- Deletes a note, whatever its version is, and writes the receipt; where there is none, the
-- receipt says so. Always one row.
-- $1 scope, $2 operation id or null, $3 name, $4 fingerprint
-- Differs because no statement in a `with` may write here: four statements, in the transaction that
-- holds the write lock. The note goes last, because the others ask for it. Numbers come from a table.
update note_versions set newest = newest + 1
where $2 is not null;

select exists (select 1 from notes where scope = $1 and name = $3) as existed;

insert into receipts
    (scope, id, fingerprint, kind, name, status, version, existed, order_number)
select $1, $2, $4, 'delete', $3, iif(existed, 'deleted', 'not_found'), null, existed,
    newest
from note_versions, (select exists (select 1 from notes where scope = $1 and name = $3) as existed)
where $2 is not null;

delete from notes
where scope = $1 and name = $3;
