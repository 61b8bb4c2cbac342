-- Who made the current version of a note, and what else an application records of it.
--
-- An object of texts by name; null where the write brought none, and for every note that is older
-- than this migration. It is data, so that an application can ask for it:
-- `where write_metadata->>'updated_by' = 'ui'`. No index: what is asked for is the application's,
-- and so is the index that serves it.
--
-- Each write replaces it. A program that is older than this migration leaves it as it is, so let
-- none of them run any more when the first one writes metadata.
alter table notes add column write_metadata jsonb;
