-- The receipt of an operation.
-- $1 scope, $2 operation id
select fingerprint, status, version as receipt_version, existed, first, next
from receipts
where scope = $1 and id = $2
