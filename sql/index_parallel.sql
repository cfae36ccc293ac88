--
-- CREATE INDEX USING bloomx by several processes makes the same index as one process does.
--
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
SET jit = off;
SET synchronize_seqscans = off;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '64MB';

CREATE FUNCTION in_worker() RETURNS bool LANGUAGE sql AS 'SELECT leader_pid IS NOT NULL FROM pg_stat_activity WHERE pid = pg_backend_pid()';
CREATE FUNCTION workers() RETURNS bigint LANGUAGE sql AS
    'SELECT pg_stat_clear_snapshot(); SELECT count(*) FROM pg_stat_activity WHERE leader_pid = pg_backend_pid()';

-- While test.wait is on, the leader stops at a row until its workers have come, have taken all other blocks, and have gone.
-- If no worker comes, it goes on after a minute.  It does so once: since 19 it reads ahead, and has two blocks itself.  (An open cursor
-- says that it has, because a process of a parallel build cannot change anything else.)
SET test.wait = off;
CREATE FUNCTION wait_for_workers(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    waited refcursor := 'waited';
BEGIN
    IF NOT current_setting('test.wait')::bool OR public.in_worker() OR EXISTS (SELECT FROM pg_cursors WHERE name = 'waited') THEN
        RETURN i;
    END IF;
    WHILE public.workers() = 0 AND clock_timestamp() < now() + interval '60 s' LOOP
        PERFORM pg_sleep(0.01);
    END LOOP;
    WHILE public.workers() > 0 LOOP
        PERFORM pg_sleep(0.01);
    END LOOP;
    OPEN waited FOR SELECT 1;
    RETURN i;
END $$;
CREATE FUNCTION reader(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RAISE EXCEPTION 'row % was read by %', i, CASE WHEN public.in_worker() THEN 'a worker' ELSE 'the leader' END;
END $$;
CREATE FUNCTION sleep(i int) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT i FROM pg_sleep(10)';

-- 20 rows per block, so 1,500 blocks: more than those from which the width of a signature is chosen.
CREATE TABLE t (i int, kind text, keys int[]) WITH (fillfactor = 15, autovacuum_enabled = off, parallel_workers = 2);
INSERT INTO t SELECT i, CASE WHEN i % 10 > 0 THEN 'kind ' || i % 30 END, ARRAY[i, i + 1] FROM generate_series(1, 30000) i;

-- By one process, and by three.
SET max_parallel_maintenance_workers = 0;
CREATE INDEX t_key ON t USING bloomx (i, kind, keys);
CREATE TEMP TABLE alone AS SELECT * FROM bloomx_index_info('t_key');
SELECT segments, rows, pending, lost FROM alone;
SET max_parallel_maintenance_workers = 2;
REINDEX INDEX t_key;
SELECT bloomx_check_index('t_key');
SELECT i.segments - a.segments AS segments, i.rows - a.rows AS rows, i.entries - a.entries AS entries, i.pages - a.pages AS pages,
    i.signature_bits - a.signature_bits AS bits, i.lost FROM bloomx_index_info('t_key') i, alone a;

-- The number of lookups in which index and sequential scan differ, and of those that found nothing.
CREATE FUNCTION build_differences(condition text, OUT lookups int, OUT differ int, OUT empty int) LANGUAGE sql AS $$
    SELECT * FROM index_differences('SELECT coalesce(array_agg(i ORDER BY i)::text, ''{}'') FROM t WHERE ' || condition, 'SELECT 1 + i * 313 FROM generate_series(0, 100) i') $$;
SELECT * FROM build_differences('i = $1');
SELECT * FROM build_differences('kind IS NULL AND keys @> ARRAY[$1 + 3]');
SELECT * FROM build_differences('kind = ''kind '' || $1 % 30 AND keys && ARRAY[$1]');

-- Workers read rows, and their errors are those of the statement.
SET test.wait = on;
CREATE INDEX t_one ON t USING bloomx ((CASE WHEN i % 20 = 1 THEN wait_for_workers(i) WHEN i = 30000 THEN reader(i) END));
SET test.wait = off;
SELECT workers();

-- What workers have goes to the leader, which has one block itself: after the width is known, and before.
SET test.wait = on;
CREATE INDEX t_one ON t USING bloomx ((CASE WHEN i % 20 = 1 THEN wait_for_workers(i) ELSE i END), keys);
SET test.wait = off;
SELECT bloomx_check_index('t_one');
SELECT segments, rows, lost FROM bloomx_index_info('t_one');
DROP INDEX t_one;
SET test.wait = on;
CREATE INDEX t_one ON t USING bloomx ((CASE WHEN i % 20 = 1 THEN wait_for_workers(i) ELSE i END)) WHERE i <= 10000;
SET test.wait = off;
SELECT bloomx_check_index('t_one');
SELECT segments, rows, lost FROM bloomx_index_info('t_one');
DROP INDEX t_one;

-- Each row an entry: there are full segments, which workers add by themselves.
CREATE TABLE narrow AS SELECT i FROM generate_series(1, 140000) i;
ALTER TABLE narrow SET (parallel_workers = 2, autovacuum_enabled = off);
SET test.wait = on;
CREATE INDEX narrow_key ON narrow USING bloomx ((CASE WHEN i % 1000 = 1 THEN wait_for_workers(i) ELSE i END)) WITH (max_keys_per_filter = 1);
SET test.wait = off;
SELECT bloomx_check_index('narrow_key');
SELECT segments, rows, entries, lost FROM bloomx_index_info('narrow_key');
-- With little memory, what a process cannot keep goes to the leader, which makes full segments of it.
SET maintenance_work_mem = '1MB';
CREATE INDEX narrow_again ON narrow USING bloomx (i) WITH (max_keys_per_filter = 1);
SELECT bloomx_check_index('narrow_again');
SELECT segments, rows, entries, lost FROM bloomx_index_info('narrow_again');
SET maintenance_work_mem = '64MB';

-- Little memory, keys of very different number, rows that match anything: files take what does not fit.
CREATE TABLE wide AS SELECT i, (SELECT array_agg(i * j) FROM generate_series(1, CASE WHEN i % 1000 = 0 THEN 3000 ELSE i % 100 END) j) AS keys
    FROM generate_series(1, 20000) i;
ALTER TABLE wide SET (parallel_workers = 2, autovacuum_enabled = off);
INSERT INTO wide SELECT 0, array_agg(i) FROM generate_series(1, 70000) i;
SET maintenance_work_mem = '1MB';
SET test.wait = on;
CREATE INDEX wide_key ON wide USING bloomx ((CASE WHEN i % 1000 = 1 THEN wait_for_workers(i) ELSE i END), keys);
SET test.wait = off;
SELECT bloomx_check_index('wide_key');
SELECT rows, segments > 5 AS many_segments, lost FROM bloomx_index_info('wide_key');
RESET maintenance_work_mem;
SET test.wait = on;
REINDEX INDEX wide_key;
SET test.wait = off;
SELECT bloomx_check_index('wide_key');

-- Without rows, and with rows in one block only.
CREATE TABLE few (i int) WITH (parallel_workers = 2);
CREATE INDEX few_key ON few USING bloomx (i);
SELECT bloomx_check_index('few_key');
INSERT INTO few VALUES (1), (2), (NULL);
REINDEX INDEX few_key;
SELECT bloomx_check_index('few_key');
SELECT segments, rows, pending FROM bloomx_index_info('few_key');

-- Concurrently: the TIDs of all processes are known, so no row is inserted again.
SET test.wait = on;
CREATE INDEX CONCURRENTLY t_one ON t USING bloomx ((CASE WHEN i % 20 = 1 THEN wait_for_workers(i) ELSE i END), kind);
SET test.wait = off;
SELECT bloomx_check_index('t_one');
SELECT segments, rows, pending, lost FROM bloomx_index_info('t_one');
SET test.wait = on;
REINDEX INDEX CONCURRENTLY t_one;
SET test.wait = off;
SELECT bloomx_check_index('t_one');
SELECT segments, rows, pending, lost FROM bloomx_index_info('t_one');
DROP INDEX t_one;

-- A chain of versions that a worker finds broken.
BEGIN;
UPDATE t SET kind = kind WHERE i = 29999;
DROP INDEX t_key;
UPDATE t SET kind = 'changed' WHERE i = 29999;
SET test.wait = on;
CREATE INDEX t_one ON t USING bloomx ((CASE WHEN i % 20 = 1 THEN wait_for_workers(i) ELSE i END), kind);
SET test.wait = off;
SELECT indcheckxmin FROM pg_index WHERE indexrelid = 't_one'::regclass;
COMMIT;
SELECT bloomx_check_index('t_one');
DROP INDEX t_one;

-- What must not run in a worker does not: functions that are not parallel safe, temporary tables.
CREATE FUNCTION leader_only(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF public.in_worker() THEN RAISE EXCEPTION 'leader_only ran in a worker'; END IF;
    RETURN i;
END $$;
CREATE INDEX t_one ON t USING bloomx ((CASE WHEN i % 100 = 0 THEN leader_only(i) END));
SELECT bloomx_check_index('t_one');
DROP INDEX t_one;
CREATE INDEX t_one ON t USING bloomx (i) WHERE i % 100 <> 0 OR leader_only(i) > 0;
SELECT bloomx_check_index('t_one');
DROP INDEX t_one;
CREATE TEMP TABLE mine WITH (parallel_workers = 2) AS SELECT * FROM t;
CREATE INDEX mine_key ON mine USING bloomx (i, kind);
SELECT bloomx_check_index('mine_key');
CREATE UNLOGGED TABLE unlogged WITH (parallel_workers = 2) AS SELECT * FROM t;
CREATE INDEX unlogged_key ON unlogged USING bloomx (i, kind);
SELECT bloomx_check_index('unlogged_key');

-- A build that is cancelled leaves no worker, and nothing in the way of the next one.
SET statement_timeout = '300ms';
CREATE INDEX t_one ON t USING bloomx ((CASE WHEN i % 1000 = 0 THEN sleep(i) END));
RESET statement_timeout;
SELECT workers();
CREATE INDEX t_one ON t USING bloomx (i);
SELECT bloomx_check_index('t_one');

DROP TABLE t, narrow, wide, few, unlogged;
DROP FUNCTION in_worker, workers, wait_for_workers, reader, sleep, leader_only, build_differences;
