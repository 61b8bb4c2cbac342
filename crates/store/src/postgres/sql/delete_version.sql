-- Deletes a note at a version and writes the receipt, or neither where it isn't at that version.
-- $1 scope, $2 operation id or null, $3 name, $4 fingerprint, $5 version
with note as (
    delete from notes
    where scope = $1 and name = $3 and version = $5
    returning version
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, version, existed)
    select $1, $2, $4, 'delete', $3, 'deleted', null, true
    from note
    where $2::text is not null
)
select true as existed from note
