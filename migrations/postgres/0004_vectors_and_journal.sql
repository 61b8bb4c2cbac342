-- Chunks of text with their embeddings, and the order in which receipts came, for the journal.
--
-- Every key starts with the scope, and all text compares by code point, as in the first migration.

-- An embedding is an array of numbers and no `vector`, so that this succeeds, and all that is kept can
-- be read, where the extension pgvector isn't there. A search casts it, which costs a quarter more
-- than a column of that type would (20,000 embeddings of 384 numbers: 63 ms instead of 51). There is
-- no index over embeddings: one would cover all tenants, and give fewer than were asked for where
-- those of others are nearer.
create table chunks (
    scope text collate "C" not null,
    collection text collate "C" not null,
    id text collate "C" not null,
    -- What made the embedding: those of another can't be compared with it.
    model text collate "C" not null,
    -- How many numbers the embedding has.
    dimensions integer not null,
    -- What the chunk was made from, for whoever made it.
    mark text collate "C",
    content text collate "C" not null,
    -- The text of a JSON object, whose numbers come back as they were kept.
    metadata text collate "C" not null,
    -- The same as values, among which conditions are looked up.
    metadata_values jsonb not null generated always as (metadata::jsonb) stored,
    -- Of length 1, or all zero.
    embedding real[] not null,
    -- When it was kept last.
    kept_at timestamptz not null default now(),
    primary key (scope, collection, id),
    check (cardinality(embedding) = dimensions and array_position(embedding, null) is null),
    check (jsonb_typeof(metadata_values) = 'object')
);

-- Numbers like these can't be compressed; nobody needs to try.
alter table chunks alter column embedding set storage external;

-- Grows from receipt to receipt: drawn when a receipt is written, after what it tells of was locked,
-- so the receipts of one note come in the order of its versions, which their times needn't. Null for
-- those that are older than this migration. Added without a default first, or every row would be
-- written anew. The next migration brings the index.
alter table receipts add column order_number bigint;
alter table receipts alter column order_number set default nextval('note_versions');
