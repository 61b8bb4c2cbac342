-- Writes the receipt of a deletion that found no note; no row where there is one.
-- $1 scope, $2 operation id or null, $3 name, $4 fingerprint
with absence as (
    select where not exists (select from notes where scope = $1 and name = $3)
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, version, existed)
    select $1, $2, $4, 'delete', $3, 'not_found', null, false
    from absence
    where $2::text is not null
)
select false as existed from absence
