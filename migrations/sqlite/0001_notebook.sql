-- Notes, the receipts of the mutations that made them, and texts of snapshots.
--
-- Every key starts with the scope, so what belongs to one tenant is one range of each index. All
-- text compares by code point, which is what SQLite does with UTF-8 where no other collation is
-- named: the order of names is part of what callers see.
--
-- Receipts and texts of snapshots accumulate until they are pruned; scope and time are there for
-- it. Neither goes with its note: a receipt answers a repetition that can come as long as a
-- workflow may be reset or retried, and a history may name a snapshot as long as it is kept. No
-- index by time yet, because every mutation would pay for it: pruning brings what it needs.
--
-- Differs from its twin because the tables are a whole file's: its header says whose it is, so
-- that no other program's database is taken for one of these. Times are text in UTC, such as
-- `2026-01-31 12:00:00.000`, which compares with what datetime() gives. Tables are strict, or a
-- column would hold a value of any type. Long texts are the last column of theirs, because what
-- comes after one is read through it.
pragma application_id = 1316252528; -- `Ntkp`

-- Versions never repeat: a note that is deleted and made anew can't come back to a version that
-- somebody still holds. One row; differs because there are no sequences. The number is taken back
-- with the transaction that took it, when nobody else can have seen it.
create table note_versions (
    newest integer not null
) strict;

insert into note_versions values (0);

create table notes (
    scope text not null,
    name text not null,
    -- Length of the text in characters, so that no read has to count them.
    chars integer not null,
    version integer not null,
    -- The operation that made this version; null where it had none.
    operation_id text,
    created_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    updated_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    -- Differs because no folded text stands beside it: searches compare in the program.
    content text not null,
    primary key (scope, name)
) strict;

-- One row for each operation that took effect, with its whole result. Written in the transaction
-- that changes the note, so that either both are there or neither is.
create table receipts (
    scope text not null,
    id text not null,
    fingerprint text not null,
    kind text not null,
    name text not null,
    status text not null,
    -- Null for a deletion.
    version integer,
    existed integer not null check (existed in (false, true)),
    created_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    primary key (scope, id)
)
-- Small rows that are found by their key alone: they live in its index.
strict, without rowid;

-- Texts of snapshots under their digest. Histories carry the digest alone.
create table snapshots (
    scope text not null,
    digest text not null,
    created_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    content text not null,
    primary key (scope, digest)
) strict;
