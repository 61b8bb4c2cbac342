-- Writes down the note as it is now.
-- $1 path, $2 version, $3 operation id or null, $4 digest, $5 inode, $6 bytes, $7 modified,
-- $8 changed
insert into records (path, version, operation_id, sha256, inode, bytes, modified, changed)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (path) do update set
    version = excluded.version,
    operation_id = excluded.operation_id,
    sha256 = excluded.sha256,
    inode = excluded.inode,
    bytes = excluded.bytes,
    modified = excluded.modified,
    changed = excluded.changed
