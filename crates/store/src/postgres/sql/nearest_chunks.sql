-- The chunks of a scope and collection that are nearest to an embedding, and how near they are.
-- $1 scope, $2 collection, $3 model, $4 dimensions, $5 embedding, $6 values that the metadata must hold,
-- as a JSON object, or null, $7 most chunks, $8 whether contents are wanted, which are null otherwise
-- Of embeddings of length 1, the product is the cosine of the angle between them. The type and its
-- operator are those of the schema in which the extension lies: where that isn't `public`, its name is
-- put in the place of this one before the statement is sent.
select scope, id, case when $8 then content end as content, metadata, similarity
from (
    select scope, id, content, metadata,
        -- The operator gives the product with its sign turned, because indexes ascend.
        -(embedding::public.vector operator(public.<#>)
            -- Made a vector once, not for each row.
            (select $5::real[]::public.vector)) as similarity
    from chunks
    where scope = $1 and collection = $2 and model = $3 and dimensions = $4
        -- Read as JSON once as well.
        and ($6::text is null or metadata_values @> (select $6::text::jsonb))
) as near
order by similarity desc, id
limit $7
