--
-- Aggregates: bloom_agg in its four forms, bloom_union_agg, bloom_intersection_agg.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;

-- The four forms: sized by the number of keys, for a capacity, for a capacity and a rate, like a template.
SELECT form, (bloom_info(f)).capacity, (bloom_info(f)).key_type, f @> 1 AND f @> 100 AS found,
       bloom_fpr(f) < 0.01 AS "below 1 %", bloom_fpr(f) < 0.0001 AS "below 0.01 %"
FROM (SELECT 1, 'bloom_agg(v)', bloom_agg(i) FROM generate_series(1, 100) i
      UNION ALL SELECT 2, 'bloom_agg(v, capacity)', bloom_agg(i, 1000) FROM generate_series(1, 100) i
      UNION ALL SELECT 3, 'bloom_agg(v, capacity, fpr)', bloom_agg(i, 200, 0.0001) FROM generate_series(1, 100) i
      UNION ALL SELECT 4, 'bloom_agg(v, template)', bloom_agg(i, bloom_empty(300, 0.0001)) FROM generate_series(1, 100) i
     ) v(n, form, f)
ORDER BY n;

-- Each equals the filter that bloom_add_all makes from the empty one.
SELECT bloom_agg(i, 1000) = bloom_add_all(bloom_empty(1000), array_agg(i)) AS capacity,
       bloom_agg(i, 200, 0.0001) = bloom_add_all(bloom_empty(200, 0.0001), array_agg(i)) AS rate,
       bloom_agg(i) = bloom_add_all(bloom_empty(100), array_agg(i)) AS counted
FROM generate_series(1, 100) i;

-- The filter of a template has its layout, seed and geometry, and not its keys.
CREATE TABLE a_template AS
SELECT n, l AS layout, bloom_add(bloom_empty(1000, 0.001, l, seed => 42), -1) AS f
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) WITH ORDINALITY u(l, n);
SELECT t.layout, i.layout = t.layout AS layout, i.seed, i.capacity, i.key_type,
       i.bits = (bloom_info(t.f)).bits AS bits, g.f @> 77 AS "finds its key", g.f @> -1 AS "finds the template's",
       g.f = bloom_add_all(bloom_empty(1000, 0.001, t.layout, seed => 42), ARRAY(SELECT generate_series(1, 500))) AS "as by hand"
FROM a_template t, LATERAL (SELECT bloom_agg(v, t.f) AS f FROM generate_series(1, 500) v) g, LATERAL bloom_info(g.f) i
ORDER BY n;

-- A template of another key type is refused.
SELECT bloom_agg('a'::text, f) FROM a_template WHERE layout = 'standard';

-- Neither the order of the keys nor repeated keys matter.
SELECT bloom_agg(i) = bloom_agg(i ORDER BY -i) AS "ORDER BY", bloom_agg(i) = bloom_agg(DISTINCT i) AS "DISTINCT",
       bloom_agg(i % 10) = (SELECT bloom_agg(j) FROM generate_series(0, 9) j) AS repeated,
       bloom_agg(i, 500) = bloom_agg(DISTINCT i, 500) AS "DISTINCT, capacity"
FROM generate_series(1, 500) i;

-- FILTER chooses the keys.
SELECT bloom_agg(i) FILTER (WHERE i <= 50) = (SELECT bloom_agg(j) FROM generate_series(1, 50) j) AS "FILTER"
FROM generate_series(1, 100) i;

-- NULL keys are skipped, in every form.
SELECT bloom_agg(k) = bloom_agg(k) FILTER (WHERE k IS NOT NULL) AS counted,
       bloom_agg(k, 9) = bloom_agg(k, 9) FILTER (WHERE k IS NOT NULL) AS capacity,
       bloom_agg(k, 9, 0.1) = bloom_agg(k, 9, 0.1) FILTER (WHERE k IS NOT NULL) AS rate,
       bloom_agg(k, bloom_empty(9)) = bloom_agg(k, bloom_empty(9)) FILTER (WHERE k IS NOT NULL) AS template,
       bloom_cardinality(bloom_agg(k)) > 0 AS "holds keys"
FROM (VALUES (1), (NULL), (2), (NULL), (3)) v(k);

