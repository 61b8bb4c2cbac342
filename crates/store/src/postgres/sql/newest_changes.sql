-- The newest receipts of changes to notes, the newest first.
-- $1 scope, $2 most receipts
select scope, id, kind, name, status, version,
    to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at
from receipts
where scope = $1 and kind in ('edit', 'write', 'delete')
order by order_number desc nulls last, created_at desc, id desc
limit $2
