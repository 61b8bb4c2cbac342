-- Writes down what is about to be done. It gives no row: who reads one and leaves the rest would
-- not hear that the commit failed.
-- $1 scope, $2 name, $3 operation id or null, $4 fingerprint or null, $5 kind, $6 status,
-- $7 version or null, $8 existed, $9 path, $10 entry, $11 and $12 inode and digest of the new file
-- or null, $13 and $14 those of the note as it is or null
insert into prepared (
    scope, name, operation_id, fingerprint, kind, status, version, existed, path, entry,
    next_inode, next_sha256, inode, sha256
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
