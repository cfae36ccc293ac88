--
-- GiST on filters: signatures of subtrees exclude filters that cannot hold a key, and never one that does.
--
\set VERBOSITY terse
SET enable_seqscan = off;
SELECT amvalidate(oid) AS valid FROM pg_opclass WHERE opcname = 'bloomfilter_gist_ops';

-- 1,500 filters: 1,200 of several sizes with 20 keys close to each other; then everything that a column may hold.
CREATE TABLE g (id int, f bloomfilter);
INSERT INTO g SELECT n, (SELECT bloom_agg(v, 30 * (1 + n % 7)) FROM generate_series(10 * n, 10 * n + 19) v) FROM generate_series(1, 1200) n;
INSERT INTO g SELECT 2000 + n, (SELECT bloom_agg(v, bloom_empty(100, 0.01, l)) FROM generate_series(n, n + 9) v)
    FROM generate_series(1, 50) n, unnest(ARRAY['standard', 'blocked', 'counting']) l;
INSERT INTO g SELECT 3000 + n, (SELECT bloom_agg(v) FROM generate_series(n * 100, n * 100 + 5000) v) FROM generate_series(1, 20) n;
INSERT INTO g SELECT 4000 + n, (SELECT bloom_agg(v, bloom_empty(100, seed => 7)) FROM generate_series(n, n + 9) v) FROM generate_series(1, 20) n;
INSERT INTO g SELECT 5000 + n, bloom_empty(n) FROM generate_series(1, 50) n;
INSERT INTO g SELECT 6000 + n, bloomx_probe_all(ARRAY[n, 5000 + n]) FROM generate_series(1, 50) n;
INSERT INTO g SELECT 7000 + n, NULL FROM generate_series(1, 5) n;
CREATE INDEX g_idx ON g USING gist (f);
ANALYZE g;

-- Compares the rows of the index with those of a scan, for a condition on the row's filter f.
CREATE FUNCTION g_same(condition text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE by_index int[]; by_scan int[];
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
    EXECUTE 'SELECT array_agg(id ORDER BY id) FROM g WHERE ' || condition INTO by_index;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE 'SELECT array_agg(id ORDER BY id) FROM g WHERE ' || condition INTO by_scan;
    RETURN by_index IS NOT DISTINCT FROM by_scan;
END $$;

-- Every form of the condition uses the index.
EXPLAIN (COSTS OFF) SELECT id FROM g WHERE f @> 5000;
EXPLAIN (COSTS OFF) SELECT id FROM g WHERE 5000 <@ f;
EXPLAIN (COSTS OFF) SELECT id FROM g WHERE bloom_contains(f, 5000::int8);
EXPLAIN (COSTS OFF) SELECT id FROM g WHERE bloom_contains_all(f, ARRAY[5000, 5001]);
EXPLAIN (COSTS OFF) SELECT id FROM g WHERE bloom_contains_any(f, ARRAY[5000, 9000]);
EXPLAIN (COSTS OFF) SELECT id FROM g WHERE bloom_contains_hash(f, 12345);
EXPLAIN (COSTS OFF) SELECT k, id FROM generate_series(1, 5) k, g WHERE f @> k;
PREPARE g_prepared(int) AS SELECT count(*) FROM g WHERE f @> $1 AND id < 2000;
SET plan_cache_mode = force_generic_plan;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) EXECUTE g_prepared(5000);
EXECUTE g_prepared(5000);
RESET enable_bitmapscan;
RESET plan_cache_mode;

-- No row is lost, and none is added.
SELECT count(*) AS conditions, bool_and(g_same(c)) AS same
FROM (SELECT format('f @> %s', v) AS c FROM generate_series(1, 14000, 487) v
      UNION ALL SELECT format('bloom_contains_all(f, ARRAY[%s, %s, NULL])', v, v + 3) FROM generate_series(1, 14000, 1487) v
      UNION ALL SELECT format('bloom_contains_any(f, ARRAY[%s, %s, NULL])', v, v + 6000) FROM generate_series(1, 14000, 1487) v
      UNION ALL SELECT format('f @> %s (''{%s, %s}'')', q, v, v + 3) FROM generate_series(1, 14000, 1487) v, unnest(ARRAY['ANY', 'ALL']) q
      UNION ALL VALUES ('bloom_contains_all(f, ARRAY[]::int[])'), ('bloom_contains_any(f, ARRAY[]::int[])'), ('f @> NULL::int'),
                       ('f IS NULL'), (format('bloom_contains_hash(f, %s)', bloom_hash(777)))) q;
