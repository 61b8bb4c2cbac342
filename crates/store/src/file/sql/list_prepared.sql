-- What nobody finished, oldest first.
select
    id, scope, version, operation_id, path, entry, next_inode, next_sha256, inode, sha256
from prepared
order by id
