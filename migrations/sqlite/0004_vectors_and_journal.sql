-- Chunks of text with their embeddings, and the order in which receipts came, for the journal.
--
-- Every key starts with the scope, and all text compares by code point, as in the first migration.
--
-- Differs from its twin because tables are strict, times are text, and there are no arrays. Long
-- values are the last columns of theirs, because what comes after one is read through it.

-- There is no index over embeddings: those of a scope and collection are compared one by one.
create table chunks (
    scope text not null,
    collection text not null,
    id text not null,
    -- What made the embedding: those of another can't be compared with it.
    model text not null,
    -- How many numbers the embedding has.
    dimensions integer not null,
    -- What the chunk was made from, for whoever made it.
    mark text,
    -- When it was kept last.
    kept_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    -- The text of a JSON object, whose numbers come back as they were kept.
    metadata text not null,
    -- Numbers of four bytes, the lowest byte first; of length 1, or all zero.
    embedding blob not null,
    content text not null,
    primary key (scope, collection, id),
    check (length(embedding) = 4 * dimensions)
) strict;

-- Grows from receipt to receipt of a note: the number of the versions when it was written. Times alone
-- can be equal. Null for those that are older than this migration, and for receipts of all else.
alter table receipts add column order_number integer;

-- Programs of the release before, which may go on while a newer one migrates their file, give no
-- number: what they change comes in its place all the same. Its twin has a default instead, which may
-- not ask a table here.
create trigger receipts_get_numbers after insert on receipts
when new.order_number is null and new.kind in ('edit', 'write', 'delete')
begin
    update note_versions set newest = newest + 1;

    update receipts set order_number = (select newest from note_versions)
    where scope = new.scope and id = new.id;
end;
