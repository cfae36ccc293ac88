--
-- Layout binary_fuse: sealed filters, which are built once of all keys; and maps, which have a value for each key.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
CREATE FUNCTION f_attempt(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; detail text; hint text;
BEGIN
	EXECUTE command;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', SQLSTATE || ': ' || message, '  detail: ' || nullif(detail, ''), '  hint: ' || nullif(hint, ''));
END $$;

-- A filter of 1,000 hosts: all are found, few others.  The number of keys and the rate are exact; the capacity of the template binds nothing.
CREATE TABLE f_hosts AS SELECT i, 'host' || i AS host FROM generate_series(1, 1000) i;
CREATE TABLE f_filters AS SELECT bloom_agg(host, bloom_empty(7, 0.004, 'binary_fuse')) AS f FROM f_hosts;
SELECT bloom_summary(f) FROM f_filters;
SELECT i.* FROM f_filters, bloom_info(f) i \gx
SELECT count(*) FILTER (WHERE NOT f @> host) AS lost, count(*) FILTER (WHERE f @> ('no' || host)) < 20 AS "few others" FROM f_hosts, f_filters;
SELECT bloom_cardinality(f), bloom_fpr(f) = 2 ^ -8 AS rate FROM f_filters;
SELECT f @> 'host1' AS contains, 'host2' <@ f AS contained, bloom_contains_any(f, ARRAY['x', 'host3']) AS "any", bloom_contains_all(f, ARRAY['host1', 'host3', NULL]) AS "all",
       bloom_contains_hash(f, bloom_hash('host4'::text)) AS hash
FROM f_filters;

-- The plan tells the size, and that of the default layout depends on how near its powers of two come.
SELECT keys, p.bytes, p.blocks, p.parts, p.part_bits, p.hash_functions, p.fpr, round(p.bytes::numeric / d.bytes, 2) AS "of the default"
FROM unnest('{1, 100, 1000, 10000, 1000000, 100000000}'::bigint[]) keys, bloom_plan(keys, 0.004, 'binary_fuse') p, bloom_plan(keys, 0.004) d;
SELECT fpr, parts FROM unnest('{0.9, 0.5, 0.1, 0.01, 0.001, 1e-4, 1e-9}'::float8[]) rate, bloom_plan(1000, rate, 'binary_fuse');
SELECT bloom_summary(bloom_agg(host, bloom_empty(1, 0.5, 'binary_fuse', options => 'fingerprint_bits=11'))) FROM f_hosts;

-- No keys: the template, or no rows at all.
SELECT bloom_empty(1000, 0.004, 'binary_fuse') = bloom_empty(1, 0.004, 'binary_fuse') AS "the capacity does not count", bloom_empty(NULL, 0.004, 'binary_fuse') IS NULL AS "null",
       bloom_fpr(bloom_empty(1000, 0.004, 'binary_fuse')) AS rate, bloom_empty(1000, 0.004, 'binary_fuse') @> 1 AS finds;
SELECT bloom_summary(bloom_agg(v, bloom_empty(5, 0.1, 'binary_fuse', 3))) AS "null keys", bloom_summary(bloom_agg(v, bloom_empty(5, 0.1, 'binary_fuse')) FILTER (WHERE false)) AS "no rows"
FROM (VALUES (NULL::int), (NULL)) x(v);

--
-- One set of keys has one filter, byte for byte.
--
SELECT count(DISTINCT md5(f::bytea::text)) AS filters FROM (
    SELECT bloom_agg(host, bloom_empty(7, 0.004, 'binary_fuse') ORDER BY i) AS f FROM f_hosts
    UNION ALL SELECT bloom_agg(host, bloom_empty(99999, 0.004, 'binary_fuse') ORDER BY host DESC) FROM f_hosts, generate_series(1, 3)
    UNION ALL SELECT bloom_agg(host, f) FROM f_hosts, f_filters
    UNION ALL SELECT f FROM f_filters) s;
-- Any number of workers.  The states stay sets, however little bloomx.build_mem is.
CREATE TABLE f_many AS SELECT i FROM generate_series(1, 300000) i;
ALTER TABLE f_many SET (parallel_workers = 4);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE f_workers (workers int, f bloomfilter);
SET max_parallel_workers_per_gather = 0;
INSERT INTO f_workers SELECT 0, bloom_agg(i, bloom_empty(1, 0.004, 'binary_fuse')) FROM f_many;
SET max_parallel_workers_per_gather = 2;
CREATE TABLE f_two AS SELECT 2, bloom_agg(i, bloom_empty(1, 0.004, 'binary_fuse')) AS f FROM f_many;
SET max_parallel_workers_per_gather = 4;
EXPLAIN (COSTS OFF) SELECT bloom_agg(i, bloom_empty(1, 0.004, 'binary_fuse')) FROM f_many;
CREATE TABLE f_four AS SELECT 4, bloom_agg(i, bloom_empty(1, 0.004, 'binary_fuse')) AS f FROM f_many;
SET bloomx.build_mem = '64kB';
CREATE TABLE f_little AS SELECT 4, bloom_agg(i, bloom_empty(1, 0.004, 'binary_fuse')) AS f FROM f_many;
RESET bloomx.build_mem;
INSERT INTO f_workers TABLE f_two UNION ALL TABLE f_four UNION ALL TABLE f_little;
SELECT count(DISTINCT md5(f::bytea::text)) AS filters, count(*) FROM f_workers;
SELECT bloom_summary(f) FROM f_workers WHERE workers = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
-- Groups, and a window, whose final function is called again and again.
SELECT g, bloom_summary(bloom_agg(i, bloom_empty(1, 0.004, 'binary_fuse'))) FROM f_many, LATERAL (SELECT i % 3 AS g) x WHERE i < 1000 GROUP BY g ORDER BY g;
SELECT i, bloom_cardinality(f), f = bloom_agg(j, bloom_empty(1, 0.004, 'binary_fuse')) AS "the filter of these keys"
FROM (SELECT i, bloom_agg(i, bloom_empty(1, 0.004, 'binary_fuse')) OVER (ORDER BY i) AS f FROM generate_series(1, 5) i) w, generate_series(1, i) j GROUP BY i, f ORDER BY i;

--
-- Smaller copies are the filters that would have been built.
--
SELECT bits, bloom_prefix(f, bits) = small AS prefix, bloom_shrink(f, 2.0 ^ -bits) = small AS shrink, bloom_fpr(small) = 2.0 ^ -bits AS rate
FROM unnest(ARRAY[8, 5, 1]) bits, f_filters, LATERAL (SELECT bloom_agg(host, bloom_empty(1, 0.5, 'binary_fuse', options => 'fingerprint_bits=' || bits)) AS small FROM f_hosts) s;
SELECT f_attempt('SELECT bloom_prefix(f, 9) FROM f_filters');
SELECT f_attempt('SELECT bloom_fold(f, 1) FROM f_filters');
SELECT f_attempt('SELECT bloom_shrink(f, 0.001) FROM f_filters');

--
-- What cannot be done, and what to do instead.
--
CREATE TABLE f_commands (n serial, command text);
INSERT INTO f_commands (command) VALUES
    ('SELECT f | f FROM f_filters'), ('SELECT f & f FROM f_filters'), ('SELECT f !&& f FROM f_filters'), ('SELECT bloom_jaccard(f, f) FROM f_filters'),
    ('SELECT bloom_union_cardinality(f, f) FROM f_filters'), ('SELECT bloom_union_agg(f) FROM f_filters, generate_series(1, 2)'),
    ('SELECT bloom_intersection_agg(f) FROM f_filters, generate_series(1, 2)'), ('SELECT f | bloom_agg(1) FROM f_filters GROUP BY f'),
    ('SELECT bloom_add(f, ''x'') FROM f_filters'), ('SELECT bloom_add(bloom_empty(5, 0.1, ''binary_fuse''), 1)'), ('SELECT bloom_add_all(f, ARRAY[''x'']) FROM f_filters'),
    ('SELECT bloom_add_hash(f, 1) FROM f_filters'), ('SELECT bloom_remove(f, ''x'') FROM f_filters'), ('SELECT bloom_empty_bits(1000, 4, ''binary_fuse'')'),
    ('CREATE TABLE f_column (f bloomfilter(1000, 0.01, binary_fuse))'), ('SELECT bloom_empty(10, 1e-10, ''binary_fuse'')'),
    ('SELECT bloom_plan(10000000000, 0.01, ''binary_fuse'')'), ('SELECT bloom_empty(10, 0.1, ''binary_fuse'', options => ''fingerprint_bits=33'')'),
    ('SELECT bloom_get(f, ''host1'') FROM f_filters'), ('SELECT bloom_get(bloom_empty(10), 1)'), ('SELECT f @> 1 FROM f_filters'),
    ('DO $do$ DECLARE f bloomfilter := bloom_empty(1, 0.01, ''binary_fuse''); BEGIN FOR i IN 1 .. 3 LOOP f := bloom_add(f, i); END LOOP; END $do$');
\pset tuples_only on
\pset format unaligned
SELECT command, f_attempt(command) FROM f_commands ORDER BY n;
\pset tuples_only off
\pset format aligned
-- A union with a filter that has no keys, and of one filter, is the filter.
SELECT bloom_union_agg(f) = (SELECT f FROM f_filters) AS one, (SELECT f FROM f_filters) | bloom_agg('x'::text) FILTER (WHERE false) = (SELECT f FROM f_filters) AS "no keys" FROM f_filters;

--
-- As a value: text, bytes, COPY; stored in pieces; in indexes on filters.
--
SELECT f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea, f = f AS equal, f < f AS less FROM f_filters;
SELECT f_attempt('SELECT set_byte(f::bytea, 46, 1)::bloomfilter FROM f_filters');
CREATE TABLE f_stored (n int, f bloomfilter);
INSERT INTO f_stored SELECT g, bloom_agg(g || '/' || i, bloom_empty(1, 0.0001, 'binary_fuse')) FROM generate_series(1, 4) g, generate_series(1, 20000) i GROUP BY g;
SELECT min(pg_column_size(f)) > 12288 AS large, count(*) FILTER (WHERE f @> (n || '/' || i)) AS found, count(*) FILTER (WHERE f @> ('5/' || i)) AS other,
       count(*) FILTER (WHERE (f @> ('6/' || i)) <> (f::bytea::bloomfilter @> ('6/' || i))) AS "differ"
FROM generate_series(1, 50) i, f_stored;
SELECT n, h.layout, h.parts, h.bytes = octet_length(f::bytea) + 4 AS bytes FROM f_stored, bloom_header(f) h ORDER BY n;
CREATE TABLE f_indexed AS SELECT g, bloom_agg(i, bloom_empty(1, 0.01, 'binary_fuse')) AS f FROM generate_series(1, 300) g, generate_series(g, g + 20) i GROUP BY g;
INSERT INTO f_indexed SELECT 1000 + g, bloom_agg(i) FROM generate_series(1, 300) g, generate_series(g, g + 20) i GROUP BY g;
SELECT count(*) FROM f_indexed WHERE f @> 100;
SET enable_seqscan = off;
CREATE INDEX f_bloomx ON f_indexed USING bloomx (f);
EXPLAIN (COSTS OFF) SELECT count(*) FROM f_indexed WHERE f @> 100;
SELECT count(*) FROM f_indexed WHERE f @> 100;
RESET enable_seqscan;

--
-- Maps
--
CREATE TABLE f_maps AS SELECT bloom_map_agg(host, i % 1000) AS m FROM f_hosts;
SELECT bloom_summary(m), i.details FROM f_maps, bloom_info(m) i;
SELECT count(*) FILTER (WHERE bloom_get(m, host) IS DISTINCT FROM i % 1000) AS wrong, count(bloom_get(m, 'no' || host)) < 20 AS "few others",
       count(*) FILTER (WHERE (m @> ('no' || host)) <> (bloom_get(m, 'no' || host) IS NOT NULL)) AS differ, count(*) FILTER (WHERE NOT m @> host) AS lost
FROM f_hosts, f_maps;
SELECT bloom_get(m, NULL::text), bloom_get(NULL, 'x'::text) FROM f_maps;
-- The template: its rate, seed and key type; its fingerprint_bits.  Values keep in prefixes.
SELECT b AS bits, bloom_fpr(m), i.seed, i.details, count(*) FILTER (WHERE bloom_get(m, host) <> h.i) AS wrong, count(*) FILTER (WHERE bloom_get(bloom_prefix(m, 10), host) <> h.i) AS "wrong in a prefix"
FROM unnest('{0, 1, 20}'::int[]) b, LATERAL (SELECT bloom_map_agg(host, h.i, bloom_empty(1, 0.5, 'binary_fuse', 11, 'fingerprint_bits=' || b)) AS m FROM f_hosts h) s, bloom_info(m) i, f_hosts h
GROUP BY b, m, i.seed, i.details ORDER BY b;
SELECT bloom_map_agg(host, i, m) = bloom_map_agg(host, i) AS "a map as template" FROM f_hosts, f_maps;
-- Values: 0 to 2^24 - 1; keys may come again with the same one; null keys are skipped.
SELECT bloom_get(m, 1), bloom_get(m, 2), bloom_get(m, 3), bloom_cardinality(m) FROM (SELECT bloom_map_agg(k, v) AS m FROM (VALUES (1, 0), (2, 16777215), (3, 5), (3, 5), (NULL, 7)) x(k, v)) s;
SELECT bloom_summary(bloom_map_agg(k, v)), bloom_summary(bloom_map_agg(k, v) FILTER (WHERE false)) AS "no rows" FROM (VALUES (NULL::int, NULL::int)) x(k, v);
TRUNCATE f_commands;
INSERT INTO f_commands (command) VALUES
    ('SELECT bloom_map_agg(k, v) FROM (VALUES (1, 3), (2, 5), (1, 7)) x(k, v)'), ('SELECT bloom_map_agg(1, -1)'), ('SELECT bloom_map_agg(1, 16777216)'), ('SELECT bloom_map_agg(1, NULL)'),
    ('SELECT bloom_map_agg(1, 1, NULL)'), ('SELECT bloom_map_agg(1, 1, bloom_empty(10))'), ('SELECT bloom_map_agg(1, 1, f) FROM f_filters GROUP BY f'),
    ('SELECT bloom_get(m, 1) FROM f_maps'), ('SELECT bloom_agg(i, bloom_empty(1, 0.5, ''binary_fuse'', options => ''fingerprint_bits=0'')) FROM f_many'),
    ('SELECT bloom_agg(host, m) FROM f_hosts, f_maps GROUP BY m'), ('SELECT bloom_prefix(m, 9) FROM f_maps'), ('SELECT m | m FROM f_maps'), ('SELECT bloom_add(m, ''x'') FROM f_maps');
\pset tuples_only on
\pset format unaligned
SELECT command, f_attempt(command) FROM f_commands ORDER BY n;
\pset tuples_only off
\pset format aligned
-- One set of keys and values has one map; windows; any type of key; stored in pieces.
SELECT bloom_map_agg(host, i ORDER BY host) = bloom_map_agg(host, i ORDER BY i DESC) AS same FROM f_hosts;
SELECT i, bloom_cardinality(m), bloom_get(m, 1), bloom_get(m, i) FROM (SELECT i, bloom_map_agg(i, 10 * i) OVER (ORDER BY i) AS m FROM generate_series(1, 4) i) w;
SELECT bloom_get(bloom_map_agg(row(i, i::text), i), row(7, '7'::text)) AS rows, bloom_get(bloom_map_agg(i::numeric, i), 7.0) AS numerics, bloom_get(bloom_map_agg(i::int2, i), 7::int8) AS integers FROM f_hosts;
INSERT INTO f_stored SELECT 10 + g, bloom_map_agg(i, i % g) FROM generate_series(1, 2) g, generate_series(1, 20000) i GROUP BY g;
SELECT count(*) FILTER (WHERE bloom_get(f, i) <> i % (n - 10)) AS wrong, count(bloom_get(f, i)) AS found,
       count(*) FILTER (WHERE bloom_get(f, -i) IS DISTINCT FROM bloom_get(f::bytea::bloomfilter, -i)) AS "differ"
FROM generate_series(1, 100) i, f_stored WHERE n > 10;

-- A closed universe: a filter of 4 bits, and for the keys that it finds a map of one bit that tells members from mistakes.  No answer is wrong.
CREATE TABLE f_universe AS SELECT i AS k, i % 20 = 0 AS member FROM generate_series(1, 40000) i;
CREATE TABLE f_exact AS SELECT bloom_agg(k, bloom_empty(1, 0.07, 'binary_fuse')) FILTER (WHERE member) AS f FROM f_universe;
ALTER TABLE f_exact ADD m bloomfilter;
UPDATE f_exact SET m = (SELECT bloom_map_agg(k, member::int, bloom_empty(1, 0.5, 'binary_fuse', 1, 'fingerprint_bits=0')) FROM f_universe WHERE f @> k);
SELECT count(*), count(*) FILTER (WHERE member <> (f @> k AND bloom_get(m, k) = 1)) AS wrong FROM f_universe, f_exact;

DROP TABLE f_hosts, f_filters, f_many, f_workers, f_two, f_four, f_little, f_commands, f_stored, f_indexed, f_maps, f_universe, f_exact;
DROP FUNCTION f_attempt(text);