-- Over no rows, and over NULLs only: an empty filter that knows its key type.
SELECT form, (bloom_info(f)).key_type, bloom_cardinality(f) AS keys, f @> 1 AS found
FROM (SELECT 1, 'no rows', bloom_agg(i) FROM generate_series(1, 0) i
      UNION ALL SELECT 2, 'no rows, capacity', bloom_agg(i, 9) FROM generate_series(1, 0) i
      UNION ALL SELECT 3, 'no rows, rate', bloom_agg(i, 9, 0.1) FROM generate_series(1, 0) i
      UNION ALL SELECT 4, 'no rows, template', bloom_agg(i, bloom_empty(9)) FROM generate_series(1, 0) i
      UNION ALL SELECT 5, 'NULLs', bloom_agg(NULL::int) FROM generate_series(1, 3) i
      UNION ALL SELECT 6, 'NULLs, capacity', bloom_agg(NULL::int, 9) FROM generate_series(1, 3) i
      UNION ALL SELECT 7, 'NULLs, rate', bloom_agg(NULL::int, 9, 0.1) FROM generate_series(1, 3) i
      UNION ALL SELECT 8, 'NULLs, template', bloom_agg(NULL::int, bloom_empty(9)) FROM generate_series(1, 3) i
     ) v(n, form, f)
ORDER BY n;

-- So an antijoin with an empty relation keeps every row, and a key of another type is an error there too.
SELECT count(*) FROM generate_series(1, 5) v WHERE NOT v <@ (SELECT bloom_agg(i) FROM generate_series(1, 0) i);
SELECT bloom_agg(i) @> 'one'::varchar FROM generate_series(1, 0) i;

-- A null capacity is not known: the filter is sized at the end, for the rate asked for.
SELECT bloom_agg(i, NULL::bigint) = bloom_agg(i) AS "default rate" FROM generate_series(1, 100) i;
SELECT fpr, bool_and(f = bloom_add_all(bloom_empty(n, fpr), ARRAY(SELECT generate_series(1, n)))) AS "as planned for its keys",
       bool_and((bloom_info(f)).capacity = n) AS capacity, bool_and(bloom_info(f) = bloom_info(grouped)) AS "in groups, too"
FROM unnest(ARRAY[0.1, 0.001, 1e-6]) fpr, unnest(ARRAY[1, 100, 3000]) n,
     LATERAL (SELECT bloom_agg(i, NULL, fpr) AS f FROM generate_series(1, n) i) a,
     LATERAL (SELECT bloom_agg(i % (n + 1), NULL, fpr) AS grouped FROM generate_series(1, 3 * n + 2) i WHERE i % (n + 1) > 0 GROUP BY i > 0) b
GROUP BY fpr ORDER BY fpr;
SELECT bool_and(f = (SELECT bloom_agg(j, NULL, 0.001) FROM generate_series(1, i) j)) AS "window"
FROM (SELECT i, bloom_agg(i, NULL, 0.001) OVER (ORDER BY i) AS f FROM generate_series(1, 100) i) s;
SELECT bloom_agg(i, NULL, 0.001) = bloom_agg(i) AS "over no rows" FROM generate_series(1, 0) i;
-- ... also beyond bloomx.build_mem, where it is a filter that is cut at the end
SET bloomx.build_mem = '64kB';
SELECT n, i.fpr <= 0.001 AS "meets the rate", i.bits <= 1.25 * p.bits AS "at most a quarter over the plan"
FROM unnest(ARRAY[10000, 20000, 25000]) n, LATERAL (SELECT bloom_agg(v, NULL, 0.001) AS f FROM generate_series(1, n) v) a,
     bloom_info(f) i, bloom_plan(n, 0.001) p;
RESET bloomx.build_mem;

-- A null rate or template, or an out-of-range capacity or rate, is an error.
SELECT bloom_agg(i, 0) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, -1) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, NULL, NULL) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, NULL, 1.5) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 10, NULL) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 10, 0) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 10, 1) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 10, 1.5) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 10, 'NaN') FROM generate_series(1, 3) i;
SELECT bloom_agg(i, NULL::bloomfilter) FROM generate_series(1, 3) i;
SELECT bloom_agg(i, 9223372036854775807) FROM generate_series(1, 3) i;

-- More keys than planned: every key is found, bloom_info reports the filter as overfilled, and bloomx.overfill decides about notice or error.
\set VERBOSITY terse
SELECT i.capacity, i.overfilled, i.cardinality BETWEEN 270 AND 330 AS "about 300 keys", i.fpr > 0.01 AS "rate missed",
       (SELECT bool_and(f @> v) FROM generate_series(1, 300) v) AS found
