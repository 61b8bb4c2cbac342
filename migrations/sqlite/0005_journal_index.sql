-- The newest changes of notes, those without a number after all others: null is the least of all.
--
-- Differs from its twin because a file has one writer at a time, and whoever opens it waits for the
-- migration anyway.
create index receipts_by_order on receipts
    (scope, order_number desc, created_at desc, id desc)
    where kind in ('edit', 'write', 'delete');
