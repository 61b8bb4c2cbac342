-- Makes a note and its receipt, or neither where the note exists.
-- $1 scope, $2 operation id or null, $3 name, $4 content, $5 chars, $6 fingerprint, $7 kind,
-- $8 status, $9 write metadata as JSON text or null
-- Differs because no statement in a `with` may write here: three statements, in the transaction
-- that holds the write lock. Versions come from a table, and no folded text is kept.
update note_versions set newest = newest + 1;

insert into notes (scope, name, content, chars, version, operation_id, write_metadata)
select $1, $3, $4, $5, newest, $2, $9
from note_versions
where true -- Without it, `on conflict` would read as a part of a join.
on conflict (scope, name) do nothing
returning version;

insert into receipts
    (scope, id, fingerprint, kind, name, status, version, existed, order_number)
select $1, $2, $6, $7, $3, $8, note.version, false, newest
from note_versions
join notes as note
    on note.scope = $1 and note.name = $3 and note.version = newest
where $2 is not null;
