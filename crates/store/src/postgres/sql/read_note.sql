-- The first characters of a note.
-- $1 scope, $2 name, $3 most characters
-- Counting characters takes longer than all else here, so a text with few bytes isn't counted: it
-- has no more characters than bytes.
select
    scope,
    case when octet_length(content) <= $3 then content else left(content, $3) end as content,
    chars > $3 as truncated,
    version,
    operation_id,
    write_metadata::text as write_metadata
from notes
where scope = $1 and name = $2
