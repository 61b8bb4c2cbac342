-- Forgets a note that is gone, or that another program wrote over.
-- $1 path
delete from records where path = $1
