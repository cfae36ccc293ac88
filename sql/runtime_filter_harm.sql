--
-- Runtime filters do no harm: nothing is read, asked or computed that the query would have done without, but for a small part of its time.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SELECT filters >= 0 AS loaded FROM bloomx_runtime_filter_totals();
SET max_parallel_workers_per_gather = 0;
SET synchronize_seqscans = off;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET bloomx.runtime_filter = on;
SET bloomx.runtime_filter_min_rows = 0;

-- How many rows a query has read of a table, and where its filters were.
CREATE FUNCTION reads(name regclass, query text, OUT count bigint, OUT "rows" text, OUT filters text) LANGUAGE plpgsql AS $$
DECLARE
	before bigint := pg_stat_get_xact_tuples_returned(name) + pg_stat_get_xact_tuples_fetched(name);
BEGIN
	PERFORM FROM (VALUES (1)) a FULL JOIN (VALUES (1)) b USING (column1); -- forgets the filters of the statement before
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO count;
	"rows" := CASE WHEN pg_stat_get_xact_tuples_returned(name) + pg_stat_get_xact_tuples_fetched(name) - before < 3000 THEN 'few' ELSE 'many' END;
	SELECT string_agg(coalesce(j."table", 'a node above scans'), ', ' ORDER BY j."table") INTO filters FROM bloomx_last_runtime_filters() j;
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
SELECT * FROM reads('f', 'SELECT * FROM (SELECT day, k, sum(x) FROM f WHERE 10 / x >= 0 GROUP BY day, k) s JOIN d USING (k) WHERE grp = 0 LIMIT 100');
SELECT * FROM reads('f', 'SELECT * FROM (SELECT day, k, count(*) FROM f WHERE 10 / x >= 0 GROUP BY GROUPING SETS ((day, k), (day))) s JOIN d USING (k) WHERE grp = 0 LIMIT 100');
SELECT * FROM reads('f', 'SELECT * FROM (SELECT * FROM f WHERE 10 / x >= 0 ORDER BY k, x) s JOIN d USING (k) WHERE grp = 0 LIMIT 999');
-- Groups of a sort, groups that are not aggregated, and distinct rows have their filters at the scan.
SET enable_seqscan = on;
SET enable_incremental_sort = off;
SELECT * FROM reads('f', 'SELECT * FROM (SELECT k, sum(x) FROM (SELECT * FROM f OFFSET 0) f GROUP BY k) s JOIN d USING (k) WHERE grp = 0');
SET enable_sort = on;
SELECT * FROM reads('f', 'SELECT * FROM (SELECT DISTINCT ON (k) k, x FROM f WHERE 10 / x >= 0 ORDER BY k, x) s WHERE k IN (SELECT k FROM d WHERE grp = 0) LIMIT 9');
SET enable_sort = off;
SELECT * FROM reads('f', 'SELECT * FROM (SELECT day, k FROM f WHERE 10 / x >= 0 GROUP BY day, k) s JOIN d USING (k) WHERE grp = 0 LIMIT 100');
RESET enable_incremental_sort;
-- A nested loop that needs one match does not look for another one, which it would if the first one were removed.
CREATE OPERATOR === (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int);
SELECT * FROM reads('f', 'SELECT * FROM (SELECT * FROM f WHERE x < 900 AND EXISTS (SELECT FROM d e WHERE e.grp === f.k) OFFSET 0) s JOIN d USING (k) WHERE grp = 0');
DROP OPERATOR === (int, int);

