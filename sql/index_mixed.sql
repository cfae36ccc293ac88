--
-- The index access method bloomx on columns of filters and of ordinary values of one table, an index for each kind: what
-- they find together must be what the sequential scan finds.
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
\set VERBOSITY default
-- One index is of values, or of one column of filters.
CREATE INDEX ON mixed USING bloomx (id, f);
CREATE INDEX ON mixed USING bloomx (f, h);
CREATE INDEX ON mixed USING bloomx (f, f);
\set VERBOSITY terse
CREATE INDEX mixed_values ON mixed USING bloomx (id, kind, tags, note text_ngram_ops);
CREATE INDEX mixed_f ON mixed USING bloomx (f);
CREATE INDEX mixed_h ON mixed USING bloomx (h);
-- NULL is a key of a column of values, so every row is in their index; rows without a filter are not in that of the filters.
CREATE FUNCTION mixed_check(OUT index regclass, OUT all_rows bool) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT i, bloomx_check_index(i) = (SELECT CASE i::text WHEN 'mixed_f' THEN count(f) WHEN 'mixed_h' THEN count(h) ELSE count(*) END FROM mixed)
    FROM unnest('{mixed_values,mixed_f,mixed_h}'::regclass[]) i $$;
SELECT * FROM mixed_check();
SELECT columns, hash_functions, segments, rows, removed, pending, pages > 0 AS pages, merging, lost FROM unnest('{mixed_values,mixed_f,mixed_h}'::regclass[]) i, bloomx_index_info(i);
SELECT pages = pg_relation_size('mixed_f') / current_setting('block_size')::int AS all_pages FROM bloomx_index_info('mixed_f');

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

-- Conditions on columns of both kinds are combined by the executor.
SET enable_seqscan = off;
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
SELECT * FROM mixed_check();
SELECT * FROM mixed_subsets();
SELECT * FROM mixed_differences('kind = ''changed'' AND f @> $1', 'SELECT 50 * i + 3 FROM generate_series(1, 40) i');
DELETE FROM mixed WHERE id % 3 = 0;
VACUUM mixed;
SELECT * FROM mixed_check();
SELECT columns, removed > 0 AS removed, lost FROM unnest('{mixed_values,mixed_f,mixed_h}'::regclass[]) i, bloomx_index_info(i);
SELECT * FROM mixed_subsets();
SELECT add_mixed(9001, 9500);
SELECT * FROM mixed_differences('h @> (''h'' || ($1 * 7 + 2) % 3000) AND f @> ($1 * 31 + 3) % 4000');
REINDEX INDEX CONCURRENTLY mixed_values;
REINDEX INDEX CONCURRENTLY mixed_f;
SELECT * FROM mixed_check();
SELECT columns, rows, pending FROM unnest('{mixed_values,mixed_f}'::regclass[]) i, bloomx_index_info(i);
SELECT (SELECT count(*) FROM mixed), count(f), count(h) FROM mixed;
SELECT * FROM mixed_subsets();
DELETE FROM mixed WHERE id % 20 > 0;
VACUUM mixed;
SELECT columns, removed, lost FROM unnest('{mixed_values,mixed_f,mixed_h}'::regclass[]) i, bloomx_index_info(i);
SELECT * FROM mixed_subsets();
DROP INDEX mixed_values, mixed_f, mixed_h;
SELECT add_mixed(1, 3000);

-- A part of the table, and expressions.  Without any condition an index of values returns all rows of its part.
CREATE INDEX mixed_part ON mixed USING bloomx (id, kind) WHERE h IS NULL;
SELECT bloomx_check_index('mixed_part') = (SELECT count(*) FROM mixed WHERE h IS NULL) AS all_rows;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM mixed WHERE h IS NULL;
RESET enable_seqscan;
SELECT * FROM mixed_differences('h IS NULL AND $1 > 0', 'SELECT 1');
SELECT * FROM mixed_differences('h IS NULL AND f @> ($1 * 31 + 3) % 4000');
SELECT * FROM mixed_differences('h IS NULL AND f IS NULL AND kind = ''kind '' || $1 % 300');
DROP INDEX mixed_part;
CREATE INDEX mixed_expressions ON mixed USING bloomx (upper(kind), (id + 1));
CREATE INDEX mixed_expression ON mixed USING bloomx ((bloom_add(bloom_empty(20), id)));
SELECT columns FROM unnest('{mixed_expressions,mixed_expression}'::regclass[]) i, bloomx_index_info(i);
SELECT * FROM mixed_differences('upper(kind) = ''KIND '' || $1 % 300 AND f @> ($1 * 31 + 3) % 4000 AND bloom_add(bloom_empty(20), id) @> $1', 'SELECT i * 577 + 1 FROM generate_series(1, 8) i');
DROP INDEX mixed_expressions, mixed_expression;

-- A concurrent build inserts no row twice.
CREATE INDEX CONCURRENTLY mixed_concurrently ON mixed USING bloomx (id, kind);
CREATE INDEX CONCURRENTLY mixed_concurrently_f ON mixed USING bloomx (f);
SELECT columns, pending FROM unnest('{mixed_concurrently,mixed_concurrently_f}'::regclass[]) i, bloomx_index_info(i);
SELECT bloomx_check_index('mixed_concurrently') = count(*) AS all_rows, bloomx_check_index('mixed_concurrently_f') = count(f) AS all_filters FROM mixed;
DROP TABLE mixed;

