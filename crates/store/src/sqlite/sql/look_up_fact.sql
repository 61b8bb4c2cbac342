-- What an operation on a fact finds: its receipt, or else the fact's number. Always one row.
-- $1 scope, $2 operation id or null, $3 key
-- Differs because a subquery's columns have no list of names.
select
    receipt.fingerprint,
    receipt.status,
    receipt.version as receipt_version,
    receipt.existed,
    fact.order_number
from (select 1) as always
left join receipts as receipt
    on receipt.scope = $1 and receipt.id = $2
-- Where the receipt answers, the fact isn't even read.
left join facts as fact
    on fact.scope = $1 and fact.key = $3 and receipt.id is null