-- Where there may be no outer row, the inner side is not read first, unless it costs less than to find that out.  (The planner expects
-- rows that are no longer there.)
RESET enable_sort;
RESET enable_hashagg;
RESET enable_bitmapscan;
SET enable_indexscan = on;
CREATE TABLE queue AS SELECT g AS k, 'new'::text AS status FROM generate_series(1, 20000) g;
CREATE INDEX ON queue (status);
ANALYZE queue;
UPDATE queue SET status = 'done';
SELECT * FROM reads('f', 'SELECT * FROM queue JOIN (SELECT k, sum(x) FROM f GROUP BY k OFFSET 0) s USING (k) WHERE status = ''new''');
SET enable_seqscan = off;
SELECT * FROM reads('f', 'SELECT * FROM (SELECT * FROM queue WHERE status = ''new'' OFFSET 0) q JOIN (SELECT k, sum(x) FROM f GROUP BY k OFFSET 0) s USING (k)');
SET enable_seqscan = on;
-- Nor with a limit for files that it might exceed.
CREATE TEMP TABLE cheap AS SELECT g AS k, repeat('x', 200) AS x FROM generate_series(1, 3000) g;
CREATE TEMP TABLE gone AS SELECT g AS k, 'new'::text AS status, repeat('x', 1000) AS pad FROM generate_series(1, 20000) g;
ANALYZE cheap, gone;
UPDATE gone SET status = 'done';
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET temp_file_limit = '64kB';
SELECT count(x) FROM gone JOIN cheap USING (k) WHERE status = 'new';
RESET work_mem;
RESET hash_mem_multiplier;
RESET temp_file_limit;
DROP TABLE cheap, gone;
-- If there is one, the filter works from the first page on.
UPDATE queue SET status = 'new';
SELECT count, "rows" FROM reads('f', 'SELECT * FROM queue JOIN (SELECT k, sum(x) FROM f WHERE k < 10 GROUP BY k OFFSET 0) s USING (k) WHERE status = ''new''');
SELECT "table", rows_removed > 19000 AS removes FROM bloomx_last_runtime_filters() WHERE "table" = 'queue';

-- A scan that begins before the keys are known skips pages as soon as they are.
CREATE TABLE pages AS SELECT g AS k, repeat('x', 100) AS pad FROM generate_series(1, 50000) g;
CREATE INDEX ON pages USING brin (k) WITH (pages_per_range = 4);
VACUUM ANALYZE pages;
CREATE FUNCTION keys() RETURNS SETOF int LANGUAGE plpgsql ROWS 100 COST 1000000 AS 'BEGIN RETURN QUERY SELECT generate_series(20000, 20009); END';
SELECT count, "rows" FROM reads('pages', 'SELECT * FROM pages JOIN keys() k ON pages.k = k.k');
SELECT "table", pages_skipped > 0.9 * pages AS skips FROM bloomx_last_runtime_filters();

