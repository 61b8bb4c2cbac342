-- Locks a note until the end of the transaction.
-- Differs because SQLite locks no rows: one transaction writes at a time, and this one takes its
-- turn before it reads. Begun as one that reads, it couldn't be waited for: where another wrote
-- meanwhile, it could only start over.
begin immediate
