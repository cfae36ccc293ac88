--
-- Layout dynamic_blocked: blocks that grow when they are full, so that the false
-- positive rate is bounded whatever the number of keys and wherever they fall.
--
-- A plan: one cache line per block; the rate is met with room to spare, because it is a bound
SELECT layout, bits, bytes, blocks, parts, part_bits, hash_functions, fpr < 0.01 AS "below the target"
FROM bloom_plan(10000, 0.01, 'dynamic_blocked');

-- Options
SELECT o AS options, blocks, part_bits, hash_functions
FROM unnest(ARRAY['', 'block_bits=4096', 'growth=4', 'tightening=0.5', ' block_bits = 128 , growth=3,tightening=0.25']) o,
     bloom_info(bloom_empty(10000, 0.01, 'dynamic_blocked', options => o));
SELECT bytes, blocks, part_bits, hash_functions FROM bloom_info(bloom_empty_bits(100000, 7, 'dynamic_blocked'));

-- Many more keys than planned: none is lost, and the rate stays below 1 %
CREATE TABLE grown AS
SELECT bloom_agg(n, bloom_empty(1000, 0.01, 'dynamic_blocked')) AS f FROM generate_series(1, 20000) n;
SELECT count(*) FILTER (WHERE NOT f @> n) AS lost, count(*) AS keys FROM grown, generate_series(1, 20000) n;
SELECT count(*) FILTER (WHERE f @> n) < 300 AS "below 1 %" FROM grown, generate_series(20001, 50000) n;
SELECT layout, blocks, capacity, key_type, overfilled, fpr < 0.01 AS bounded, round((cardinality / 20000)::numeric, 1) AS keys, bits_set < bits / 2 AS "half empty"
FROM grown, bloom_info(f);
SELECT d.key, CASE WHEN d.key IN ('growth', 'tightening', 'full_at') THEN round(d.value::numeric, 3)::text ELSE (d.value::numeric > 0)::text END AS value
FROM grown, bloom_info(f), jsonb_each_text(details::jsonb) d ORDER BY d.key;

-- The same keys again change nothing, not even the size; the aggregate takes duplicates too
SELECT bloom_add_all(f, ARRAY(SELECT generate_series(1, 20000))) = f AS unchanged FROM grown;
SELECT bloom_agg(n, bloom_empty(1000, 0.01, 'dynamic_blocked')) = (SELECT f FROM grown) AS same
FROM (SELECT n FROM generate_series(1, 20000) n UNION ALL SELECT n FROM generate_series(1, 20000) n) s;

-- One key at a time, and in a loop
SELECT f @> 'a' AS a, f @> 'b' AS b, f @> 'c' AS c FROM bloom_add(bloom_add(bloom_empty(2, 0.01, 'dynamic_blocked'), 'a'::text), 'b') f;
DO $$
DECLARE
    f bloomfilter := bloom_empty(10, 0.01, 'dynamic_blocked');
BEGIN
    FOR n IN 1..500 LOOP
        f := bloom_add(f, n);
    END LOOP;
    RAISE NOTICE 'lost: %, overflow: %', (SELECT count(*) FROM generate_series(1, 500) n WHERE NOT f @> n),
        (SELECT (details::jsonb ->> 'overflow_blocks')::int > 1 FROM bloom_info(f));
END $$;

-- A union: two blocks are joined unless the result would be too full; then both are kept
CREATE TABLE parts AS
SELECT p, bloom_agg(n, bloom_empty(10000, 0.01, 'dynamic_blocked')) AS f
FROM generate_series(0, 3) p, generate_series(p * 2500 + 1, p * 2500 + 2500) n GROUP BY p;
SELECT count(*) FILTER (WHERE NOT u @> n) AS lost FROM (SELECT bloom_union_agg(f) AS u FROM parts) s, generate_series(1, 10000) n;
SELECT i.fpr < 0.01 AS rate, round((i.cardinality / 10000)::numeric, 1) AS keys, i.bytes < 1.1 * w.bytes AS size
FROM (SELECT bloom_union_agg(f) AS u FROM parts) s, bloom_info(u) i,
     (SELECT bloom_agg(n, bloom_empty(10000, 0.01, 'dynamic_blocked')) AS f FROM generate_series(1, 10000) n) o, bloom_info(o.f) w;
