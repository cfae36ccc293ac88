--
-- Join filters do no harm: nothing is read, asked or computed that the query would have done without, but for a small part of its time.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SELECT filters >= 0 AS loaded FROM bloomx_join_filter_totals();
SET max_parallel_workers_per_gather = 0;
SET synchronize_seqscans = off;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET bloomx.join_filter = on;
SET bloomx.join_filter_min_rows = 0;

-- How many rows a query has read of a table, and where its filters were.
CREATE FUNCTION reads(name regclass, query text, OUT count bigint, OUT "rows" text, OUT filters text) LANGUAGE plpgsql AS $$
DECLARE
	before bigint := pg_stat_get_xact_tuples_returned(name) + pg_stat_get_xact_tuples_fetched(name);
BEGIN
	PERFORM FROM (VALUES (1)) a FULL JOIN (VALUES (1)) b USING (column1); -- forgets the filters of the statement before
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO count;
	"rows" := CASE WHEN pg_stat_get_xact_tuples_returned(name) + pg_stat_get_xact_tuples_fetched(name) - before < 3000 THEN 'few' ELSE 'many' END;
	SELECT string_agg(coalesce(j."table", 'a node above scans'), ', ' ORDER BY j."table") INTO filters FROM bloomx_join_filters() j;
END $$;

-- Sorted groups that are aggregated, and an incremental sort, read a row of the next group before they yield one.  With a filter below, that would
-- be the next row that passes, at the end of the table, and what is computed of the rows before it might fail.
CREATE TABLE f AS SELECT g / 1000 AS day, g / 10 AS k, g AS x, repeat('x', 40) AS pad FROM generate_series(1, 50000) g;
INSERT INTO f VALUES (50, 9999, 0, '');
CREATE INDEX ON f (day, k);
CREATE INDEX ON f (k);
CREATE TABLE d AS SELECT g AS k, g / 100 AS grp FROM generate_series(0, 99999) g;
ANALYZE f, d;
SET enable_hashagg = off;
SET enable_sort = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT day, k, sum(x) FROM f WHERE 10 / x >= 0 GROUP BY day, k) s JOIN d USING (k) WHERE grp = 0 LIMIT 100;
SELECT * FROM reads('f', 'SELECT * FROM (SELECT day, k, sum(x) FROM f WHERE 10 / x >= 0 GROUP BY day, k) s JOIN d USING (k) WHERE grp = 0 LIMIT 100');
SELECT * FROM reads('f', 'SELECT * FROM (SELECT day, k, count(*) FROM f WHERE 10 / x >= 0 GROUP BY GROUPING SETS ((day, k), (day))) s JOIN d USING (k) WHERE grp = 0 LIMIT 100');
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT * FROM f WHERE 10 / x >= 0 ORDER BY k, x OFFSET 0) s JOIN d USING (k) WHERE grp = 0 LIMIT 999;
SELECT * FROM reads('f', 'SELECT * FROM (SELECT * FROM f WHERE 10 / x >= 0 ORDER BY k, x) s JOIN d USING (k) WHERE grp = 0 LIMIT 999');
-- Groups of a sort, groups that are not aggregated, and distinct rows have their filters at the scan.
SET enable_seqscan = on;
SELECT * FROM reads('f', 'SELECT * FROM (SELECT k, sum(x) FROM (SELECT * FROM f OFFSET 0) f GROUP BY k) s JOIN d USING (k) WHERE grp = 0');
SELECT * FROM reads('f', 'SELECT * FROM (SELECT DISTINCT ON (k) k, x FROM f WHERE 10 / x >= 0 ORDER BY k, x) s JOIN d USING (k) WHERE grp = 0 LIMIT 9');
SELECT * FROM reads('f', 'SELECT * FROM (SELECT day, k FROM f WHERE 10 / x >= 0 GROUP BY day, k) s JOIN d USING (k) WHERE grp = 0 LIMIT 100');
-- A nested loop that needs one match does not look for another one, which it would if the first one were dropped.
CREATE OPERATOR === (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int);
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT * FROM f WHERE x < 900 AND EXISTS (SELECT FROM d e WHERE e.grp === f.k) OFFSET 0) s JOIN d USING (k) WHERE grp = 0;
SELECT * FROM reads('f', 'SELECT * FROM (SELECT * FROM f WHERE x < 900 AND EXISTS (SELECT FROM d e WHERE e.grp === f.k) OFFSET 0) s JOIN d USING (k) WHERE grp = 0');
DROP OPERATOR === (int, int);
RESET ALL;
DROP FUNCTION reads;
DROP TABLE f, d;
