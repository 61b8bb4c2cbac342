-- Replaces the text of a note and writes the receipt, or neither where the note isn't at the
-- version any more.
-- $1 scope, $2 operation id or null, $3 name, $4 content, $5 chars, $6 fingerprint, $7 kind,
-- $8 status, $9 write metadata as JSON text or null, $10 version that was read
-- Differs because no statement in a `with` may write here: three statements, in the transaction
-- that holds the write lock. Versions come from a table, no folded text is kept, and no
-- placeholder stands for a note, so a note that is updated always existed.
update note_versions set newest = newest + 1;

update notes
set content = $4, chars = $5, operation_id = $2, version = (select newest from note_versions),
    updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), write_metadata = $9
where scope = $1 and name = $3 and version = $10
returning version;

insert into receipts
    (scope, id, fingerprint, kind, name, status, version, existed, order_number)
select $1, $2, $6, $7, $3, $8, note.version, true, newest
from note_versions
join notes as note
    on note.scope = $1 and note.name = $3 and note.version = newest
where $2 is not null;
