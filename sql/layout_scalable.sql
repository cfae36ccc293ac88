--
-- Layout scalable: a chain of filters that grows with its keys, and whose false
-- positive rate is bounded whatever their number.
--
-- A plan describes the first stage; its rate is that with the capacity of the first stage
SELECT layout, bits, bytes, blocks, parts, part_bits, hash_functions, fpr < 0.01 AS "below the target"
FROM bloom_plan(1000, 0.01, 'scalable');

-- Options
SELECT o AS options, blocks, parts, details::jsonb ->> 'growth' AS growth,
       round((details::jsonb ->> 'tightening')::numeric, 3) AS tightening, (details::jsonb ->> 'fpr_bound')::float8 < 0.01 AS bounded
FROM unnest(ARRAY['', 'growth=4', 'tightening=0.9', ' growth = 16 , tightening=0.1']) o,
     bloom_info(bloom_empty(1000, 0.01, 'scalable', options => o));
SELECT bytes, blocks, parts FROM bloom_info(bloom_empty_bits(100000, 7, 'scalable'));

-- A hundred times the keys: none is lost, and the rate stays about 1 %
CREATE TABLE grown AS
SELECT bloom_agg(n, bloom_empty(1000, 0.01, 'scalable')) AS f FROM generate_series(1, 100000) n;
SELECT count(*) FILTER (WHERE NOT f @> n) AS lost, count(*) AS keys FROM grown, generate_series(1, 100000) n;
SELECT count(*) FILTER (WHERE f @> n) BETWEEN 400 AND 1100 AS "about 1 %" FROM grown, generate_series(100001, 200000) n;
SELECT layout, blocks, parts, capacity, key_type, overfilled, fpr < 0.01 AS bounded, round((cardinality / 100000)::numeric, 1) AS keys
FROM grown, bloom_info(f);
SELECT d.key, round(d.value::numeric, 4) AS value
FROM grown, bloom_info(f), jsonb_each_text(details::jsonb) d ORDER BY d.key;

-- The same keys again change nothing, not even the size
SELECT bloom_add_all(f, ARRAY(SELECT generate_series(1, 100000))) = f AS unchanged FROM grown;
SELECT bloom_agg(n, bloom_empty(1000, 0.01, 'scalable')) = (SELECT f FROM grown) AS same
FROM (SELECT n FROM generate_series(1, 100000) n UNION ALL SELECT n FROM generate_series(1, 100000) n) s;
-- ... and adding all at once makes the same chain as adding one by one
SELECT bloom_add_all(bloom_empty(1000, 0.01, 'scalable'), ARRAY(SELECT generate_series(1, 100000))) = f AS same FROM grown;

-- A column that grows with its table: many small updates
CREATE TABLE seen (id int PRIMARY KEY, f bloomfilter);
INSERT INTO seen SELECT g, bloom_empty(10, 0.01, 'scalable') FROM generate_series(0, 3) g;
DO $$
BEGIN
    FOR i IN 1..400 LOOP
        UPDATE seen SET f = bloom_add(f, 'key ' || i::text) WHERE id = i % 4;
    END LOOP;
    FOR i IN 1..20 LOOP
        UPDATE seen SET f = bloom_add_all(f, ARRAY(SELECT 'batch ' || i::text || ' ' || n::text FROM generate_series(1, 200) n));
    END LOOP;
END $$;
SELECT count(*) FILTER (WHERE NOT f @> ('key ' || i::text)) AS lost FROM seen, generate_series(1, 400) i WHERE i % 4 = id;
SELECT count(*) FILTER (WHERE NOT f @> ('batch ' || i::text || ' ' || n::text)) AS lost FROM seen, generate_series(1, 20, 7) i, generate_series(1, 200, 5) n;
SELECT id, round((cardinality / 4100)::numeric, 1) AS keys, details::jsonb ->> 'stages' AS stages, fpr < 0.01 AS bounded FROM seen, bloom_info(f) ORDER BY id;

-- A stored filter that is probed once is read in pieces; only from the second probe on it is read whole
SELECT pg_column_size(f) > 16384 AS large, f @> 7 AS present FROM grown;
SELECT f @> -7 AS absent FROM grown;
SELECT count(*) FILTER (WHERE f @> n) FROM (SELECT f, n FROM grown, generate_series(99990, 100000) n OFFSET 0) s;