-- BRIN questions that take long are given up.  (Each comparison takes a millisecond, and is counted.)
CREATE SEQUENCE slow_calls;
CREATE FUNCTION slow_lt(int, int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN IF current_setting(''enable_tidscan'')::bool THEN PERFORM nextval(''slow_calls''), pg_sleep(0.001); END IF; RETURN $1 < $2; END';
CREATE FUNCTION slow_le(int, int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN IF current_setting(''enable_tidscan'')::bool THEN PERFORM nextval(''slow_calls''), pg_sleep(0.001); END IF; RETURN $1 <= $2; END';
CREATE FUNCTION slow_gt(int, int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN IF current_setting(''enable_tidscan'')::bool THEN PERFORM nextval(''slow_calls''), pg_sleep(0.001); END IF; RETURN $1 > $2; END';
CREATE FUNCTION slow_ge(int, int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN IF current_setting(''enable_tidscan'')::bool THEN PERFORM nextval(''slow_calls''), pg_sleep(0.001); END IF; RETURN $1 >= $2; END';
CREATE OPERATOR <~ (FUNCTION = slow_lt, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR <=~ (FUNCTION = slow_le, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR >~ (FUNCTION = slow_gt, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR >=~ (FUNCTION = slow_ge, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR CLASS slow FOR TYPE int USING brin AS
	OPERATOR 1 <~, OPERATOR 2 <=~, OPERATOR 3 =, OPERATOR 4 >=~, OPERATOR 5 >~,
	FUNCTION 1 brin_minmax_multi_opcinfo (internal), FUNCTION 2 brin_minmax_multi_add_value (internal, internal, internal, internal),
	FUNCTION 3 brin_minmax_multi_consistent (internal, internal, internal, int), FUNCTION 4 brin_minmax_multi_union (internal, internal, internal),
	FUNCTION 5 brin_minmax_multi_options (internal), FUNCTION 11 brin_minmax_multi_distance_int4 (internal, internal);
CREATE TABLE slow_pages AS SELECT CASE WHEN g % 2 = 0 THEN g % 99 ELSE 400 + g % 99 END AS k, repeat('x', 100) AS pad FROM generate_series(1, 20000) g;
SET enable_tidscan = off; -- says that comparisons are quick
CREATE INDEX ON slow_pages USING brin (k slow (values_per_range = 8)) WITH (pages_per_range = 64);
VACUUM ANALYZE slow_pages;
RESET enable_tidscan;
SELECT setval('slow_calls', 1);
SELECT count, "rows" FROM reads('slow_pages', 'SELECT * FROM slow_pages JOIN (SELECT DISTINCT g AS k FROM generate_series(100, 300) g) s USING (k)');
SELECT last_value > 1 AS asks, last_value < 200 AS "few comparisons" FROM slow_calls;

-- Of partitions of few rows none is a site of its own: the filter is applied to the rows of all.
CREATE TABLE parts (day int, k int, x int) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES FROM (%s) TO (%s)', g, g, g + 1) FROM generate_series(0, 29) g \gexec
INSERT INTO parts SELECT g % 30, g % 3000, g FROM generate_series(1, 3000) g;
ANALYZE parts;
SELECT * FROM reads('parts_0', 'SELECT * FROM parts JOIN (SELECT k AS day FROM d WHERE grp = 0 AND k < 5) s USING (day)');
-- Of larger ones each is, and its bounds may be asked.
INSERT INTO parts SELECT g % 30, g % 3000, g FROM generate_series(1, 300000) g;
ANALYZE parts;
SELECT count FROM reads('parts_20', 'SELECT * FROM parts JOIN (SELECT k AS day FROM d WHERE grp = 0 AND k < 1) s USING (day)');
SELECT count(*) AS sites, sum(partitions) > 0 AS asks, sum(rows_removed) > 0 OR sum(partitions_skipped) > 0 AS removes FROM bloomx_last_runtime_filters();

-- A CTE to which hundreds of millions of ways lead in the plan.
SELECT 'WITH c0 AS MATERIALIZED (SELECT 1 AS k), ' ||
	string_agg(format('c%1$s AS MATERIALIZED (SELECT a.k FROM c%2$s a, c%2$s b)', g, g - 1), ', ' ORDER BY g) AS ctes FROM generate_series(1, 28) g \gset
SET join_collapse_limit = 1;
SET statement_timeout = '10s';
SELECT count FROM reads('f', :'ctes' || 'SELECT * FROM (f JOIN c28 ON true) JOIN (SELECT k FROM d WHERE grp = 0 AND k < 5) s ON s.k = f.k');
RESET ALL;
DROP OPERATOR FAMILY slow USING brin CASCADE;
DROP OPERATOR <~ (int, int), <=~ (int, int), >~ (int, int), >=~ (int, int);
DROP FUNCTION reads, keys, slow_lt, slow_le, slow_gt, slow_ge;
DROP SEQUENCE slow_calls;
DROP TABLE f, d, queue, pages, slow_pages, parts;

-- A hash function that takes long is timed.  Where it takes longer than the join itself, the keys are not collected to the end; and the rows of a
-- small table are, but no longer tested than it takes to see that a fifth of the rows is not worth it.
CREATE FUNCTION slow_hash(text, bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$ BEGIN FOR i IN 1..300 LOOP END LOOP; RETURN hashtextextended($1, $2); END $$;
CREATE FUNCTION slow_eq(text, text) RETURNS bool LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'texteq';
CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = slow_eq, COMMUTATOR = ===, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES);
CREATE OPERATOR CLASS slow_ops FOR TYPE text USING hash AS OPERATOR 1 === (text, text), FUNCTION 1 hashtext(text), FUNCTION 2 slow_hash(text, bigint);
CREATE TABLE slow_inner AS SELECT 'key ' || g AS t FROM generate_series(1, 5000) g;
CREATE TABLE slow_outer AS SELECT 'key ' || g % 5000 + 1 AS t, 'key ' || g % 125 + 1 AS u FROM generate_series(1, 20000) g;
ANALYZE slow_inner, slow_outer;
SET bloomx.runtime_filter = on; SET bloomx.runtime_filter_min_rows = 0; SET enable_nestloop = off; SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM slow_outer o JOIN slow_inner i ON o.t === i.t WHERE length(i.t) > 0;
SELECT build_rows < 5000 AS given_up, rows_checked FROM bloomx_last_runtime_filters();
SELECT count(*) FROM slow_outer o JOIN (SELECT t FROM slow_inner LIMIT 100) i ON o.u === i.t;
SELECT build_rows, rows_checked BETWEEN 1024 AND 1400 AS one_short_window, pauses FROM bloomx_last_runtime_filters();
-- a parallel plan that no worker may help with, as a function's that hands on row by row, gives up the keys as well
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
CREATE FUNCTION row_by_row() RETURNS SETOF text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT o.t FROM slow_outer o JOIN slow_inner i ON o.t === i.t WHERE length(i.t) > 0 $$;
SELECT count(*) FROM (SELECT row_by_row()) r;
DROP FUNCTION row_by_row;
DROP TABLE slow_inner, slow_outer;
DROP OPERATOR FAMILY slow_ops USING hash;
DROP OPERATOR === (text, text);
DROP FUNCTION slow_hash(text, bigint), slow_eq(text, text);

-- A pause does not run on past the end of what it was made for: matches that are all in one place.
CREATE TABLE placed AS SELECT CASE WHEN g <= 150000 THEN g % 500 ELSE 1000 + g % 500 END AS k FROM generate_series(1, 300000) g;
CREATE TABLE places AS SELECT g AS k FROM generate_series(0, 499) g;
ANALYZE placed, places;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM placed JOIN places USING (k) WHERE places.k + 0 < 500;
SELECT rows_removed > 125000 AS nearly_all, pauses FROM bloomx_last_runtime_filters();
DROP TABLE placed, places;

-- An empty side of a hash join keeps the other one from being read, whichever the server reads first: what is volatile there is not computed.
CREATE SEQUENCE side_calls;
CREATE TABLE side AS SELECT g AS k FROM generate_series(1, 3000) g; CREATE TABLE few AS SELECT g AS k FROM generate_series(1, 150) g;
ANALYZE side, few;
SET enable_mergejoin = off; SET join_collapse_limit = 1;
CREATE FUNCTION calls(query text) RETURNS TABLE (filter text, rows bigint, calls bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH filter IN ARRAY ARRAY['off', 'on'] LOOP
		PERFORM set_config('bloomx.runtime_filter', filter, true), setval('side_calls', 1, false);
		EXECUTE query INTO rows;
		calls := (SELECT last_value - 1 + is_called::int FROM side_calls);
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM calls('SELECT count(*) FROM (side LEFT JOIN (SELECT k, nextval(''side_calls'') AS v FROM few OFFSET 0) f USING (k)) JOIN side o USING (k) WHERE o.k + 0 > 3000');
SELECT * FROM calls('SELECT count(*) FROM side JOIN (SELECT k, nextval(''side_calls'') AS v FROM few OFFSET 0) f USING (k) WHERE side.k + 0 > 3000');
DROP FUNCTION calls(text);
DROP TABLE side, few;
DROP SEQUENCE side_calls;
