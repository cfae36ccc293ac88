--
-- Index scans that begin anew for each key: a bloomset index on the key's column says which of them would find nothing.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SELECT filters >= 0 AS loaded FROM bloomx_runtime_filter_totals();
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET join_collapse_limit = 1;
SET bloomx.runtime_filter_min_removed = 0;

-- inr has the even keys up to 4000, several times; outr all keys up to 1000, and NULL
CREATE TABLE inr AS
	SELECT g AS id, k AS i4, k::int2 AS i2, k::int8 AS i8, 'key ' || k AS t, ('key ' || k)::varchar(20) AS v, ('key ' || k)::name AS nm, k / 2.0 AS n,
	       k / 2.0::float8 AS f8, (k / 2.0)::float4 AS f4, DATE '2020-01-01' + k AS d, ARRAY[k] AS a, (k || ' ')::char(8) AS b, md5(k::text)::uuid AS u
	FROM (SELECT g, g % 2000 * 2 AS k FROM generate_series(1, 6000) g) s;
INSERT INTO inr (id) VALUES (-1), (-2);
CREATE TABLE outr AS
	SELECT k AS id, nullif(k, 500) AS i4, k::int2 AS i2, k::int8 AS i8, 'key ' || k AS t, ('key ' || k)::varchar(20) AS v, ('key ' || k)::name AS nm, k / 2.00 AS n,
	       k / 2.0::float8 AS f8, (k / 2.0)::float4 AS f4, DATE '2020-01-01' + k AS d, TIMESTAMP '2020-01-01' + k * INTERVAL '1 day' AS ts, ARRAY[k] AS a, k::text::char(8) AS b, md5(k::text)::uuid AS u
	FROM generate_series(1, 1000) k;
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['i4', 'i2', 'i8', 't', 'v', 'nm', 'n', 'f8', 'f4', 'd', 'a', 'b', 'u'] LOOP
		EXECUTE format('CREATE INDEX inr_%1$s ON inr (%1$I); CREATE INDEX inr_%1$s_set ON inr USING bloomset (%1$I) WITH (fpr = 0.0001)', name);
	END LOOP;
END $$;
VACUUM ANALYZE inr;
ANALYZE outr;

-- Runs a query with and without. Says whether the rows are the same and in the same order, and how many of the scans were
-- skipped, to a tenth.
CREATE FUNCTION scans_of(query text, OUT same boolean, OUT count bigint, OUT scans bigint, OUT skipped text) LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	rows text;
BEGIN
	query := format('SELECT count(*), md5(string_agg(q::text, ''|'')) FROM (%s) q', query);
	SET LOCAL bloomx.runtime_filter = off;
	EXECUTE query INTO count, plain;
	SET LOCAL bloomx.runtime_filter = on;
	SET LOCAL enable_hashjoin = on;
	PERFORM FROM (VALUES (1)) a FULL JOIN (VALUES (1)) b USING (column1); -- forgets the filters of the statement before
	SET LOCAL enable_hashjoin = off;
	EXECUTE query INTO count, rows;
	same := plain IS NOT DISTINCT FROM rows;
	SELECT sum(l.index_scans), round(sum(l.index_scans_skipped) / sum(l.index_scans), 1)
	INTO scans, skipped FROM bloomx_last_runtime_filters() l WHERE kind = 'index' HAVING sum(l.index_scans) > 0;
END $$;

