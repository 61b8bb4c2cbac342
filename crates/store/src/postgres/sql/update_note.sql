-- Replaces the text of a note and writes the receipt, or neither where the note isn't at the
-- version any more.
-- $1 scope, $2 operation id or null, $3 name, $4 content, $5 folded, $6 chars, $7 fingerprint,
-- $8 kind, $9 status, $10 write metadata as JSON text or null, $11 version that was read,
-- $12 existed: false for a placeholder
with note as (
    update notes
    set content = $4, folded = $5, chars = $6, operation_id = $2,
        version = nextval('note_versions'), updated_at = now(),
        write_metadata = $10::text::jsonb
    where scope = $1 and name = $3 and version = $11
    returning version
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, version, existed)
    select $1, $2, $7, $8, $3, $9, note.version, $12
    from note
    where $2::text is not null
)
select version from note
