-- The first notes of a scope without their text, ascending by code point of the name.
-- $1 scope, $2 most notes
-- Differs because times are kept as text, and formatted with strftime.
select name, version, chars,
    strftime('%Y-%m-%dT%H:%M:%SZ', updated_at) as updated_at, write_metadata
from notes
where scope = $1
order by name
limit $2
