-- Removes the chunks that have some ids.
-- $1 scope, $2 collection, $3 ids, as a JSON array
-- Differs because SQLite locks no rows. Arrays are JSON.
delete from chunks
where scope = $1 and collection = $2 and id in (select wanted.value from json_each($3) as wanted)
