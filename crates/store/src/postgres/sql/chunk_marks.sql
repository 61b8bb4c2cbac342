-- Ids and marks of all chunks of a scope, collection and model, ascending by code point of their ids.
-- $1 scope, $2 collection, $3 model
select id, mark
from chunks
where scope = $1 and collection = $2 and model = $3
order by id
