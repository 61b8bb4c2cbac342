-- Deletes a note at a version and writes the receipt, or neither where it isn't at that version.
-- $1 scope, $2 operation id or null, $3 name, $4 fingerprint, $5 version
-- Differs because no statement in a `with` may write here: three statements, in the transaction
-- that holds the write lock. The note goes last, because the receipt asks for it. Numbers come from
-- a table.
update note_versions set newest = newest + 1
where $2 is not null;

insert into receipts
    (scope, id, fingerprint, kind, name, status, version, existed, order_number)
select $1, $2, $4, 'delete', $3, 'deleted', null, true, (select newest from note_versions)
from notes
where scope = $1 and name = $3 and version = $5 and $2 is not null;

delete from notes
where scope = $1 and name = $3 and version = $5
returning true as existed;