FROM (SELECT bloom_agg(v, 100) AS f FROM generate_series(1, 300) v) a, bloom_info(f) i;
SET bloomx.overfill = off;
SELECT (bloom_info(bloom_agg(v, 100))).overfilled FROM generate_series(1, 300) v;
SET bloomx.overfill = error;
SELECT bloom_agg(v, 100) FROM generate_series(1, 300) v;
SELECT (bloom_info(bloom_agg(v, 1000))).overfilled FROM generate_series(1, 1000) v;
SELECT (bloom_info(bloom_agg(v))).overfilled FROM generate_series(1, 1000) v;
RESET bloomx.overfill;
\set VERBOSITY default

-- Sized by the keys: the result has the geometry and bytes of bloom_plan for the number of distinct keys (each key comes three times).
SELECT count(*) AS sizes, bool_and((i.blocks, i.parts, i.part_bits, i.hash_functions, i.bits, i.bytes)
                                 = (p.blocks, p.parts, p.part_bits, p.hash_functions, p.bits, p.bytes)) AS "as planned",
       bool_and(i.capacity = n) AS capacity
FROM (SELECT generate_series(1, 100) UNION ALL SELECT generate_series(101, 2000, 19)
      UNION ALL VALUES (255), (256), (257), (1023), (1024), (1025)) s(n),
     LATERAL (SELECT bloom_agg(v % n) AS f FROM generate_series(0, 3 * n - 1) v) a,
     bloom_info(f) i, bloom_plan(n) p;
SET work_mem = '64MB';
SELECT n, (i.blocks, i.parts, i.bits, i.bytes) = (p.blocks, p.parts, p.bits, p.bytes) AS "as planned", i.capacity
FROM (VALUES (10000), (100000), (1000000)) s(n),
     LATERAL (SELECT bloom_agg(v % n) AS f FROM generate_series(0, n + n / 10 - 1) v) a,
     bloom_info(f) i, bloom_plan(n) p
ORDER BY n;
RESET work_mem;

-- GROUP BY over many groups: ten keys take about a hundred bytes.
CREATE TABLE a_groups AS
SELECT g, bloom_agg(g * 10 + i) AS f FROM generate_series(1, 2000) g, generate_series(0, 9) i GROUP BY g;
SELECT count(*) AS groups, max(pg_column_size(f)) AS bytes,
       bool_and(f = (SELECT bloom_agg(g * 10 + i) FROM generate_series(0, 9) i)) AS "each as alone"
FROM a_groups;

-- Grouping sets.
SELECT CASE grouping(i % 2, i % 3) WHEN 1 THEN 'parity' WHEN 2 THEN 'thirds' ELSE 'all' END AS set, i % 2 AS parity, i % 3 AS third,
       round(bloom_cardinality(bloom_agg(i, 2000, 1e-4)) / 10) AS tens,
       bloom_agg(i, 2000, 1e-4) = bloom_add_all(bloom_empty(2000, 1e-4), array_agg(i)) AS "as by hand"
FROM generate_series(1, 600) i
GROUP BY GROUPING SETS ((i % 2), (i % 3), ()) ORDER BY 1, 2, 3;

-- Window functions: a growing and a moving frame, of small and of large states.
SELECT bool_and(grown = bloom_add_all(bloom_empty(500), ARRAY(SELECT generate_series(1, i)))) AS growing,
       bool_and(moved = bloom_add_all(bloom_empty(20), ARRAY(SELECT generate_series(greatest(i - 5, 1), i)))) AS moving,
       bool_and(counted = (SELECT bloom_agg(j) FROM generate_series(1, i) j)) AS "growing, counted",
       bool_and(counted_moved = (SELECT bloom_agg(j) FROM generate_series(greatest(i - 5, 1), i) j)) AS "moving, counted"
FROM (SELECT i, bloom_agg(i, 500) OVER w AS grown, bloom_agg(i, 20) OVER (w ROWS 5 PRECEDING) AS moved,
             bloom_agg(i) OVER w AS counted, bloom_agg(i) OVER (w ROWS 5 PRECEDING) AS counted_moved
      FROM generate_series(1, 300) i WINDOW w AS (ORDER BY i)) s;
SELECT count(*) AS frames, bool_and(f = (SELECT bloom_agg(j) FROM generate_series(1, i) j)) AS "growing, counted",
       bool_and(planned = bloom_add_all(bloom_empty(20000), ARRAY(SELECT generate_series(1, i)))) AS "growing, planned"
FROM (SELECT i, bloom_agg(i) OVER w AS f, bloom_agg(i, 20000) OVER w AS planned
      FROM generate_series(1, 2000) i WINDOW w AS (ORDER BY i)) s
