-- Queries in which filters have nothing to gain: the worst ratio is what counts.
-- a LIMIT above sorted groups
SELECT * FROM (SELECT day, customer, sum(amount) s FROM visits GROUP BY day, customer) s JOIN customers USING (customer) WHERE region = 1 LIMIT 100;
-- the same by a hash join
SELECT of_groups();
-- BRIN questions that take long
SELECT count(*) FROM wide JOIN keys USING (k) WHERE grp = 1;
-- an empty outer side
SELECT * FROM events JOIN (SELECT customer, sum(x) AS s FROM huge GROUP BY customer) s USING (customer) WHERE status = 'new';
-- the same by an index
SELECT * FROM (SELECT * FROM events WHERE status = 'new' ORDER BY status) e JOIN (SELECT customer, sum(x) AS s FROM huge GROUP BY customer) s USING (customer);
-- 3,000 partitions of 20 rows
SELECT of_days();
-- 400 partitions of 4,000 rows
SELECT of_weeks();
-- the same, by the key that they are made by
SELECT of_all_weeks();
-- texts that all have partners
SELECT count(*) FROM uses JOIN names USING (t) WHERE length(names.t) > 3;
-- the same, in a nondeterministic collation
SELECT count(*) FROM uses JOIN names USING (s) WHERE length(names.t) > 3;
-- the same, documents
SELECT count(*) FROM uses JOIN names USING (j) WHERE length(names.t) > 3;
