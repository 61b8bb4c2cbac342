-- What is known of a note, and whether something is about to be done to it. Always one row.
-- $1 path
select
    record.version,
    record.operation_id,
    record.sha256,
    record.inode,
    record.bytes,
    record.modified,
    record.changed,
    exists (select 1 from prepared where path = $1 or entry = $1) as in_progress
from (select 1) as always
left join records as record
    on record.path = $1
