-- Conversations with their messages, and facts with the terms that they are found by.
--
-- Every key starts with the scope, and all text compares by code point, as in the first migration.
--
-- Messages go when their conversation is cleared, facts and terms when they are forgotten. Nothing
-- references another table: a transaction that changes a conversation or a fact holds the write
-- lock, and changes what belongs to it in the same step, so no row needs a check of its own.
--
-- Differs from its twin because tables are strict, times are text, and arrays are JSON.

-- One row for each conversation that a message was ever added to. Positions start at 0, have no
-- gaps, and never come back: `next` never goes down.
create table conversations (
    scope text not null,
    id text not null,
    -- Position of the first message that is there.
    first integer not null default 0,
    -- Position of the next message that is added.
    next integer not null,
    -- When a message was added, or the conversation cleared, last.
    updated_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    primary key (scope, id),
    check (0 <= first and first <= next)
)
-- Small rows that are found by their key alone: they live in its index.
strict, without rowid;

-- The messages of the positions from `first` up to and without `next`, each as the text of a JSON
-- object: it comes back as the same value, with its numbers as they were added.
create table messages (
    scope text not null,
    conversation text not null,
    position integer not null,
    message text not null,
    primary key (scope, conversation, position)
) strict;

create table facts (
    scope text not null,
    key text not null,
    -- From the row of the versions: a fact that is remembered later has a higher one.
    order_number integer not null,
    remembered_at text not null default (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    value text not null,
    -- Key and value in the form in which parts of words are looked for.
    folded text not null,
    -- The terms under which the fact stands in fact_terms, as a JSON array. They are kept here as
    -- well, so that no second index is needed to take them away, and none is left behind when the
    -- rules for terms change.
    terms text not null,
    primary key (scope, key)
) strict;

-- The facts of a scope that were remembered last.
create index facts_by_order on facts (scope, order_number);

-- Which facts of a scope have a term: equal ones, or those with a beginning, are one range.
create table fact_terms (
    scope text not null,
    term text not null,
    key text not null,
    primary key (scope, term, key)
) strict, without rowid;

-- The range that a change to a conversation added or removed; null for every other operation.
alter table receipts add column first integer;
alter table receipts add column next integer;
