--
-- Age-partitioned filters: a sliding window over a stream.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;

-- A plan: the window is the capacity, the rate is the highest that it ever is, and the memory the least.
SELECT c AS "window", f AS asked, parts, hash_functions, fpr < f AS met, round(bits::numeric / c, 1) AS "bits a key"
FROM unnest(ARRAY[10, 1000, 1000000]) c, unnest(ARRAY[0.1, 0.01, 0.0001]) f, bloom_plan(c, f, 'age_partitioned');
SELECT parts, round(bits / 1000000.0, 1) AS "bits a key", round(fpr::numeric, 4) AS fpr
FROM unnest(ARRAY[1, 5, 20, 80, 300]) l, bloom_plan(1000000, 0.01, 'age_partitioned', options => 'generations=' || l);
SELECT layout, bits, parts, part_bits, capacity, details FROM bloom_info(bloom_empty_bits(3000, 5, 'age_partitioned'));
SELECT parts, details FROM bloom_info(bloom_empty_bits(3000, 5, 'age_partitioned', options => 'generations=3'));

-- A stream: the last 1000 keys are found at every moment, old ones are not.
CREATE TABLE h_stream AS SELECT n AS at, n % 5000 AS key FROM generate_series(1, 20000) n;
CREATE TABLE h_window AS
SELECT s.n, bloom_agg(key, bloom_empty(1000, 0.001, 'age_partitioned') ORDER BY at) FILTER (WHERE at <= s.n) AS f
FROM h_stream, unnest(ARRAY[1, 999, 1000, 1001, 1017, 4321, 12345, 20000]) s(n) GROUP BY s.n;
SELECT n, (SELECT bool_and(f @> key) FROM h_stream WHERE at BETWEEN n - 999 AND n) AS "window is found",
       (SELECT count(*) <= 8 FROM h_stream WHERE at BETWEEN n - 3500 AND n - 1500 AND f @> key) AS "old ones are not"
FROM h_window ORDER BY n;

-- bloom_info: distinct keys of the window and the present generation, the rate of the present bits.
SELECT n, capacity, overfilled, abs(cardinality / least(n, 1000 + (details->>'keys_in_generation')::int) - 1) < 0.1 AS "about right",
       fpr <= (details->>'fpr_bound')::float8 * 1.1 AS "within the bound", round(fill::numeric, 1) AS fill, details - 'fpr_bound' AS details
FROM h_window, bloom_info(f) ORDER BY n;

-- Keys one by one, at once, or as an array give the same filter.
SELECT f = bloom_add_all(bloom_empty(1000, 0.001, 'age_partitioned'), (SELECT array_agg(key ORDER BY at) FROM h_stream WHERE at <= 4321)) AS "as an array",
       bloom_add_all(f, ARRAY[]::int[]) = f AS "nothing added", bloom_add(f, NULL::int) = f AS "null added", bloom_add(f, 1) = f AS "one added",
       bloom_add(f, 1) @> 1 AS "is there"
FROM h_window WHERE n = 4321;
WITH RECURSIVE step(n, f, lost) AS (
	SELECT 0, bloom_empty(20, 0.1, 'age_partitioned'), 0::bigint
	UNION ALL
	SELECT n + 1, bloom_add(f, n + 1), (SELECT count(*) FROM generate_series(greatest(1, n - 19), n) k WHERE NOT f @> k) FROM step WHERE n < 200)
SELECT max(n) AS added, sum(lost) AS lost, max(f::text) FILTER (WHERE n = 200) = bloom_agg(n, bloom_empty(20, 0.1, 'age_partitioned') ORDER BY n) FILTER (WHERE n > 0)::text AS same
FROM step;

-- Text, bytea and storage preserve it, also within a generation; streams in another order give another filter.
CREATE TABLE h_stored AS SELECT f FROM h_window;
SELECT bool_and(f = f::text::bloomfilter AND f = f::bytea::bloomfilter AND f::bytea = f::text::bloomfilter::bytea) AS kept,
       bool_and(f IN (SELECT f FROM h_stored)) AS stored, count(DISTINCT f) AS "different ones"
FROM h_window;
SELECT bloom_agg(n, t ORDER BY n) = bloom_agg(n, t ORDER BY n DESC) AS "order is no matter"
FROM bloom_empty(100, 0.01, 'age_partitioned') t, generate_series(1, 300) n;