SELECT f | f = f AS idempotent, f | bloom_empty(10000, 0.01, 'dynamic_blocked') = f AS "with an empty one" FROM parts WHERE p = 0;
CREATE TABLE crowded AS
SELECT a.f | b.f AS u
FROM (SELECT bloom_agg(n, bloom_empty(500, 0.01, 'dynamic_blocked')) AS f FROM generate_series(1, 2000) n) a,
     (SELECT bloom_agg(n, bloom_empty(500, 0.01, 'dynamic_blocked')) AS f FROM generate_series(2001, 4000) n) b;
SELECT (SELECT count(*) FROM generate_series(1, 4000) n WHERE NOT u @> n) AS lost, bloom_fpr(u) < 0.02 AS "at most the sum" FROM crowded;

-- Parallel workers build their own filters, which are then united
CREATE TABLE numbers AS SELECT n FROM generate_series(1, 30000) n;
ANALYZE numbers;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT bloom_agg(n, bloom_empty(10000, 0.01, 'dynamic_blocked')) FROM numbers;
CREATE TABLE parallel AS SELECT bloom_agg(n, bloom_empty(10000, 0.01, 'dynamic_blocked')) AS f FROM numbers;
SELECT (SELECT count(*) FROM numbers WHERE NOT f @> n) AS lost, bloom_fpr(f) < 0.03 AS rate FROM parallel;
RESET ALL;

-- Text and bytea, stored and read again
SELECT f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea FROM grown;
SELECT count(DISTINCT f) FROM (SELECT f FROM grown UNION ALL SELECT f::bytea::bloomfilter FROM grown UNION ALL SELECT bloom_empty(1000, 0.01, 'dynamic_blocked')) s;

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
SELECT refusal('SELECT f !&& f FROM grown');
SELECT refusal('SELECT bloom_jaccard(f, f) FROM grown');
SELECT refusal('SELECT bloom_prefix(f, 1) FROM grown');
SELECT refusal('SELECT bloom_fold(f) FROM grown');
SELECT refusal('SELECT bloom_shrink(f, 0.5) FROM grown');

-- ... and so are filters that do not combine
SELECT refusal('SELECT f | bloom_agg(1, 10) FROM grown GROUP BY f');
SELECT refusal('SELECT f | bloom_empty(1000, 0.001, ''dynamic_blocked'') FROM grown');
SELECT refusal('SELECT f | bloom_empty(1000, 0.01, ''dynamic_blocked'', options => ''growth=3'') FROM grown');

-- Invalid options
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'dynamic_blocked', options => 'growth=9')$$);
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'dynamic_blocked', options => 'growth=1.5')$$);
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'dynamic_blocked', options => 'tightening=1')$$);
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'dynamic_blocked', options => 'block_bits=500')$$);
SELECT refusal($$SELECT bloom_empty(1000, 0.01, 'dynamic_blocked', options => 'probes=2')$$);
SELECT refusal($$SELECT bloom_empty(10000000000, 0.01, 'dynamic_blocked')$$);
SELECT refusal($$SELECT bloom_empty(10, 0.01, 'dynamic_blocked', options => 'block_bits=128, growth=1')$$);
SELECT refusal($$SELECT bloom_empty(10, 1e-60, 'dynamic_blocked')$$);
SELECT refusal($$SELECT bloom_empty_bits(500, 7, 'dynamic_blocked')$$);

-- Damaged bytes: growth, blocks in use, the record and the bits of the first block, a byte less
CREATE FUNCTION damaged(f bloomfilter, byte int, value int) RETURNS text LANGUAGE sql AS
$$ SELECT format('SELECT %L::bytea::bloomfilter', set_byte(f::bytea, byte, value)) $$;
CREATE TABLE small AS SELECT bloom_agg(n, bloom_empty(50, 0.01, 'dynamic_blocked')) AS f FROM generate_series(1, 100) n;
SELECT refusal(damaged(f, 44, 9)) FROM small;
SELECT refusal(damaged(f, 44 + 24, 255)) FROM small;
SELECT refusal(damaged(f, 44 + 40, get_byte(f::bytea, 44 + 40) # 1)) FROM small;
SELECT refusal(damaged(f, 44 + 44, 32 + get_byte(f::bytea, 44 + 44))) FROM small;
SELECT refusal(damaged(f, 44 + 48, get_byte(f::bytea, 44 + 48) # 1)) FROM small;
SELECT refusal(format('SELECT %L::bytea::bloomfilter', substring(f::bytea, 1, length(f::bytea) - 8))) FROM small;
\pset format aligned
\pset tuples_only off

DROP TABLE grown, parts, crowded, numbers, parallel, small;
DROP FUNCTION refusal, damaged;
