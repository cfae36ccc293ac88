--
-- Filters in parallel plans: the same rows, each process filters, and the leader knows what all of them did.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SELECT filters >= 0 AS loaded FROM bloomx_runtime_filter_totals();
SET synchronize_seqscans = off;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET bloomx.runtime_filter_min_rows = 0;
SET bloomx.runtime_filter_min_pages = 0;
SET bloomx.runtime_filter_min_removed = 0;

CREATE TABLE fact AS SELECT g AS id, g / 100 AS k, g / 100 AS j, 'key ' || g / 100 AS t, repeat('x', 100) AS pad FROM generate_series(0, 59999) g;
CREATE TABLE paged AS SELECT * FROM fact;
CREATE INDEX ON paged USING brin (k) WITH (pages_per_range = 4);
CREATE INDEX ON paged USING brin (t text_bloomx_ops) WITH (pages_per_range = 4);
CREATE TABLE dim AS SELECT g AS k, 'key ' || g AS t, g / 10 AS grp, repeat('y', 40) AS pad FROM generate_series(0, 5999) g;
CREATE TABLE parts (LIKE fact) PARTITION BY RANGE (k);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (200);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (200) TO (400);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (400) TO (MAXVALUE);
INSERT INTO parts SELECT * FROM fact;
CREATE TABLE few (LIKE fact) PARTITION BY LIST (j);
CREATE TABLE few_1 PARTITION OF few FOR VALUES IN (1, 60, 61, 300, 540);
CREATE TABLE few_2 PARTITION OF few DEFAULT;
INSERT INTO few SELECT * FROM fact WHERE id % 50 = 1;
CREATE TABLE many AS SELECT g * 3 AS k, 'key ' || g * 3 AS t, g * 3000000021::bigint AS wide, repeat('z', 60) AS pad FROM generate_series(0, 49999) g;
CREATE TABLE probe AS SELECT g AS k, 'key ' || g AS t, g * 1000000007::bigint AS wide, repeat('z', 20) AS pad FROM generate_series(0, 99999) g;
VACUUM ANALYZE fact, paged, dim, parts, few, many, probe;

-- Runs a query with filters off and on.  The counts are those of all processes together, so no row may be missing,
-- whichever process read it: a process that did not filter would show.
CREATE FUNCTION in_parallel(query text, OUT same boolean, OUT count bigint, OUT filters text) LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	rows text;
	line text;
BEGIN
	query := format('SELECT count(*), md5(string_agg(q::text, ''|'' ORDER BY q::text COLLATE "C")) FROM (%s) q', query);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Gather' THEN count := 1; END IF;
	END LOOP;
	IF count IS NULL THEN RAISE 'no parallel plan'; END IF;
	SET LOCAL bloomx.runtime_filter = off;
	EXECUTE query INTO count, plain;
	SET LOCAL bloomx.runtime_filter = on;
	EXECUTE query INTO count, rows;
	same := plain IS NOT DISTINCT FROM rows;
	-- a Bloom filter passes a few rows; processes that skip pages do not skip the same ones
	SELECT string_agg(concat_ws(' ', j.kind, 'on', concat_ws('.', j."table", j."column"),
	                  CASE WHEN pages > 0 THEN CASE WHEN pages_skipped > 0.8 * pages THEN 'skips pages' END
	                       WHEN partitions_skipped > 0 THEN 'skips'
	                       WHEN kind = 'bitmap' THEN format('removes %s of %s rows', rows_removed, rows_checked)
	                       ELSE format('tests %s rows', rows_checked) END), '; ' ORDER BY "table", "column", build_rows)
	INTO filters FROM bloomx_last_runtime_filters() j;
END $$;

