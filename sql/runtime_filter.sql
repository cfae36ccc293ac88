--
-- Joins that filter their outer side: the same rows, and the filters work.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SET max_parallel_workers_per_gather = 0;
SET synchronize_seqscans = off;

-- Off by default.  (Any of the extension's functions loads the module, where it is not preloaded.)
SELECT filters FROM bloomx_runtime_filter_totals();
SELECT name, setting, unit, boot_val = setting AS is_default FROM pg_settings WHERE name LIKE 'bloomx.runtime\_filter%' ORDER BY name;

CREATE TABLE fact AS
	SELECT g AS id, g / 100 AS i4, (g / 100)::int2 AS i2, (g / 100)::int8 AS i8, DATE '2020-01-01' + g / 100 AS d,
	       TIMESTAMP '2020-01-01' + g / 100 * INTERVAL '1 hour' AS ts, 'key ' || g / 100 AS t, ('key ' || g / 100)::varchar AS v,
	       g / 100 * 1.0 AS n, (g / 100)::float8 AS f, md5((g / 100)::text)::uuid AS u, (g / 100 || ' ')::char(10) AS b,
	       to_jsonb(g / 100) AS j, (g / 100)::oid AS o, ARRAY[g / 100] AS a, g % 10 AS ten, repeat('x', 100) AS pad
	FROM generate_series(0, 29999) g;
CREATE TABLE dim AS
	SELECT g AS id, g AS i4, g::int2 AS i2, g::int8 AS i8, DATE '2020-01-01' + g AS d, TIMESTAMP '2020-01-01' + g * INTERVAL '1 hour' AS ts,
	       'key ' || g AS t, ('key ' || g)::varchar AS v, g * 1.000 AS n, g::float4 AS f, md5(g::text)::uuid AS u, g::text::char(20) AS b,
	       to_jsonb(g) AS j, g::oid AS o, ARRAY[g] AS a, g / 10 AS grp, g % 10 AS ten
	FROM generate_series(0, 299) g;
INSERT INTO dim (id, grp) SELECT g, 7 FROM generate_series(300, 309) g;
INSERT INTO fact (id, ten) SELECT g, 3 FROM generate_series(30000, 30099) g;
ANALYZE fact, dim;

-- Runs a query with filters off and on.  Says whether the rows are the same, and what the filters did.
CREATE FUNCTION filtered(query text, OUT same boolean, OUT count bigint, OUT filters text) LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	rows text;
BEGIN
	query := format('SELECT count(*), md5(string_agg(q::text, ''|'' ORDER BY q::text COLLATE "C")) FROM (%s) q', query);
	SET LOCAL bloomx.runtime_filter = off;
	EXECUTE query INTO count, plain;
	SET LOCAL bloomx.runtime_filter = on;
	PERFORM FROM (VALUES (1)) a FULL JOIN (VALUES (1)) b USING (column1); -- forgets the filters of the statement before
	EXECUTE query INTO count, rows;
	same := plain IS NOT DISTINCT FROM rows;
	SELECT string_agg(concat_ws(' ', j.kind, 'on ' || nullif(concat_ws('.', j."table", j."column"), ''),
	                  CASE WHEN j.keys > 1 THEN j.keys || ' keys' END,
	                  CASE WHEN rows_removed > 0 THEN 'removes rows' END,
	                  CASE WHEN pages_skipped > 0 THEN 'skips pages' WHEN pages > 0 THEN 'reads all pages' END,
	                  CASE WHEN partitions_skipped > 0 THEN 'skips' WHEN partitions > 0 THEN 'reads' END), '; ' ORDER BY j."table", j."column")
	INTO filters FROM bloomx_last_runtime_filters() j;
END $$;

-- Plans are hash joins with dim inside, whatever is cheapest.  Filters are made for all of them and never pause.
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET bloomx.runtime_filter_min_rows = 0;
SET bloomx.runtime_filter_min_pages = 0;
SET bloomx.runtime_filter_min_removed = 0;

-- Keys of all types, and of two different ones.
CREATE TABLE pair (n int, outer_key text, inner_key text);
INSERT INTO pair SELECT i, x[1], x[2] FROM unnest(ARRAY['i4 i4', 'i2 i2', 'i8 i8', 'i4 i8', 'i8 i2', 'i2 i4', 'd d', 'ts ts', 'o o', 't t', 't v', 'v t',
	'n n', 'f f', 'u u', 'b b', 'j j', 'a a']) WITH ORDINALITY p(pair, i), string_to_array(pair, ' ') x;
SELECT outer_key, inner_key, r.* FROM pair,
	LATERAL filtered(format('SELECT fact.id, dim.id FROM fact JOIN dim ON fact.%s = dim.%s WHERE dim.grp = 7', outer_key, inner_key)) r ORDER BY n LIMIT 1;
DO $$
DECLARE
	p pair;
	r record;
BEGIN
	FOR p IN SELECT * FROM pair ORDER BY n LOOP
		SELECT * INTO r FROM filtered(format('SELECT fact.id, dim.id FROM fact JOIN dim ON fact.%s = dim.%s WHERE dim.grp = 7', p.outer_key, p.inner_key));
		RAISE NOTICE '% = %: %, % rows', p.outer_key, p.inner_key, CASE WHEN r.same THEN 'same' ELSE 'OTHER ROWS' END, r.count;
	END LOOP;
END $$;
SELECT kind, "column", keys, build_rows, rows_checked, rows_removed, count(*) FROM bloomx_last_runtime_filters() GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 2;

-- Minus zero equals zero, a numeric's scale does not matter, and neither do blanks at the end of char(n).
CREATE TABLE zeros (f float8, n numeric, b char(8));
INSERT INTO zeros VALUES ('-0', 1.00, 'x'), (0, 1, 'x  '), ('NaN', 'NaN', ''), (2, 2, 'y');
SELECT * FROM filtered('SELECT z.ctid, y.ctid FROM zeros z JOIN zeros y ON z.f = y.f WHERE y.n < 2');
SELECT * FROM filtered('SELECT z.ctid FROM zeros z JOIN (VALUES (1.0), (''NaN'')) y (n) ON z.n = y.n');
SELECT * FROM filtered('SELECT z.ctid FROM zeros z JOIN (VALUES (''x''::char(3)), (''q'')) y (b) ON z.b = y.b');

-- Several keys make one filter of them together.  An expression can be a key, too.
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim ON fact.i4 = dim.i4 AND fact.ten = dim.ten WHERE dim.grp = 7');
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim ON fact.i4 = dim.i4 AND fact.t = dim.t AND fact.d = dim.d WHERE dim.grp = 7');
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim ON fact.i4 = dim.i4 + 1 WHERE dim.grp = 7');
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim ON fact.i4 + 1 = dim.i4 WHERE dim.grp = 7');
-- An operator that is not strict matches NULL.
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim ON fact.i4 IS NOT DISTINCT FROM dim.i4 WHERE dim.grp = 7');

-- All kinds of joins.  Where a row of the outer side is returned without a match, there is no filter.
CREATE VIEW seven AS SELECT * FROM dim WHERE grp = 7;
SELECT * FROM filtered('SELECT fact.id FROM fact WHERE i4 IN (SELECT i4 FROM seven)');
SELECT * FROM filtered('SELECT fact.id FROM fact WHERE EXISTS (SELECT FROM seven WHERE seven.i8 = fact.i4)');
SELECT * FROM filtered('SELECT fact.id, seven.id FROM fact RIGHT JOIN seven USING (i4)');
SELECT * FROM filtered('SELECT fact.id, seven.id FROM fact LEFT JOIN seven USING (i4)');
SELECT * FROM filtered('SELECT fact.id, seven.id FROM fact FULL JOIN seven USING (i4)');
SELECT * FROM filtered('SELECT fact.id FROM fact WHERE NOT EXISTS (SELECT FROM seven WHERE seven.i4 = fact.i4)');
SELECT * FROM filtered('SELECT fact.id FROM fact WHERE i4 NOT IN (SELECT i4 FROM seven WHERE i4 IS NOT NULL)');
SELECT same, count FROM filtered('SELECT seven.id FROM seven WHERE NOT EXISTS (SELECT FROM fact WHERE seven.i4 = fact.i4)');

-- Through projections, appends, sorts and joins to the scan; never below what counts or numbers rows.
SET enable_hashagg = off;
SELECT * FROM filtered('SELECT x.id FROM (SELECT id, i4 AS k FROM fact UNION ALL SELECT id, i4 FROM fact WHERE ten = 1) x JOIN seven ON x.k = seven.i4');
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim d ON fact.i4 = d.i4 JOIN seven ON fact.i8 = seven.i8');
SELECT * FROM filtered('SELECT fact.id, d.id FROM fact LEFT JOIN dim d ON fact.i4 = d.i8 + 5 JOIN seven ON fact.i8 = seven.i8');
SELECT * FROM filtered('SELECT x.id FROM (SELECT id, i4 FROM fact ORDER BY id LIMIT 1000) x JOIN (SELECT i4 FROM dim WHERE i4 IN (3, 900)) y USING (i4)');
SELECT * FROM filtered('SELECT x.id FROM (SELECT id, i4 FROM fact ORDER BY id OFFSET 29950) x JOIN (SELECT i4 FROM dim WHERE i4 IN (3, 299)) y USING (i4)');
SELECT * FROM filtered('SELECT x.* FROM (SELECT DISTINCT ON (ten) ten, i4 FROM fact ORDER BY ten, id DESC) x JOIN seven USING (i4)');
SELECT * FROM filtered('SELECT x.* FROM (SELECT i4, row_number() OVER (ORDER BY id DESC) FROM fact) x JOIN seven USING (i4)');
SELECT * FROM filtered('SELECT x.* FROM (SELECT i4, count(*) FROM fact GROUP BY i4) x JOIN seven USING (i4)');
SELECT * FROM filtered('WITH x AS MATERIALIZED (SELECT i4 FROM fact) SELECT x.* FROM x JOIN seven USING (i4) UNION ALL SELECT * FROM x');
RESET enable_hashagg;

-- A set-returning or volatile projection is computed for the same rows.
CREATE SEQUENCE calls;
SELECT * FROM filtered('SELECT x.id FROM (SELECT id, i4, generate_series(1, 2) FROM fact) x JOIN seven USING (i4)');
SELECT * FROM filtered('SELECT x.id FROM (SELECT id, i4, nextval(''calls'') > 0 AS v FROM fact WHERE id < 1000 OFFSET 0) x JOIN seven USING (i4)');
SELECT last_value FROM calls;

-- More keys than a table of words has room for: integers in a bitmap, others in a Bloom filter.  Also when the join spills.
CREATE TABLE many AS SELECT g * 7 AS k, 'key ' || g * 7 AS t, g::bigint * 1000000007 AS wide FROM generate_series(1, 40000) g;
CREATE TABLE probe AS SELECT g AS k, 'key ' || g AS t, g * 1000000007::bigint / 7 AS wide FROM generate_series(1, 60000) g;
ANALYZE many, probe;
SELECT * FROM filtered('SELECT p.k FROM probe p WHERE k IN (SELECT k FROM many)');
SELECT kind, build_rows, rows_removed = 60000 - 60000 / 7 AS exact FROM bloomx_last_runtime_filters();
SELECT * FROM filtered('SELECT p.k FROM probe p WHERE t IN (SELECT t FROM many)');
SELECT kind, build_rows, rows_removed > 50000 AS nearly_all FROM bloomx_last_runtime_filters();
SELECT * FROM filtered('SELECT p.k FROM probe p WHERE wide IN (SELECT wide FROM many)');
SET work_mem = '64kB';
SELECT * FROM filtered('SELECT p.k FROM probe p WHERE k IN (SELECT k FROM many)');
SELECT * FROM filtered('SELECT p.k FROM probe p WHERE t IN (SELECT t FROM many)');
SELECT kind, bytes <= 65536 AS within_work_mem FROM bloomx_last_runtime_filters();
RESET work_mem;
-- Ascending integers up to the limit of memory: the last part of the way takes no copy of the bitmap per key.
SET work_mem = '1MB';
SET statement_timeout = '60s';
CREATE TABLE sparse AS SELECT g * 60 AS k FROM generate_series(1, 139000) g;
ANALYZE sparse;
SELECT * FROM filtered('SELECT p.k FROM generate_series(1, 200000) p (k) JOIN sparse USING (k)');
SELECT kind, build_rows, rows_removed FROM bloomx_last_runtime_filters();
RESET statement_timeout;
-- Integers that are further apart go into a Bloom filter, though there would be memory for a bitmap.
SET work_mem = '64MB';
SELECT * FROM filtered('SELECT p.k FROM generate_series(1, 200000) p (k) JOIN (SELECT k * 50 AS k FROM sparse) s USING (k)');
SELECT kind, build_rows, bytes < 500000 AS small FROM bloomx_last_runtime_filters();
RESET work_mem;

-- Keys are read from the table's pages: rows older than their column, dropped columns, compressed and external values,
-- deleted and updated rows, rows of a page that this command itself has made.
CREATE TABLE rows_of_page (a text, k int, gone int, t text);
INSERT INTO rows_of_page SELECT repeat('a', g % 5), nullif(g % 50, 13), g, repeat(md5((g % 50)::text), g % 50 * 60) FROM generate_series(1, 2000) g;
ALTER TABLE rows_of_page DROP gone, ADD late int DEFAULT 40, ADD later text;
INSERT INTO rows_of_page SELECT '', g, repeat(md5((g % 50)::text), g % 50 * 60), g, 'later ' || g FROM generate_series(1, 50) g;
DELETE FROM rows_of_page WHERE k = 33;
UPDATE rows_of_page SET later = 'updated', k = k + 10 WHERE k % 7 = 3;
CREATE TABLE wanted AS SELECT g AS k, repeat(md5(g::text), g * 60) AS t, 'later ' || g AS later FROM generate_series(30, 45) g;
ANALYZE rows_of_page, wanted;
SELECT * FROM filtered('SELECT r.ctid, w.k FROM rows_of_page r JOIN wanted w USING (k)');
SELECT * FROM filtered('SELECT r.ctid, w.k FROM rows_of_page r JOIN wanted w USING (t)');
SELECT * FROM filtered('SELECT r.ctid, w.k FROM rows_of_page r JOIN wanted w ON r.late = w.k');
SELECT * FROM filtered('SELECT r.ctid, w.k FROM rows_of_page r JOIN wanted w USING (later)');
SELECT * FROM filtered('SELECT r.ctid, w.k FROM rows_of_page r JOIN wanted w ON r.k = w.k AND r.t = w.t AND r.late = w.k');
SET bloomx.runtime_filter = on;
BEGIN;
INSERT INTO rows_of_page (k) SELECT r.k FROM rows_of_page r JOIN wanted w USING (k);
SELECT count(*) FROM rows_of_page JOIN wanted USING (k);
ROLLBACK;
RESET bloomx.runtime_filter;

-- Dense integers are a bitmap from the start.  A far one makes them a table of words again, and many dense ones a bitmap.
CREATE TABLE keys_in_turn AS SELECT g AS id, CASE WHEN g = 5000 THEN -4000000000 WHEN g % 4000 = 3999 THEN g * 1000000007::bigint WHEN g < 5000 THEN g % 3000 ELSE g END AS k FROM generate_series(1, 20000) g;
ANALYZE keys_in_turn;
SELECT * FROM filtered('SELECT p.k, t.id FROM generate_series(-100, 21000) p (k) JOIN (SELECT * FROM keys_in_turn WHERE id < 40) t USING (k)');
SELECT * FROM filtered('SELECT p.k, t.id FROM generate_series(-100, 21000) p (k) JOIN (SELECT * FROM keys_in_turn WHERE id < 3999) t USING (k)');
SELECT * FROM filtered('SELECT p.k, t.id FROM generate_series(-100, 21000) p (k) JOIN (SELECT * FROM keys_in_turn WHERE id < 7000) t USING (k)');
SELECT * FROM filtered('SELECT p.k, t.id FROM (SELECT k FROM keys_in_turn UNION ALL SELECT generate_series(-100, 21000)) p JOIN (SELECT * FROM keys_in_turn WHERE id < 7000) t USING (k)');
SELECT * FROM filtered('SELECT p.k, t.id FROM (SELECT k FROM keys_in_turn UNION ALL SELECT generate_series(-100, 21000)) p JOIN (SELECT * FROM keys_in_turn ORDER BY id) t USING (k)');
SET work_mem = '64kB';
SELECT * FROM filtered('SELECT p.k, t.id FROM (SELECT k FROM keys_in_turn UNION ALL SELECT generate_series(-100, 21000)) p JOIN (SELECT * FROM keys_in_turn WHERE id < 7000) t USING (k)');
SELECT * FROM filtered('SELECT p.k, t.id FROM (SELECT k FROM keys_in_turn UNION ALL SELECT generate_series(-100, 21000)) p JOIN (SELECT * FROM keys_in_turn ORDER BY id) t USING (k)');
RESET work_mem;

-- The build side is empty, or has only NULLs.
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim USING (i4) WHERE dim.grp = -1');
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim USING (i4) WHERE dim.id >= 300');

-- Extreme integers.
CREATE TABLE extreme (k bigint);
INSERT INTO extreme VALUES (-9223372036854775808), (9223372036854775807), (0), (-1), (NULL);
SELECT * FROM filtered('SELECT a.k FROM extreme a JOIN extreme b USING (k)');
SELECT * FROM filtered('SELECT a.k FROM extreme a JOIN extreme b USING (k) WHERE b.k < 0');

-- Rescans.  The inner side depends on the outer query's row, so each row has other keys: a filter of the row before
-- must not be used, not even for the first row of the outer side, which a join may read before it has built its table.
SELECT * FROM filtered('SELECT o.id, x.* FROM dim o, LATERAL (SELECT fact.id, d.id FROM fact JOIN dim d ON fact.i4 = d.i4 WHERE d.grp = o.id OFFSET 0) x (a, b) WHERE o.id IN (3, 40, 5, 6)');
SELECT * FROM filtered('SELECT o.id, m.id, x.a FROM (VALUES (3), (2), (50), (1)) o (id), LATERAL (SELECT * FROM (VALUES (100000), (2), (1), (100000)) v (id) WHERE v.id > o.id - 10 OFFSET 0) m,
	LATERAL (SELECT f.id FROM (SELECT * FROM fact WHERE ten = m.id OFFSET 0) f JOIN dim d ON f.i4 = d.i4 WHERE d.grp = o.id OFFSET 0) x (a)');
-- Nodes that keep their rows must not be asked to drop them for one set of keys: a sort, a materialised scan, a hash table.
SET enable_mergejoin = on;
SET enable_nestloop = on;
SELECT * FROM filtered('SELECT o.id, x.* FROM (VALUES (1), (2), (3)) o (id), LATERAL (SELECT f.id, d.id FROM (SELECT id, i4 FROM fact WHERE ten = 5 ORDER BY pad, id) f JOIN dim d ON f.i4 = d.i4
	WHERE d.grp = o.id OFFSET 0) x (a, b)');
SET join_collapse_limit = 1;
SELECT * FROM filtered('SELECT o.id, x.* FROM (VALUES (1), (2), (3)) o (id), LATERAL (SELECT f.id, d.id FROM ((VALUES (8), (7)) v (ten) JOIN fact f ON f.ten > v.ten) JOIN dim d ON f.i4 = d.i4
	WHERE d.grp = o.id OFFSET 0) x (a, b)');
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT * FROM filtered('SELECT o.id, x.* FROM (VALUES (1), (2), (3)) o (id), LATERAL (SELECT f.id, d.id FROM (probe p JOIN fact f ON f.id = p.k) JOIN dim d ON f.i4 = d.i4
	WHERE d.grp = o.id OFFSET 0) x (a, b)');
-- The parameter may be in the keys, not in what the inner side's rows come from.
SELECT * FROM filtered('SELECT o.id, x.* FROM (VALUES (1), (2), (3)) o (id), LATERAL (SELECT f.id, d.id FROM (probe p JOIN fact f ON f.id = p.k) JOIN dim d ON f.i4 = d.i4 + o.id WHERE d.grp = 2 OFFSET 0) x (a, b)');
SELECT * FROM filtered('SELECT o.id, (SELECT count(*) FROM (SELECT DISTINCT i4 FROM fact) f JOIN dim d ON f.i4 = CASE WHEN d.i4 IS NULL THEN o.id ELSE d.i4 END WHERE grp IN (2, 7)) FROM (VALUES (1), (2), (500), (3)) o (id)');
-- A build side without parameters has the same keys each time.
SELECT * FROM filtered('SELECT f.id, d.id FROM (probe p JOIN fact f ON f.id = p.k) JOIN dim d ON f.i4 = d.i4 WHERE d.grp = 2');
-- One that is volatile has not.
SELECT same FROM filtered('SELECT f.id, d.id FROM (probe p JOIN fact f ON f.id = p.k) JOIN dim d ON f.i4 = d.i4 WHERE d.grp = 2 AND random() >= 0');
SELECT "table", "column", rows_removed > 0 AS removed FROM bloomx_last_runtime_filters() ORDER BY 1;
RESET join_collapse_limit;
-- A recursive query.
SELECT * FROM filtered('WITH RECURSIVE w (k, depth) AS (SELECT 70, 0 UNION ALL SELECT d.i4 + 1, depth + 1 FROM w JOIN fact f ON f.i4 = w.k JOIN dim d ON d.i4 = f.i4 AND f.ten = 3 WHERE depth < 1) SELECT * FROM w');

-- Cursors, prepared statements, functions and errors.
SET bloomx.runtime_filter = on;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT fact.id FROM fact JOIN seven USING (i4) ORDER BY id;
FETCH 2 FROM c;
SAVEPOINT s;
SELECT 1 / (fact.i4 - 75) FROM fact JOIN seven USING (i4);
ROLLBACK TO s;
FETCH 2 FROM c;
FETCH BACKWARD 3 FROM c;
CLOSE c;
DECLARE c CURSOR WITH HOLD FOR SELECT fact.id FROM fact JOIN seven USING (i4) ORDER BY id DESC;
COMMIT;
FETCH 2 FROM c;
CLOSE c;
SET plan_cache_mode = force_generic_plan;
PREPARE of_group (int) AS SELECT count(*), min(fact.id), max(fact.id) FROM fact JOIN dim USING (i4) WHERE dim.grp = $1;
EXECUTE of_group (7);
EXECUTE of_group (8);
EXECUTE of_group (99);
RESET plan_cache_mode;

-- Changed tables: the rows that a statement has made itself are not joined again.
BEGIN;
WITH changed AS (UPDATE fact SET i4 = fact.i4 + 10 FROM seven WHERE fact.i4 = seven.i4 RETURNING fact.i4) SELECT count(*), min(i4), max(i4) FROM changed;
SELECT count(*) FROM fact JOIN seven USING (i4);
SELECT count(*) FROM fact JOIN dim USING (i4) WHERE grp = 8;
DELETE FROM fact USING dim WHERE fact.i4 = dim.i4 AND grp = 8;
SELECT count(*) FROM fact JOIN dim USING (i4) WHERE grp IN (7, 8);
ROLLBACK;
MERGE INTO dim USING (SELECT i4, count(*) AS n FROM fact GROUP BY i4) f ON dim.i4 = f.i4 AND dim.grp = 7 WHEN MATCHED THEN UPDATE SET id = dim.id;

-- Row security: a filter sees the rows that the policy lets through.
CREATE ROLE regress_runtime_filter;
GRANT SELECT ON fact, dim TO regress_runtime_filter;
ALTER TABLE dim ENABLE ROW LEVEL SECURITY;
CREATE POLICY half ON dim USING (i4 % 2 = 0);
SET ROLE regress_runtime_filter;
SELECT count(*) FROM fact JOIN dim USING (i4) WHERE grp = 7;
RESET ROLE;
ALTER TABLE dim DISABLE ROW LEVEL SECURITY;

-- Thresholds: few outer rows, or a join that will drop too little, get no filter.  What drops too little pauses.
SET bloomx.runtime_filter_min_rows = 100000;
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN seven USING (i4)');
RESET bloomx.runtime_filter_min_rows;
RESET bloomx.runtime_filter_min_removed;
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN (SELECT i4 FROM dim) d USING (i4)');
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim USING (i4) WHERE dim.id % 1000 < 299');
SELECT rows_checked BETWEEN 8192 AND 8500 AS one_window, rows_removed, pauses FROM bloomx_last_runtime_filters();
-- A filter that drops a fifth is asked about the rows that the scan's conditions leave, but one that drops most before that.
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim ON fact.ten = dim.i4 WHERE dim.id % 1000 BETWEEN 1 AND 8 AND fact.id % 5 <> 0 AND fact.id % 5 <> 1');
SELECT rows_checked BETWEEN 20000 AND 8500 + 0.6 * 22000 AS one_window_and_the_rest_later FROM bloomx_last_runtime_filters();
SELECT * FROM filtered('SELECT fact.id FROM fact JOIN dim USING (i4) WHERE dim.id % 1000 BETWEEN 30 AND 39 AND fact.ten < 4');
SELECT rows_checked, rows_removed FROM bloomx_last_runtime_filters();
-- A function with a filter of its own, called while the scan is on a page: no row is tested twice, and a pause goes on.
CREATE FUNCTION asks(id int, every int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF id % every = 0 THEN RETURN (SELECT count(*) FROM many JOIN seven ON many.k = seven.i4); END IF;
	RETURN 0;
END $$;
SET bloomx.runtime_filter = on;
SELECT count(asks(fact.id, 500)) FROM fact JOIN dim USING (i4) WHERE dim.id % 1000 < 299;
SELECT rows_checked BETWEEN 8192 AND 8500 AS one_window, pauses FROM bloomx_last_runtime_filters() WHERE "table" = 'fact';
SET bloomx.runtime_filter_min_removed = 0;
SET bloomx.runtime_filter_min_rows = 0;
SELECT count(asks(fact.id, 5)) FROM fact JOIN seven USING (i4);
SELECT rows_checked, rows_removed, count(*) FROM bloomx_last_runtime_filters() GROUP BY 1, 2 ORDER BY 1 DESC;
DROP FUNCTION asks(int, int);

-- The session's totals; EXPLAIN shows what a filter did, in each format.
SELECT filters > 0 AS filters, rows_checked > rows_removed AS checked, rows_removed > 0 AS removed, pauses FROM bloomx_stat_runtime_filters;
-- They begin anew when they are told to, and say when that was.
SELECT stats_reset AS before FROM bloomx_stat_runtime_filters WHERE scope = 'session' \gset
SELECT bloomx_stat_reset();
SELECT filters, rows_checked, stats_reset > :'before' AS later FROM bloomx_stat_runtime_filters WHERE scope = 'session';
CREATE FUNCTION explained(format text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, FORMAT %s, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT fact.id FROM fact JOIN seven USING (i4)', format) LOOP
		RETURN NEXT line;
	END LOOP;
END $$;
SET bloomx.runtime_filter = on;
SET bloomx.explain_conditions = on;
SELECT substring(lower(line) FROM 'runtime filter of node 0 on i4: bitmap, 20 build rows, 8 bytes; 29100 of 30100 rows removed') FROM explained('text') line WHERE line ~* 'runtime filter of node';
SELECT string_agg(line, E'\n')::jsonb -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Node Type' AS json FROM explained('json') line;
RESET bloomx.explain_conditions;
EXPLAIN (COSTS OFF) SELECT fact.id FROM fact JOIN seven USING (i4);

-- Settings that are out of range.
SET bloomx.runtime_filter_min_removed = 2;
SET bloomx.runtime_filter_min_rows = -1;
DROP OWNED BY regress_runtime_filter;
DROP ROLE regress_runtime_filter;
DROP TABLE fact, dim, pair, zeros, many, probe, extreme CASCADE;
