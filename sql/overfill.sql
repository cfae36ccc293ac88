--
-- Whatever makes a filter worse than it promises says so: adding keys, uniting filters, merging partial states, and
-- the summaries of BRIN indexes.  bloomx.overfill = error stops it; a notice comes once per statement.
--

-- The typical mistake: one filter per day, sized by its keys, and the union of a month.
CREATE TABLE f_days AS
SELECT d, bloom_agg(1000 * d + i) AS sized, bloom_agg(1000 * d + i, 30000) AS planned FROM generate_series(1, 30) d, generate_series(0, 999) i GROUP BY d;
\set VERBOSITY terse
SELECT bloom_fpr(bloom_union_agg(sized)), bloom_fpr(bloom_union_agg(planned)) < 0.01 AS "as planned" FROM f_days;
\set VERBOSITY default
SELECT round(bloom_fpr(a.sized | b.sized)::numeric, 2) AS fpr FROM f_days a, f_days b WHERE a.d = 1 AND b.d = 2;

-- error stops each of these.
SET bloomx.overfill = off;
CREATE TABLE f_full AS SELECT bloom_agg(i, 100) AS f FROM generate_series(1, 300) i;
SET bloomx.overfill = error;
CREATE FUNCTION f_try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text; hint text;
BEGIN
    EXECUTE query INTO result;
    RETURN 'fine';
EXCEPTION WHEN program_limit_exceeded THEN
    GET STACKED DIAGNOSTICS hint = pg_exception_hint;
    RETURN substring(hint FROM '^[^,]*');
END $$;
CREATE TABLE f_ways (way text, too_many text, within text);
INSERT INTO f_ways VALUES
    ('bloom_add', 'SELECT bloom_add(f, 10000) FROM f_full', 'SELECT bloom_add(bloom_agg(i, 100), 10000) FROM generate_series(1, 90) i'),
    ('bloom_add_hash', 'SELECT bloom_add_hash(f, 10000) FROM f_full', 'SELECT bloom_add_hash(bloom_agg(i, 100), 10000) FROM generate_series(1, 90) i'),
    ('bloom_add_all', 'SELECT bloom_add_all(bloom_empty(100), array_agg(i)) FROM generate_series(1, 300) i', 'SELECT bloom_add_all(bloom_empty(100), array_agg(i)) FROM generate_series(1, 100) i'),
    ('a large filter', 'SELECT bloom_add_all(bloom_empty(10000), array_agg(i)) FROM generate_series(1, 20000) i', 'SELECT bloom_add_all(bloom_empty(10000), array_agg(i)) FROM generate_series(1, 10000) i'),
    ('bloom_agg', 'SELECT bloom_agg(i, 100) FROM generate_series(1, 300) i', 'SELECT bloom_agg(i, 100) FROM generate_series(1, 100) i'),
    ('a template', 'SELECT bloom_agg(i, bloom_empty(100)) FROM generate_series(1, 300) i', 'SELECT bloom_agg(i, bloom_empty(100)) FROM generate_series(1, 100) i'),
    ('a window', 'SELECT bloom_agg(i, 10) OVER (ORDER BY i) FROM generate_series(1, 300) i', 'SELECT bloom_agg(i, 10) OVER (ORDER BY i ROWS 5 PRECEDING) FROM generate_series(1, 300) i'),
    ('|', 'SELECT a.sized | b.sized FROM f_days a, f_days b WHERE a.d < b.d', 'SELECT a.planned | b.planned FROM f_days a, f_days b WHERE a.d < b.d'),
    ('bloom_union', 'SELECT bloom_union(a.sized, b.sized) FROM f_days a, f_days b WHERE a.d < b.d', 'SELECT bloom_union(a.sized, a.sized) FROM f_days a'),
    ('bloom_union_agg', 'SELECT bloom_union_agg(sized) FROM f_days', 'SELECT bloom_union_agg(planned) FROM f_days'),
    ('a set and a filter', 'SELECT bloom_union_agg(f) FROM (SELECT bloom_empty(10) AS f UNION ALL SELECT bloomx_probe_all(array_agg(i)) FROM generate_series(1, 300) i) s',
     'SELECT bloom_union_agg(f) FROM (SELECT bloom_empty(300) AS f UNION ALL SELECT bloomx_probe_all(array_agg(i)) FROM generate_series(1, 300) i) s'),
    ('a small one into a large one', 'SELECT bloom_agg(i) FILTER (WHERE i <= 100) | bloom_agg(i) FROM generate_series(1, 20000) i',
     'SELECT bloom_agg(i) FILTER (WHERE i <= 100) | bloom_agg(i, 100000) FILTER (WHERE i <= 1000) FROM generate_series(1, 20000) i'),
    ('without a capacity, when full', 'SELECT bloom_agg(i, bloom_empty_bits(1024, 8)) FROM generate_series(1, 10000) i', 'SELECT bloom_agg(i, bloom_empty_bits(1024, 8)) FROM generate_series(1, 500) i');