WHERE i % 200 = 0;
SELECT bool_and(merged = (SELECT bloom_agg(j, 3000) FROM generate_series(1, 100 * i) j)) AS "bloom_union_agg, growing"
FROM (SELECT i, bloom_union_agg(f) OVER (ORDER BY i) AS merged
      FROM (SELECT i, (SELECT bloom_agg(j, 3000) FROM generate_series(100 * i - 99, 100 * i) j) AS f
            FROM generate_series(1, 20) i) days) s;

-- bloomx.build_mem: above it the keys go into a filter of at most that size, which is cut at the end.  No key is lost.  As
-- long as a filter of that size can meet 1 %, the result does, with at most a quarter more than the planned bits (the cut can
-- only halve the blocks and drop parts).  With still more keys the filter is overfilled and says so.
SET bloomx.overfill = off;
SET bloomx.build_mem = '64kB';
CREATE TABLE a_small_mem AS
SELECT n, f, (SELECT count(*) FROM generate_series(1, n) v WHERE NOT f @> v) AS lost
FROM generate_series(1000, 75000, 2000) n, LATERAL (SELECT bloom_agg(v) AS f FROM generate_series(1, n) v) a;
RESET bloomx.build_mem;
RESET bloomx.overfill;
SELECT n <= 45000 AS "fits 64 kB", count(*) AS sizes, bool_and(lost = 0) AS "no key lost", bool_and(i.fpr <= 0.01) AS "meets 1 %",
       bool_and(i.bytes <= 65536) AS "within build_mem", bool_and(i.bits <= 1.25 * p.bits) AS "at most a quarter over the plan"
FROM a_small_mem, bloom_info(f) i, bloom_plan(n) p GROUP BY 1 ORDER BY 1 DESC;
SELECT n >= 50000 AS "too many keys", bool_or(i.overfilled) AS "some overfilled", bool_and(i.overfilled) AS "all overfilled"
FROM a_small_mem, bloom_info(f) i WHERE n NOT BETWEEN 45001 AND 49999 GROUP BY 1 ORDER BY 1;
SET bloomx.build_mem = '64kB';
SET bloomx.overfill = error;
\set VERBOSITY terse
SELECT bloom_cardinality(bloom_agg(v)) BETWEEN 39000 AND 41000 AS fits FROM generate_series(1, 40000) v;
SELECT 'reported'::text FROM (SELECT bloom_agg(v) AS f FROM generate_series(1, 100000) v) s WHERE f @> 1;
\set VERBOSITY default
RESET bloomx.build_mem;
RESET bloomx.overfill;

-- The limit applies to each group, and keys of a named type keep it too.
SET bloomx.build_mem = '64kB';
SELECT v % 3 AS g, count(*) AS keys, bool_and(v <@ f) AS "no key lost", min(bloom_fpr(f)) <= 0.01 AS "meets 1 %",
       min((bloom_info(f)).key_type) AS key_type
FROM generate_series(1, 60000) v,
     (SELECT w % 3 AS g, bloom_agg(w) AS f FROM generate_series(1, 60000) w GROUP BY 1) t
WHERE t.g = v % 3 GROUP BY 1 ORDER BY 1;
SELECT (bloom_info(f)).key_type, f @> ARRAY[1, 2] AS found, f @> ARRAY[20000, 20001] AS "found too", bloom_fpr(f) <= 0.01 AS "meets 1 %"
FROM (SELECT bloom_agg(ARRAY[v, v + 1]) AS f FROM generate_series(1, 20000) v) s;
RESET bloomx.build_mem;

