-- The notes that are examined, cut to the bound, and one more where there are more.
-- $1 scope, $2 most notes, $3 most characters of one note
-- Differs because the database is in this process: to look for the terms here would cost as much
-- as to score the notes, which only the caller can, and would need their folded text.
select name, substr(content, 1, $3) as content, chars > $3 as truncated
from notes
where scope = $1
order by name
-- One more than is examined tells whether there are more.
limit $2 + 1
