--
-- Layout counting: counters of 4 bits in place of the default layout's bits, so that keys can be removed.
--
SET client_min_messages = notice;
CREATE FUNCTION c_keys(first int, last int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY(SELECT generate_series(first, last)) $$;
CREATE FUNCTION c_lost(f bloomfilter, first int, last int) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	$$ SELECT count(*) FROM generate_series(first, last) v WHERE NOT f @> v $$;
CREATE FUNCTION c_attempt(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; detail text; hint text;
BEGIN
	EXECUTE command;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', SQLSTATE || ': ' || message, '  detail: ' || nullif(detail, ''), '  hint: ' || nullif(hint, ''));
END $$;

-- The plan is that of the default layout in four times the bytes; "bits" are counters here.
SELECT p.layout, p.bits, p.bytes, p.blocks, p.parts, (p.bytes - 56) / (d.bytes - 48)::float AS times, p.fpr = d.fpr AS "same rate"
FROM bloom_plan(1000, 0.01, 'counting') p, bloom_plan(1000, 0.01) d;
SELECT bits, blocks, parts, bytes FROM bloom_info(bloom_empty_bits(100000, 7, 'counting'));

CREATE TABLE c_filters AS
SELECT bloom_add_all(bloom_empty(1000, 0.01, 'counting'), c_keys(1, 1000)) AS f, bloom_agg(i, 1000) AS plain FROM generate_series(1, 1000) i;

-- Without its counters it is the plain filter, with the same properties.
SELECT bloom_drop_counters(f) = plain AS same, bloom_drop_counters(f)::bytea = plain::bytea AS "same bytes", c_lost(f, 1, 1000) AS lost,
       bloom_fpr(f) = bloom_fpr(plain) AS fpr, bloom_cardinality(f) = bloom_cardinality(plain) AS cardinality, bloom_fill(f) = bloom_fill(plain) AS fill
FROM c_filters;
SELECT i.layout, i.key_type, i.bits_set, i.overfilled, i.details FROM c_filters, bloom_info(f) i;

-- Keys are removed: the result is exactly the filter of the remaining keys.
SELECT g = bloom_add_all(bloom_empty(1000, 0.01, 'counting'), c_keys(301, 1000)) AS "the filter of the rest", c_lost(g, 301, 1000) AS lost,
       c_lost(g, 1, 300) BETWEEN 290 AND 300 AS gone, i.details
FROM c_filters, bloom_remove_all(f, c_keys(1, 300) || NULL) g, bloom_info(g) i;
SELECT bloom_remove_all(f, c_keys(1, 1000)) = bloom_remove(bloom_add(bloom_empty(1000, 0.01, 'counting'), 1), 1) AS "all out: empty" FROM c_filters;
SELECT bloom_remove(bloom_add(f, 5000), 5000) = f AS back, bloom_remove_hash(f, bloom_hash(7)) = bloom_remove(f, 7) AS by_hash,
       bloom_remove(f, 7::bigint) = bloom_remove(f, 7) AS bigint
FROM c_filters;

-- An absent key is not removed: a notice says so, = ignores it, and bloom_info counts it.
SELECT g = f AS unchanged, i.details FROM c_filters, bloom_remove(f, 1001) g, bloom_info(g) i;
SELECT g = bloom_remove_all(f, ARRAY[1, 2]) AS "the others are", i.details
FROM c_filters, bloom_remove_all(f, ARRAY[1, 1001, 2, 1002, NULL, 2000]) g, bloom_info(g) i;
-- Once per statement, not once per row.
SELECT count(bloom_remove(f, n)) FROM c_filters, generate_series(2001, 2100) n;
SELECT bloom_remove_hash(f, 12345) = f AS unchanged, bloom_remove(bloom_empty(10, layout => 'counting'), 'x'::text) @> 1 AS "no key type" FROM c_filters;

-- Nulls are ignored.
SELECT bloom_remove(f, NULL::int) = f AS key, bloom_remove_all(f, NULL::int[]) = f AS keys, bloom_remove_hash(f, NULL) = f AS hash,
       bloom_remove(NULL, 1) IS NULL AS filter, bloom_drop_counters(NULL) IS NULL AS bits
FROM c_filters;

-- A key added twice must be removed twice; the aggregate counts duplicates too.
SELECT g @> 1 AS added, bloom_remove(g, 1) @> 1 AS once, bloom_remove(bloom_remove(g, 1), 1) @> 1 AS twice
FROM bloom_add_all(bloom_empty(10, layout => 'counting'), ARRAY[1, 1]) g;
SELECT bloom_agg(i % 100, bloom_empty(100, 0.001, 'counting')) = bloom_add_all(bloom_empty(100, 0.001, 'counting'), array_agg(i % 100)) AS "as added",
       bloom_agg(i % 100, bloom_empty(100, 0.001, 'counting')) = bloom_agg(DISTINCT i % 100, bloom_empty(100, 0.001, 'counting')) AS "as distinct ones"
FROM generate_series(1, 300) i;
SELECT bloom_agg(NULL::int, f) IS NOT NULL AS "no keys" FROM c_filters GROUP BY f;

-- How often a key was added: at least that often, 15 for more, 0 for an absent key.
SELECT n, bloom_key_count(g, 1) AS one, bloom_key_count(g, 1::bigint) AS bigint, bloom_key_count_hash(g, bloom_hash(1)) AS by_hash, bloom_key_count(g, 2) AS two, bloom_key_count(g, 3) AS three
FROM unnest(ARRAY[1, 3, 14, 15, 100]) n, bloom_add_all(bloom_empty(10, 0.001, 'counting'), array_fill(1, ARRAY[n]) || 2) g;
SELECT i, bloom_key_count(f, i) AS times FROM (SELECT bloom_agg(i % 7, bloom_empty(100, 0.001, 'counting')) AS f FROM generate_series(1, 40) i) s, generate_series(0, 8) i;
SELECT count(*) FILTER (WHERE bloom_key_count(f | f, i) < 2) AS too_low, count(*) FILTER (WHERE bloom_key_count(f | f, i) = 2) > 950 AS doubled,
       count(*) FILTER (WHERE (bloom_key_count(f, i) > 0) <> (f @> i)) AS "other than @>"
FROM c_filters, generate_series(1, 1000) i;
SELECT bloom_key_count(f, NULL::int) IS NULL AS key, bloom_key_count(NULL, 1) IS NULL AS filter, bloom_key_count_hash(f, NULL) IS NULL AS hash FROM c_filters;

-- A counter sticks at 15: its keys can no longer be removed.
SELECT n, g @> 1 AS found, i.details, c_lost(bloom_remove_all(g, array_fill(1, ARRAY[n])), 1, 1) AS "gone when removed as often"
FROM unnest(ARRAY[14, 15, 100]) n, bloom_add_all(bloom_empty(10, layout => 'counting'), array_fill(1, ARRAY[n])) g, bloom_info(g) i;

-- In parallel: the partial states are added.
CREATE TABLE c_stream AS SELECT i % 5000 AS k FROM generate_series(1, 20000) i;
ALTER TABLE c_stream SET (parallel_workers = 2);
ANALYZE c_stream;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT bloom_agg(k, bloom_empty(5000, 0.01, 'counting')) FROM c_stream;
CREATE TABLE c_parallel AS SELECT bloom_agg(k, bloom_empty(5000, 0.01, 'counting')) AS f FROM c_stream;
SET max_parallel_workers_per_gather = 0;
SELECT p.f = s.f AS same, c_lost(bloom_remove_all(p.f, c_keys(0, 4999) || c_keys(0, 4999)), 0, 4999) AS "lost after two of four copies"
FROM c_parallel p, (SELECT bloom_agg(k, bloom_empty(5000, 0.01, 'counting')) AS f FROM c_stream) s;

-- Union: both streams, counter by counter; unequal sizes unite to the more blocks and the fewer parts.
SELECT bloom_remove_all(f, c_keys(1, 400)) | bloom_add_all(bloom_empty(1000, 0.01, 'counting'), c_keys(1, 400)) = f AS exact,
       f | f = f AS "f | f", bloom_remove_all(f | f, c_keys(1, 1000)) = f AS "one stream of two out"
FROM c_filters;
SELECT c_lost(u, 1, 1100) AS lost, c_lost(bloom_remove_all(u, c_keys(1, 500)), 501, 1100) AS "lost after removals",
       bloom_drop_counters(u) = plain | bloom_drop_counters(small) AS "bits of the union", i.blocks, i.parts
FROM c_filters, bloom_add_all(bloom_empty(100, 0.1, 'counting'), c_keys(1001, 1100)) small, LATERAL (SELECT f | small AS u) s, bloom_info(u) i;
SELECT bloom_union_agg(g) = bloom_add_all(bloom_empty(400, 0.01, 'counting'), c_keys(1, 400)) AS union_agg
FROM generate_series(0, 3) i, bloom_add_all(bloom_empty(400, 0.01, 'counting'), c_keys(100 * i + 1, 100 * i + 100)) g;

-- Prefix and fold: exactly the filter that would have been built, and keys can still be removed.
SELECT bloom_drop_counters(bloom_prefix(f, 4)) = bloom_prefix(plain, 4) AS prefix, bloom_drop_counters(bloom_fold(f)) = bloom_fold(plain) AS fold,
       c_lost(bloom_remove_all(bloom_fold(bloom_prefix(f, 4)), c_keys(1, 500)), 501, 1000) AS lost,
       bloom_drop_counters(bloom_shrink(bloom_remove_all(f, c_keys(101, 1000)), 0.01)) =
           bloom_shrink(bloom_add_all(bloom_empty(1000), c_keys(1, 100)), 0.01) AS shrink
FROM c_filters;

-- Disjointness and estimates are those of the plain filters.
SELECT a !&& b AS disjoint, a && a AS overlaps, bloom_union_cardinality(a, f) = bloom_union_cardinality(bloom_drop_counters(a), plain) AS "union",
       bloom_jaccard(a, f) = bloom_jaccard(bloom_drop_counters(a), plain) AS jaccard
FROM c_filters, bloom_add_all(bloom_empty(1000, 0.01, 'counting'), c_keys(1, 30)) a, bloom_add_all(bloom_empty(1000, 0.01, 'counting'), c_keys(2001, 2030)) b;

-- Operations that it refuses, and those that other layouts refuse.
SELECT c_attempt('SELECT f & f FROM c_filters');
SELECT c_attempt('SELECT f | plain FROM c_filters');
SELECT c_attempt('SELECT bloom_drop_counters(f) | plain FROM c_filters');
SELECT c_attempt(format('SELECT bloom_remove(bloom_empty(10, 0.01, %L), 1)', l)) FROM unnest(ARRAY['partitioned_blocked', 'standard']) l;
SELECT c_attempt(format('SELECT bloom_key_count(bloom_empty(10, 0.01, %L), 1)', l)) FROM unnest(ARRAY['partitioned_blocked', 'standard']) l;
SELECT c_attempt('SELECT bloom_key_count(f, ''a''::varchar) FROM c_filters');
SELECT c_attempt('SELECT bloom_key_count(bloom_agg(x), 1) FROM generate_series(1, 0) x');
SELECT c_attempt('SELECT bloom_remove_all(plain, ''{}''::int[]) FROM c_filters');
SELECT c_attempt('SELECT bloom_drop_counters(plain) FROM c_filters');
SELECT c_attempt('SELECT bloom_remove(f, ''a''::varchar) FROM c_filters');
SELECT c_attempt('SELECT bloom_empty(10, 0.01, ''counting'', options => ''growth=2'')');
SELECT c_attempt('SELECT bloom_empty(1000000000, 0.01, ''counting'')');

-- Too many keys are reported as for the default layout; one key many times is not too many.
SELECT c_lost(bloom_add_all(bloom_empty(100, layout => 'counting'), c_keys(1, 200)), 1, 200) AS lost;
SELECT i.overfilled FROM bloom_add_all(bloom_empty(10, layout => 'counting'), array_fill(1, ARRAY[1000])) f, bloom_info(f) i;

-- Text and binary, TOAST, and damage.
SELECT f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea, get_byte(f::bytea, 4) AS layout, length(f::bytea) AS bytes FROM c_filters;
CREATE TABLE c_stored AS SELECT i AS id, bloom_agg(v, bloom_empty(10000, 0.001, 'counting')) AS f FROM generate_series(1, 3) i, generate_series(10000 * i, 10000 * i + 9999) v GROUP BY i;
SELECT bool_and(pg_column_size(f) > 80000) AS toasted, array_agg(id ORDER BY id) FILTER (WHERE f @> 25000) AS "25000 in", array_agg(id) FILTER (WHERE f @> 5) AS "5 in" FROM c_stored;
UPDATE c_stored SET f = bloom_remove(f, 25000) WHERE f @> 25000;
SELECT count(*) FILTER (WHERE f @> 25000) AS "25000 in", sum(c_lost(f, 10000 * id, 10000 * id + 9999)) AS "others lost" FROM c_stored;
SELECT what, c_attempt(format('SELECT bloom_info(%L::bytea::bloomfilter)', damaged))
FROM (SELECT bloom_add(bloom_empty(10, layout => 'counting'), 1)::bytea AS b) s,
     LATERAL (VALUES (1, 'a word less', substring(b, 1, length(b) - 8)), (2, 'a word more', b || '\x0000000000000000'),
                     (3, 'half a word more', b || '\x00000000'), (4, 'three blocks', set_byte(b, 8, 3)), (5, 'parts of 65', set_byte(b, 28, 65)),
                     (6, 'two probes', set_byte(b, 38, 2)), (7, 'hashing', set_byte(b, 7, 1)), (8, 'any cells', overlay(b PLACING '\xffffffffffffffff' FROM 60))) v(n, what, damaged)
ORDER BY n;

DROP TABLE c_filters, c_stream, c_parallel, c_stored;
DROP FUNCTION c_keys, c_lost, c_attempt;
RESET client_min_messages;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
