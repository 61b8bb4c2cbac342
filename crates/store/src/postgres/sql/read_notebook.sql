-- What a snapshot is rendered from: the end of the main note, and the names of the others that
-- tools read. Always one row.
-- $1 scope, $2 name of the main note, $3 most characters of it, $4 most names
with other as (
    select name
    from notes
    where scope = $1 and name <> $2 and right(name, 3) = '.md'
    order by name
    limit $4
)
select
    -- As in read_note.sql, a text with few bytes isn't counted.
    case when octet_length(main.content) <= $3 then main.content else right(main.content, $3) end
        as content,
    main.chars > $3 as truncated,
    (select coalesce(array_agg(other.name order by other.name), '{}') from other) as names
from (values (1)) as always (one)
left join notes as main
    on main.scope = $1 and main.name = $2
