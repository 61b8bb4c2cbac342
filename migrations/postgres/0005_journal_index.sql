-- no-transaction
-- The newest changes of notes, those without a number after all others.
--
-- Built beside the work of others, however long that takes: an index of so many rows that is built in a
-- transaction keeps everybody from writing receipts, and so notes. One that was given up halfway is
-- dropped by the program before it runs this again.
create index concurrently if not exists receipts_by_order on receipts
    (scope, order_number desc nulls last, created_at desc, id desc)
    where kind in ('edit', 'write', 'delete');
