-- Locks a note until the end of the transaction. Selecting for update would lock nothing where
-- the note is absent, so it is made then: a placeholder at version 0, which no note ever has
-- outside of the transaction that locks it.
-- $1 scope, $2 name, $3 most characters of the note's text
insert into notes (scope, name, content, chars, version)
values ($1, $2, '', 0, 0)
on conflict (scope, name) do update set scope = excluded.scope
returning
    version as note_version,
    -- As in read_note.sql, a text with few bytes isn't counted.
    case when octet_length(content) <= $3 then content else left(content, $3) end as content
