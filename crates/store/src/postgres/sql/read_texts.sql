-- Notes after a name with their texts, ascending by code point of the name: as many as may fit, and
-- whether there are more. At least one row; the other columns are null where no note fits.
-- $1 scope, $2 name, or an empty text, $3 most notes, $4 most characters of each, $5 bytes after which
-- no further text need be sent
with page as (
    select scope, name, version, content, chars, row_number() over (order by name) as place
    from notes
    where scope = $1 and name > $2
    order by name
    -- One more than is sent tells whether there are more.
    limit $3::bigint + 1
), sized as (
    select scope, name, version, content, chars, place,
        -- The database knows the bytes of a text without reading it, but not of a part of one. Those are
        -- taken to be no more than they must be: a character has one to four bytes. The program counts
        -- what comes, and stops where it has enough, so that a part is the same in every store.
        sum(case when chars <= $4 then octet_length(content)
            else greatest($4, octet_length(content) - 4 * (chars - $4)) end)
            over (order by place rows between unbounded preceding and 1 preceding) as bytes_before
    from page
), fitting as (
    select scope, name, version, content, chars, place
    from sized
    where place <= $3 and coalesce(bytes_before, 0) <= $5
), summary as (
    select (select count(*) from page) > (select count(*) from fitting) as more
)
select
    summary.more,
    fitting.scope,
    fitting.name,
    fitting.version,
    case when fitting.chars <= $4 then fitting.content
        else left(fitting.content, $4) end as content
from summary
left join fitting on true
order by fitting.place
