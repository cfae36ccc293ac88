-- Nested loops with lookups off and on: what they gain.
-- a table, 22,000 x 6,300
SELECT count(*), sum(i.k2) FROM outr o LEFT JOIN inr i ON o.k = i.k;
-- CTEs, 22,000 x 6,300
WITH o AS MATERIALIZED (SELECT * FROM outr), i AS MATERIALIZED (SELECT * FROM inr) SELECT count(*), sum(i.k2) FROM o LEFT JOIN i ON o.k = i.k;
-- groups as inner side, 3,000 outer rows
SELECT count(*), sum(i.c) FROM outr_3000 o LEFT JOIN (SELECT k, count(*) AS c FROM inr GROUP BY k) i ON o.k = i.k;
-- text, 3,000 x 6,300
SELECT count(*), sum(i.k2) FROM outr_3000 o LEFT JOIN inr i ON o.t = i.t;
-- NOT EXISTS, numeric, 3,000 x 6,300
SELECT count(*) FROM outr_3000 o WHERE NOT EXISTS (SELECT FROM inr i WHERE o.n = i.n AND i.v > 3);
