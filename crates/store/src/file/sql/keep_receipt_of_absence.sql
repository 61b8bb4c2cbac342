-- Writes the receipt of a deletion that found no note.
-- $1 scope, $2 operation id, $3 fingerprint, $4 name
insert into receipts (scope, id, fingerprint, kind, name, status, version, existed)
values ($1, $2, $3, 'delete', $4, 'not_found', null, false)
