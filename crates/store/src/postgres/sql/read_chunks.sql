-- The chunks of some ids.
-- $1 scope, $2 collection, $3 ids
select scope, id, metadata, content
from chunks
where scope = $1 and collection = $2 and id = any($3::text[])
