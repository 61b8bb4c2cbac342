-- The notes that can match, cut to the bound, and what was examined. At least one row; the last
-- three columns are null where nothing can match.
-- $1 scope, $2 most notes, $3 most characters of one note, $4 terms in lower case
with ranked as (
    select name, content, folded, chars, row_number() over (order by name) as position
    from notes
    where scope = $1
    order by name
    -- One more than is examined tells whether there are more.
    limit $2::bigint + 1
), examined as (
    select name, content, folded, chars from ranked where position <= $2
), summary as (
    select
        (select count(*) from examined) as scanned,
        exists (select from ranked where position > $2)
            or exists (select from examined where chars > $3) as incomplete
), hit as (
    select
        examined.name,
        -- As in read_note.sql, a text with few bytes isn't counted.
        case when octet_length(examined.content) <= $3 then examined.content
            else left(examined.content, $3) end as content
    from examined
    -- The offset keeps the planner from lowering the text anew for each term.
    cross join lateral (
        select
            coalesce(examined.folded, lower(examined.content collate "C")) as content,
            lower(examined.name collate "C") as name
        offset 0
    ) as lowered
    -- Of an over-long note only the first characters count, and where a text is cut can change
    -- what its last letter is in lower case: such a note is left to the caller.
    where examined.chars > $3
        or exists (
            select
            from unnest($4::text[]) as wanted (term)
            where strpos(lowered.content, wanted.term) > 0
                or strpos(lowered.name, wanted.term) > 0
        )
)
-- In no order, so that notes can be sent as they are found.
select summary.scanned, summary.incomplete, hit.name, hit.content
from summary
left join hit on true
