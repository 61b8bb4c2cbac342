-- The messages of a selection from its beginning, as many as fit, and the bounds of the
-- conversation. At least one row; the last column is null where there is no message.
-- $1 scope, $2 conversation, $3 first position, $4 position after the last one, $5 most messages,
-- the newest ones, $6 most bytes
with selected as (
    select
        bounds.first,
        bounds.next,
        least(bounds.upto, greatest(bounds.first, $3, bounds.next - $5)) as start,
        bounds.upto
    from (values (1)) as always (one)
    left join conversations as kept
        on kept.scope = $1 and kept.id = $2
    cross join lateral (
        select
            coalesce(kept.first, 0) as first,
            coalesce(kept.next, 0) as next,
            greatest(coalesce(kept.first, 0), least(coalesce(kept.next, 0), $4)) as upto
    ) as bounds
), measured as (
    select position, sum(bytes) over (order by position) as bytes
    from (
        -- Lengths alone: no long text is read for its length.
        select position, octet_length(message) as bytes
        from messages
        where scope = $1 and conversation = $2
            and position >= (select start from selected)
            and position < (select upto from selected)
        order by position
        -- No message has less than 12 bytes, so more than these never fit, however long the
        -- conversation is.
        limit $6 / 12 + 1
    ) as lengths
), cut as (
    select
        -- Always one, whatever its length is.
        least(selected.upto, greatest(selected.start, coalesce(max(measured.position), 0)) + 1)
            as stop
    from selected
    left join measured on measured.bytes <= $6
    group by selected.start, selected.upto
)
select selected.first, selected.next, message.scope, message.message
from selected
left join lateral (
    select scope, position, message
    from messages
    where scope = $1 and conversation = $2
        and position >= (select start from selected)
        and position < (select stop from cut)
    order by position
) as message on true
order by message.position
