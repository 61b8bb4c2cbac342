-- The chunks of a scope and collection among which the nearest are, without their contents.
-- $1 scope, $2 collection, $3 model, $4 dimensions
-- Differs because nothing here compares embeddings: the database is in this process, and the program
-- does. The contents of those that were found are read by read_chunks.sql, in the same transaction.
select id, metadata, embedding
from chunks
where scope = $1 and collection = $2 and model = $3 and dimensions = $4
