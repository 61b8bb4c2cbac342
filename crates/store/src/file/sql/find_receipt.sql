-- The receipt of an operation, and whether the operation is in progress. Always one row.
-- $1 scope, $2 operation id
select
    receipt.fingerprint,
    receipt.status,
    receipt.version,
    receipt.existed,
    exists (
        select 1 from prepared where scope = $1 and operation_id = $2
    ) as in_progress
from (select 1) as always
left join receipts as receipt
    on receipt.scope = $1 and receipt.id = $2
