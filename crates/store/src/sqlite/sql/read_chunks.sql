-- The chunks of some ids.
-- $1 scope, $2 collection, $3 ids, as a JSON array
-- Differs because arrays are JSON.
select scope, id, metadata, content
from chunks
where scope = $1 and collection = $2 and id in (select wanted.value from json_each($3) as wanted)
