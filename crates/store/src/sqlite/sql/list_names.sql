-- The first names of a scope, ascending by code point.
-- $1 scope, $2 most names
select name
from notes
where scope = $1
order by name
limit $2
