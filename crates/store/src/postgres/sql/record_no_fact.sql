-- Writes the receipt of forgetting what wasn't there.
-- $1 scope, $2 operation id, $3 key, $4 fingerprint
insert into receipts (scope, id, fingerprint, kind, name, status, existed)
values ($1, $2, $4, 'forget', $3, 'forgotten', false)
