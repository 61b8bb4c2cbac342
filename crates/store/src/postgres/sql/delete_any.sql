-- Deletes a note, whatever its version is, and writes the receipt; where there is none, the
-- receipt says so. Always one row.
-- $1 scope, $2 operation id or null, $3 name, $4 fingerprint
with note as (
    delete from notes
    where scope = $1 and name = $3
    returning version
), outcome as (
    -- Reading the outcome comes before writing the receipt, so the note is locked first.
    select exists (select from note) as existed
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, version, existed)
    select $1, $2, $4, 'delete', $3,
           case when outcome.existed then 'deleted' else 'not_found' end, null, outcome.existed
    from outcome
    where $2::text is not null
)
select existed from outcome
