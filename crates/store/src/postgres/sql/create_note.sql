-- Makes a note and its receipt, or neither where the note exists.
-- $1 scope, $2 operation id or null, $3 name, $4 content, $5 folded, $6 chars, $7 fingerprint,
-- $8 kind, $9 status, $10 write metadata as JSON text or null
with note as (
    -- A concurrent creation of the same note is waited for here.
    insert into notes (scope, name, content, folded, chars, version, operation_id, write_metadata)
    values ($1, $3, $4, $5, $6, nextval('note_versions'), $2, $10::text::jsonb)
    on conflict (scope, name) do nothing
    returning version
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, version, existed)
    select $1, $2, $7, $8, $3, $9, note.version, false
    from note
    where $2::text is not null
)
select version from note