-- The index excludes most leaves.
CREATE FUNCTION g_rechecked(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
    RETURN coalesce((jsonb_path_query_first(plan::jsonb, '$.**."Rows Removed by Index Recheck"'))::int, 0)
        + coalesce((jsonb_path_query_first(plan::jsonb, '$.**."Rows Removed by Filter"'))::int, 0);
END $$;
CREATE TABLE g_near AS SELECT id, f FROM g WHERE id <= 1200;
CREATE INDEX g_near_idx ON g_near USING gist (f bloomfilter_gist_ops (siglen = 128));
SELECT avg(g_rechecked(format('SELECT FROM g_near WHERE f @> %s', v))) < 60 AS "few of 1200 looked at in vain" FROM generate_series(100, 12000, 1001) v;

-- Filters that may overlap.
SELECT count(*) FROM g_near WHERE f && (SELECT f FROM g_near WHERE id = 600) AND id BETWEEN 599 AND 601;
SELECT bool_and(by_index = by_scan) AS same
FROM generate_series(1, 1200, 313) n, LATERAL (SELECT count(*) AS by_index FROM g_near, (SELECT f AS q FROM g_near WHERE id = n OFFSET 0) s WHERE f && q) i,
     LATERAL (SELECT count(*) AS by_scan FROM g_near, (SELECT f AS q FROM g_near WHERE id = n OFFSET 0) s WHERE (f && q) IS TRUE) s;

-- A key of another type: the original condition raises an error, as without an index.
SELECT count(*) FROM g_near WHERE f @> 'a'::varchar;

-- Rows are inserted and deleted.
INSERT INTO g SELECT 8000 + n, (SELECT bloom_agg(v) FROM generate_series(20000 + 5 * n, 20000 + 5 * n + 30) v) FROM generate_series(1, 400) n;
DELETE FROM g WHERE id % 3 = 0;
UPDATE g SET f = bloom_add(f, 30000) WHERE id BETWEEN 8000 AND 8100;
VACUUM g;
SELECT bool_and(g_same(format('f @> %s', v))) AS same FROM unnest(ARRAY[50, 100, 3000, 20100, 21000, 30000]) v;
REINDEX INDEX g_idx;
SELECT bool_and(g_same(format('f @> %s', v))) AS same FROM unnest(ARRAY[50, 100, 3000, 20100, 21000, 30000]) v;

-- Visitors of forty sites on many days: filters with room for their neighbours' keys let rows of one site be stored together.
CREATE TABLE g_sites AS SELECT n AS id, (SELECT bloom_agg(1000 * (n % 40) + n / 40 + k * 7 % 100, 120) FROM generate_series(1, 40) k) AS f FROM generate_series(1, 1200) n;
CREATE INDEX g_sites_idx ON g_sites USING gist (f);
CREATE FUNCTION g_index_pages(key int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT id FROM g_sites WHERE f @> %s', key) INTO plan;
    RETURN jsonb_path_query_first(plan::jsonb, '$.**?(exists(@."Index Name"))."Shared Hit Blocks"');
END $$;
SELECT avg(g_index_pages(k)) < pg_relation_size('g_sites_idx') / 8192 / 2 AS "less than half the index is read" FROM generate_series(50, 20000, 1000) k;
DROP TABLE g_sites;
DROP FUNCTION g_index_pages;

CREATE INDEX ON g USING gist (f bloomfilter_gist_ops (siglen = 1));
CREATE INDEX ON g USING gist (f bloomfilter_gist_ops (siglen = 100000));

DEALLOCATE g_prepared;
DROP TABLE g, g_near;
DROP FUNCTION g_same, g_rechecked;
