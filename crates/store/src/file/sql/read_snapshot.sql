-- The text of a snapshot.
-- $1 scope, $2 digest
select content
from snapshots
where scope = $1 and digest = $2
