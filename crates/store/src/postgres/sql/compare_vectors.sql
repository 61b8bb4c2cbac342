-- How near an embedding is to itself: whether the server can compare any, which a search among none
-- doesn't tell.
-- The type and its operator are those of the schema in which the extension lies, as for
-- nearest_chunks.sql.
-- Has no twin because SQLite compares embeddings in this program.
select -(array[1]::real[]::public.vector operator(public.<#>) array[1]::real[]::public.vector)
    as similarity
