-- The newest migration that was applied; null where there is none.
select max(version) as version
from notekeeper_migrations
where success
