-- What an operation on a fact finds: its receipt, or else the fact's number. Always one row.
-- $1 scope, $2 operation id or null, $3 key
select
    receipt.fingerprint,
    receipt.status,
    receipt.version as receipt_version,
    receipt.existed,
    fact.order_number
from (values (1)) as always (one)
left join receipts as receipt
    on receipt.scope = $1 and receipt.id = $2
-- Where the receipt answers, the fact isn't even read.
left join facts as fact
    on fact.scope = $1 and fact.key = $3 and receipt.id is null
