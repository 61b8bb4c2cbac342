-- The facts of some keys.
-- $1 scope, $2 keys, as a JSON array
-- Differs because times are kept as text, and counted with unixepoch. Arrays are JSON.
select scope, key, value, order_number,
    max(unixepoch() - unixepoch(remembered_at), 0) as age_seconds
from facts
where scope = $1 and key in (select wanted.value from json_each($2) as wanted)
