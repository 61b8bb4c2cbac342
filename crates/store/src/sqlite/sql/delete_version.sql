-- Deletes a note at a version and writes the receipt, or neither where it isn't at that version.
-- $1 scope, $2 operation id or null, $3 name, $4 fingerprint, $5 version
-- Differs because no statement in a `with` may write here: two statements, in the transaction
-- that holds the write lock. The note goes last, because the receipt asks for it.
insert into receipts (scope, id, fingerprint, kind, name, status, version, existed)
select $1, $2, $4, 'delete', $3, 'deleted', null, true
from notes
where scope = $1 and name = $3 and version = $5 and $2 is not null;

delete from notes
where scope = $1 and name = $3 and version = $5
returning true as existed;