-- A hash table in each process.
SET enable_parallel_hash = off;
EXPLAIN (COSTS OFF) SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7');
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (t) WHERE grp < 7');
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k, t) WHERE grp = 7');
SELECT same, count FROM in_parallel('SELECT fact.id FROM fact JOIN dim a USING (k) JOIN dim b ON fact.j = b.k WHERE a.grp < 10 AND b.grp BETWEEN 7 AND 20');
SELECT * FROM in_parallel('SELECT paged.id FROM paged JOIN dim USING (k) WHERE grp = 7');
SELECT * FROM in_parallel('SELECT parts.id FROM parts JOIN dim USING (k) WHERE grp = 7');
SELECT * FROM in_parallel('SELECT fact.id FROM fact WHERE k IN (SELECT k FROM dim WHERE grp = 7)');
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = -1');
-- The leader does nothing.
SET parallel_leader_participation = off;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7');
SELECT kind, build_rows, bytes, processes BETWEEN 1 AND 2 AS processes FROM bloomx_last_runtime_filters();
SELECT * FROM in_parallel('SELECT paged.id FROM paged JOIN dim USING (k) WHERE grp = 7');
RESET parallel_leader_participation;
-- The leader does everything.
SET max_parallel_workers = 0;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7');
RESET max_parallel_workers;
-- Gather Merge, and a Gather that is started three times, with the same keys and with others.
EXPLAIN (COSTS OFF) SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7 ORDER BY fact.id;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7 ORDER BY fact.id OFFSET 0');
SET enable_nestloop = on;
SET enable_material = off;
SELECT * FROM in_parallel('SELECT * FROM (SELECT fact.j % 2, count(*) FROM fact JOIN dim USING (k) WHERE grp = 7 GROUP BY 1) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true');
SELECT * FROM in_parallel('SELECT * FROM (VALUES (1), (2), (3)) v (x), LATERAL (SELECT count(*), min(k), max(k) FROM fact JOIN dim USING (k) WHERE grp = (SELECT v.x)) s');
SET enable_nestloop = off;
RESET enable_material;
-- Two Gathers, each with filters of its own.
SELECT * FROM in_parallel('SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7 UNION ALL SELECT count(*) FROM parts JOIN dim USING (k) WHERE grp < 2');