-- Operations that have no meaning for a ring are refused with the reason.
CREATE FUNCTION h_try(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; why text; advice text;
BEGIN
	EXECUTE command;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, why = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ': ' || message || coalesce(E'\n  ' || nullif(why, ''), '') || coalesce(E'\n  ' || nullif(advice, ''), '');
END $$;
\pset format unaligned
\pset tuples_only on
SELECT what, h_try(format('SELECT %s FROM h_window WHERE n = 4321', what))
FROM unnest(ARRAY['f | f', 'f & f', 'f !&& f', 'f && f', 'bloom_jaccard(f, f)', 'bloom_prefix(f, 3)', 'bloom_fold(f)', 'bloom_shrink(f, 0.5)']) what;
SELECT h_try('SELECT bloom_union_agg(f) FROM h_window');
SELECT h_try(format('SELECT bloom_empty(%s)', a)) FROM unnest(ARRAY[
	'1000, 0.01, ''age_partitioned'', options => ''generations=0''', '1000, 0.01, ''age_partitioned'', options => ''generations=2000''',
	'1000, 0.01, ''age_partitioned'', options => ''growth=2''', '1000, 1e-300, ''age_partitioned''', '10000000000, 0.01, ''age_partitioned''']) a;
SELECT h_try('SELECT bloom_empty_bits(20, 5, ''age_partitioned'')');
\pset tuples_only off
\pset format aligned

-- United with a filter of no keys it does not change.
SELECT bool_and((f | e) = f AND (e | f) = f) AS unchanged FROM h_window, (SELECT bloom_agg(NULL::int) FROM generate_series(1, 2)) e(e);

-- Damaged bytes: the body is k, generation_keys, keys added, keys of the generation, the youngest slice, the slices.
SELECT what, h_try(format('SELECT set_byte(f::bytea, %s, %s)::bloomfilter FROM h_window WHERE n = 4321', 44 + 8 * word + byte, value)) AS result
FROM (VALUES ('nothing, in effect', 2, 0, 7), ('no slice of a key', 0, 0, 0), ('more than there are', 0, 0, 60), ('more than 64', 0, 0, 65), ('empty generations', 1, 0, 0),
             ('endless generations', 1, 6, 1), ('past the turn', 3, 0, 200), ('no such slice', 4, 0, 200)) v(what, word, byte, value);
SELECT h_try('SELECT substr(f::bytea, 1, 500)::bloomfilter FROM h_window WHERE n = 1');
SELECT bool_and(set_byte(f::bytea, 60, 7)::bloomfilter = f) AS "keys added is a note" FROM h_window;

-- An aggregate with ORDER BY is never split among workers.
CREATE TABLE h_large AS SELECT n AS at, n AS key FROM generate_series(1, 60000) n;
ANALYZE h_large;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT bloom_agg(key) FROM h_large;
CREATE FUNCTION h_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN NEXT line;
	END LOOP;
END $$;
SELECT bool_or(line ~ 'Partial') AS "ordered: split" FROM h_plan($$SELECT bloom_agg(key, bloom_empty(1000, 0.001, 'age_partitioned') ORDER BY at) FROM h_large$$) line;
SELECT bool_and(f @> k) AS "window is found"
FROM (SELECT bloom_agg(key, bloom_empty(1000, 0.001, 'age_partitioned') ORDER BY at) AS f FROM h_large) s, generate_series(59001, 60000) k;
-- Without ORDER BY, workers' windows may have to be united, which is refused.
EXPLAIN (COSTS OFF) SELECT bloom_agg(key, bloom_empty(1000, 0.001, 'age_partitioned')) FROM h_large;
CREATE TABLE h_parts (at int, key int) PARTITION BY RANGE (at);
CREATE TABLE h_parts_1 PARTITION OF h_parts FOR VALUES FROM (0) TO (30000);
CREATE TABLE h_parts_2 PARTITION OF h_parts FOR VALUES FROM (30000) TO (60001);
INSERT INTO h_parts SELECT * FROM h_large;
ANALYZE h_parts;
SET max_parallel_workers_per_gather = 0;
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT bloom_agg(key, bloom_empty(1000, 0.001, 'age_partitioned')) FROM h_parts;
SELECT h_try($$SELECT bloom_agg(key, bloom_empty(1000, 0.001, 'age_partitioned')) FROM h_parts$$);
SELECT bool_and(f @> k) AS "window is found"
FROM (SELECT bloom_agg(key, bloom_empty(1000, 0.001, 'age_partitioned') ORDER BY at) AS f FROM h_parts) s, generate_series(59001, 60000) k;
