--
-- The index access method bloomx on ordinary columns: what it finds must be what the sequential scan finds.
--
\set VERBOSITY terse
SET client_min_messages = warning;
SET jit = off;

-- Three columns; some values are NULL, and some rows are wide.
CREATE TABLE events (id int, kind text, amount numeric) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_events(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO events SELECT i, CASE WHEN i % 97 = 0 THEN NULL ELSE 'kind ' || i % 300 END, CASE WHEN i % 1009 = 0 THEN NULL ELSE i % 5000 + 0.50 END
    FROM generate_series(first, last) i $$;
SELECT add_events(1, 20000);
CREATE INDEX events_key ON events USING bloomx (id, kind, amount);
SELECT bloomx_check_index('events_key');

-- The number of lookups in which index and sequential scan differ, and of those that found nothing.
CREATE FUNCTION event_differences(condition text, probes text DEFAULT 'SELECT i * 701 FROM generate_series(1, 40) i', OUT lookups int, OUT differ int, OUT empty int) LANGUAGE sql AS $$
    SELECT * FROM index_differences('SELECT coalesce(array_agg(e ORDER BY id, kind, amount)::text, ''{}'') FROM events e WHERE ' || condition, probes) $$;

-- Any of the columns, alone and together.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id = 4711;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE kind = 'kind 5' AND amount = 7.5;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE amount IS NULL AND id IN (1009, 2018, 5);
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE kind IS NOT NULL AND id = ANY ('{1, 2, 3}');
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id = 5::smallint OR id = 6::bigint;
RESET enable_seqscan;
SELECT * FROM event_differences('id = $1');
SELECT * FROM event_differences('kind = ''kind '' || $1 % 301');
SELECT * FROM event_differences('amount = $1 % 5000 + 0.500');
SELECT * FROM event_differences('kind = ''kind '' || $1 % 300 AND amount = $1 % 5000 + 0.5');
SELECT * FROM event_differences('id IN ($1, $1 + 1, -1)');
SELECT * FROM event_differences('id = ANY (ARRAY[$1, NULL])');
SELECT * FROM event_differences('kind = ANY (ARRAY[''kind '' || $1 % 300, NULL])');
SELECT * FROM event_differences('id = ANY (ARRAY[]::int[]) AND $1 > 0');
SELECT * FROM event_differences('id = $1 AND kind = NULL');
SELECT * FROM event_differences('id = $1::bigint OR id = ($1 % 100)::smallint');
SELECT * FROM event_differences('amount IS NULL AND id < $1');
SELECT * FROM event_differences('kind IS NULL AND amount = $1 % 97 * 97 + 0.5');
SELECT * FROM event_differences('kind IS NOT NULL AND id = $1');
SELECT * FROM event_differences('kind = ''kind 7''::name AND id % 7 = $1 % 7');
-- One value in two columns is two keys.
SELECT * FROM event_differences('id = 5 AND amount = $1', 'SELECT 5');

-- Inserts wait in the list, and become segments.
SELECT add_events(20001, 21000);
SELECT pending FROM bloomx_index_info('events_key');
SELECT * FROM event_differences('id = $1', 'SELECT i FROM generate_series(20003, 21000, 30) i');
ALTER INDEX events_key SET (pending_limit = 16);
SELECT add_events(21001, 40000);
SELECT rows + pending AS rows, entries < rows / 50 AS few_entries, pending < 1500 AS few_pending, lost FROM bloomx_index_info('events_key');
SELECT bloomx_check_index('events_key');
SELECT * FROM event_differences('id = $1', 'SELECT i FROM generate_series(20003, 40000, 500) i');
SELECT * FROM event_differences('kind = ''kind '' || $1 % 300 AND amount = $1 % 5000 + 0.5');

-- Updates, deletes, VACUUM.
UPDATE events SET kind = 'other' WHERE id % 10 = 3;
DELETE FROM events WHERE id % 3 = 0;
SELECT * FROM event_differences('id = $1 OR kind = ''other'' AND id % 50 = $1 % 50');
VACUUM events;
SELECT bloomx_check_index('events_key');
SELECT add_events(50001, 55000);
SELECT bloomx_check_index('events_key');
SELECT * FROM event_differences('id = $1', 'SELECT i FROM generate_series(3, 55000, 800) i');
DELETE FROM events;
VACUUM events;
SELECT add_events(1, 3000);
SELECT * FROM event_differences('id = $1', 'SELECT i FROM generate_series(3, 55000, 800) i');
SELECT bloomx_check_index('events_key');

-- VACUUM removes pending rows page by page: those on the first page of a list, one on the last, and none between them.
CREATE TABLE pages (id int) WITH (autovacuum_enabled = off);
CREATE INDEX pages_key ON pages USING bloomx (id);
INSERT INTO pages SELECT generate_series(1, 3000);
DELETE FROM pages WHERE id < 300 OR id = 3000;
VACUUM (INDEX_CLEANUP) pages;
SELECT bloomx_check_index('pages_key');
SELECT * FROM index_differences('SELECT count(*) FROM pages WHERE id = $1', 'SELECT generate_series(1, 3000, 7)');
DROP TABLE pages;

-- An index made on an empty table, entries of one row, rates.
CREATE TABLE empty (LIKE events);
CREATE INDEX empty_key ON empty USING bloomx (id, kind) WITH (pending_limit = 16, max_keys_per_filter = 1, fpr = 0.05);
INSERT INTO empty SELECT * FROM events;
SELECT hash_functions, entries = rows AS entries_of_one, entries > 1000 AS many FROM bloomx_index_info('empty_key');
SELECT bloomx_check_index('empty_key');
SET enable_seqscan = off;
SELECT * FROM empty WHERE id = 777;
SELECT count(*) FROM empty WHERE kind IS NULL;

-- Every type that is a key has a default operator class; enums, ranges and domains, too.
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE DOMAIN small_int AS int CHECK (VALUE < 1000);
CREATE TYPE pair AS (a int, b text, c color);
CREATE DOMAIN any_pair AS pair;
CREATE TABLE types AS
SELECT i AS id, i::int2 AS i2, i::int8 AS i8, i::float4 AS f4, i / 8.0::float8 AS f8, i::numeric AS num, i::text AS txt, i::text::char(8) AS chr, i::text::varchar AS vc,
    i::text::name AS nam, i::text::bytea AS byt, md5(i::text)::uuid AS uid, i % 2 = 0 AS boo, date '2000-01-01' + i AS dat, time '00:00' + i * interval '1 second' AS tim,
    timetz '00:00+00' + i * interval '1 second' AS ttz, timestamp '2000-01-01' + i * interval '1 hour' AS ts, timestamptz '2000-01-01 00:00+00' + i * interval '1 hour' AS tstz,
    i * interval '1 day' AS inte, '10.0.0.0'::inet + i AS ine, ('10.0.0.0'::inet + i)::cidr AS cid, i::oid AS oi, i::numeric::money AS mon,
    (ARRAY['red', 'green', 'blue'])[1 + i % 3]::color AS col, int4range(i, i + 5) AS ran, int4multirange(int4range(i, i + 5)) AS mul, (i % 1000)::small_int AS dom,
    '08:00:2b:01:02:03'::macaddr AS mac, i::text::xid AS xi, i::text::xid8 AS xi8, ('0/' || i)::pg_lsn AS lsn, chr(65 + i % 26)::"char" AS ch,
    ROW(i, NULLIF('b' || i, 'b77'), (ARRAY['red', 'green', 'blue'])[1 + i % 3])::pair AS com, ROW(i, 'b', NULL)::any_pair AS dcom
FROM generate_series(1, 900) i;
CREATE FUNCTION wrong_columns() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    col text;
    by_index int[];
    by_scan int[];
    plan text;
BEGIN
    FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = 'types'::regclass AND attnum > 0 ORDER BY attnum LOOP
        EXECUTE format('CREATE INDEX types_key ON types USING bloomx (%I)', col);
        SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = on;
        EXECUTE format('EXPLAIN (COSTS OFF) SELECT * FROM types WHERE %I = (SELECT %1$I FROM types WHERE id = 77)', col) INTO plan;
        EXECUTE format('SELECT array_agg(id ORDER BY id) FROM types WHERE %I = (SELECT %1$I FROM types WHERE id + 0 = 77)', col) INTO by_index;
        SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = off;
        EXECUTE format('SELECT array_agg(id ORDER BY id) FROM types WHERE %I = (SELECT %1$I FROM types WHERE id + 0 = 77)', col) INTO by_scan;
        IF by_index IS DISTINCT FROM by_scan OR plan !~ 'Bitmap' THEN
            RETURN NEXT format('%s: %s instead of %s, by %s', col, by_index, by_scan, plan);
        END IF;
        DROP INDEX types_key;
    END LOOP;
END $$;
SELECT * FROM wrong_columns();

-- Rows equal rows, whatever their types are called, if the types of their columns are the same.  The label of an enum may change.
CREATE TYPE same_columns AS (x int, y text, z color);
CREATE INDEX types_com ON types USING bloomx (com, dcom);
ALTER TYPE color RENAME VALUE 'blue' TO 'navy';
EXPLAIN (COSTS OFF) SELECT id FROM types WHERE com = ROW(5, 'b5', 'navy')::pair;
SELECT id FROM types WHERE com = ROW(5, 'b5', 'navy')::pair;
SELECT id FROM types WHERE com = ROW(77, NULL, 'navy')::pair;
SELECT id FROM types WHERE com = ROW(5, 'b5'::text, 'navy'::color);
SELECT id FROM types WHERE com = ROW(5, 'b5', 'navy')::same_columns;
SELECT id FROM types WHERE com IN (ROW(5, 'b5', 'navy')::pair, ROW(6, 'b6', 'red')::pair, ROW(7, 'b7', 'red')::pair);
SELECT id FROM types WHERE dcom = ROW(8, 'b', NULL)::pair AND com = ROW(8, 'b8', 'navy')::pair;
SELECT count(*) FROM types t, LATERAL (SELECT FROM types u WHERE u.com = t.com OFFSET 0) s WHERE id < 100;
-- A row with other columns is what it is in a scan: unequal at an earlier column, or an error.
SELECT id FROM types WHERE com = ROW(-5, 5, 5);
SELECT id FROM types WHERE com = ROW(5, 'b5'::varchar, 'navy'::color);
SELECT id FROM types WHERE com = ROW(5, 'b5'::text);
SELECT count(*) FROM types WHERE com IS NULL;
\set VERBOSITY sqlstate
CREATE INDEX ON types USING bloomx ((types));		-- the columns of a table may change
\set VERBOSITY terse
DROP INDEX types_com;

-- Columns are added to a type and dropped while its rows are stored.
CREATE TYPE altered AS (a int, b int);
CREATE TABLE altered_rows AS SELECT i AS id, ROW(i, i % 2)::altered AS r, ARRAY[ROW(i, i % 2)::altered] AS rs FROM generate_series(1, 900) i;
CREATE INDEX altered_r ON altered_rows USING bloomx (r);
CREATE INDEX altered_rs ON altered_rows USING bloomx (rs);
ALTER TYPE altered ADD ATTRIBUTE c int;
INSERT INTO altered_rows VALUES (901, ROW(5, 1, 5), ARRAY[ROW(6, 0, 6)::altered]);
SELECT id FROM altered_rows WHERE r = ROW(5, 1, NULL)::altered;
SELECT id FROM altered_rows WHERE r = ROW(5, 1, 5);
SELECT id FROM altered_rows WHERE rs @> ARRAY[ROW(6, 0, NULL)::altered];
ALTER TYPE altered DROP ATTRIBUTE b, DROP ATTRIBUTE c;
INSERT INTO altered_rows VALUES (902, ROW(5), ARRAY[ROW(6)::altered]);
EXPLAIN (COSTS OFF) SELECT id FROM altered_rows WHERE r = ROW(5)::altered;
SELECT id FROM altered_rows WHERE r = ROW(5)::altered;
SELECT id FROM altered_rows WHERE rs && ARRAY[ROW(6)::altered];
SELECT id FROM altered_rows WHERE rs <@ ARRAY[ROW(6)::altered];
SELECT bloomx_check_index('altered_r'), bloomx_check_index('altered_rs');
REINDEX TABLE altered_rows;
SELECT id FROM altered_rows WHERE r = ROW(5)::altered AND rs && ARRAY[ROW(5)::altered];
SELECT bloomx_check_index('altered_r'), bloomx_check_index('altered_rs');
DROP TABLE altered_rows;
DROP TYPE altered;

-- Built while others write: no row is there twice, though entries of blocks do not know their rows.
CREATE INDEX CONCURRENTLY types_id ON types USING bloomx (id, txt);
SELECT rows, pending, bloomx_check_index('types_id') AS checked FROM bloomx_index_info('types_id');
INSERT INTO types (id, txt) VALUES (1001, 'late'), (1002, NULL);
REINDEX INDEX CONCURRENTLY types_id;
SELECT rows, pending, bloomx_check_index('types_id') AS checked FROM bloomx_index_info('types_id');

-- A build that fails leaves no file of them behind.
CREATE INDEX CONCURRENTLY types_failed ON types USING bloomx ((1 / (id - 5)));
SELECT count(*) FROM pg_ls_tmpdir() WHERE name LIKE 'pgsql_tmp' || pg_backend_pid() || '.%';
DROP INDEX types_failed;

-- When most rows are gone VACUUM makes the entries of their blocks anew.
CREATE TABLE gone AS SELECT i AS id, 'word ' || i AS word, '' AS note FROM generate_series(1, 80000) i;
ALTER TABLE gone SET (autovacuum_enabled = off);
CREATE INDEX gone_key ON gone USING bloomx (id, word);
INSERT INTO gone SELECT i, 'word ' || i, '' FROM generate_series(80001, 80100) i;
DELETE FROM gone WHERE id % 20 <> 7 OR (id BETWEEN 40000 AND 41000 AND id <> 40507);
-- One row is alone in its block, and not the first of its chain.
SELECT count(*) FROM gone WHERE id + 0 > 0;
UPDATE gone SET note = 'changed' WHERE id = 40507;
VACUUM gone;
SELECT id, word, note FROM gone WHERE id = 40507;
SELECT rows, entries > 100 AS entries, removed, pending, bloomx_check_index('gone_key') AS checked, lost FROM bloomx_index_info('gone_key');
SELECT count(*) FILTER (WHERE found = 1) AS found, count(*) AS all FROM gone g, LATERAL (SELECT count(*) AS found FROM gone h WHERE h.id = g.id OFFSET 0) f WHERE id < 2000;
DROP TABLE gone;

-- The planner uses it for values that few blocks have, and not for those that every block has, or that the index cannot look up.
RESET enable_seqscan;
CREATE TABLE choice AS SELECT i AS id, i % 5 AS status, 'line ' || i AS line, ARRAY[i, i + 100000] AS tags FROM generate_series(1, 50000) i;
CREATE INDEX choice_key ON choice USING bloomx (id, status, line text_ngram_ops, tags);
-- The sample is the whole table, so the estimates are always the same.
SET default_statistics_target = 200;
ANALYZE choice;
RESET default_statistics_target;
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE status = 3;
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE status = 3 AND id = 77;
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE line LIKE '%49999%';
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE line LIKE '%9%';
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE tags @> '{100005}';
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE tags <@ '{5,100005}';
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE id IS NOT NULL;
SELECT count(*) FROM choice WHERE line LIKE '%49999%';
SELECT count(*) FROM choice WHERE tags @> '{100005}' OR id = 6;
-- A class whose conditions ask for many keys at once has fewer probes per key, unless an option or another column says otherwise.
SELECT hash_functions FROM bloomx_index_info('choice_key');
DROP INDEX choice_key;
CREATE INDEX choice_grams ON choice USING bloomx (line text_ngram_ops, lower(line) text_ngram_ops);
CREATE INDEX choice_rare ON choice USING bloomx (line text_ngram_ops, lower(line) text_ngram_ops) WITH (fpr = 0.001);
CREATE INDEX choice_mixed ON choice USING bloomx (line text_ngram_ops, id);
SELECT i AS index, (bloomx_index_info(i)).hash_functions, bloomx_check_index(i) AS checked FROM unnest('{choice_grams,choice_rare,choice_mixed}'::regclass[]) i;
DROP INDEX choice_rare, choice_mixed;
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE line LIKE '%line 49999%';
EXPLAIN (COSTS OFF) SELECT * FROM choice WHERE line ~ '(12345|54321|23456)';
SELECT count(*) FROM choice WHERE line LIKE '%line 49999%';
SELECT count(*) FROM choice WHERE line ~ '(12345|54321|23456)';
CREATE TABLE choice_later (line text);
CREATE INDEX choice_later_key ON choice_later USING bloomx (line text_ngram_ops);
INSERT INTO choice_later SELECT line FROM choice;
VACUUM choice_later;
SELECT hash_functions, bloomx_check_index('choice_later_key') AS checked FROM bloomx_index_info('choice_later_key');
-- Many rows have one of the elements, or are empty, though few have no others.
CREATE TABLE choice_common AS SELECT ARRAY[i, -(i % 5)] AS often, CASE WHEN i % 20 > 0 THEN ARRAY[i] ELSE '{}' END AS empty FROM generate_series(1, 50000) i;
CREATE INDEX ON choice_common USING bloomx (often, empty);
SET default_statistics_target = 200;
ANALYZE choice_common;
RESET default_statistics_target;
EXPLAIN (COSTS OFF) SELECT * FROM choice_common WHERE often <@ '{5,6,-1}';
EXPLAIN (COSTS OFF) SELECT * FROM choice_common WHERE empty <@ '{5,6}';
DROP TABLE choice_common;
DROP TABLE choice, choice_later;
SET enable_seqscan = off;

-- VACUUM looks at all pending rows, one step after the other.  A row of more keys than are stored may hold any, also in a segment.
CREATE TABLE listed (id int, tags int[]) WITH (autovacuum_enabled = off);
CREATE INDEX listed_key ON listed USING bloomx (tags) WITH (pending_limit = 8000);
INSERT INTO listed SELECT 0, ARRAY(SELECT -j FROM generate_series(1, 70000) j);
INSERT INTO listed SELECT i, ARRAY(SELECT i * 1000 + j FROM generate_series(1, 503) j) FROM generate_series(1, 66) i;
SELECT pending, pages - free - 1 AS pending_pages FROM bloomx_index_info('listed_key');
SELECT id FROM listed WHERE tags @> '{-69999}';
DELETE FROM listed WHERE id > 1;
VACUUM listed;
SELECT rows, anything, pending, bloomx_check_index('listed_key') AS checked FROM bloomx_index_info('listed_key');
SELECT id FROM listed WHERE tags @> '{-69999}';
DROP TABLE listed;

-- Pages of two rows: an entry is of both.
CREATE TABLE pairs (id int, pad text);
ALTER TABLE pairs ALTER pad SET STORAGE PLAIN;
INSERT INTO pairs SELECT i, repeat('x', 3500) FROM generate_series(1, 200) i;
CREATE INDEX pairs_key ON pairs USING bloomx (id);
EXPLAIN (COSTS OFF) SELECT count(*) FROM pairs WHERE id = 1;
SELECT sum((SELECT count(*) FROM pairs WHERE id = i)) FROM generate_series(1, 200) i;
-- Rows that are pending: any of several keys.
INSERT INTO pairs SELECT i, '' FROM generate_series(201, 205) i;
SELECT id FROM pairs WHERE id IN (999, 203, 201, 7) ORDER BY id;
-- More elements than are looked up at once.
SET work_mem = '64kB';
INSERT INTO pairs SELECT i, repeat('x', 3500) FROM generate_series(301, 1700) i;
SELECT count(*) FROM pairs WHERE id = ANY ((SELECT array_agg(i) FROM generate_series(301, 1700, 2) i)::int[]);
DROP TABLE pairs;
SELECT count(DISTINCT id) = (SELECT count(DISTINCT id) FROM events WHERE id + 0 BETWEEN 101 AND 5000) AS all
FROM events WHERE id = ANY ((SELECT array_agg(i) FROM generate_series(101, 5000) i)::int[]);
RESET work_mem;

-- Expressions, predicates, temporary and unlogged tables.
SET enable_seqscan = off;
CREATE INDEX events_part ON events USING bloomx ((id / 10), lower(kind)) WHERE id > 1000;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE id / 10 = 150 AND id > 1000;
SELECT count(*) FROM events WHERE id / 10 = 150 AND id > 1000;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE id > 1000;
SELECT count(*) FROM events WHERE id > 1000;
SELECT bloomx_check_index('events_part');
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM events;
CREATE INDEX unlogged_key ON unlogged USING bloomx (id);
INSERT INTO unlogged SELECT * FROM events;
SELECT bloomx_check_index('unlogged_key');
SELECT count(*) FROM unlogged WHERE id = 100;
TRUNCATE unlogged;
INSERT INTO unlogged SELECT * FROM events;
SELECT bloomx_check_index('unlogged_key');
CREATE TEMP TABLE temporary AS SELECT * FROM events;
CREATE INDEX temporary_key ON temporary USING bloomx (id);
SELECT count(*) FROM temporary WHERE id = 100;

-- What is refused.
\set VERBOSITY default
CREATE TABLE shapes (p point, f bloomfilter, i int);
CREATE INDEX ON shapes USING bloomx (p);
CREATE INDEX ON shapes USING bloomx (i) WITH (fpr = 0.9);
CREATE INDEX ON shapes USING bloomx (i) WITH (signature_bits = 640);
CREATE INDEX ON shapes USING bloomx (f) WITH (fpr = 0.01);
CREATE INDEX ON shapes USING bloomx (f) WITH (max_keys_per_filter = 10);
DROP TABLE events, empty, types, unlogged, shapes;
DROP FUNCTION add_events, event_differences, wrong_columns;
DROP TYPE any_pair, pair, same_columns, color, small_int;
