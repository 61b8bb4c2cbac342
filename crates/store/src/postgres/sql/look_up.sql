-- What an operation finds: its receipt, or else the note as it is. Always one row.
-- $1 scope, $2 operation id or null, $3 name, $4 most characters of the note's text
select
    receipt.fingerprint,
    receipt.status,
    receipt.version as receipt_version,
    receipt.existed,
    note.version as note_version,
    -- As in read_note.sql, a text with few bytes isn't counted.
    case when octet_length(note.content) <= $4 then note.content else left(note.content, $4) end
        as content
from (values (1)) as always (one)
left join receipts as receipt
    on receipt.scope = $1 and receipt.id = $2
-- Where the receipt answers, the note isn't even read.
left join notes as note
    on note.scope = $1 and note.name = $3 and receipt.id is null
