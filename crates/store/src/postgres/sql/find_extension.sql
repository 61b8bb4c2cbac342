-- The schema in which the extension pgvector lies, quoted where it must be, or null; and whether the
-- table is there, without which the extension is none of a search's troubles. Always one row.
-- Has no twin because SQLite compares embeddings in this program.
select
    (
        select quote_ident(schema.nspname)
        from pg_catalog.pg_extension as extension
        join pg_catalog.pg_namespace as schema
            on schema.oid = extension.extnamespace
        where extension.extname = 'vector'
    ) as schema,
    to_regclass('chunks') is not null as migrated
