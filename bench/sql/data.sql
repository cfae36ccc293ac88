-- :rows rows with the distinct keys 0 .. rows-1 in scattered order.
SET search_path = bench, public;
CREATE EXTENSION bloomx;
CREATE EXTENSION bloom;
CREATE TABLE t AS SELECT (i * 2654435761) % :rows AS k, (i % 1000)::int AS v FROM generate_series(1, :rows::bigint) i;

-- 100,000 keys; 1 % of the rows of t have one of them
CREATE TABLE s AS
	SELECT k FROM (SELECT k FROM t WHERE k % 100 = 3 LIMIT 100000) x
	UNION ALL SELECT -i FROM generate_series(1, greatest(0, 100000 - :rows / 100)) i;
CREATE TABLE stored AS SELECT bloom_agg(k) AS f FROM s;

-- for joins: a share of the keys of t, with a payload
CREATE TABLE d0_1 AS SELECT k, repeat('x', 50) AS pad FROM t WHERE k % 1000 < 1;
CREATE TABLE d1   AS SELECT k, repeat('x', 50) AS pad FROM t WHERE k % 1000 < 10;
CREATE TABLE d10  AS SELECT k, repeat('x', 50) AS pad FROM t WHERE k % 1000 < 100;
CREATE TABLE d50  AS SELECT k, repeat('x', 50) AS pad FROM t WHERE k % 1000 < 500;
CREATE TABLE d100 AS SELECT k, repeat('x', 50) AS pad FROM t;

-- groups of 50 keys
CREATE TABLE g AS SELECT (i * 2654435761) % :groups AS g, i AS k FROM generate_series(1, :groups::bigint * 50) i;

-- one filter of about 1.2 MB, and fifty of them
CREATE TABLE big AS SELECT bloom_agg(i, 900000) AS f FROM generate_series(1, 900000::bigint) i;
CREATE TABLE many AS SELECT n, f FROM big, generate_series(1, 50) n;

-- the keys of t as int4, which contrib/bloom supports: one table per kind of index, and one filter
CREATE TABLE k_filter AS SELECT bloom_agg(k::int) AS f FROM t;
CREATE TABLE k_btree AS SELECT k::int FROM t;
CREATE INDEX k_btree_k ON k_btree (k);
CREATE TABLE k_bloom AS TABLE k_btree;
CREATE INDEX k_bloom_k ON k_bloom USING bloom (k) WITH (length = 16, col1 = 4);
CREATE TABLE k_brin AS TABLE k_btree;
CREATE INDEX k_brin_k ON k_brin USING brin (k int4_bloom_ops) WITH (pages_per_range = 16);
CREATE TABLE k_brinx AS TABLE k_btree;
CREATE INDEX k_brinx_k ON k_brinx USING brin (k int4_bloomx_ops) WITH (pages_per_range = 16);

CREATE FUNCTION loop_add_integers(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE x bigint := 0;
BEGIN FOR i IN 1 .. n LOOP x := x + i; END LOOP; RETURN x; END $$;
CREATE FUNCTION loop_array_append(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE a int[] := '{}';
BEGIN FOR i IN 1 .. n LOOP a := array_append(a, i); END LOOP; RETURN cardinality(a); END $$;
CREATE FUNCTION loop_bloom_add(n int) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE f bloomfilter := bloom_empty(800000);
BEGIN FOR i IN 1 .. n LOOP f := bloom_add(f, i); END LOOP; RETURN f @> n; END $$;

VACUUM ANALYZE;
