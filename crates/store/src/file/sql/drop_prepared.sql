-- What was prepared isn't done, or was.
-- $1 id
delete from prepared where id = $1
