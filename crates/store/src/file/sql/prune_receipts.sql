-- Drops all receipts of a scope but the newest.
-- $1 scope, $2 how many are kept
delete from receipts
where scope = $1 and number <= (
    select number
    from receipts
    where scope = $1
    order by number desc
    limit 1 offset $2
)
