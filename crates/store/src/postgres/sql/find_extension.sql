-- The schema in which the extension pgvector lies, quoted where it must be; no row where it isn't there.
-- Has no twin because SQLite compares embeddings in this program.
select quote_ident(schema.nspname) as schema
from pg_catalog.pg_extension as extension
join pg_catalog.pg_namespace as schema
    on schema.oid = extension.extnamespace
where extension.extname = 'vector'
