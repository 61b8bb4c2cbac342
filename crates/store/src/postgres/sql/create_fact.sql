-- Makes a fact with its terms, and its receipt, or none of them where the fact exists.
-- $1 scope, $2 operation id or null, $3 key, $4 value, $5 folded, $6 terms, $7 fingerprint
with fact as (
    -- A concurrent creation of the same fact is waited for here.
    insert into facts (scope, key, value, folded, terms, order_number)
    values ($1, $3, $4, $5, $6, nextval('note_versions'))
    on conflict (scope, key) do nothing
    returning order_number
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, existed)
    select $1, $2, $7, 'remember', $3, 'remembered', false
    from fact
    where $2::text is not null
), term as (
    insert into fact_terms (scope, term, key)
    select $1, added.term, $3
    from fact
    cross join unnest($6::text[]) as added (term)
    -- One that a person left there with a console.
    on conflict (scope, term, key) do nothing
)
select order_number from fact