EXPLAIN (COSTS OFF) SELECT o.id, i.id FROM outr o JOIN inr i USING (i4);
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i USING (i4)');
SELECT "table", "column", keys, kind, index_scans, index_scans_skipped BETWEEN 490 AND 500 AS half, pauses, processes FROM bloomx_last_runtime_filters();
-- EXPLAIN says where an index will be asked.
SET bloomx.runtime_filter = on;
SELECT substring(lower(line) FROM '(?:no )?runtime filter[^'']*') AS note FROM bloomx_explain('SELECT o.id, i.id FROM outr o JOIN inr i USING (i4)') line WHERE line ~* 'runtime filter';
SELECT substring(lower(line) FROM '(?:no )?runtime filter[^'']*') AS note FROM bloomx_explain('SELECT (SELECT max(i.id) FROM inr i WHERE i.t = o.t AND i.id < 9) FROM outr o') line WHERE line ~* 'runtime filter';
-- ... and of which loop a parameter is
SELECT substring(line FROM 'Index Cond.*') AS condition FROM bloomx_explain('SELECT o.id, i.id FROM outr o JOIN inr i USING (i4)') line WHERE line ~ 'Cond';
SET bloomx.runtime_filter_index_scans = off;
SELECT substring(lower(line) FROM '(?:no )?runtime filter[^'']*') AS note FROM bloomx_explain('SELECT o.id, i.id FROM outr o JOIN inr i USING (i4)') line WHERE line ~* 'runtime filter';
SELECT substring(line FROM 'Index Cond.*') AS condition FROM bloomx_explain('SELECT o.id, i.id FROM outr o JOIN inr i USING (i4)') line WHERE line ~ 'Cond';
RESET bloomx.runtime_filter_index_scans;
RESET bloomx.runtime_filter;
-- All join types for which the planner can have such a loop.
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o LEFT JOIN inr i USING (i4)');
SELECT * FROM scans_of('SELECT o.id FROM outr o WHERE EXISTS (SELECT FROM inr i WHERE i.i4 = o.i4)');
SELECT * FROM scans_of('SELECT o.id FROM outr o WHERE NOT EXISTS (SELECT FROM inr i WHERE i.i4 = o.i4)');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o LEFT JOIN inr i ON i.i4 = o.i4 AND i.id > 3000 WHERE i.id IS NULL');
-- Index-only scans, bitmap scans, subqueries, groups, sorts and limits between the loop and the scan.
EXPLAIN (COSTS OFF) SELECT count(*) FROM outr o JOIN inr i USING (i4);
SELECT * FROM scans_of('SELECT o.id, i.i4 FROM outr o JOIN inr i USING (i4)');
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT o.id, i.id FROM outr o LEFT JOIN inr i USING (i4);
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i USING (i4)');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o LEFT JOIN inr i USING (i4)');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o LEFT JOIN inr i ON i.i4 = o.i4 AND i.i4 < ANY (ARRAY[300, 400])');
RESET enable_indexscan;
RESET enable_indexonlyscan;
SELECT * FROM scans_of('SELECT o.id, (SELECT sum(i.id) FROM inr i WHERE i.i4 = o.i4) FROM outr o');
SELECT * FROM scans_of('SELECT o.id, s.* FROM outr o LEFT JOIN LATERAL (SELECT i.id, i.t FROM inr i WHERE i.i4 = o.i4 ORDER BY i.id DESC LIMIT 2) s ON true');
SELECT * FROM scans_of('SELECT o.id, s.* FROM outr o, LATERAL (SELECT count(*), min(i.id) FROM inr i WHERE i.i4 = o.i4 + 1) s');
SET enable_memoize = on;
SELECT * FROM scans_of('SELECT o.id, i.id FROM (SELECT *, id / 2 AS half FROM outr) o JOIN inr i ON i.i4 = o.half');
SET enable_memoize = off;
-- Two such loops, one in the other; more conditions.
SELECT * FROM scans_of('SELECT o.id, i.id, j.id FROM outr o JOIN inr i ON i.i4 = o.i4 JOIN inr j ON j.i8 = i.id WHERE o.id < 300');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.i4 = o.i4 AND i.id < o.id');
-- Types: their own equality, and that with another type whose values are the same keys.
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.i2 = o.i8');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.i8 = o.i2');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.t = o.t');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.v = o.v');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.nm = o.nm');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.nm = o.t');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.n = o.n');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.f8 = o.f4');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.f4 = o.f8');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.d = o.d');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.a = o.a');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.b = o.b');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.u = o.u');
-- Not: a timestamp is no key of a set of dates; other operators; no parameter.
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.d = o.ts');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.i4 > o.i4 AND i.i4 < o.i4 + 3');
SELECT * FROM scans_of('SELECT o.id, i.id FROM outr o JOIN inr i ON i.i4 = ANY (ARRAY[o.i4, o.i4 + 2])');
SELECT * FROM scans_of('SELECT id FROM inr WHERE i4 = 4');
-- NULL finds nothing, with or without.
SELECT * FROM scans_of('SELECT o.id, i.id FROM (SELECT nullif(i4, id) AS i4, id FROM outr OFFSET 0) o LEFT JOIN inr i USING (i4)');
SELECT * FROM scans_of('SELECT o.id, i.id FROM (SELECT CASE WHEN id % 2 = 1 THEN t END AS t, id FROM outr OFFSET 0) o LEFT JOIN inr i ON i.t = o.t');