-- Parallel workers: each aggregate has a partial plan ...
CREATE TABLE a_keys AS SELECT i AS k FROM generate_series(1, 50000) i;
CREATE TABLE a_filters AS SELECT k % 7 AS g, bloom_agg(k, 8000, 0.001) AS f FROM a_keys GROUP BY 1;
ANALYZE a_keys;
ANALYZE a_filters;
CREATE FUNCTION a_is_partial(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%Partial %Aggregate%' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;
CREATE TABLE a_queries AS SELECT * FROM (VALUES
	(1, 'bloom_agg(k)', 'a_keys'),
	(2, 'bloom_agg(k, 50000)', 'a_keys'),
	(3, 'bloom_agg(k, 50000, 0.001)', 'a_keys'),
	(4, 'bloom_agg(k, bloom_empty(50000, 0.001, ''blocked'', seed => 7))', 'a_keys'),
	(5, 'bloom_agg(k) FILTER (WHERE k <= 500)', 'a_keys'),
	(6, 'bloom_agg(k, 3000) FILTER (WHERE k <= 2000)', 'a_keys'),
	(7, 'bloom_agg(k) FILTER (WHERE k < 0)', 'a_keys'),
	(8, 'bloom_union_agg(f)', 'a_filters'),
	(9, 'bloom_intersection_agg(f)', 'a_filters')) v(n, expression, source);
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
SELECT expression, a_is_partial(format('SELECT %s FROM %s', expression, source)) AS "partial" FROM a_queries ORDER BY n;

-- ... and gives the serial result: in a group, over all rows, with small and large states.
CREATE FUNCTION a_same(expression text, source text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT %s FROM %s', expression, source);
	serial bloomfilter;
	parallel bloomfilter;
BEGIN
	SET LOCAL max_parallel_workers_per_gather = 0;
	EXECUTE query INTO serial;
	SET LOCAL max_parallel_workers_per_gather = 2;
	EXECUTE query INTO parallel;
	RETURN serial = parallel AND serial::bytea = parallel::bytea;
END $$;
SELECT expression, a_same(expression, source) AS same FROM a_queries ORDER BY n;

-- The same with a small build_mem: no key is lost, and 1 % is met where possible.
SET bloomx.build_mem = '64kB';
SET bloomx.overfill = off;
SELECT (SELECT count(*) FROM a_keys WHERE NOT k <@ f) AS lost, (bloom_info(f)).overfilled, a_same('bloom_agg(k)', 'a_keys') AS same
FROM (SELECT bloom_agg(k) AS f FROM a_keys) s;
RESET bloomx.overfill;
SELECT (SELECT count(*) FROM a_keys WHERE k <= 40000 AND NOT k <@ f) AS lost, bloom_fpr(f) <= 0.01 AS "meets 1 %",
       a_same('bloom_agg(k) FILTER (WHERE k <= 40000)', 'a_keys') AS same
FROM (SELECT bloom_agg(k) AS f FROM a_keys WHERE k <= 40000) s;
RESET bloomx.build_mem;

-- Partitionwise aggregation.
CREATE TABLE a_parts (k int, p int) PARTITION BY LIST (p);
CREATE TABLE a_parts_0 PARTITION OF a_parts FOR VALUES IN (0);
CREATE TABLE a_parts_1 PARTITION OF a_parts FOR VALUES IN (1);
INSERT INTO a_parts SELECT i, i % 2 FROM generate_series(1, 10000) i;
ANALYZE a_parts;
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 0;
SELECT a_is_partial('SELECT bloom_agg(k) FROM a_parts') AS "partial";
SELECT bloom_agg(k) = (SELECT bloom_agg(k) FROM a_keys WHERE k <= 10000) AS counted,
       bloom_agg(k, 10000) = (SELECT bloom_agg(k, 10000) FROM a_keys WHERE k <= 10000) AS capacity
FROM a_parts;
RESET enable_partitionwise_aggregate;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- A partial state is a value: it can be stored, written as text or bytes, read elsewhere and combined there.
CREATE AGGREGATE a_partial(anycompatible) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE a_partial(anycompatible, bigint) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE a_partial(anycompatible, bigint, float8) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE a_partial(anycompatible, bloomfilter) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE TABLE a_states AS
SELECT n, k % 4 AS part, a_partial(k) AS counted, a_partial(k, n) AS capacity, a_partial(k, n, 0.001) AS rate,
       a_partial(k, bloom_empty(n, 0.01, 'standard', seed => 5)) AS template
FROM (VALUES (10), (1000), (50000)) s(n), a_keys WHERE k <= n
GROUP BY n, part;
SELECT n, bloom_union_agg(counted) = (SELECT bloom_agg(k) FROM a_keys WHERE k <= n) AS counted,
       bloom_union_agg(counted::text::bloomfilter) = (SELECT bloom_agg(k) FROM a_keys WHERE k <= n) AS "as text",
       bloom_union_agg(counted::bytea::bloomfilter ORDER BY part DESC) = (SELECT bloom_agg(k) FROM a_keys WHERE k <= n) AS "as bytes",
       bloom_union_agg(capacity::text::bloomfilter) = (SELECT bloom_agg(k, n) FROM a_keys WHERE k <= n) AS capacity,
       bloom_union_agg(rate::text::bloomfilter) = (SELECT bloom_agg(k, n, 0.001) FROM a_keys WHERE k <= n) AS rate,
       bloom_union_agg(template::text::bloomfilter) = (SELECT bloom_agg(k, bloom_empty(n, 0.01, 'standard', seed => 5)) FROM a_keys WHERE k <= n) AS template
FROM a_states GROUP BY n ORDER BY n;

-- A stored state can be probed, and united with a finished filter.
SELECT n, (bloom_info(counted)).layout, bool_and(counted @> (4 + part)) AS found, bool_and(counted::text::bloomfilter::bytea = counted::bytea) AS "stands text"
FROM a_states GROUP BY 1, 2 ORDER BY 1;
SELECT (bloom_empty(2000) | counted) = bloom_agg(k, 2000) AS "union", (counted | bloom_empty(2000)) = bloom_agg(k, 2000) AS reversed
FROM a_states s, a_keys WHERE s.n = 1000 AND s.part = 1 AND k <= 1000 AND k % 4 = 1 GROUP BY counted;

-- bloom_union_agg gives the filter of all keys.  Equal sizes:
SELECT bloom_union_agg(f) = (SELECT f FROM (SELECT bloom_agg(k, 60000, 0.001) AS f FROM a_keys) s) AS "union",
       bloom_union_agg(f ORDER BY g) = bloom_union_agg(f ORDER BY -g) AS "in any order"
FROM (SELECT k % 7 AS g, bloom_agg(k, 60000, 0.001) AS f FROM a_keys GROUP BY 1) s;

-- Unequal sizes: the most blocks, the fewest parts, all keys; the order does not matter.
CREATE TABLE a_sizes AS
SELECT g, bloom_agg(k, n, 10.0 ^ (-2 - g % 3)) AS f
FROM (VALUES (1, 10), (2, 100), (3, 1000), (4, 10000)) v(g, n), a_keys WHERE k BETWEEN g * 10000 AND g * 10000 + n - 1 GROUP BY g, n;
SELECT g, i.blocks, i.parts FROM a_sizes, bloom_info(f) i ORDER BY g;
SELECT i.blocks, i.parts,
       (SELECT count(*) FROM (VALUES (1, 10), (2, 100), (3, 1000), (4, 10000)) v(g, n), a_keys
        WHERE k BETWEEN g * 10000 AND g * 10000 + n - 1 AND NOT k <@ u.f) AS lost,
       "in any order"
FROM (SELECT bloom_union_agg(f ORDER BY g) AS f,
             bloom_union_agg(f ORDER BY g) = bloom_union_agg(f ORDER BY -g)
             AND bloom_union_agg(f ORDER BY g) = bloom_union_agg(f ORDER BY (g * 3) % 5) AS "in any order"
      FROM a_sizes) u, bloom_info(f) i;

-- bloom_intersection_agg keeps every key that all filters hold, whatever their sizes and order.
SELECT (SELECT count(*) FROM generate_series(1, 100) v WHERE NOT v <@ s.f) AS lost,
       (SELECT count(*) FROM generate_series(101, 10000) v WHERE v <@ s.f) < 10 AS "few others", "in any order"
FROM (SELECT bloom_intersection_agg(f ORDER BY c) AS f,
             bloom_intersection_agg(f ORDER BY c) = bloom_intersection_agg(f ORDER BY -c) AS "in any order"
      FROM (SELECT c, (SELECT bloom_agg(v, c, 0.001) FROM generate_series(1, c) v) AS f
            FROM unnest(ARRAY[100, 1000, 3000]) c) i) s;

-- No rows, and NULLs only: the union is an empty filter, the intersection is unknown.
SELECT bloom_cardinality(bloom_union_agg(f)) AS "union", bloom_intersection_agg(f) AS intersection FROM a_sizes WHERE g < 0;
SELECT bloom_cardinality(bloom_union_agg(NULL)) AS "union", bloom_intersection_agg(NULL) AS intersection FROM a_sizes;

-- NULL filters are skipped, and a filter without any key changes no union.
SELECT bloom_union_agg(f) = (SELECT f FROM a_sizes WHERE g = 3) AS "union",
       bloom_intersection_agg(f) FILTER (WHERE f IS NULL OR g = 3) = (SELECT f FROM a_sizes WHERE g = 3) AS intersection
FROM (SELECT g, f FROM a_sizes WHERE g = 3 UNION ALL VALUES (8, NULL), (9, bloom_empty(5, 0.5))) v;

-- Filters that do not combine are refused.
\set VERBOSITY terse
SELECT bloom_union_agg(f) FROM (VALUES (bloom_add(bloom_empty(10), 1)), (bloom_add(bloom_empty(10, 0.01, 'standard'), 1))) v(f);
SELECT bloom_union_agg(f) FROM (VALUES (bloom_add(bloom_empty(10), 1)), (bloom_add(bloom_empty(10, seed => 1), 1))) v(f);
SELECT bloom_union_agg(f) FROM (VALUES (bloom_add(bloom_empty(10), 1)), (bloom_add(bloom_empty(10), 'a'::text))) v(f);
SELECT bloom_union_agg(f) FROM (VALUES (bloom_add(bloom_empty(10, 0.01, 'blocked'), 1)), (bloom_add(bloom_empty(9000, 0.01, 'blocked'), 1))) v(f);
SELECT bloom_intersection_agg(f) FROM (VALUES (bloom_empty(10)), (bloom_empty(10, 0.01, 'partitioned'))) v(f);
SELECT bloom_intersection_agg(f) FROM (VALUES (bloom_empty(10, 0.01, 'standard')), (bloom_empty(11, 0.01, 'standard'))) v(f);

-- The transition functions work only in aggregates.
SELECT bloomx_agg_transfn(NULL, 1);
SELECT bloomx_union_transfn(NULL, bloom_empty(1));

DROP FUNCTION a_same;
DROP AGGREGATE a_partial(anycompatible), a_partial(anycompatible, bigint), a_partial(anycompatible, bigint, float8),
	a_partial(anycompatible, bloomfilter);
DROP TABLE a_template, a_groups, a_small_mem, a_keys, a_filters, a_queries, a_parts, a_states, a_sizes;

-- A user-defined aggregate over the same functions: the key type of its initial value counts.
SELECT format('CREATE AGGREGATE more_of(integer) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter, INITCOND = %L)',
              bloom_add(bloom_empty(100), 'a text')) \gexec
SELECT more_of(v) FROM generate_series(1, 3) v;
DROP AGGREGATE more_of(integer);
SELECT format('CREATE AGGREGATE more_of(integer) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter, INITCOND = %L)', bloom_empty(100)) \gexec
SELECT i.key_type, f @> 2 AS two, round(i.cardinality) AS keys FROM (SELECT more_of(v) AS f FROM generate_series(1, 3) v) s, bloom_info(f) i;
DROP AGGREGATE more_of(integer);

-- Many keys, sized at the end: hashes as long as they take a few megabytes, then a filter that is cut.  The result meets its rate,
-- is the plan's size, and is the same whatever the number of processes: all keys different, and two rows each.
CREATE TABLE a_many AS SELECT i FROM generate_series(1, 1800000) i;
ANALYZE a_many;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE a_sized AS SELECT 0 AS workers, bloom_agg(i) AS f, bloom_agg(i / 2) AS halves, bloom_agg(i, NULL, 0.002) AS strict FROM a_many;
SET max_parallel_workers_per_gather = 1;
EXPLAIN (COSTS OFF) SELECT bloom_agg(i) FROM a_many;
CREATE TABLE a_sized_1 AS SELECT 1 AS workers, bloom_agg(i) AS f, bloom_agg(i / 2) AS halves, bloom_agg(i, NULL, 0.002) AS strict FROM a_many;
SET max_parallel_workers_per_gather = 3;
CREATE TABLE a_sized_3 AS SELECT 3 AS workers, bloom_agg(i) AS f, bloom_agg(i / 2) AS halves, bloom_agg(i, NULL, 0.002) AS strict FROM a_many;
INSERT INTO a_sized TABLE a_sized_1 UNION ALL TABLE a_sized_3;
SELECT what, count(*) AS runs, count(DISTINCT md5(filter::bytea)) AS different, bool_and(i.fpr <= rate) AS "meets the rate", bool_and(i.bits <= 1.05 * p.bits) AS "near the plan",
       bool_and(NOT i.overfilled AND abs(i.capacity - keys) < keys * 0.001) AS capacity
FROM a_sized, LATERAL (VALUES ('all different', f, 1800000, 0.01), ('two rows each', halves, 900001, 0.01), ('at 0.2 %', strict, 1800000, 0.002)) v(what, filter, keys, rate),
     bloom_info(filter) i, bloom_plan(keys, rate) p
GROUP BY what ORDER BY what;
SELECT count(*) FILTER (WHERE NOT i <@ f) AS lost, count(*) FILTER (WHERE NOT i <@ strict) AS "lost at 0.2 %"
FROM a_many, (SELECT f, strict FROM a_sized WHERE workers = 3) s;
-- With more memory the hashes of so many keys stay hashes, in one process and in the node that unites the sets of several.
CREATE TABLE a_fewer AS SELECT i FROM a_many WHERE i <= 1000000;
ANALYZE a_fewer;
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
CREATE TABLE a_hashes AS SELECT bloom_agg(i) AS f FROM a_fewer;
SET max_parallel_workers_per_gather = 2;
SELECT i.capacity, i.bytes = p.bytes AS "the plan's size", f::bytea = (SELECT bloom_agg(i) FROM a_fewer)::bytea AS "the same of three processes"
FROM a_hashes, bloom_info(f) i, bloom_plan(1000000) p;
RESET work_mem;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
DROP TABLE a_many, a_sized, a_sized_1, a_sized_3, a_fewer, a_hashes;

-- The same for many numbers of keys and several rates, in little memory.  A plan meets its rate on average, the result with the bits
-- that it has: near the most keys that a plan is good for it may be the plan of a few more.
CREATE TABLE a_walk AS SELECT i FROM generate_series(1, 100000) i;
ANALYZE a_walk;
CREATE FUNCTION a_cut(key text, n bigint, rate float8) RETURNS bloomfilter LANGUAGE plpgsql AS $$
DECLARE
	f bloomfilter;
BEGIN
	EXECUTE format('SELECT bloom_agg(%s, NULL, %s) FROM a_walk WHERE i <= %s', key, rate, n) INTO f;
	RETURN f;
END $$;
SET work_mem = '64kB';
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE a_cuts AS SELECT key, n, rate, a_cut(key, n, rate) AS f
FROM unnest(ARRAY['i', 'i / 3']) key, unnest(ARRAY[0.03, 0.01, 0.001]) rate, generate_series(45000, 99000, 4500) n;
SET max_parallel_workers_per_gather = 2;
SELECT key, rate, count(*) AS filters, bool_and(i.fpr <= rate) AS "meets the rate", bool_and(i.bits <= 1.05 * p.bits) AS "at most 5 % over the plan",
       bool_and(f = a_cut(key, n, rate)) AS "the same of three processes"
FROM a_cuts, LATERAL (SELECT CASE key WHEN 'i' THEN n ELSE n / 3 + 1 END AS keys) k, bloom_info(f) i, bloom_plan((1.005 * keys)::bigint, rate) p
GROUP BY key, rate ORDER BY key, rate;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET work_mem;
DROP TABLE a_walk, a_cuts;
DROP FUNCTION a_cut;

-- Several large partial states in one process, which take each other over, also when the query is run again.
CREATE TABLE a_split (i int) PARTITION BY HASH (i);
CREATE TABLE a_split_0 PARTITION OF a_split FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE a_split_1 PARTITION OF a_split FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE a_split_2 PARTITION OF a_split FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO a_split SELECT generate_series(1, 60000);
ANALYZE a_split;
SET max_parallel_workers_per_gather = 0;
SET enable_partitionwise_aggregate = on;
SET enable_material = off;
SET cpu_tuple_cost = 1;
SELECT a_is_partial('SELECT bloom_agg(i), bloom_agg(i, 100000) FROM a_split') AS "partial";
SELECT run, counted = (SELECT bloom_agg(i) FROM generate_series(1, 60000) i) AS counted, planned = (SELECT bloom_agg(i, 100000) FROM generate_series(1, 60000) i) AS planned
FROM generate_series(1, 3) run LEFT JOIN LATERAL (SELECT bloom_agg(i) AS counted, bloom_agg(i, 100000) AS planned FROM a_split OFFSET 0) s ON true ORDER BY run;

-- The states of a hash table of groups stay there: it may be read once more, here because the one above it does not fit the memory.
CREATE TABLE a_apart (g int, i int) PARTITION BY RANGE (g);
SELECT format('CREATE TABLE a_apart_%1$s PARTITION OF a_apart FOR VALUES FROM (%1$s) TO (%1$s + 2)', g) FROM generate_series(0, 14, 2) g \gexec
INSERT INTO a_apart SELECT g, 10000 * g + i FROM generate_series(0, 15) g, generate_series(1, 2000) i;
ANALYZE a_apart;
SET enable_sort = off;
SET work_mem = '256kB';
SET hash_mem_multiplier = 1;
SELECT a_is_partial('SELECT bloom_agg(i) FROM a_apart GROUP BY g % 20') AS "partial";
SELECT run, count(*) AS groups, count(*) FILTER (WHERE f = (SELECT bloom_agg(i) FROM generate_series(10000 * g + 1, 10000 * g + 2000) i)) AS "of the right keys"
FROM generate_series(1, 3) run LEFT JOIN (SELECT max(g) AS g, bloom_agg(i) AS f FROM a_apart GROUP BY g % 20 OFFSET 0) s ON true GROUP BY run ORDER BY run;
RESET enable_sort;
RESET work_mem;
RESET hash_mem_multiplier;
RESET max_parallel_workers_per_gather;
RESET enable_partitionwise_aggregate;
RESET enable_material;
RESET cpu_tuple_cost;
DROP TABLE a_split, a_apart;
DROP FUNCTION a_is_partial;
