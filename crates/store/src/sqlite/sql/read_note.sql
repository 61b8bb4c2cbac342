-- The first characters of a note.
-- $1 scope, $2 name, $3 most characters
-- Differs because the first characters are had with substr.
select scope, substr(content, 1, $3) as content, chars > $3 as truncated, version, operation_id,
    write_metadata
from notes
where scope = $1 and name = $2
