-- :rows rows with distinct keys 0 .. rows-1 in scattered order.
SET search_path = bench, public;
CREATE EXTENSION bloomx;
CREATE TABLE t AS SELECT (i * 2654435761) % :rows AS k, (i % 1000)::int AS v FROM generate_series(1, :rows::bigint) i;

-- 100,000 keys, of which 1 % of t's rows have one
CREATE TABLE s AS
	SELECT k FROM (SELECT k FROM t WHERE k % 100 = 3 LIMIT 100000) x
	UNION ALL SELECT -i FROM generate_series(1, greatest(0, 100000 - :rows / 100)) i;
CREATE TABLE stored AS SELECT bloom_agg(k) AS f FROM s;

-- for joins: a share of t's keys, with a payload
CREATE TABLE d0_1 AS SELECT k, repeat('x', 50) AS pad FROM t WHERE k % 1000 < 1;
CREATE TABLE d1   AS SELECT k, repeat('x', 50) AS pad FROM t WHERE k % 1000 < 10;
CREATE TABLE d10  AS SELECT k, repeat('x', 50) AS pad FROM t WHERE k % 1000 < 100;
CREATE TABLE d50  AS SELECT k, repeat('x', 50) AS pad FROM t WHERE k % 1000 < 500;
CREATE TABLE d100 AS SELECT k, repeat('x', 50) AS pad FROM t;

-- groups of 50 keys
CREATE TABLE g AS SELECT (i * 2654435761) % :groups AS g, i AS k FROM generate_series(1, :groups::bigint * 50) i;

-- filters of about 1.2 MB, one and fifty of them
CREATE TABLE big AS SELECT bloom_agg(i, 900000) AS f FROM generate_series(1, 900000::bigint) i;
CREATE TABLE many AS SELECT n, f FROM big, generate_series(1, 50) n;

VACUUM ANALYZE t;
VACUUM ANALYZE s;
VACUUM ANALYZE g;
VACUUM ANALYZE d0_1;
VACUUM ANALYZE d1;
VACUUM ANALYZE d10;
VACUUM ANALYZE d50;
VACUUM ANALYZE d100;
VACUUM ANALYZE big;
VACUUM ANALYZE many;
