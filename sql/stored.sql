--
-- Stored filters (TOAST): reading pieces of them gives the same results as reading the whole, and reads less.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
SET bloomx.overfill = off;
SET default_toast_compression = 'pglz';
RESET client_min_messages;

-- Every layout, inline and large; large ones plain, and compressed, which works only if they are nearly empty.
CREATE TABLE st_external (layout text, n int, f bloomfilter);
CREATE TABLE st_compressed (layout text, n int, f bloomfilter);
ALTER TABLE st_compressed ALTER f SET STORAGE extended;
CREATE TABLE st_all_layouts AS SELECT layout, k FROM (VALUES ('standard', 7.0::float8), ('partitioned', 7), ('hybrid', 8), ('blocked', 7), ('partitioned_blocked', 20), ('rational', 6.5),
    ('variable_blocked', 6.5), ('counting', 20), ('scalable', 7), ('dynamic_blocked', 7), ('age_partitioned', 7)) v(layout, k);
INSERT INTO st_external
    SELECT layout, n, bloom_add_all(bloom_empty_bits(bits, k, layout), ARRAY(SELECT 'key ' || i FROM generate_series(1, n) i))
    FROM st_all_layouts, (VALUES (5, 5000), (1000, 200001)) v(n, bits);
INSERT INTO st_external VALUES ('open', 1000, (SELECT bloom_agg('key ' || i) FROM generate_series(1, 1000) i));
INSERT INTO st_external SELECT 'planned ' || layout, 1000, (SELECT bloom_agg(ARRAY[i], bloom_empty(50000, 0.001, layout, seed => 9)) FROM generate_series(1, 1000) i)
    FROM unnest(ARRAY['partitioned_blocked', 'partitioned', 'scalable']) layout;
INSERT INTO st_compressed SELECT layout, 2, bloom_add_all(bloom_empty_bits(2000001, k, layout), ARRAY['a', 'b']) FROM st_all_layouts;
SELECT tableoid::regclass AS "table", count(*) FILTER (WHERE pg_column_size(f) < 2000) AS inline, count(*) FILTER (WHERE pg_column_size(f) > 20000) AS large,
       count(*) FILTER (WHERE pg_column_size(f) BETWEEN 2000 AND 20000) AS "between"
FROM (SELECT tableoid, * FROM st_external UNION ALL SELECT tableoid, * FROM st_compressed) s GROUP BY 1 ORDER BY 1;

-- Filters that alternate are probed in pieces: no key is lost, and the answers are those of the filters in memory
SELECT count(*) AS keys, sum(filters) AS probes, sum(lost) AS lost, sum(other) AS "other answers", sum(found) BETWEEN 1 AND 1000 AS "a few false"
FROM generate_series(1, 300) i, LATERAL (SELECT count(*) AS filters, count(*) FILTER (WHERE NOT f @> ('key ' || i % n + 1)) AS lost,
        count(*) FILTER (WHERE (f @> ('absent ' || i)) <> (f::bytea::bloomfilter @> ('absent ' || i))) AS other, count(*) FILTER (WHERE f @> ('absent ' || i)) AS found
    FROM st_external WHERE layout !~ 'planned|age' AND i > 0) s;

-- An array of few keys reads pieces, one of many keys the whole: the same answers, also with NULLs
SELECT count(*) AS arrays, count(*) FILTER (WHERE n >= keys) AS "all in it", count(*) FILTER (WHERE NOT bloom_contains_all(f, a) AND n >= keys) AS lost,
       count(*) FILTER (WHERE bloom_contains_all(f, a) <> bloom_contains_all(f::bytea::bloomfilter, a)
                           OR bloom_contains_any(f, b) <> bloom_contains_any(f::bytea::bloomfilter, b)
                           OR bloom_contains_all(f, a || NULL) IS DISTINCT FROM bloom_contains_all(f::bytea::bloomfilter, a || NULL)
                           OR bloom_contains_any(f, b || NULL) IS DISTINCT FROM bloom_contains_any(f::bytea::bloomfilter, b || NULL)) AS "other answers"
FROM unnest(ARRAY[0, 1, 2, 3, 5, 70, 700]) keys,
     LATERAL (SELECT ARRAY(SELECT 'key ' || i FROM generate_series(1, keys) i) AS a, ARRAY(SELECT 'absent ' || i FROM generate_series(1, keys) i) AS b) k,
     LATERAL (SELECT n, f FROM st_external WHERE layout !~ 'planned|age' AND keys >= 0) s;

