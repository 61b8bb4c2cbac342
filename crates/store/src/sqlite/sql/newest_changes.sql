-- The newest receipts of changes to notes, the newest first.
-- $1 scope, $2 most receipts
-- Differs because times are kept as text, and formatted with strftime, and null is the least of all.
select scope, id, kind, name, status, version, strftime('%Y-%m-%dT%H:%M:%SZ', created_at) as at
from receipts
where scope = $1 and kind in ('edit', 'write', 'delete')
order by order_number desc, created_at desc, id desc
limit $2
