-- Removes the chunks that have some ids.
-- $1 scope, $2 collection, $3 ids
with found as (
    -- Locked in the order in which keep_chunks.sql locks them.
    select id
    from chunks
    where scope = $1 and collection = $2 and id = any($3::text[])
    order by id
    for update
)
delete from chunks
where scope = $1 and collection = $2 and id = any(array(select found.id from found))