-- bloom_header: the first columns of bloom_info
SELECT count(*) AS filters, count(*) FILTER (WHERE (h.layout, h.bits, h.bytes, h.blocks, h.parts, h.part_bits, h.hash_functions) = (i.layout, i.bits, i.bytes, i.blocks, i.parts, i.part_bits, i.hash_functions)
        AND (h.key_type, h.seed, h.capacity) IS NOT DISTINCT FROM (i.key_type, i.seed, i.capacity)) AS same,
       count(*) FILTER (WHERE h.layout = s.layout OR s.layout ~ 'open|planned') AS "of its layout"
FROM (SELECT * FROM st_external UNION ALL SELECT * FROM st_compressed) s, bloom_header(f) h, bloom_info(f::bytea::bloomfilter) i;
SELECT h.* FROM st_external, bloom_header(f) h WHERE st_external.layout ~ 'planned' ORDER BY bits;
SELECT (bloom_header(f)).key_type FROM bloom_empty(10) f;
SELECT count(*) AS rows, count(h.layout) AS layouts FROM bloom_header(NULL) h;

-- Every prefix: of the stored filter and of the filter in memory
CREATE FUNCTION st_pieces(f bloomfilter) RETURNS int LANGUAGE sql AS $$
    SELECT CASE WHEN i.layout = 'variable_blocked' THEN (i.details ->> 'variable_blocks')::int ELSE i.parts END FROM bloom_info(f) i $$;
SELECT s.layout, n, st_pieces(f) AS pieces, count(*) FILTER (WHERE bloom_prefix(f, p) = bloom_prefix(f::bytea::bloomfilter, p)) AS same,
       count(*) FILTER (WHERE bloom_prefix(f, p) @> (CASE n WHEN 2 THEN 'b' ELSE 'key ' || n END)) AS "key found",
       count(*) FILTER (WHERE bloom_info(bloom_prefix(f, p)) = bloom_info(bloom_prefix(f::bytea::bloomfilter, p))) AS "same state"
FROM (SELECT * FROM st_external WHERE layout !~ 'open|planned' UNION ALL SELECT * FROM st_compressed) s, generate_series(1, st_pieces(f)) p
WHERE s.layout NOT IN ('scalable', 'dynamic_blocked', 'age_partitioned') GROUP BY s.layout, n, f ORDER BY s.layout, n;
SELECT count(*) FILTER (WHERE bloom_prefix(f, p) = bloom_prefix(f::bytea::bloomfilter, p)) AS same, bool_and(bloom_prefix(f, p) @> ARRAY[1000]) AS found,
       bool_and((bloom_header(bloom_prefix(f, p))).key_type = 'integer[]') AS key_type
FROM st_external, generate_series(1, 7) p WHERE layout IN ('planned partitioned_blocked', 'planned partitioned');

-- ... and the same refusals
CREATE FUNCTION st_attempt(expression text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT ' || expression;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN RETURN SQLERRM;
END $$;
SELECT layout, p, a.stored, a.stored = a.memory AS "in memory too"
FROM st_external, unnest(ARRAY[0, 1, 100, -1]) p, LATERAL (SELECT
    st_attempt(format('bloom_prefix(f, %s) FROM st_external WHERE layout = %L AND n = 1000', p, layout)) AS stored,
    st_attempt(format('bloom_prefix(f::bytea::bloomfilter, %s) FROM st_external WHERE layout = %L AND n = 1000', p, layout)) AS memory) a
WHERE n = 1000 AND layout IN ('standard', 'partitioned_blocked', 'variable_blocked', 'scalable') ORDER BY layout, p;

-- A filter of a megabyte: the pages that a statement touches, TOAST index included, in addition to those of any row
CREATE TABLE st_large AS SELECT layout, bloom_add_all(bloom_empty_bits(8000000, k, layout), ARRAY(SELECT generate_series(1, 100000))) AS f
    FROM st_all_layouts WHERE layout IN ('partitioned', 'partitioned_blocked', 'scalable');
CREATE FUNCTION st_pages(expression text, of_layout text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    FOR again IN 1..2 LOOP -- the first run reads catalogs, too
        EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT %s FROM st_large WHERE layout = %L', expression, of_layout) INTO plan;
    END LOOP;
    RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
SELECT layout, st_pages('bloom_info(f)', layout) > 60 AS whole, st_pages('bloom_header(f)', layout) < 10 AS header, st_pages('f @> -1', layout) < 20 AS "absent key",
       st_pages('bloom_contains_any(f, ARRAY[-1, -2, -3])', layout) < 50 AS "three keys"
FROM st_large WHERE layout <> 'scalable' ORDER BY layout;
SELECT st_pages('bloom_info(f)', layout) > 60 AS whole, st_pages('bloom_header(f)', layout) < 10 AS header, st_pages('f @> -1', layout) < 20 AS "absent key"
FROM st_large WHERE layout = 'scalable';
DROP TABLE st_external, st_compressed, st_all_layouts, st_large;
DROP FUNCTION st_pieces, st_attempt, st_pages;
