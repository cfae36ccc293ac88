--
-- The planner: selectivity and cost of membership.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;

-- 10,000 distinct keys, each twice, and 5,000 NULLs.
CREATE TABLE p_keys AS SELECT CASE WHEN i <= 20000 THEN i % 10000 END AS k, (i + i / 10000) % 10 AS ten FROM generate_series(1, 25000) i;
ANALYZE p_keys;

-- The rows that the planner expects of a query, and the actual ones.
CREATE FUNCTION p_estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE FUNCTION p_actual(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO n;
	RETURN n;
END $$;

-- A constant filter: the estimate is within a factor of two of the truth, for every spelling.
SELECT bloom_agg(i) AS f100 FROM generate_series(1, 100) i \gset
SELECT bloom_agg(i) AS f3000 FROM generate_series(1, 3000) i \gset
SELECT bloom_agg(i) AS f20000 FROM generate_series(0, 19999) i \gset
CREATE TABLE p_query AS SELECT n, what, format(query, f) AS query FROM (VALUES
	(1, 'k <@ 100 keys', 'SELECT * FROM p_keys WHERE k <@ %L::bloomfilter', :'f100'),
	(2, '100 keys @> k', 'SELECT * FROM p_keys WHERE %L::bloomfilter @> k', :'f100'),
	(3, 'bloom_contains(100 keys, k)', 'SELECT * FROM p_keys WHERE bloom_contains(%L, k)', :'f100'),
	(4, 'k <@ 3,000 keys', 'SELECT * FROM p_keys WHERE k <@ %L::bloomfilter', :'f3000'),
	(5, 'k <@ 20,000 keys', 'SELECT * FROM p_keys WHERE k <@ %L::bloomfilter', :'f20000'),
	(6, 'NOT k <@ 3,000 keys', 'SELECT * FROM p_keys WHERE NOT k <@ %L::bloomfilter', :'f3000'),
	(8, 'with another condition', 'SELECT * FROM p_keys WHERE k <@ %L::bloomfilter AND ten < 5', :'f3000'),
	(9, 'a constant expression', 'SELECT * FROM p_keys WHERE k <@ bloom_add(%L, 5000)', :'f100'),
	(10, 'a small inline filter', 'SELECT * FROM p_keys WHERE k <@ bloom_add_all(bloom_empty(9), ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9])', '')) v(n, what, query, f);
SELECT what, p_estimate(query) / p_actual(query) BETWEEN 0.5 AND 2 AS "within a factor of two" FROM p_query ORDER BY n;

-- An empty filter passes nothing, a full one every key that is not NULL, a NULL filter nothing.
SELECT p_estimate('SELECT * FROM p_keys WHERE k <@ bloom_empty(100)') AS empty,
       p_estimate(format('SELECT * FROM p_keys WHERE k <@ %L::bloomfilter', bloom_agg(i, bloom_empty_bits(64, 1)))) BETWEEN 19000 AND 21000 AS "full",
       p_estimate('SELECT * FROM p_keys WHERE k <@ NULL::bloomfilter') <= 1 AS "null"
FROM generate_series(1, 5000) i;

-- A custom plan of a prepared statement knows its filter, a generic one assumes 1 %.
PREPARE p_filter(bloomfilter) AS SELECT * FROM p_keys WHERE k <@ $1;
SET plan_cache_mode = force_custom_plan;
SELECT p_estimate(format('EXECUTE p_filter(%L)', :'f3000')) BETWEEN 3000 AND 12000 AS custom;
SET plan_cache_mode = force_generic_plan;
SELECT p_estimate(format('EXECUTE p_filter(%L)', :'f3000')) AS generic;
RESET plan_cache_mode;
DEALLOCATE p_filter;

-- Tables of filters: p_filters four times the same 100 keys; p_segments 100 disjoint ranges of 100 keys; p_days 50 wide
-- filters (TOASTed) of 5,000 out of 25,000 keys; p_documents 1,000 filters, of which each has 1, every tenth has 10, 30 others.
CREATE TABLE p_filters AS SELECT g, bloom_agg(i) AS f FROM generate_series(1, 4) g, generate_series(1, 100) i GROUP BY g;
CREATE TABLE p_segments AS SELECT s, bloom_agg(s * 100 + i) AS f FROM generate_series(0, 99) s, generate_series(0, 99) i GROUP BY s;
CREATE TABLE p_days AS SELECT d, bloom_agg(abs(hashint4(d * 5000 + i)::bigint) % 25000) AS f FROM generate_series(1, 50) d, generate_series(1, 5500) i GROUP BY d;
CREATE TABLE p_documents AS SELECT d, bloom_agg(k) AS f
FROM generate_series(1, 1000) d, generate_series(1, 32) i,
     LATERAL (SELECT CASE WHEN i = 1 THEN 1 WHEN i = 2 AND d % 10 = 0 THEN 10 ELSE 1000 + d * 32 + i END) k(k) GROUP BY d;
CREATE TABLE p_skewed AS SELECT CASE WHEN i % 2 = 0 THEN 7 ELSE i END AS k, ARRAY[i % 20, i % 30, i % 50] AS ks FROM generate_series(1, 10000) i;
ANALYZE p_filters, p_segments, p_days, p_documents, p_skewed;

-- What ANALYZE stores about them: the mean number of keys, rate, bytes, and share of keys that another filter holds too.
SELECT starelid::regclass AS "table", round(m[1]) AS keys, round(m[2]::numeric, 3) AS fpr, m[3] AS bytes, round(m[4]::numeric, 2) AS shared
FROM pg_statistic, LATERAL (SELECT CASE 21837 WHEN stakind1 THEN stanumbers1 WHEN stakind2 THEN stanumbers2 WHEN stakind3 THEN stanumbers3
                                              WHEN stakind4 THEN stanumbers4 WHEN stakind5 THEN stanumbers5 END) s(m)
WHERE starelid IN ('p_filters'::regclass, 'p_segments'::regclass, 'p_days'::regclass, 'p_documents'::regclass) AND m IS NOT NULL
ORDER BY starelid::regclass::text;

-- From a subquery, a table, a join, for every spelling: the estimate is within a factor of two of the truth.
CREATE TABLE p_shapes AS SELECT * FROM (VALUES
	(1, 'subquery: aggregate', 'SELECT * FROM p_keys WHERE k <@ (SELECT bloom_agg(k) FROM p_keys WHERE ten = 3)'),
	(2, 'subquery: aggregate of a range', 'SELECT * FROM p_keys WHERE k <@ (SELECT bloom_agg(k) FROM p_keys WHERE k BETWEEN 100 AND 300)'),
	(3, 'subquery: aggregate with a rate', 'SELECT * FROM p_keys WHERE k <@ (SELECT bloom_agg(k, 100, 0.2) FROM p_keys WHERE k < 100)'),
	(4, 'subquery: aggregate of another table', 'SELECT * FROM p_keys WHERE (SELECT bloom_agg(s) FROM p_segments) @> k'),
	(5, 'subquery: aggregate of a join', 'SELECT * FROM p_keys WHERE k <@ (SELECT bloom_agg(a.k) FROM p_keys a JOIN p_segments ON s = a.k WHERE s < 50)'),
	(6, 'subquery: FILTER', 'SELECT * FROM p_keys WHERE k <@ (SELECT bloom_agg(k) FILTER (WHERE ten < 2) FROM p_keys)'),
	(7, 'subquery: template', 'SELECT * FROM p_keys WHERE k <@ (SELECT bloom_agg(k, bloom_empty(10, 0.3)) FROM p_keys WHERE k < 10)'),
	(8, 'subquery: stored filter', 'SELECT * FROM p_keys WHERE k <@ (SELECT f FROM p_segments WHERE s = 7)'),
	(9, 'subquery: stored wide filter', 'SELECT * FROM p_keys WHERE k::bigint <@ (SELECT f FROM p_days WHERE d = 7)'),
	(10, 'subquery: union', 'SELECT * FROM p_keys WHERE k <@ (SELECT bloom_union_agg(f) FROM p_segments WHERE s < 10)'),
	(11, 'subquery: bloom_contains', 'SELECT * FROM p_keys WHERE bloom_contains((SELECT f FROM p_segments WHERE s = 7), k)'),
	(12, 'subquery: any of a column', 'SELECT * FROM p_keys WHERE bloom_contains_any((SELECT f FROM p_segments WHERE s = 7), ARRAY[k, k + 1])'),
	(13, 'subquery: all of a column', 'SELECT * FROM p_keys WHERE bloom_contains_all((SELECT f FROM p_segments WHERE s = 7), ARRAY[k])'),
	(14, 'subquery: hash of a column', 'SELECT * FROM p_keys WHERE bloom_contains_hash((SELECT f FROM p_segments WHERE s = 7), bloom_hash(k))'),
	(15, 'correlated subquery', 'SELECT * FROM p_keys WHERE ten < 3 AND k <@ (SELECT f FROM p_segments WHERE s = ten)'),
	(16, 'common table expression', 'WITH c AS MATERIALIZED (SELECT bloom_agg(k) AS f FROM p_keys WHERE ten = 3) SELECT p_keys.* FROM p_keys, c WHERE k <@ f'),
	(20, 'join: keys and filters', 'SELECT * FROM p_keys JOIN p_segments ON f @> k AND ten = 4'),
	(21, 'join: with conditions', 'SELECT * FROM p_keys JOIN p_segments ON k <@ f WHERE s < 20 AND ten = 5'),
	(22, 'join: bloom_contains', 'SELECT * FROM p_keys JOIN p_segments ON bloom_contains(f, k) AND ten = 4'),
	(23, 'join: wide filters', 'SELECT * FROM p_keys JOIN p_days ON f @> k::bigint AND ten = 4 AND d <= 10'),
	(24, 'join: left', 'SELECT * FROM p_segments LEFT JOIN p_keys ON f @> k AND ten = 1'),
	(25, 'join: any', 'SELECT * FROM p_keys JOIN p_segments ON bloom_contains_any(f, ARRAY[k, k + 1000]) AND ten = 4'),
	(26, 'join: all', 'SELECT * FROM p_keys JOIN p_segments ON bloom_contains_all(f, ARRAY[k]) AND ten = 4'),
	(27, 'join: grouped subquery', 'SELECT * FROM p_keys p JOIN (SELECT ten, bloom_agg(k) AS f FROM p_keys GROUP BY ten) q ON f @> p.k AND p.ten = 4'),
	(28, 'join: LATERAL', 'SELECT * FROM p_keys, LATERAL (SELECT s FROM p_segments WHERE f @> k OFFSET 0) q WHERE ten = 5'),
	(29, 'EXISTS: a filter', 'SELECT * FROM p_keys WHERE ten = 4 AND EXISTS (SELECT FROM p_segments WHERE f @> k AND s < 30)'),
	(30, 'EXISTS: no filter', 'SELECT * FROM p_keys WHERE ten = 4 AND k IS NOT NULL AND NOT EXISTS (SELECT FROM p_segments WHERE f @> k AND s < 30)'),
	(31, 'EXISTS: a key', 'SELECT * FROM p_segments WHERE EXISTS (SELECT FROM p_keys WHERE f @> k AND k < 1000)'),
	(40, 'key in every filter', 'SELECT * FROM p_filters WHERE f @> 50'),
	(41, 'key in every document', 'SELECT * FROM p_documents WHERE f @> 1'),
	(42, 'key in a tenth', 'SELECT * FROM p_documents WHERE f @> 10'),
	(43, 'key in one', 'SELECT * FROM p_documents WHERE f @> 1035'),
	(44, 'four keys in none', 'SELECT * FROM p_documents WHERE bloom_contains_any(f, ARRAY[5, 6, 7, 8])'),
	(45, 'key in a fifth of wide filters', 'SELECT * FROM p_days WHERE f @> (SELECT abs(hashint4(60000)::bigint) % 25000)'),
	(46, 'any of two', 'SELECT * FROM p_documents WHERE bloom_contains_any(f, ARRAY[5, 10])'),
	(47, 'all of two', 'SELECT * FROM p_documents WHERE bloom_contains_all(f, ARRAY[1, 10])'),
	(48, 'hash', 'SELECT * FROM p_documents WHERE bloom_contains_hash(f, bloom_hash(10))'),
	(49, 'as an index is asked: all', 'SELECT * FROM p_documents WHERE f ?& bloomx_probe(10)'),
	(50, 'as an index is asked: any', 'SELECT * FROM p_documents WHERE f ?| bloomx_probe_all(ARRAY[5, 10])')) v(n, what, query);
INSERT INTO p_shapes SELECT v.n, what, format(query, f) FROM (SELECT bloom_agg(i) FROM generate_series(1, 9) i) c(f), (VALUES
	(60, 'constant filter with a common key', 'SELECT * FROM p_skewed WHERE k <@ %L::bloomfilter'),
	(61, 'any of an array column', 'SELECT * FROM p_skewed WHERE bloom_contains_any(%L, ks)'),
	(62, 'all of an array column', 'SELECT * FROM p_skewed WHERE bloom_contains_all(%L, ks)')) v(n, what, query);
-- && and !&&: against a constant and against each other, filters that ANALYZE keeps and those that it measures only, with NULLs.
CREATE TABLE p_gaps AS SELECT s, CASE WHEN s % 4 > 0 THEN f END AS f FROM p_segments;
ANALYZE p_gaps;
INSERT INTO p_shapes SELECT v.n, what, format(query, f) FROM (SELECT bloom_agg(i) FROM generate_series(500, 520) i) c(f), (VALUES
	(70, 'a constant overlaps', 'SELECT * FROM p_segments WHERE f && %L'),
	(71, 'a constant does not', 'SELECT * FROM p_segments WHERE f !&& %L'),
	(72, 'a constant does not, negated', 'SELECT * FROM p_segments WHERE NOT f && %L'),
	(73, 'NULLs and a constant', 'SELECT * FROM p_gaps WHERE f && %L'),
	(74, 'NULLs and no overlap', 'SELECT * FROM p_gaps WHERE f !&& %L'),
	(75, 'many alike', 'SELECT * FROM p_filters WHERE f !&& %L'),
	(76, 'wide filters', 'SELECT * FROM p_days WHERE f && (SELECT bloom_agg(i) FROM generate_series(1, 5000) i)'),
	(77, 'join: overlap', 'SELECT * FROM p_segments a JOIN p_gaps b ON a.f && b.f'),
	(78, 'join: no overlap', 'SELECT * FROM p_segments a JOIN p_gaps b ON a.f !&& b.f'),
	(79, 'join: wide filters', 'SELECT * FROM p_days a JOIN p_days b ON a.f && b.f'),
	(80, 'join: wide filters, no overlap', 'SELECT * FROM p_days a JOIN p_days b ON NOT a.f && b.f'),
	(81, 'EXISTS: overlap', 'SELECT * FROM p_segments a WHERE EXISTS (SELECT FROM p_gaps b WHERE a.f && b.f)'),
	(82, 'EXISTS: no overlap', 'SELECT * FROM p_gaps a WHERE EXISTS (SELECT FROM p_segments b WHERE a.f !&& b.f)'),
	(83, 'union of two ranges', 'SELECT * FROM p_segments WHERE f && ((SELECT f FROM p_segments WHERE s = 5) | (SELECT f FROM p_segments WHERE s = 6))')) v(n, what, query);
SELECT n, what, round((p_estimate(query) / greatest(1, p_actual(query)))::numeric, 1) BETWEEN 0.5 AND 2 AS "within a factor of two" FROM p_shapes ORDER BY n;

-- Nothing is known about the result of a function or a column that was not analyzed: 1 % is assumed.
CREATE FUNCTION p_any_filter() RETURNS bloomfilter LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN bloom_empty(10); END';
CREATE TABLE p_new AS TABLE p_segments;
SELECT p_estimate('SELECT * FROM p_keys WHERE k <@ (SELECT p_any_filter())') AS function,
       p_estimate('SELECT * FROM p_keys JOIN p_new ON f @> k') / p_estimate('SELECT * FROM p_keys, p_new') AS "not analyzed";

-- Keys of another type, and columns of filters of several types, are no error before the query runs.
INSERT INTO p_new SELECT 1000 + i, bloom_agg(i::text) FROM generate_series(1, 50) i GROUP BY i;
ANALYZE p_new;
SELECT p_estimate('SELECT * FROM p_new WHERE f @> ''5''::text') BETWEEN 0 AND 20 AS text,
       p_actual('SELECT * FROM p_new WHERE CASE WHEN s >= 1000 THEN f @> ''5''::text END') AS rows;

-- ANALYZE keeps the statistics of the column below a cast or COLLATE, whose own values may be unfit for keys.
CREATE COLLATION p_blurred (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE p_casts AS SELECT ('v' || i % 7) COLLATE p_blurred AS t, (ARRAY['pg_class', 'pg_type', 'pg_proc'])[1 + i % 3]::regclass AS r FROM generate_series(1, 1000) i;
ANALYZE p_casts;
SELECT n, p_estimate(query) / p_actual(query) BETWEEN 0.5 AND 2 AS "within a factor of two" FROM (VALUES
	(1, format('SELECT * FROM p_casts WHERE t COLLATE "C" <@ %L::bloomfilter', (SELECT bloom_agg('v1'::text)))),
	(2, format('SELECT * FROM p_casts WHERE r::oid <@ %L::bloomfilter', (SELECT bloom_agg('pg_class'::regclass::oid))))) v(n, query) ORDER BY n;
SELECT p_estimate(format('SELECT * FROM p_casts WHERE t <@ %L::bloomfilter', (SELECT bloom_agg('v1'::text)))) > 0 AS "an error when it runs, not before";
SELECT p_estimate(format('SELECT * FROM p_filters WHERE f ?& %L::bloomfilter', (SELECT bloom_agg(1)))) > 0 AS "likewise";
DROP TABLE p_casts;
DROP COLLATION p_blurred;

-- NULLs, filters without keys, and full ones.
CREATE TABLE p_mixed AS SELECT i, CASE i % 4 WHEN 0 THEN bloom_empty(10) WHEN 1 THEN bloom_add(bloom_empty(10), i) END AS f FROM generate_series(1, 1000) i;
CREATE TABLE p_full AS SELECT g, bloom_agg(i, bloom_empty_bits(64, 1)) AS f FROM generate_series(1, 3) g, generate_series(1, 5000) i GROUP BY g;
CREATE TABLE p_void (f bloomfilter);
CREATE TABLE p_layouts AS WITH l AS MATERIALIZED (SELECT l, bloom_empty(100, 0.01, l) AS template
	FROM unnest(ARRAY['standard', 'partitioned', 'hybrid', 'blocked', 'partitioned_blocked', 'scalable', 'dynamic_blocked', 'age_partitioned', 'counting']) l)
SELECT g, l, bloom_agg(i, template) AS f FROM l, generate_series(1, 20) g, generate_series(1, 100) i GROUP BY g, l;
ANALYZE p_mixed, p_full, p_void, p_layouts;
SELECT p_estimate('SELECT * FROM p_mixed WHERE f @> 5') BETWEEN 0 AND 10 AS mixed,
       p_estimate('SELECT * FROM p_full WHERE f @> 5') AS "full",
       p_estimate('SELECT * FROM p_full WHERE f @> NULL::int') AS "null",
       p_estimate('SELECT * FROM p_layouts WHERE f @> 5') BETWEEN 175 AND 180 AS layouts;

-- A column without statistics does not matter.
SELECT p_estimate(format('SELECT * FROM generate_series(1, 1000) k WHERE k <@ %L::bloomfilter', :'f100')) BETWEEN 1 AND 1000 AS "function scan",
       p_estimate(format('SELECT * FROM p_keys WHERE k + ten <@ %L::bloomfilter', :'f100')) BETWEEN 1 AND 20000 AS expression;

-- Cheap conditions go before a probe, and a probe before an expensive function.
CREATE FUNCTION p_expensive(int) RETURNS boolean LANGUAGE plpgsql COST 1000 IMMUTABLE AS 'BEGIN RETURN $1 IS NOT NULL; END';
CREATE FUNCTION p_order(query text, VARIADIC words text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%Filter:%' THEN
			RETURN (SELECT string_agg(w, ', ' ORDER BY strpos(line, w)) FROM unnest(words) w WHERE strpos(line, w) > 0);
		END IF;
	END LOOP;
END $$;
SELECT p_order('SELECT * FROM p_keys WHERE p_expensive(k) AND k <@ bloom_add(bloom_empty(9), 1) AND ten = 3', 'p_expensive', '<@', 'ten =') AS operator,
       p_order('SELECT * FROM p_keys WHERE p_expensive(k) AND bloom_contains(bloom_add(bloom_empty(9), 1), k) AND ten = 3', 'p_expensive', 'bloom_contains', 'ten =') AS function;

-- A filter that differs from row to row costs more than a constant one.
SELECT p_order('SELECT * FROM (SELECT g, f, g AS h FROM p_filters OFFSET 0) s WHERE f @> h AND h <@ bloom_add(bloom_empty(9), 1)', 'f @>', '<@') AS "order";

-- Its size matters: an inline filter is probed before a function is called, a TOASTed one after it.  So does the number of keys.
CREATE FUNCTION p_dear(int) RETURNS boolean LANGUAGE plpgsql COST 50 IMMUTABLE AS 'BEGIN RETURN $1 IS NOT NULL; END';
SELECT p_order('SELECT * FROM p_segments WHERE p_dear(s) AND f @> 5', 'p_dear', 'f @>') AS "in the row",
       p_order('SELECT * FROM p_days WHERE p_dear(d) AND f @> 5', 'p_dear', 'f @>') AS toasted,
       p_order('SELECT * FROM p_segments WHERE p_dear(s) AND bloom_contains_any(f, ARRAY[1, 2])', 'p_dear', 'bloom') AS "two keys",
       p_order(format('SELECT * FROM p_segments WHERE p_dear(s) AND bloom_contains_any(f, %L::int[])', (SELECT array_agg(i) FROM generate_series(1, 100) i)), 'p_dear', 'bloom') AS "100 keys";
DROP FUNCTION p_dear;

-- An index on the column does not get in the way.
CREATE INDEX p_keys_k ON p_keys (k);
SELECT count(*) BETWEEN 200 AND 600 AS found FROM p_keys WHERE k <@ :'f100'::bloomfilter;

CREATE FUNCTION p_plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line;
	END LOOP;
	RETURN plan;
END $$;

-- In a parallel query the probe runs in the workers.
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
SELECT p_order('SELECT count(*) FROM p_keys WHERE k <@ bloom_empty(9)', '<@') AS probe,
       p_plan('SELECT count(*) FROM p_keys WHERE k <@ bloom_empty(9)') LIKE '%Parallel Seq Scan on p_keys%' AS parallel;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET max_parallel_workers_per_gather;

-- Every operator that returns boolean has estimators, and every membership function has planner support.
SELECT o.oprname AS operator, o.oprleft::regtype, o.oprright::regtype, o.oprrest AS restrict, o.oprjoin AS "join"
FROM pg_operator o
WHERE 'bloomfilter'::regtype IN (o.oprleft, o.oprright) AND o.oprresult = 'boolean'::regtype
ORDER BY o.oprname COLLATE "C", 2, 3;
SELECT proname, prosupport, provolatile, proparallel, procost
FROM pg_proc WHERE proname ~ '^bloom_contain' AND prorettype = 'boolean'::regtype ORDER BY 1;

DROP FUNCTION p_estimate, p_actual, p_order, p_plan, p_expensive, p_any_filter;
DROP TABLE p_keys, p_query, p_shapes, p_filters, p_gaps, p_segments, p_days, p_documents, p_skewed, p_new, p_mixed, p_full, p_void, p_layouts;
