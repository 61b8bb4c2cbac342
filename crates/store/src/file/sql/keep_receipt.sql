-- Writes the receipt of what was prepared, where it had an operation.
-- $1 id
insert into receipts (scope, id, fingerprint, kind, name, status, version, existed)
select scope, operation_id, fingerprint, kind, name, status, version, existed
from prepared
where id = $1 and operation_id is not null