-- In a loop
DO $$
DECLARE
    f bloomfilter := bloom_empty(10, 0.01, 'scalable');
BEGIN
    FOR n IN 1..5000 LOOP
        f := bloom_add(f, n);
    END LOOP;
    RAISE NOTICE 'lost: %, stages: %', (SELECT count(*) FROM generate_series(1, 5000) n WHERE NOT f @> n),
        (SELECT details::jsonb ->> 'stages' FROM bloom_info(f));
END $$;

-- A union: stages of one shape are joined unless the result would be too full; all others are kept
CREATE TABLE parts AS
SELECT p, bloom_agg(n, bloom_empty(10000, 0.01, 'scalable')) AS f
FROM generate_series(0, 3) p, generate_series(p * 2500 + 1, p * 2500 + 2500) n GROUP BY p;
SELECT bloom_union_agg(f) = (SELECT bloom_agg(n, bloom_empty(10000, 0.01, 'scalable')) FROM generate_series(1, 10000) n) AS "as one built of all keys" FROM parts;
SELECT f | f = f AS idempotent, f | bloom_empty(10000, 0.01, 'scalable') = f AS "with an empty one" FROM parts WHERE p = 0;
CREATE TABLE united AS
SELECT a.f AS a, b.f AS b, a.f | b.f AS u
FROM (SELECT bloom_agg(n, bloom_empty(100, 0.01, 'scalable')) AS f FROM generate_series(1, 6000) n) a,
     (SELECT bloom_agg(n, bloom_empty(500, 0.001, 'scalable', options => 'growth=4')) AS f FROM generate_series(6001, 10000) n) b;
SELECT count(*) FILTER (WHERE NOT u @> n) AS lost FROM united, generate_series(1, 10000) n;
SELECT bloom_fpr(u) <= 0.011 AS "at most the sum", details::jsonb ->> 'stages' AS stages, round((cardinality / 10000)::numeric, 1) AS keys
FROM united, bloom_info(u);
SELECT count(*) FILTER (WHERE NOT g @> n) AS "lost after growth" FROM (SELECT bloom_add_all(u, ARRAY(SELECT generate_series(10001, 20000))) AS g FROM united OFFSET 0) s, generate_series(1, 20000) n;
SELECT a && b AS overlap, a && u AS "with the union", f !&& g AS disjoint
FROM united, (SELECT bloom_agg(n, bloom_empty(1000, 0.000001, 'scalable')) AS f FROM generate_series(1, 60) n) f,
     (SELECT bloom_agg(n, bloom_empty(20, 0.0001, 'scalable')) AS g FROM generate_series(61, 90) n) g;

-- The filter of no keys combines with any other
SELECT bloom_union_agg(f) = (SELECT f FROM grown) AS same FROM (SELECT f FROM grown UNION ALL SELECT bloom_agg(n) FROM generate_series(1, 0) n) s;

-- Parallel workers build their own filters, which are then united
CREATE TABLE numbers AS SELECT n FROM generate_series(1, 30000) n;
ANALYZE numbers;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT bloom_agg(n, bloom_empty(1000, 0.01, 'scalable')) FROM numbers;
CREATE TABLE parallel AS SELECT bloom_agg(n, bloom_empty(1000, 0.01, 'scalable')) AS f FROM numbers;
SELECT count(*) FILTER (WHERE NOT f @> n) AS lost FROM parallel, numbers;
SELECT bloom_fpr(f) < 0.03 AS "at most three times" FROM parallel;
RESET ALL;

-- Text and bytea, stored and read again
SELECT f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea FROM grown;
SELECT count(DISTINCT f) FROM (SELECT f FROM grown UNION ALL SELECT f::bytea::bloomfilter FROM grown UNION ALL SELECT bloom_empty(1000, 0.01, 'scalable')) s;