-- Not: partial sets, sets of several columns, of expressions; invalid ones.
CREATE TABLE other AS SELECT g * 2 AS k, g % 3 AS c FROM generate_series(1, 2000) g;
CREATE INDEX ON other (k);
CREATE INDEX ON other USING bloomset (k) WHERE c = 1;
CREATE INDEX ON other USING bloomset (k, c);
CREATE INDEX ON other USING bloomset ((k + 1));
CREATE INDEX ON other USING bloomx (k);
ANALYZE other;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o LEFT JOIN other i ON i.k = o.i4');
CREATE INDEX other_set ON other USING bloomset (k);
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o LEFT JOIN other i ON i.k = o.i4');
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'other_set'::regclass;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o LEFT JOIN other i ON i.k = o.i4');
UPDATE pg_index SET indisvalid = true, indcheckxmin = true WHERE indexrelid = 'other_set'::regclass;
BEGIN;
-- older than what has changed the index last
UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = 'other_set'::regclass;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o LEFT JOIN other i ON i.k = o.i4');
ROLLBACK;
UPDATE pg_index SET indcheckxmin = false WHERE indexrelid = 'other_set'::regclass;
-- Texts under a collation that calls different ones equal; the set knows their bytes.
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE words AS SELECT 'Word ' || g AS w FROM generate_series(1, 500) g;
CREATE INDEX ON words (w COLLATE blind);
CREATE INDEX ON words USING bloomset (w);
ANALYZE words;
SELECT * FROM scans_of('SELECT o.id, i.w FROM outr o JOIN words i ON i.w COLLATE blind = ''word '' || o.id');
CREATE INDEX ON words (w COLLATE "POSIX");
SELECT * FROM scans_of('SELECT o.id, i.w FROM outr o JOIN words i ON i.w COLLATE "POSIX" = ''Word '' || o.id');
-- Rows of a type to which ALTER has added what cannot be in a key: inserts fail, but no query.
CREATE TYPE numbered AS (n int);
CREATE TABLE counted AS SELECT row(2 * g)::numbered AS c FROM generate_series(1, 500) g;
CREATE INDEX ON counted (c);
CREATE INDEX ON counted USING bloomset (c);
ANALYZE counted;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o JOIN counted i ON i.c = row(o.id)::numbered');
ALTER TYPE numbered ADD ATTRIBUTE bits varbit;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o JOIN counted i ON i.c = row(o.id, NULL)::numbered');
ALTER TYPE numbered DROP ATTRIBUTE bits;
ALTER TYPE numbered ADD ATTRIBUTE other other;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o JOIN counted i ON i.c = row(o.id, NULL)::numbered');
INSERT INTO counted VALUES (row(1, NULL));
DROP TABLE counted;
DROP TYPE numbered;
-- SERIALIZABLE: what was not found must be locked. And the switch.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o LEFT JOIN other i ON i.k = o.i4');
ROLLBACK;
SET bloomx.runtime_filter_index_scans = off;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o LEFT JOIN other i ON i.k = o.i4');
SET bloomx.runtime_filter_index_scans = on;
SET bloomx.runtime_filter = off;
SELECT count(i.c) FROM outr o LEFT JOIN other i ON i.k = o.i4;
SELECT index_scans FROM bloomx_last_runtime_filters();
RESET bloomx.runtime_filter_index_scans;
RESET bloomx.runtime_filter;