SELECT way, f_try(too_many) AS "too many keys", f_try(within) AS "as many as planned" FROM f_ways;

-- A variable of a function is checked from time to time, and when it leaves the function.
CREATE FUNCTION f_add(capacity int, keys int) RETURNS bloomfilter LANGUAGE plpgsql AS $$
DECLARE f bloomfilter := bloom_empty(capacity);
BEGIN
    FOR i IN 1..keys LOOP f := bloom_add(f, i); END LOOP;
    RETURN f;
END $$;
SELECT keys, f_try(format('SELECT bloom_fill(f) FROM f_add(10000, %s) f', keys)) FROM unnest(ARRAY[10000, 10150, 10300, 20000]) keys;
RESET bloomx.overfill;

-- A notice comes once per statement: of many groups, of a window's rows, of a loop, of many unions.
\set VERBOSITY terse
SELECT count(f) FROM (SELECT bloom_agg(i, 10) AS f FROM generate_series(1, 5000) i GROUP BY i % 50) s;
SELECT count(f) FROM (SELECT bloom_agg(i, 10) OVER (ORDER BY i) AS f FROM generate_series(1, 300) i) s;
SELECT count(a.sized | b.sized) FROM f_days a, f_days b;
-- ... but the first filter is not the last word: one with more than ten times its rate is reported as well
SELECT count(f) FROM (SELECT bloom_agg(i, 1000) AS f FROM generate_series(1, 3) n, generate_series(1, 1000 + 500 * n * n) i GROUP BY n ORDER BY n) s;
SELECT bloom_fill(f_add(1000, 3000)) > 0.5 AS filled;
DO $$ BEGIN FOR i IN 1..3 LOOP PERFORM bloom_agg(v, 10) FROM generate_series(1, 100) v; END LOOP; END $$;
-- ... and again with the next statement
SELECT bloom_agg(i, 10) @> 5 AS found FROM generate_series(1, 100) i;
SELECT bloom_agg(i, 10) @> 5 AS found FROM generate_series(1, 100) i;
-- ... also for partial states, which are merged before they are checked
CREATE TABLE f_keys AS SELECT i FROM generate_series(1, 50000) i;
ANALYZE f_keys;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(f) FROM (SELECT bloom_agg(i, 100) AS f FROM f_keys GROUP BY i % 3) s;
SELECT bloom_cardinality(bloom_agg(i, 50000)) BETWEEN 49000 AND 51000 AS right FROM f_keys;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
\set VERBOSITY default

-- No notice for an explicit cut, nor for adding to the cut filter or uniting it within the planned number of keys.
SELECT bloom_fpr(bloom_prefix(f, 2)) > 0.1 AS prefix, bloom_fpr(bloom_fold(f, 3)) > 0.5 AS folded, bloom_fpr(bloom_shrink(f, 0.2)) BETWEEN 0.1 AND 0.2 AS shrunk,
       bloom_add(bloom_prefix(f, 2), 1) = bloom_prefix(f, 2) AS added, bloom_fold(f, 9) | bloom_fold(f, 9) = bloom_fold(f, 9) AS united, (bloom_info(bloom_fold(f, 9))).overfilled
FROM (SELECT bloom_agg(i) AS f FROM generate_series(1, 20000) i) s;

-- No notice within the plan: filters of many sizes, rates and layouts, with as many keys as planned, by adding and by union.
SET bloomx.overfill = error;
CREATE TABLE f_within AS
WITH plans AS MATERIALIZED (
    SELECT layout, capacity, fpr, bloom_empty(capacity, fpr, layout) AS template
    FROM unnest(ARRAY['partitioned_blocked', 'standard', 'partitioned', 'hybrid', 'blocked', 'rational', 'variable_blocked', 'counting']) layout,
         unnest(ARRAY[0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99]) fpr,
         (SELECT c FROM generate_series(1, 16) c UNION ALL SELECT c FROM generate_series(20, 600, 83) c) s(capacity))
