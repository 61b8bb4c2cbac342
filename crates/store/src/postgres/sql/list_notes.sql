-- The first notes of a scope without their text, ascending by code point of the name.
-- $1 scope, $2 most notes
select name, version, chars,
    to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as updated_at,
    write_metadata::text as write_metadata
from notes
where scope = $1
order by name
limit $2
