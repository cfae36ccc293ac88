--
-- The index access method bloomx on columns of filters and of ordinary values in one index: what it finds must be what
-- the sequential scan finds.
--
\set VERBOSITY terse
SET client_min_messages = warning;
SET jit = off;

-- Numbers, texts, arrays, messages, and two columns of filters; each is NULL in some rows.
CREATE TABLE mixed (id int, kind text, tags int[], f bloomfilter, note text, h bloomfilter) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_mixed(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO mixed SELECT CASE WHEN i % 101 > 0 THEN i END, CASE WHEN i % 11 > 0 THEN 'kind ' || i % 300 END,
        CASE WHEN i % 13 > 0 THEN ARRAY[i % 1000, i % 7] END,
        CASE WHEN i % 7 > 0 THEN (SELECT bloom_agg((i * 31 + j) % 4000, 20) FROM generate_series(1, 8) j) END,
        CASE WHEN i % 17 > 0 THEN md5(i::text) || ' ' || md5((i % 500)::text) END,
        CASE WHEN i % 5 > 0 THEN (SELECT bloom_agg('h' || (i * 7 + j) % 3000, 20) FROM generate_series(1, 8) j) END
    FROM generate_series(first, last) i $$;
SELECT add_mixed(1, 6000);
CREATE INDEX mixed_all ON mixed USING bloomx (id, f, kind, tags, h, note text_ngram_ops);
SELECT bloomx_check_index('mixed_all');

-- One set of segments is of all values, and one of each column of filters.  NULL in any column is in the first one, so every row is.
SELECT columns, probes, segments, rows, removed, pending, pages > 0 AS pages, merging, lost FROM bloomx_index_info('mixed_all');
SELECT sum(pages) = pg_relation_size('mixed_all') / current_setting('block_size')::int AS all_pages FROM bloomx_index_info('mixed_all');

-- The number of lookups in which index and sequential scan differ, and of those that found nothing.
CREATE FUNCTION mixed_differences(condition text, probes text DEFAULT 'SELECT i * 173 FROM generate_series(1, 30) i', OUT lookups int, OUT differ int, OUT empty int) LANGUAGE sql AS $$
    SELECT * FROM index_differences('SELECT coalesce(array_agg(ctid ORDER BY ctid)::text, ''{}'') FROM mixed WHERE ' || condition, probes) $$;
-- Every subset of the columns, each with a condition that the row $1 meets.
CREATE FUNCTION mixed_subsets(OUT subsets int, OUT lookups int, OUT differ int, OUT empty int) LANGUAGE plpgsql AS $$
DECLARE
    conditions text[] := ARRAY['id = $1', 'kind = ''kind '' || $1 % 300', 'tags && ARRAY[$1 % 1000]', 'f @> ($1 * 31 + 3) % 4000',
        'note LIKE ''%'' || substr(md5($1::text), 5, 6) || ''%''', 'h @> (''h'' || ($1 * 7 + 2) % 3000)'];
    r record;
BEGIN
    subsets := 0; lookups := 0; differ := 0; empty := 0;
    FOR subset IN 1 .. 63 LOOP
        SELECT * INTO r FROM mixed_differences((SELECT string_agg(c, ' AND ') FROM unnest(conditions) WITH ORDINALITY u (c, n) WHERE (subset & (1 << (n::int - 1))) <> 0),
            'SELECT unnest(ARRAY[578, 580, 1732, 2309])');
        subsets := subsets + 1; lookups := lookups + r.lookups; differ := differ + r.differ; empty := empty + r.empty;
    END LOOP;
END $$;

-- Conditions on any of the columns are combined in the index.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM mixed WHERE f @> 77 AND kind = 'kind 5';
EXPLAIN (COSTS OFF) SELECT * FROM mixed WHERE h @> 'h77'::text AND bloom_contains_all(f, ARRAY[1, 2]) AND note LIKE '%abcdef%' AND tags @> '{5}' AND id IN (1, 2);
EXPLAIN (COSTS OFF) SELECT * FROM mixed WHERE h @> 'h77'::text;
EXPLAIN (COSTS OFF) SELECT * FROM mixed WHERE tags @> '{500}';
EXPLAIN (COSTS OFF) SELECT * FROM mixed WHERE f IS NULL AND h @> 'h77'::text;
EXPLAIN (COSTS OFF) SELECT * FROM mixed WHERE h IS NOT NULL AND id = 5;
RESET enable_seqscan;
SELECT * FROM mixed_subsets();
SELECT * FROM mixed_differences('f @> $1 % 4000');
SELECT * FROM mixed_differences('h @> (''h'' || $1 % 3000) AND f IS NULL');
SELECT * FROM mixed_differences('f IS NULL AND h IS NULL AND kind = ''kind '' || $1 % 300');
SELECT * FROM mixed_differences('f IS NULL AND id = $1', 'SELECT i * 7 * 11 FROM generate_series(1, 30) i');
SELECT * FROM mixed_differences('f IS NULL AND f @> $1');
SELECT * FROM mixed_differences('f IS NULL AND $1 > 0', 'SELECT 1');
SELECT * FROM mixed_differences('h IS NOT NULL AND $1 > 0', 'SELECT 1');
SELECT * FROM mixed_differences('kind IS NULL AND f @> $1 % 4000');
SELECT * FROM mixed_differences('id IS NULL AND tags IS NOT NULL AND note ~ ''a.*b'' AND bloom_contains_any(f, ARRAY[$1 % 4000, 7, 8, 9])');
SELECT * FROM mixed_differences('f @> NULL::int AND id = $1', 'SELECT 1');
SELECT * FROM mixed_differences('f @> $1 % 4000 AND kind = NULL', 'SELECT 1');
SELECT * FROM mixed_differences('f @> ($1 * 31 + 3) % 4000 OR id = $1 AND h @> (''h'' || ($1 * 7 + 2) % 3000)');
SELECT * FROM mixed_differences('bloom_contains_all(f, ARRAY[]::int[]) AND id = $1');
-- Bitmaps that do not fit their memory.
SET work_mem = '64kB';
SELECT * FROM mixed_differences('h @> (''h'' || ($1 * 7 + 2) % 3000) AND bloom_contains_any(f, ARRAY(SELECT generate_series(1, 2000))) AND kind IS NOT NULL', 'SELECT i * 577 + 1 FROM generate_series(1, 8) i');
RESET work_mem;

-- Rows that are inserted, updated and deleted, and a VACUUM.
SELECT add_mixed(6001, 9000);
UPDATE mixed SET f = CASE WHEN f IS NULL THEN bloom_add(bloom_empty(20), id) END, kind = 'changed' WHERE id % 50 = 3;
SELECT bloomx_check_index('mixed_all') = (SELECT count(*) FROM mixed) AS all_rows;
SELECT * FROM mixed_subsets();
SELECT * FROM mixed_differences('kind = ''changed'' AND f @> $1', 'SELECT 50 * i + 3 FROM generate_series(1, 40) i');
DELETE FROM mixed WHERE id % 3 = 0;
VACUUM mixed;
SELECT bloomx_check_index('mixed_all') = (SELECT count(*) FROM mixed) AS all_rows;
SELECT columns, removed > 0 AS removed, lost FROM bloomx_index_info('mixed_all');
SELECT * FROM mixed_subsets();
SELECT add_mixed(9001, 9500);
SELECT * FROM mixed_differences('h @> (''h'' || ($1 * 7 + 2) % 3000) AND f @> ($1 * 31 + 3) % 4000');
REINDEX INDEX CONCURRENTLY mixed_all;
SELECT bloomx_check_index('mixed_all') = (SELECT count(*) FROM mixed) AS all_rows;
SELECT columns, rows, pending FROM bloomx_index_info('mixed_all');
SELECT (SELECT count(*) FROM mixed), count(f), count(h) FROM mixed;
SELECT * FROM mixed_subsets();
DELETE FROM mixed WHERE id % 20 > 0;
VACUUM mixed;
SELECT columns, removed, lost FROM bloomx_index_info('mixed_all');
SELECT * FROM mixed_subsets();
DROP INDEX mixed_all;

-- Two columns of filters and none of values: a row without any filter is in the index, too.
CREATE INDEX mixed_filters ON mixed USING bloomx (h, f);
SELECT bloomx_check_index('mixed_filters') = (SELECT count(*) FROM mixed) AS all_rows;
SELECT columns, rows FROM bloomx_index_info('mixed_filters');
SELECT add_mixed(1, 3000);
SELECT bloomx_check_index('mixed_filters') = (SELECT count(*) FROM mixed) AS all_rows;
SELECT * FROM mixed_differences('f @> ($1 * 31 + 3) % 4000 AND h @> (''h'' || ($1 * 7 + 2) % 3000)');
SELECT * FROM mixed_differences('f @> $1 % 4000');
SELECT * FROM mixed_differences('h @> (''h'' || $1 % 3000)');
SELECT * FROM mixed_differences('h @> (''h'' || $1 % 3000) AND f IS NULL');
SELECT * FROM mixed_differences('f IS NULL AND h IS NULL AND $1 > 0', 'SELECT 1');
DROP INDEX mixed_filters;

-- One column twice.
CREATE INDEX mixed_twice ON mixed USING bloomx (f, f, kind);
SELECT columns FROM bloomx_index_info('mixed_twice');
SELECT * FROM mixed_differences('f @> ($1 * 31 + 3) % 4000 AND f @> ($1 * 31 + 4) % 4000 AND kind = ''kind '' || $1 % 300');
DROP INDEX mixed_twice;

-- A part of the table, and expressions.  Without any condition the index returns all rows of its part, with filters and without.
CREATE INDEX mixed_part ON mixed USING bloomx (f, kind) WHERE h IS NULL;
SELECT bloomx_check_index('mixed_part') = (SELECT count(*) FROM mixed WHERE h IS NULL) AS all_rows;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM mixed WHERE h IS NULL;
RESET enable_seqscan;
SELECT * FROM mixed_differences('h IS NULL AND $1 > 0', 'SELECT 1');
SELECT * FROM mixed_differences('h IS NULL AND f @> ($1 * 31 + 3) % 4000');
SELECT * FROM mixed_differences('h IS NULL AND f IS NULL AND kind = ''kind '' || $1 % 300');
DROP INDEX mixed_part;
CREATE INDEX mixed_expressions ON mixed USING bloomx (upper(kind), (bloom_add(bloom_empty(20), id)), f);
SELECT columns FROM bloomx_index_info('mixed_expressions');
SELECT * FROM mixed_differences('upper(kind) = ''KIND '' || $1 % 300 AND f @> ($1 * 31 + 3) % 4000 AND bloom_add(bloom_empty(20), id) @> $1', 'SELECT i * 577 + 1 FROM generate_series(1, 8) i');
DROP INDEX mixed_expressions;

-- A concurrent build inserts no row twice.
CREATE INDEX CONCURRENTLY mixed_concurrently ON mixed USING bloomx (id, f, h);
SELECT columns, pending FROM bloomx_index_info('mixed_concurrently');
SELECT bloomx_check_index('mixed_concurrently') = (SELECT count(*) FROM mixed) AS all_rows;
DROP TABLE mixed;

-- An index on an empty table: pending rows become segments of all stores, and choose their geometries.
CREATE UNLOGGED TABLE grown (id int, f bloomfilter, h bloomfilter(100)) WITH (autovacuum_enabled = off);
CREATE INDEX grown_all ON grown USING bloomx (f, id, h) WITH (pending_limit = 16);
SELECT columns, bits, probes, rows + pending AS rows FROM bloomx_index_info('grown_all');
INSERT INTO grown SELECT i, CASE WHEN i % 4 > 0 THEN bloom_add(bloom_empty(1 + i % 50), i) END, CASE WHEN i % 3 > 0 THEN bloom_add(bloom_empty(100), -i) END FROM generate_series(1, 200) i;
SELECT columns, bits, probes, rows + pending AS rows FROM bloomx_index_info('grown_all');
INSERT INTO grown SELECT i, CASE WHEN i % 4 > 0 THEN bloom_add(bloom_empty(1 + i % 50), i) END, CASE WHEN i % 3 > 0 THEN bloom_add(bloom_empty(100), -i) END FROM generate_series(201, 6000) i;
SELECT columns, segments > 0 AS segments, rows + pending AS rows FROM bloomx_index_info('grown_all');
SELECT bloomx_check_index('grown_all');
VACUUM grown;
SELECT bloomx_check_index('grown_all'), sum(lost) AS lost FROM bloomx_index_info('grown_all');
SET enable_seqscan = off;
SELECT id FROM grown WHERE f @> 4711 AND h @> -4711;
SELECT id FROM grown WHERE f IS NULL AND h @> -4712;
SELECT id FROM grown WHERE f @> 4713 AND h IS NULL;
SELECT id FROM grown WHERE f IS NULL AND h IS NULL AND id BETWEEN 4700 AND 4720;
RESET enable_seqscan;
TRUNCATE grown;
SELECT columns, rows, pending, pages FROM bloomx_index_info('grown_all');
DROP TABLE grown;

-- The table is emptied, moved, rewritten, and becomes a partition; statements fail within transactions that go on.
CREATE TABLE moved (id int, f bloomfilter) WITH (autovacuum_enabled = off);
CREATE INDEX moved_all ON moved USING bloomx (id, f) WITH (pending_limit = 16);
CREATE FUNCTION add_moved(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO moved SELECT i, CASE WHEN i % 4 > 0 THEN bloom_add(bloom_empty(20), i % 500) END FROM generate_series(first, last) i $$;
CREATE FUNCTION moved_rows(OUT rows bigint, OUT checked bigint, OUT differ int) LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM moved), bloomx_check_index('moved_all'),
        (SELECT differ FROM index_differences('SELECT coalesce(array_agg(id ORDER BY id)::text, ''{}'') FROM moved WHERE f @> $1 % 500 OR id = $1', 'SELECT i * 173 FROM generate_series(1, 20) i')) $$;
SELECT add_moved(1, 1000);
BEGIN;
TRUNCATE moved;
SELECT add_moved(1, 2000);
SAVEPOINT one;
TRUNCATE moved;
SELECT add_moved(3001, 3500);
SELECT * FROM moved_rows();
ROLLBACK TO one;
SELECT * FROM moved_rows();
TRUNCATE moved;
SELECT add_moved(1, 1500);
COMMIT;
SELECT * FROM moved_rows();
DO $$ BEGIN
    FOR i IN 1 .. 60 LOOP
        BEGIN
            PERFORM add_moved(1480 + 20 * i, 1499 + 20 * i);
            IF i % 3 = 0 THEN RAISE 'undone'; END IF;
        EXCEPTION WHEN raise_exception THEN NULL;
        END;
    END LOOP;
END $$;
SELECT * FROM moved_rows();
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_bloomx LOCATION '';
ALTER INDEX moved_all SET TABLESPACE regress_bloomx;
ALTER TABLE moved SET TABLESPACE regress_bloomx;
SELECT add_moved(3001, 3200);
SELECT * FROM moved_rows();
REINDEX (TABLESPACE pg_default, CONCURRENTLY) INDEX moved_all;
ALTER TABLE moved SET TABLESPACE pg_default;
DROP TABLESPACE regress_bloomx;
RESET allow_in_place_tablespaces;
ALTER TABLE moved SET UNLOGGED;
SELECT add_moved(3201, 3400);
ALTER TABLE moved SET LOGGED;
SELECT * FROM moved_rows();
CREATE INDEX moved_id ON moved (id DESC);
CLUSTER moved USING moved_id;
SELECT * FROM moved_rows();
CREATE TABLE whole (id int, f bloomfilter) PARTITION BY RANGE (id);
CREATE INDEX whole_all ON whole USING bloomx (id, f);
ALTER TABLE whole ATTACH PARTITION moved FOR VALUES FROM (0) TO (10000);
INSERT INTO whole SELECT i, bloom_add(bloom_empty(20), i) FROM generate_series(5000, 5200) i;
SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'whole_all'::regclass;
SELECT * FROM moved_rows();
DROP TABLE whole;
DROP FUNCTION add_moved, moved_rows;

-- Options: bits and probes are those of the filters, rate and keys of the values.
CREATE TABLE options (id int, f bloomfilter, h bloomfilter);
INSERT INTO options SELECT i, bloom_add(bloom_empty(50), i), bloom_add(bloom_empty(50), i) FROM generate_series(1, 500) i;
CREATE INDEX options_all ON options USING bloomx (id, f) WITH (bits = 1024, probes = 4, rate = 0.01, keys = 50);
SELECT columns, probes, bits = 1024 AS bits, entries = rows AS of_one_row FROM bloomx_index_info('options_all');
\set VERBOSITY default
CREATE INDEX ON options USING bloomx (f, h) WITH (rate = 0.01);
CREATE INDEX ON options USING bloomx (f, h) WITH (keys = 5);
CREATE INDEX ON options USING bloomx (id, id) WITH (bits = 1024);
CREATE INDEX ON options USING bloomx (id, f anynonarray_ops);
\set VERBOSITY terse
DROP TABLE options;
DROP FUNCTION add_mixed, mixed_differences, mixed_subsets;
