-- Replaces the value of a fact and its terms, and writes the receipt, or none of them where the
-- fact doesn't have the number any more.
-- $1 scope, $2 operation id or null, $3 key, $4 value, $5 folded, $6 terms, $7 fingerprint,
-- $8 number that was read, $9 existed: false for a placeholder
with old as (
    select unnest(terms) as term
    from facts
    where scope = $1 and key = $3 and order_number = $8
), new as (
    select unnest($6::text[]) as term
), fact as (
    update facts
    set value = $4, folded = $5, terms = $6, order_number = nextval('note_versions'),
        remembered_at = now()
    where scope = $1 and key = $3 and order_number = $8
    returning order_number
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, existed)
    select $1, $2, $7, 'remember', $3, 'remembered', $9
    from fact
    where $2::text is not null
), gone as (
    delete from fact_terms
    -- What has the number was all there when this statement began, so its terms are seen here. By
    -- their places, and with an offset, or the planner might read all terms of the scope.
    where ctid = any(
        array(
            select found.ctid
            from (
                select old.term from fact cross join old
                except
                select new.term from new
            ) as dropped
            cross join lateral (
                select ctid
                from fact_terms
                where scope = $1 and term = dropped.term and key = $3
                offset 0
            ) as found
        )
    )
), come as (
    insert into fact_terms (scope, term, key)
    select $1, added.term, $3
    from fact
    cross join (select term from new except select term from old) as added
    on conflict (scope, term, key) do nothing
)
select order_number from fact
