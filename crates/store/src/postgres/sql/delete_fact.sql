-- Deletes a fact and its terms, and writes the receipt, or none of them where the fact doesn't have
-- the number any more.
-- $1 scope, $2 operation id or null, $3 key, $4 fingerprint, $5 number that was read, $6 existed:
-- false for a placeholder
with fact as (
    delete from facts
    where scope = $1 and key = $3 and order_number = $5
    returning terms
), receipt as (
    insert into receipts (scope, id, fingerprint, kind, name, status, existed)
    select $1, $2, $4, 'forget', $3, 'forgotten', $6
    from fact
    where $2::text is not null
), term as (
    delete from fact_terms
    -- What has the number was all there when this statement began, so its terms are seen here. By
    -- their places, and with an offset, or the planner might read all terms of the scope.
    where ctid = any(
        array(
            select found.ctid
            from (select unnest(terms) as term from fact) as old
            cross join lateral (
                select ctid
                from fact_terms
                where scope = $1 and term = old.term and key = $3
                offset 0
            ) as found
        )
    )
)
select true as existed from fact
