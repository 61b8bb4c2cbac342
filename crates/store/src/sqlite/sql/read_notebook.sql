-- What a snapshot is rendered from: the end of the main note, and the names of the others that
-- tools read.
-- $1 scope, $2 name of the main note, $3 most characters of it, $4 most names
-- Differs because there are no arrays: the main note is a row without a name, where it exists,
-- and each name a row of its own.
with other as (
    select name
    from notes
    where scope = $1 and name <> $2 and substr(name, -3) = '.md'
    order by name
    limit $4
)
select
    null as name,
    substr(content, max(chars - $3, 0) + 1) as content,
    chars > $3 as truncated
from notes
where scope = $1 and name = $2
union all
select name, null, null
from other
order by name
