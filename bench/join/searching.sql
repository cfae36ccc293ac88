-- Nested loops whose inner side is an index scan of one key each, beside a bloomset index of these keys.

-- Even keys are there, in no order.
CREATE TABLE inr AS SELECT (g * 2)::int AS k, 'customer ' || g * 2 AS t, md5((g * 2)::text)::uuid AS u, g AS v, repeat('x', 60) AS pad
	FROM (SELECT g FROM generate_series(1, (5000000 * :scale)::int) g ORDER BY hashint8(g)) s;
CREATE INDEX ON inr (k);
CREATE INDEX ON inr (t);
CREATE INDEX ON inr (u);
CREATE INDEX ON inr USING bloomset (k);
CREATE INDEX ON inr USING bloomset (t);
CREATE INDEX ON inr USING bloomset (u);
-- The same keys in a set of some ten stages, each of which has to be asked.
CREATE TABLE staged AS SELECT k, v FROM inr LIMIT 0;
CREATE INDEX ON staged (k);
CREATE INDEX ON staged USING bloomset (k) WITH (stage_size = 64);
INSERT INTO staged SELECT k, v FROM inr;
-- r is the percentage from which on a row's key is there
CREATE TABLE outr AS SELECT g AS id, s.r, s.k AS hit, s.k + 1 AS miss, 'customer ' || s.k AS t_hit, 'customer ' || s.k + 1 AS t_miss,
	md5(s.k::text)::uuid AS u_hit, md5((s.k + 1)::text)::uuid AS u_miss
	FROM (SELECT g, abs(hashint8(g + 7) % 100) AS r, (abs(hashint8(g)::bigint) % (5000000 * :scale)::bigint + 1)::int * 2 AS k FROM generate_series(1, (500000 * :scale)::int) g) s;
-- outer rows in the order of the key
CREATE TABLE ordered AS SELECT * FROM outr ORDER BY hit;
