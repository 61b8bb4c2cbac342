-- What the files alone can't say: which version each note is at and which operation made it, what
-- was answered to whom, and what is about to be done. Made as a whole when a store is opened for
-- the first time.
--
-- A note's key is its path, so that a note that is reached over a link is one note. Receipts and
-- texts of snapshots belong to a scope, as in the databases. `modified`
-- and `changed` are nanoseconds since 1970, as the file system has them; `created_at` is a date and
-- time in UTC.
pragma application_id = 1316252518; -- `Ntkf`
pragma user_version = 1;

-- A note as the last write of this store left it. Where the file is another by now, its version
-- follows from the file.
create table records (
    path text not null primary key,
    version text not null,
    -- The operation that made this version; null where it had none.
    operation_id text,
    sha256 blob not null,
    inode integer not null,
    bytes integer not null,
    modified integer not null,
    changed integer not null
)
strict, without rowid;

-- What is about to be done, written before the file is touched and taken away with the receipt that
-- follows. Whoever finds a row here with nobody at work finishes it, or drops it where the file was
-- never touched.
create table prepared (
    id integer primary key,
    scope text not null,
    name text not null,
    -- Null for a mutation without an operation, which leaves no receipt.
    operation_id text,
    fingerprint text,
    kind text not null,
    status text not null,
    version text,
    existed integer not null check (existed in (false, true)),
    -- The note, and what has its name: another where that is a link.
    path text not null,
    entry text not null,
    -- The file that is going to be the note; null for a deletion.
    next_inode integer,
    next_sha256 blob,
    -- The note as it was; null where there was none.
    inode integer,
    sha256 blob
) strict;

-- One row for each operation that took effect, with its whole result: the newest of each scope.
create table receipts (
    number integer primary key,
    scope text not null,
    id text not null,
    fingerprint text not null,
    kind text not null,
    name text not null,
    status text not null,
    -- Null for a deletion.
    version text,
    existed integer not null check (existed in (false, true)),
    created_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    unique (scope, id)
) strict;

create index receipts_by_age on receipts (scope, number);

-- Texts of snapshots under their digest. Histories carry the digest alone.
create table snapshots (
    scope text not null,
    digest text not null,
    created_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    content text not null,
    primary key (scope, digest)
) strict;
