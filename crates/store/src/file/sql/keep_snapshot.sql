-- Keeps the text of a snapshot; keeping it again changes nothing.
-- $1 scope, $2 digest, $3 content
insert into snapshots (scope, digest, content)
values ($1, $2, $3)
on conflict (scope, digest) do nothing