\pset format unaligned
\pset tuples_only on
-- Runs a statement and returns how it failed
CREATE FUNCTION refusal(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    message text; detail text; hint text;
BEGIN
    EXECUTE statement;
    RETURN NEXT 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
    RETURN NEXT sqlstate || ': ' || message;
    IF detail <> '' THEN RETURN NEXT '  detail: ' || detail; END IF;
    IF hint <> '' THEN RETURN NEXT '  hint: ' || hint; END IF;
END $$;

-- Operations that have no meaning are refused with the reason
SELECT refusal('SELECT f & f FROM grown');
SELECT refusal('SELECT bloom_jaccard(f, f) FROM grown');
SELECT refusal('SELECT bloom_union_cardinality(f, f) FROM grown');
SELECT refusal('SELECT bloom_prefix(f, 1) FROM grown');
SELECT refusal('SELECT bloom_fold(f) FROM grown');
SELECT refusal('SELECT bloom_shrink(f, 0.5) FROM grown');
SELECT refusal('SELECT bloom_remove(f, 1) FROM grown');

-- ... and so are filters that do not combine, and too many stages
SELECT refusal('SELECT f | bloom_agg(1, 10) FROM grown GROUP BY f');
SELECT refusal('SELECT f | bloom_empty(1000, 0.01, ''scalable'', seed => 7) FROM grown');
SELECT refusal('SELECT bloom_union_agg(f) FROM (SELECT bloom_agg(g * 100 + n, bloom_empty(40, 0.01, ''scalable'')) AS f FROM generate_series(1, 300) g, generate_series(1, 40) n GROUP BY g) s');

-- United with a set of hashes: these are sorted, and must not crowd into the first blocks of a stage.
SELECT l, bloom_fpr(bloom_union(bloom_empty(100, 0.01, l), s)) < 0.01 AS united, bloom_fpr((SELECT bloom_union_agg(f) FROM unnest(ARRAY[bloom_add(bloom_empty(100, 0.01, l), 0), s]) f)) < 0.01 AS agg
FROM (SELECT bloomx_probe_all(array_agg(n)) AS s FROM generate_series(1, 20000) n) s, unnest(ARRAY['scalable', 'dynamic_blocked']) l;

-- Invalid plans and options
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'scalable', options => 'growth=3')$$);
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'scalable', options => 'growth=1')$$);
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'scalable', options => 'tightening=1')$$);
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'scalable', options => 'block_bits=512')$$);
SELECT refusal($$SELECT bloom_empty(10000000000, 0.01, 'scalable')$$);
SELECT refusal($$SELECT bloom_empty(10, 1e-60, 'scalable')$$);
SELECT refusal($$SELECT bloom_empty_bits(400, 7, 'scalable')$$);

-- Damaged bytes: growth, tightening, number of stages, bits set, blocks and parts of a stage, a bit, a word less
CREATE FUNCTION damaged(f bloomfilter, byte int, value int) RETURNS text LANGUAGE sql AS
$$ SELECT format('SELECT %L::bytea::bloomfilter', set_byte(f::bytea, byte, value)) $$;
CREATE TABLE small AS SELECT bloom_agg(n, bloom_empty(50, 0.01, 'scalable')) AS f FROM generate_series(1, 300) n;
SELECT refusal(damaged(f, 44, 3)) FROM small;
SELECT refusal(damaged(f, 44 + 10, 2)) FROM small;
SELECT refusal(damaged(f, 44 + 16, 0)) FROM small;
SELECT refusal(damaged(f, 44 + 16, 2)) FROM small;
SELECT refusal(damaged(f, 44 + 24, get_byte(f::bytea, 44 + 24) # 1)) FROM small;
SELECT refusal(damaged(f, 44 + 30, 4)) FROM small;
SELECT refusal(damaged(f, 44 + 30, 40)) FROM small;
SELECT refusal(damaged(f, 44 + 31, 0)) FROM small;
SELECT refusal(damaged(f, 44 + 48, get_byte(f::bytea, 44 + 48) # 1)) FROM small;
SELECT refusal(format('SELECT %L::bytea::bloomfilter', substring(f::bytea, 1, length(f::bytea) - 8))) FROM small;
\pset format aligned
\pset tuples_only off

DROP TABLE grown, seen, parts, united, numbers, parallel, small;
DROP FUNCTION refusal, damaged;