-- Indexes on an empty table: pending rows become segments, and choose the geometries.
CREATE UNLOGGED TABLE grown (id int, f bloomfilter, h bloomfilter(100)) WITH (autovacuum_enabled = off);
CREATE INDEX grown_f ON grown USING bloomx (f) WITH (pending_limit = 16);
CREATE INDEX grown_id ON grown USING bloomx (id) WITH (pending_limit = 16);
CREATE INDEX grown_h ON grown USING bloomx (h) WITH (pending_limit = 16);
SELECT columns, signature_bits, hash_functions, rows + pending AS rows FROM unnest('{grown_f,grown_id,grown_h}'::regclass[]) i, bloomx_index_info(i);
INSERT INTO grown SELECT i, CASE WHEN i % 4 > 0 THEN bloom_add(bloom_empty(1 + i % 50), i) END, CASE WHEN i % 3 > 0 THEN bloom_add(bloom_empty(100), -i) END FROM generate_series(1, 200) i;
SELECT columns, signature_bits, hash_functions, rows + pending AS rows FROM unnest('{grown_f,grown_id,grown_h}'::regclass[]) i, bloomx_index_info(i);
INSERT INTO grown SELECT i, CASE WHEN i % 4 > 0 THEN bloom_add(bloom_empty(1 + i % 50), i) END, CASE WHEN i % 3 > 0 THEN bloom_add(bloom_empty(100), -i) END FROM generate_series(201, 6000) i;
SELECT columns, segments > 0 AS segments, rows + pending AS rows FROM unnest('{grown_f,grown_id,grown_h}'::regclass[]) i, bloomx_index_info(i);
SELECT bloomx_check_index(i) FROM unnest('{grown_f,grown_id,grown_h}'::regclass[]) i;
VACUUM grown;
SELECT bloomx_check_index(i), lost FROM unnest('{grown_f,grown_id,grown_h}'::regclass[]) i, bloomx_index_info(i);
SET enable_seqscan = off;
SELECT id FROM grown WHERE f @> 4711 AND h @> -4711;
SELECT id FROM grown WHERE f IS NULL AND h @> -4712;
SELECT id FROM grown WHERE f @> 4713 AND h IS NULL;
SELECT id FROM grown WHERE f IS NULL AND h IS NULL AND id BETWEEN 4700 AND 4720;
RESET enable_seqscan;
TRUNCATE grown;
SELECT columns, rows, pending, pages FROM unnest('{grown_f,grown_id,grown_h}'::regclass[]) i, bloomx_index_info(i);
DROP TABLE grown;

-- The table is emptied, moved, rewritten, and becomes a partition; statements fail within transactions that go on.
CREATE TABLE moved (id int, f bloomfilter) WITH (autovacuum_enabled = off);
CREATE INDEX moved_key ON moved USING bloomx (id) WITH (pending_limit = 16);
CREATE INDEX moved_f ON moved USING bloomx (f) WITH (pending_limit = 16);
CREATE FUNCTION add_moved(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO moved SELECT i, CASE WHEN i % 4 > 0 THEN bloom_add(bloom_empty(20), i % 500) END FROM generate_series(first, last) i $$;
CREATE FUNCTION moved_rows(OUT rows bigint, OUT checked bigint, OUT filters bool, OUT differ int) LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM moved), bloomx_check_index('moved_key'), bloomx_check_index('moved_f') = (SELECT count(f) FROM moved),
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
ALTER INDEX moved_key SET TABLESPACE regress_bloomx;
ALTER INDEX moved_f SET TABLESPACE regress_bloomx;
ALTER TABLE moved SET TABLESPACE regress_bloomx;
SELECT add_moved(3001, 3200);
SELECT * FROM moved_rows();
REINDEX (TABLESPACE pg_default, CONCURRENTLY) INDEX moved_key;
REINDEX (TABLESPACE pg_default, CONCURRENTLY) INDEX moved_f;
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
CREATE INDEX whole_id ON whole USING bloomx (id);
CREATE INDEX whole_f ON whole USING bloomx (f);
ALTER TABLE whole ATTACH PARTITION moved FOR VALUES FROM (0) TO (10000);
INSERT INTO whole SELECT i, bloom_add(bloom_empty(20), i) FROM generate_series(5000, 5200) i;
SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent::regclass::text LIKE 'whole%' ORDER BY inhrelid::regclass::text;
SELECT * FROM moved_rows();
DROP TABLE whole;
DROP FUNCTION add_moved, moved_rows;

-- Options: bits are of filters, rate and keys of values.
CREATE TABLE options (id int, f bloomfilter);
\set VERBOSITY default
CREATE INDEX ON options USING bloomx (f) WITH (fpr = 0.01);
CREATE INDEX ON options USING bloomx (f) WITH (max_keys_per_filter = 5);
CREATE INDEX ON options USING bloomx (id, id) WITH (signature_bits = 1024);
CREATE INDEX ON options USING bloomx (f anynonarray_ops);
\set VERBOSITY terse
DROP TABLE options;
DROP FUNCTION add_mixed, mixed_check, mixed_differences, mixed_subsets;
