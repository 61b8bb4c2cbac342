-- Notes, the receipts of the mutations that made them, and texts of snapshots.
--
-- Nothing is qualified: the migrator creates these objects in the schema that its connection's
-- search_path names, and the statements of the store find them in the same way.
--
-- Every key starts with the scope, so what belongs to one tenant is one range of each index. All
-- text compares by code point, whatever the database's own collation is: the order of names is
-- part of what callers see.
--
-- Receipts and texts of snapshots accumulate until they are pruned; scope and time are there for
-- it. Neither goes with its note: a receipt answers a repetition that can come as long as a
-- workflow may be reset or retried, and a history may name a snapshot as long as it is kept. No
-- index by time yet, because every mutation would pay for it: pruning brings what it needs.

-- Versions never repeat: a note that is deleted and made anew can't come back to a version that
-- somebody still holds. They are unique, not ordered.
create sequence note_versions as bigint;

create table notes (
    scope text collate "C" not null,
    name text collate "C" not null,
    content text collate "C" not null,
    -- The text in lower case, where that differs from what lower() makes of ASCII letters; null
    -- where it doesn't, which holds for most notes.
    folded text collate "C",
    -- Length of the text in characters, so that no read has to count them.
    chars integer not null,
    version bigint not null,
    -- The operation that made this version; null where it had none.
    operation_id text collate "C",
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (scope, name)
)
-- Notes are changed again and again. Room in their page lets most changes leave the index alone.
with (fillfactor = 80);

-- One row for each operation that took effect, with its whole result. Written in the statement
-- that changes the note, so that either both are there or neither is.
create table receipts (
    scope text collate "C" not null,
    id text collate "C" not null,
    fingerprint text collate "C" not null,
    kind text collate "C" not null,
    name text collate "C" not null,
    status text collate "C" not null,
    -- Null for a deletion.
    version bigint,
    existed boolean not null,
    created_at timestamptz not null default now(),
    constraint receipts_pkey primary key (scope, id)
);

-- Texts of snapshots under their digest. Histories carry the digest alone.
create table snapshots (
    scope text collate "C" not null,
    digest text collate "C" not null,
    content text collate "C" not null,
    created_at timestamptz not null default now(),
    primary key (scope, digest)
);