SELECT layout, capacity, fpr, f FROM plans, LATERAL (SELECT bloom_agg(bloom_hash(capacity, i), template) AS f FROM generate_series(1, capacity) i) a;
SELECT count(*) AS filters, count(*) FILTER (WHERE overfilled) AS accused FROM f_within, bloom_info(f);
SELECT count(*) AS unions, sum(lost) AS lost
FROM generate_series(2, 300, 3) n,
     LATERAL (SELECT bloom_agg(bloom_hash(i, n), n) FILTER (WHERE i <= n / 2) | bloom_agg(bloom_hash(i, n), n) FILTER (WHERE i > n / 2) AS f FROM generate_series(1, n) i) u,
     LATERAL (SELECT count(*) AS lost FROM generate_series(1, n) i WHERE NOT f @> bloom_hash(i, n)) l;
-- ... nor for a filter that was sized by its keys, however it was sized
SELECT count(*) AS sized, count(*) FILTER (WHERE overfilled) AS accused FROM generate_series(1, 2000, 7) n, LATERAL (SELECT bloom_agg(i) AS f FROM generate_series(1, n) i) a, bloom_info(f);
RESET bloomx.overfill;

-- BRIN: a summary promises the rate of its operator class.  Ranges whose values do not fit a summary, and later rows.
\set VERBOSITY terse
CREATE TABLE f_rows (v int) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO f_rows SELECT i FROM generate_series(1, 20000) i;
CREATE INDEX f_fits ON f_rows USING brin (v int4_bloomx_ops) WITH (pages_per_range = 8);
INSERT INTO f_rows VALUES (1), (20001);
UPDATE f_rows SET v = v + 1000000 WHERE v <= 1200;
SET bloomx.overfill = error;
UPDATE f_rows SET v = v WHERE v = 5000;
UPDATE f_rows SET v = v + 1000000 WHERE v BETWEEN 1200 AND 20000;
CREATE INDEX f_fits_not ON f_rows USING brin (v int4_bloomx_ops) WITH (pages_per_range = 10000);
-- ... VACUUM must not fail
DROP INDEX f_fits;
INSERT INTO f_rows SELECT i FROM generate_series(30001, 60000) i;
SET bloomx.overfill = off;
CREATE INDEX f_fits_not ON f_rows USING brin (v int4_bloomx_ops) WITH (pages_per_range = 100);
SELECT brin_desummarize_range('f_fits_not', 0) IS NOT NULL AS done;
SET bloomx.overfill = error;
VACUUM f_rows;
RESET bloomx.overfill;
SET enable_seqscan = off;
SELECT count(*) FROM f_rows WHERE v IN (17, 1000017, 5000, 59999);
RESET enable_seqscan;
\set VERBOSITY default

-- bloomx.build_mem: by default the memory of a hash table; the resulting filter may be larger.  The planner's estimate decides how large.
SHOW bloomx.build_mem;
SET bloomx.build_mem = 63;
\set VERBOSITY sqlstate
SET bloomx.build_mem = -2;		-- the server's message depends on its version
\set VERBOSITY default
SET bloomx.build_mem = '64kB';
SHOW bloomx.build_mem;
SET bloomx.build_mem = '1GB';	-- a byte more than a filter can take
SHOW bloomx.build_mem;
SET bloomx.build_mem = -1;
SET bloomx.overfill = error;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
CREATE TABLE f_sizes (n int, f bloomfilter);
INSERT INTO f_sizes SELECT 1000, bloom_agg(i) FROM generate_series(1, 1000) i;
INSERT INTO f_sizes SELECT 10000, bloom_agg(i) FROM generate_series(1, 10000) i;
INSERT INTO f_sizes SELECT 100000, bloom_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO f_sizes SELECT 300000, bloom_agg(i) FROM generate_series(1, 300000) i;
SELECT n, i.fpr <= 0.01 AS "meets 1 %", i.bits <= 1.25 * p.bits AS "at most a quarter over the plan", i.overfilled FROM f_sizes, bloom_info(f) i, bloom_plan(n) p ORDER BY n;
-- ... with more than eight times the memory, or without an estimate, there are too many keys
SELECT f_try('SELECT bloom_agg(i) FROM generate_series(1, 1000000) i') AS "eight times too many",
       f_try('SELECT bloom_agg(i) FROM generate_series(1, (SELECT 200000)) i') AS unexpected;
RESET work_mem;
RESET hash_mem_multiplier;
RESET bloomx.build_mem;
RESET bloomx.overfill;

DROP TABLE f_days, f_full, f_ways, f_keys, f_within, f_rows, f_sizes;
DROP FUNCTION f_add(int, int);
DROP FUNCTION f_try(text);
