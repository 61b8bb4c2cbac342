-- Keeps chunks, each in the place of the one with its id, and writes the receipt. Always one row.
-- $1 scope, $2 operation id or null, $3 collection, $4 fingerprint, $5 model, $6 dimensions; of each
-- chunk, ascending by id: $7 ids, $8 contents, $9 metadata as JSON texts, $10 marks or nulls;
-- $11 the numbers of all embeddings, one after the other
with chunk as (
    insert into chunks
        (scope, collection, id, model, dimensions, mark, content, metadata, embedding)
    select $1, $3, added.id, $5, $6, added.mark, added.content, added.metadata,
        ($11::real[])[(added.place::integer - 1) * $6 + 1 : added.place::integer * $6]
    from unnest($7::text[], $8::text[], $9::text[], $10::text[]) with ordinality
        as added (id, content, metadata, mark, place)
    -- All who change several chunks lock them in this order, so none waits for another in a circle.
    order by added.place
    on conflict (scope, collection, id) do update
    set model = excluded.model, dimensions = excluded.dimensions, mark = excluded.mark,
        content = excluded.content, metadata = excluded.metadata, embedding = excluded.embedding,
        kept_at = now()
    returning id
), kept as (
    -- Counting them comes before writing the receipt, so the chunks are locked first.
    select count(*) as chunks from chunk
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, existed)
    select $1, $2, $4, 'keep_chunks', $3, 'kept', false
    from kept
    where $2::text is not null
)
select chunks from kept
