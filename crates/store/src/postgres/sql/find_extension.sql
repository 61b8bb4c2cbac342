-- The schema in which the extension pgvector lies, quoted where it must be, or null; whether this role may
-- use that schema, or null; and whether the table is there, without which the extension is none of a
-- search's troubles. Always one row.
-- Has no twin because SQLite compares embeddings in this program.
select
    quote_ident(schema.nspname) as schema,
    has_schema_privilege(schema.oid, 'usage') as usable,
    to_regclass('chunks') is not null as migrated
from (values (1)) as always (one)
left join pg_catalog.pg_extension as extension
    on extension.extname = 'vector'
left join pg_catalog.pg_namespace as schema
    on schema.oid = extension.extnamespace
