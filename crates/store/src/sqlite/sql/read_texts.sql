-- Notes after a name with their texts, ascending by code point of the name.
-- $1 scope, $2 name, or an empty text, $3 most notes, $4 most characters of each
-- Differs because the database is in this process: the program stops where it has enough.
select scope, name, version, substr(content, 1, $4) as content
from notes
where scope = $1 and name > $2
order by name
-- One more than is wanted tells whether there are more.
limit $3 + 1
