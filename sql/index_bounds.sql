--
-- The index access method bloomx where rows have many keys, conditions have many keys, or memory is small: what bounds entries, memory and work.
--
\set VERBOSITY terse
SET jit = off;
SET client_min_messages = warning;

-- The rows that a query's recheck took out, by EXPLAIN ANALYZE.
CREATE FUNCTION rechecked(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; removed text := '0';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Seq Scan' THEN RETURN 'Seq Scan'; END IF;
        removed := coalesce(substring(line FROM 'Rows Removed by Index Recheck: (\d+)'), removed);
    END LOOP;
    RETURN removed;
END $$;
CREATE FUNCTION random_keys(seed int, n int) RETURNS int[] LANGUAGE sql AS $$ SELECT array(SELECT hashint8(seed * 10000000::bigint + i) & 1073741823 FROM generate_series(1, n) i) $$;
SET enable_seqscan = off;

-- A block of rows in TOAST has more keys than the largest signature tells apart: it gets several entries, and every row can be excluded.
CREATE TABLE toasted AS SELECT i AS id, random_keys(i, 1000) AS keys FROM generate_series(1, 400) i;
CREATE INDEX toasted_keys ON toasted USING bloomx (keys);
SELECT entries > 6 AS some_entries, entries < 30 AS not_one_per_row, anything FROM bloomx_index_info('toasted_keys');
SELECT rechecked('SELECT * FROM toasted WHERE keys @> ''{-1}''')::int < 60 AS few;
SELECT id FROM toasted WHERE keys @> random_keys(77, 3);
-- The same if the first entries, from which the width is taken, have few keys; and after VACUUM has made the entries of inserted rows.
CREATE TABLE mostly_small AS SELECT i AS id, random_keys(i, 2) AS keys, repeat('x', 900) AS filler FROM generate_series(1, 9000) i;
INSERT INTO mostly_small SELECT i, random_keys(i, 1000), '' FROM generate_series(9001, 9400) i;
CREATE INDEX mostly_small_keys ON mostly_small USING bloomx (keys);
SELECT anything FROM bloomx_index_info('mostly_small_keys');
INSERT INTO mostly_small SELECT i, random_keys(i, 1000), '' FROM generate_series(9401, 9800) i;
VACUUM mostly_small;
SELECT anything, bloomx_check_index('mostly_small_keys') AS checked FROM bloomx_index_info('mostly_small_keys');
SELECT rechecked('SELECT * FROM mostly_small WHERE keys @> ''{-1}''')::int < 100 AS few;
DROP TABLE mostly_small;

-- Rows of more keys: up to a number their signatures are fuller; beyond it a row is in every answer, without the other rows of its block.
CREATE TABLE wide AS SELECT i AS id, random_keys(i, CASE i WHEN 50 THEN 300000 WHEN 60 THEN 100000 WHEN 61 THEN 20000 ELSE 5 END) AS keys
FROM generate_series(1, 90) i;
SET client_min_messages = notice;
\set VERBOSITY default
CREATE INDEX wide_keys ON wide USING bloomx (keys);
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT rows, entries, anything FROM bloomx_index_info('wide_keys');
SELECT rechecked('SELECT * FROM wide WHERE keys @> ''{-1}'''), rechecked('SELECT * FROM wide WHERE keys @> ''{-2}''');
SELECT id FROM wide WHERE keys @> random_keys(60, 10);
SELECT id FROM wide WHERE keys @> random_keys(50, 10);
-- The option says the most keys of an entry, exactly: each here is one row of five keys, of which two share three.
CREATE TABLE shared_keys AS SELECT i AS id, array(SELECT i / 2 * 10 + j FROM generate_series(1, 3) j) || array[i + 100000, i + 200000] AS keys FROM generate_series(2, 101) i;
CREATE INDEX shared_keys_key ON shared_keys USING bloomx (keys) WITH (keys = 7);
SELECT rows, entries FROM bloomx_index_info('shared_keys_key');
DROP TABLE toasted, wide, shared_keys;

-- The processes of a parallel VACUUM: entries of updated rows are made anew, whichever process has the index.
CREATE TABLE updated WITH (autovacuum_enabled = off) AS SELECT i AS a, i AS b FROM generate_series(1, 40000) i;
CREATE INDEX updated_a ON updated USING bloomx (a);
CREATE INDEX updated_b ON updated USING bloomx (b);
CREATE INDEX updated_ab ON updated USING bloomx ((a + b));
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
SET min_parallel_index_scan_size = 0;
SET max_parallel_maintenance_workers = 4;
VACUUM (PARALLEL 4) updated;
SELECT i AS index, rows < 60000 AS anew, bloomx_check_index(i) AS checked FROM unnest('{updated_a,updated_b,updated_ab}'::regclass[]) i, bloomx_index_info(i);
RESET min_parallel_index_scan_size;
RESET max_parallel_maintenance_workers;
DROP TABLE updated;

DROP FUNCTION rechecked, random_keys;
