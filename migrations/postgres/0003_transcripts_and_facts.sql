-- Conversations with their messages, and facts with the terms that they are found by.
--
-- Every key starts with the scope, and all text compares by code point, as in the first migration.
--
-- Messages go when their conversation is cleared, facts and terms when they are forgotten. Nothing
-- references another table: a statement that changes a conversation or a fact holds its row, and
-- changes what belongs to it in the same step, so no row needs a check of its own.

-- One row for each conversation that a message was ever added to. Positions start at 0, have no
-- gaps, and never come back: `next` never goes down. Who adds or clears holds this row until the
-- end, so positions follow the order of commits.
create table conversations (
    scope text collate "C" not null,
    id text collate "C" not null,
    -- Position of the first message that is there.
    first bigint not null default 0,
    -- Position of the next message that is added.
    next bigint not null,
    -- When a message was added, or the conversation cleared, last.
    updated_at timestamptz not null default now(),
    primary key (scope, id),
    check (0 <= first and first <= next)
)
-- As for notes: a change that has room in its page leaves the index alone.
with (fillfactor = 80);

-- The messages of the positions from `first` up to and without `next`, each as the text of a JSON
-- object. No jsonb: an object comes back as the same value, with its numbers as they were added.
create table messages (
    scope text collate "C" not null,
    conversation text collate "C" not null,
    position bigint not null,
    message text collate "C" not null,
    primary key (scope, conversation, position)
);

create table facts (
    scope text collate "C" not null,
    key text collate "C" not null,
    value text collate "C" not null,
    -- Key and value in the form in which parts of words are looked for.
    folded text collate "C" not null,
    -- The terms under which the fact stands in fact_terms. They are kept here as well, so that no
    -- second index is needed to take them away, and none is left behind when the rules for terms
    -- change.
    terms text[] collate "C" not null,
    -- From the sequence of the versions: a fact that is remembered later has a higher one.
    order_number bigint not null,
    remembered_at timestamptz not null default now(),
    primary key (scope, key)
);

-- The facts of a scope that were remembered last.
create index facts_by_order on facts (scope, order_number);

-- Which facts of a scope have a term: equal ones, or those with a beginning, are one range.
create table fact_terms (
    scope text collate "C" not null,
    term text collate "C" not null,
    key text collate "C" not null,
    primary key (scope, term, key)
);

-- The range that a change to a conversation added or removed; null for every other operation.
alter table receipts add column first bigint, add column next bigint;