-- A transaction sees its own rows, and those of a savepoint.
BEGIN;
INSERT INTO other SELECT g * 2 + 1, 9 FROM generate_series(1, 200) g;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o LEFT JOIN other i ON i.k = o.i4');
SAVEPOINT s;
INSERT INTO other VALUES (901, 10);
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o JOIN other i ON i.k = o.i4 WHERE o.id = 901');
ROLLBACK TO s;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o JOIN other i ON i.k = o.i4 WHERE o.id = 901');
UPDATE other SET k = k + 500000 WHERE k < 100;
UPDATE other SET k = 901 WHERE k = 500002;
SELECT * FROM scans_of('SELECT o.id, i.c FROM outr o JOIN other i ON i.k = o.i4 WHERE o.id > 900');
ROLLBACK;
-- What a session may do to its sets while a cursor is open.
SET bloomx.runtime_filter = on;
CREATE VIEW pairs AS SELECT o.id, i.k FROM (SELECT * FROM outr ORDER BY i8) o LEFT JOIN other i ON i.k = o.i4;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM pairs;
MOVE 500 IN c;
REINDEX INDEX other_set;
FETCH 3 FROM c;
DROP INDEX other_set;
FETCH 3 FROM c;
MOVE ALL IN c;
CLOSE c;
SELECT index_scans BETWEEN 500 AND 520 AS until_it_was_dropped, index_scans_skipped > 100 AS many FROM bloomx_last_runtime_filters();
ROLLBACK;
-- A set that is rebuilt meanwhile has what the cursor's snapshot sees.
CREATE TABLE hot (k int, v int) WITH (fillfactor = 50);
INSERT INTO hot SELECT g * 2, g FROM generate_series(1, 100) g;
CREATE INDEX ON hot (k);
CREATE INDEX hot_set ON hot USING bloomset (k);
ANALYZE hot;
BEGIN;
DECLARE c CURSOR FOR SELECT o.id, i.k FROM (SELECT * FROM outr ORDER BY i8) o JOIN hot i ON i.k = o.i4;
FETCH 1 FROM c;
DELETE FROM hot WHERE k > 6;
REINDEX INDEX hot_set;
MOVE 97 IN c;
FETCH 3 FROM c;
COMMIT;

