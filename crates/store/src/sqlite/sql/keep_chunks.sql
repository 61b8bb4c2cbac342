-- Keeps chunks, each in the place of the one with its id, and writes the receipt.
-- $1 scope, $2 operation id or null, $3 collection, $4 fingerprint, $5 model, $6 dimensions, $7 id,
-- content, metadata and mark or null of each chunk, as a JSON array of arrays, $8 the bytes of all
-- embeddings, one after the other
-- Differs because no statement in a `with` may write here: two statements, in the transaction that
-- holds the write lock. Arrays are JSON, and numbers of embeddings are bytes.
insert into chunks (scope, collection, id, model, dimensions, mark, metadata, embedding, content)
select $1, $3, added.value ->> 0, $5, $6, added.value ->> 3, added.value ->> 2,
    substr($8, added.key * 4 * $6 + 1, 4 * $6), added.value ->> 1
from json_each($7) as added
where true -- Without it, `on conflict` would read as a part of a join.
on conflict (scope, collection, id) do update
set model = excluded.model, dimensions = excluded.dimensions, mark = excluded.mark,
    metadata = excluded.metadata, embedding = excluded.embedding, content = excluded.content,
    kept_at = strftime('%Y-%m-%d %H:%M:%f', 'now');

insert into receipts (scope, id, fingerprint, kind, name, status, existed)
select $1, $2, $4, 'keep_chunks', $3, 'kept', false
where $2 is not null;
