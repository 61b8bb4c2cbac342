-- The chunks of some ids.
-- $1 scope, $2 collection, $3 ids, as a JSON array
-- Has no twin because there the statement that finds the nearest gives their contents as well.
select scope, id, metadata, content
from chunks
where scope = $1 and collection = $2 and id in (select wanted.value from json_each($3) as wanted)