-- Partitions have sets of their own.
CREATE TABLE parts (k int, v int) PARTITION BY RANGE (v);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 (junk text, v int, k int);
ALTER TABLE parts_2 DROP COLUMN junk;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (1000) TO (3000);
INSERT INTO parts SELECT g * 3, g FROM generate_series(1, 2999) g;
CREATE INDEX ON parts (k);
CREATE INDEX ON parts USING bloomset (k);
ANALYZE parts;
SELECT * FROM scans_of('SELECT o.id, p.v FROM outr o LEFT JOIN parts p ON p.k = o.i4');
-- Temporary and unlogged tables.
CREATE TEMP TABLE temporary AS SELECT g * 2 AS k FROM generate_series(1, 2000) g;
CREATE INDEX ON temporary (k);
CREATE INDEX ON temporary USING bloomset (k);
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM temporary;
CREATE INDEX ON unlogged (k);
CREATE INDEX ON unlogged USING bloomset (k);
ANALYZE temporary, unlogged;
SELECT * FROM scans_of('SELECT o.id, i.k FROM outr o LEFT JOIN temporary i ON i.k = o.i4');
SELECT * FROM scans_of('SELECT o.id, i.k FROM outr o LEFT JOIN unlogged i ON i.k = o.i4');
-- Row security, and privileges of columns only: the same rows.
CREATE ROLE regress_bloomx_reader;
ALTER TABLE other ENABLE ROW LEVEL SECURITY;
CREATE POLICY third ON other USING (c = 1);
GRANT SELECT (k) ON other TO regress_bloomx_reader;
GRANT SELECT ON outr TO regress_bloomx_reader;
SET ROLE regress_bloomx_reader;
SELECT * FROM scans_of('SELECT o.id, i.k FROM outr o LEFT JOIN other i ON i.k = o.i4');
SELECT o.id, i.c FROM outr o LEFT JOIN other i ON i.k = o.i4;
RESET ROLE;
-- UPDATE and DELETE with a join, whose target is the inner side.
BEGIN;
WITH u AS (UPDATE other i SET c = -1 FROM outr o WHERE i.k = o.i4 RETURNING i.k) SELECT count(*), sum(k) FROM u;
WITH u AS (DELETE FROM other i USING outr o WHERE i.k = o.i4 AND o.id > 800 RETURNING i.k) SELECT count(*), sum(k) FROM u;
SELECT count(*) FROM other WHERE c = -1;
ROLLBACK;
-- Parallel workers report, too.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(i.id) FROM outr o JOIN inr i USING (i4);
SELECT count(i.id) FROM outr o JOIN inr i USING (i4);
SELECT index_scans, index_scans_skipped BETWEEN 490 AND 500 AS half, processes BETWEEN 1 AND 3 AS processes FROM bloomx_last_runtime_filters();
SET parallel_leader_participation = off;
SELECT count(i.id) FROM outr o JOIN inr i USING (i4);
SELECT index_scans, index_scans_skipped BETWEEN 490 AND 500 AS half FROM bloomx_last_runtime_filters();
RESET parallel_leader_participation;
RESET max_parallel_workers_per_gather;
SET max_parallel_workers_per_gather = 0;

-- Tests that skip nothing become rare; hundreds of scans go before the first one.
RESET bloomx.runtime_filter_min_removed;
SELECT count(i.id) FROM inr o JOIN inr i ON i.i4 = o.i4;
SELECT index_scans, index_scans_skipped, pauses FROM bloomx_last_runtime_filters();
SELECT count(i.id) FROM (SELECT * FROM outr LIMIT 90) o JOIN inr i ON i.i4 = o.i4;
SELECT index_scans, index_scans_skipped, pauses FROM bloomx_last_runtime_filters();
-- Periods of keys that are there and keys that are not, and a long run of each.
SELECT count(i.id) FROM (SELECT CASE WHEN g % 64 < 2 THEN 2 ELSE 1 END AS k FROM generate_series(1, 20000) g) o JOIN inr i ON i.i4 = o.k;
SELECT index_scans, index_scans_skipped > 10000 AS most FROM bloomx_last_runtime_filters();
SELECT count(i.id) FROM (SELECT CASE WHEN g <= 5000 THEN 2 ELSE 1 END AS k FROM generate_series(1, 20000) g) o JOIN inr i ON i.i4 = o.k;
SELECT index_scans, index_scans_skipped > 10000 AS most FROM bloomx_last_runtime_filters();

-- What is found out for each query of a function in SQL is not left in the memory of the statement that calls it.
CREATE FUNCTION found(int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM inr WHERE i4 = (SELECT $1)';
CREATE FUNCTION used_bytes() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT sum(used_bytes) FROM pg_backend_memory_contexts); END';
CREATE FUNCTION left_with(mode text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('bloomx.runtime_filter_index_scans', mode, true);
	RETURN (SELECT max(bytes) - min(bytes) FROM (SELECT found(g), CASE WHEN g IN (100, 2100) THEN used_bytes() END AS bytes FROM generate_series(1, 2100) g OFFSET 0) q);
END $$;
SELECT left_with('on') - left_with('off') < 100000 AS nothing_is_left;
DROP FUNCTION found, used_bytes, left_with;

DROP VIEW pairs;
DROP TABLE inr, outr, other, words, hot, parts, unlogged;
DROP COLLATION blind;
DROP ROLE regress_bloomx_reader;
