-- Deletes a fact and its terms, and writes the receipt.
-- $1 scope, $2 operation id or null, $3 key, $4 fingerprint
-- Differs because no statement in a `with` may write here: three statements, in the transaction that
-- holds the write lock and found the fact. Arrays are JSON.
delete from fact_terms
where scope = $1 and key = $3 and term in (
    select old.value
    from facts
    cross join json_each(facts.terms) as old
    where facts.scope = $1 and facts.key = $3
);

delete from facts
where scope = $1 and key = $3;

insert into receipts (scope, id, fingerprint, kind, name, status, existed)
select $1, $2, $4, 'forget', $3, 'forgotten', true
where $2 is not null;
