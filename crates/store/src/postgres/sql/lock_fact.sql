-- Locks a fact until the end of the transaction. As in lock_note.sql, a placeholder is made where
-- the fact is absent: it has the number 0, which no fact ever has outside of the transaction that
-- locks it.
-- $1 scope, $2 key
-- Has no twin because SQLite locks no rows: lock_note.sql locks all that is in the file.
insert into facts (scope, key, value, folded, terms, order_number)
values ($1, $2, '', '', '{}', 0)
on conflict (scope, key) do update set scope = excluded.scope
returning order_number
