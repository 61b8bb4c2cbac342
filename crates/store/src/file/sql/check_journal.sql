-- Fails where the schema isn't the one that this program works with. Reads nothing.
select
    path, version, operation_id, sha256, inode, bytes, modified, changed,
    (select count(*) from (
        select
            id, scope, name, operation_id, fingerprint, kind, status, version, existed, path, entry,
            next_inode, next_sha256, inode, sha256
        from prepared
        limit 0
    )) as prepared,
    (select count(*) from (
        select number, scope, id, fingerprint, kind, name, status, version, existed, created_at
        from receipts
        limit 0
    )) as receipts,
    (select count(*) from (
        select scope, digest, created_at, content from snapshots limit 0
    )) as snapshots
from records
limit 0