-- A hash table that all processes share: each reads a part of the inner side, and all test against the keys of all.
SET enable_parallel_hash = on;
EXPLAIN (COSTS OFF) SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7');
SELECT kind, build_rows, bytes, processes BETWEEN 1 AND 3 AS processes FROM bloomx_last_runtime_filters();
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (t) WHERE grp < 7');
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k, t) WHERE grp = 7');
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim ON fact.k = dim.k + 1 WHERE grp = 7');
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = -1');
SELECT * FROM in_parallel('SELECT paged.id FROM paged JOIN dim USING (k) WHERE grp = 7');
SELECT * FROM in_parallel('SELECT parts.id FROM parts JOIN dim USING (k) WHERE grp = 7');
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN few ON fact.k = few.j WHERE few.id % 5000 = 1');
-- An index is asked about values of all processes.
SELECT * FROM in_parallel('SELECT paged.id FROM paged JOIN few USING (t) WHERE few.id % 6000 = 1');
-- An inner side that is a parallel hash join: keys are read from the table.
SET join_collapse_limit = 1;
EXPLAIN (COSTS OFF) SELECT fact.id FROM fact JOIN (dim a JOIN dim b USING (k)) USING (k) WHERE a.grp = 7;
SELECT same, count FROM in_parallel('SELECT fact.id FROM fact JOIN (dim a JOIN dim b USING (k)) USING (k) WHERE a.grp = 7');
SELECT kind, rows_checked, rows_removed FROM bloomx_last_runtime_filters() WHERE "table" = 'fact';
RESET join_collapse_limit;
SET parallel_leader_participation = off;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7');
SELECT * FROM in_parallel('SELECT paged.id FROM paged JOIN dim USING (k) WHERE grp = 7');
RESET parallel_leader_participation;
SET max_parallel_workers = 0;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7');
RESET max_parallel_workers;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7 ORDER BY fact.id OFFSET 0');
SET enable_nestloop = on;
SET enable_material = off;
SELECT * FROM in_parallel('SELECT * FROM (SELECT fact.j % 2, count(*) FROM fact JOIN dim USING (k) WHERE grp = 7 GROUP BY 1) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true');
SELECT * FROM in_parallel('SELECT * FROM (VALUES (1), (2), (3)) v (x), LATERAL (SELECT count(*), min(k), max(k) FROM fact JOIN dim USING (k) WHERE grp = (SELECT v.x)) s');
SET enable_nestloop = off;
RESET enable_material;
-- Many keys: bitmaps and Bloom filters of all processes, in one batch and in several.
SELECT * FROM in_parallel('SELECT p.k FROM probe p WHERE k IN (SELECT k FROM many)');
SELECT * FROM in_parallel('SELECT p.k FROM probe p WHERE t IN (SELECT t FROM many)');
SELECT kind, build_rows, rows_removed > 0.95 * rows_checked * 2 / 3 AS removes FROM bloomx_last_runtime_filters();
SELECT * FROM in_parallel('SELECT p.k FROM probe p JOIN many USING (k, wide)');
SET work_mem = '256kB';
CREATE FUNCTION batches(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Batches: ' THEN
			RETURN CASE WHEN line ~ 'Batches: 1 ' THEN 'one batch' ELSE 'several batches' END;
		END IF;
	END LOOP;
END $$;
SELECT batches('SELECT p.k FROM probe p JOIN many m USING (k) WHERE m.pad <> p.pad');
SELECT * FROM in_parallel('SELECT p.k FROM probe p JOIN many m USING (k) WHERE m.pad <> p.pad');
SELECT * FROM in_parallel('SELECT p.k FROM probe p JOIN many m USING (t) WHERE m.pad <> p.pad');
SELECT kind, build_rows, rows_removed > 0.9 * rows_checked * 2 / 3 AS removes FROM bloomx_last_runtime_filters();
-- Keys cannot be read from a table of which a part is in files.
SET join_collapse_limit = 1;
SELECT batches('SELECT p.k FROM probe p JOIN (many a JOIN many b USING (k)) USING (k) WHERE a.pad <> p.pad AND b.pad <> p.pad');
SELECT same, count FROM in_parallel('SELECT p.k FROM probe p JOIN (many a JOIN many b USING (k)) USING (k) WHERE a.pad <> p.pad AND b.pad <> p.pad');
RESET join_collapse_limit;
SELECT * FROM in_parallel('SELECT p.k FROM probe p JOIN many m USING (wide) WHERE m.pad <> p.pad');
SELECT same, count FROM in_parallel('SELECT p.k FROM probe p JOIN many m USING (k) JOIN dim USING (k) WHERE m.pad <> p.pad AND grp BETWEEN 5 AND 100');
SELECT * FROM in_parallel('SELECT p.k FROM probe p JOIN many m USING (k) WHERE m.pad <> p.pad ORDER BY p.k OFFSET 0');
SET parallel_leader_participation = off;
SELECT * FROM in_parallel('SELECT p.k FROM probe p JOIN many m USING (k) WHERE m.pad <> p.pad');
RESET parallel_leader_participation;
SET enable_nestloop = on;
SET enable_material = off;
SELECT * FROM in_parallel('SELECT * FROM (SELECT p.k % 2, count(*) FROM probe p JOIN many m USING (k) WHERE m.pad <> p.pad GROUP BY 1) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true');
SET enable_nestloop = off;
RESET enable_material;
RESET work_mem;

-- A subplan that several nodes share: the scan of each partition asks it.  Its Gather starts once per partition, and the join has one filter.
CREATE TABLE asks (x int, y int) PARTITION BY LIST (y);
CREATE TABLE asks_1 PARTITION OF asks FOR VALUES IN (1);
CREATE TABLE asks_2 PARTITION OF asks FOR VALUES IN (2);
CREATE TABLE asks_3 PARTITION OF asks DEFAULT;
INSERT INTO asks SELECT g, g % 3 FROM generate_series(1, 100) g;
ANALYZE asks;
SELECT * FROM in_parallel('SELECT x FROM asks WHERE x NOT IN (SELECT fact.k FROM fact JOIN dim USING (k) WHERE grp = 7 AND fact.k > 3)');
SELECT * FROM in_parallel('SELECT x FROM asks WHERE x BETWEEN 65 AND 74 AND x < (SELECT min(fact.k) FROM fact JOIN dim USING (k) WHERE grp = 7 AND fact.k > y)');
SET enable_parallel_hash = off;
SELECT * FROM in_parallel('SELECT x FROM asks WHERE x NOT IN (SELECT fact.k FROM fact JOIN dim USING (k) WHERE grp = 7 AND fact.k > 3)');
RESET enable_parallel_hash;
DROP TABLE asks;

-- A table that processes build together, of many keys and of few: those of one process are dense, those of another are not,
-- and a third has the highest.  (Who reads what is chance.)
SET parallel_leader_participation = off;
SELECT same, count FROM generate_series(1, 3) i, LATERAL in_parallel(format('
	SELECT p.k FROM probe p JOIN (
		(SELECT k FROM probe WHERE k < 30000 + %s OFFSET 0) UNION ALL
		(SELECT k FROM probe WHERE k BETWEEN 40000 AND 75000 OFFSET 0) UNION ALL
		(SELECT k * 1000000 + 99 FROM probe WHERE k < 40 OFFSET 0) UNION ALL
		(SELECT 77777 FROM probe WHERE k < 3 OFFSET 0)) b USING (k)', i));
RESET parallel_leader_participation;

-- More keys than processes can tell each other about: then there is no filter.
DO $$ BEGIN
	EXECUTE (SELECT 'CREATE TABLE wide AS SELECT ' || string_agg('g AS c' || i, ', ') || ' FROM generate_series(1, 2000) g' FROM generate_series(1, 65) i);
END $$;
ANALYZE wide;
SELECT same, count FROM (SELECT string_agg('c' || i, ', ') AS columns FROM generate_series(1, 65) i) c,
	in_parallel(format('SELECT a.c1 FROM wide a JOIN wide b USING (%s) WHERE b.c1 %% 10 = 1', columns));
DROP TABLE wide;

-- EXPLAIN shows what all processes did.
CREATE FUNCTION explained_line(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		RETURN NEXT line;
	END LOOP;
END $$;
SET bloomx.runtime_filter = on;
SET bloomx.explain_conditions = on;
SELECT substring(lower(line) FROM 'bitmap, 10 build rows, 8 bytes; 59000 of 60000 rows removed')
	FROM explained_line('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = 7') line WHERE line ~* 'runtime filter of node';
RESET bloomx.explain_conditions;

-- The setting by which workers find their leader is no user's.
SET bloomx.runtime_filter_segment = 1;
SELECT count(*) FROM pg_settings WHERE name = 'bloomx.runtime_filter_segment';
-- Workers find it also if a query has run just before, to compute a parameter; a query within the leader's part does not see it.
CREATE FUNCTION seven() RETURNS int LANGUAGE plpgsql PARALLEL RESTRICTED AS $$ BEGIN RETURN (SELECT grp FROM dim WHERE k = 70); END $$;
SELECT * FROM in_parallel('SELECT fact.id FROM fact JOIN dim USING (k) WHERE grp = (SELECT seven())');
CREATE FUNCTION segment(id int) RETURNS text LANGUAGE plpgsql PARALLEL SAFE AS $$ BEGIN RETURN (SELECT current_setting('bloomx.runtime_filter_segment') FROM dim WHERE k = id % 100); END $$;
SET max_parallel_workers = 0;
SELECT DISTINCT segment(fact.id) FROM fact JOIN dim USING (k) WHERE grp = 7;
RESET max_parallel_workers;
DROP FUNCTION seven(), segment(int);
-- A process that has got no outer row at all must not fetch one before the table of the next rescan is built: its scan
-- would begin without a filter.  Here the first rescan drops every row.
SET max_parallel_workers_per_gather = 0;
SELECT x, s.* FROM (VALUES (100), (1), (100), (2)) v (x), LATERAL (SELECT count(*), min(k), max(k) FROM fact JOIN dim USING (k) WHERE grp = (SELECT v.x)) s;
SELECT kind, rows_checked, rows_removed FROM bloomx_last_runtime_filters();
RESET ALL;
DROP TABLE fact, paged, dim, parts, few, many, probe;
DROP FUNCTION in_parallel(text), batches(text), explained_line(text);
