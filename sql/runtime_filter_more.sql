--
-- Runtime filters beyond columns of the outer side of a hash join: columns that equal the key, merge joins, expressions, and groups.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SELECT filters >= 0 AS loaded FROM bloomx_runtime_filter_totals();
SET max_parallel_workers_per_gather = 0;
SET synchronize_seqscans = off;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET enable_hashagg = off;
SET join_collapse_limit = 1;
SET from_collapse_limit = 1;
SET bloomx.runtime_filter_min_rows = 0;
SET bloomx.runtime_filter_min_pages = 0;
SET bloomx.runtime_filter_min_removed = 0;

CREATE TABLE f AS
	SELECT g AS id, nullif(g / 100, 11) AS i4, (g / 100)::int8 AS i8, (g / 100)::int2 AS i2, (g / 100 - 100)::oid AS o, 'key ' || g / 100 AS t, ('key ' || g / 100)::varchar AS v,
	       g / 100 * 1.0 AS n, ARRAY[g / 100] AS a, g % 10 AS ten, repeat('x', 20) AS pad
	FROM generate_series(0, 29999) g;
-- a third of the keys, and some that f has not
CREATE TABLE g AS SELECT 1000000 + id AS id, i4, i8, i2, o, t, v, n, a, ten FROM f WHERE id % 300 = 0;
INSERT INTO g SELECT 2000000 + k, k, k, k, k, 'key ' || k, 'key ' || k, k, ARRAY[k], 1 FROM generate_series(1000, 1009) k;
CREATE TABLE dim AS SELECT g AS id, g AS i4, g::int8 AS i8, g::int2 AS i2, (g - 100)::oid AS o, 'key ' || g AS t, ('key ' || g)::varchar AS v, g * 1.000 AS n, ARRAY[g] AS a, g / 10 AS grp FROM generate_series(0, 299) g;
CREATE VIEW seven AS SELECT * FROM dim WHERE grp IN (1, 7);
ANALYZE f, g, dim;

-- Runs a query with filters off and on.  Says whether the rows are the same, and which table each runtime filtered; joins are
-- lettered from the top.
CREATE FUNCTION filtered_tables(query text, OUT same boolean, OUT count bigint, OUT filters text) LANGUAGE plpgsql AS $$
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
	SELECT string_agg(concat_ws(' ', chr(96 + j.place), coalesce(j."table" || coalesce('.' || j."column", ''), 'a node above scans'),
	                  CASE WHEN j.keys > 1 THEN j.keys || ' keys' END,
	                  CASE WHEN rows_removed > 0 THEN 'removes rows' END), '; ' ORDER BY j.place, j."table", j."column")
	INTO filters FROM (SELECT *, dense_rank() OVER (ORDER BY join_node)::int AS place FROM bloomx_last_runtime_filters()) j;
END $$;

-- f.i4 = g.i4 below the join with seven: both are filtered by the keys of seven (a), and f by those of g (b).
EXPLAIN (COSTS OFF) SELECT f.id, g.id FROM f JOIN g ON f.i4 = g.i4 JOIN seven ON f.i4 = seven.i4;
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.i4 = g.i4 JOIN seven ON f.i4 = seven.i4');
SELECT "table", count(*) AS filters, sum(rows_removed) AS rows_removed FROM bloomx_last_runtime_filters() GROUP BY 1 ORDER BY 1;
-- Other types: integers of different sizes, texts, numerics, arrays.
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.i4 = g.i8 JOIN seven ON f.i4 = seven.i2');
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.i2 = g.i4 JOIN seven ON f.i2 = seven.i8');
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.t = g.v JOIN seven ON f.t = seven.t');
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.n = g.n JOIN seven ON f.n = seven.n');
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.a = g.a JOIN seven ON f.a = seven.a');
-- An equality of other columns carries nothing.
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.id = g.i4 JOIN seven ON f.i4 = seven.i4');
-- Several keys, and several tables.
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.i4 = g.i4 AND f.t = g.t JOIN seven ON f.i4 = seven.i4 AND f.t = seven.t');
SELECT * FROM filtered_tables('SELECT f.id, g.id, h.id FROM (f JOIN (g JOIN (SELECT * FROM g OFFSET 0) h ON g.i4 = h.i4) ON f.i4 = g.i4) JOIN seven ON f.i4 = seven.i4');
-- An oid is not what an int4 is: -1 is 4294967295.
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM (SELECT id, (i4 - 100)::int4 AS k FROM f OFFSET 0) f JOIN g ON f.k::oid = g.o JOIN (SELECT i4 - 100 AS k FROM seven) s ON f.k = s.k');
-- Another collation may hold other texts for equal.
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.t COLLATE "POSIX" = g.t JOIN seven ON f.t = seven.t COLLATE "C"');
-- ... or strings of other lengths; and names, whose hash is that of their bytes, wherever they are.
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE named AS (dropped int, i int, names name[] COLLATE caseless);
ALTER TYPE named DROP ATTRIBUTE dropped;
CREATE TYPE names AS RANGE (subtype = name, collation = caseless);
CREATE TABLE small AS SELECT g AS id, ('key ' || g % 300)::char(12) AS b, ('key ' || g % 300)::name AS n FROM generate_series(0, 5999) g;
CREATE TABLE capital AS SELECT ('KEY ' || g)::char(10) AS b, ('KEY ' || g)::name AS n, 'KEY ' || g AS t FROM generate_series(1, 7) g;
ANALYZE small, capital;
SELECT * FROM filtered_tables('SELECT s.id FROM small s JOIN capital c ON s.b = c.b COLLATE caseless');
SET enable_hashjoin = off;
SET enable_mergejoin = on;
SELECT * FROM filtered_tables('SELECT s.id FROM capital c JOIN small s ON s.b = c.b COLLATE caseless');
SELECT * FROM filtered_tables('SELECT s.id FROM capital c JOIN small s ON s.n = c.n COLLATE caseless');
SELECT * FROM filtered_tables('SELECT s.id FROM capital c JOIN small s ON s.n = c.t COLLATE caseless');
SELECT * FROM filtered_tables('SELECT s.id FROM capital c JOIN small s ON ROW(1, ARRAY[s.n])::named = ROW(1, ARRAY[c.n])::named');
SELECT * FROM filtered_tables('SELECT s.id FROM capital c JOIN small s ON multirange(names(s.n, s.n, ''[]'')) = multirange(names(c.n, c.n, ''[]''))');
SELECT * FROM filtered_tables('SELECT s.id FROM small c JOIN small s ON s.n = c.n WHERE c.id < 7');
SET enable_mergejoin = off;
SET enable_hashjoin = on;
DROP TABLE small, capital;
DROP TYPE named, names;
DROP COLLATION caseless;
-- Semijoins: what is looked at is filtered.
SELECT * FROM filtered_tables('SELECT f.id FROM (SELECT * FROM f WHERE EXISTS (SELECT FROM g WHERE f.i4 = g.i4)) f JOIN seven ON f.i4 = seven.i4');
-- Left joins and antijoins: fewer rows of g would make rows that were not there, and of which something might fail to be computed.
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f LEFT JOIN g ON f.i4 = g.i4 JOIN seven ON f.i4 = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM (SELECT * FROM f WHERE NOT EXISTS (SELECT FROM g WHERE f.i4 = g.i4)) f JOIN seven ON f.i4 = seven.i4');
-- A key of the side that may be filled with NULLs is no key.
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f RIGHT JOIN g ON f.i4 = g.i4 JOIN seven ON g.i4 = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f FULL JOIN g ON f.i4 = g.i4 JOIN seven ON f.i4 = seven.i4');
-- Not below what counts rows, and not by clauses that are no equality.
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN (SELECT * FROM g ORDER BY id LIMIT 50) g ON f.i4 = g.i4 JOIN seven ON f.i4 = seven.i4');
SET enable_nestloop = on;
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM (SELECT * FROM f WHERE ten = 5 AND i4 < 100) f JOIN g ON f.i4 >= g.i4 JOIN seven ON f.i4 = seven.i4');
-- Nested loops: the inner side is read after the build as well.  What keeps its rows does only if all builds are alike.
SET enable_hashjoin = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT f.id, g.id FROM g JOIN dim f ON f.i4 = g.i4;
RESET enable_hashjoin;
SELECT * FROM filtered_tables('SELECT o.id, x.* FROM (VALUES (1), (2), (7)) o (id), LATERAL (SELECT f.id, g.id FROM (f JOIN g ON f.i4 = g.i4) JOIN dim d ON f.i4 = d.i4 WHERE d.grp = o.id OFFSET 0) x (a, b)');
SELECT * FROM filtered_tables('SELECT o.id, x.* FROM (VALUES (1), (2), (7)) o (id), LATERAL (SELECT f.id, g.id FROM (f JOIN g ON f.i4 = g.i4) JOIN dim d ON f.i4 = d.i4 WHERE d.grp = 1 AND o.id < 7 OFFSET 0) x (a, b)');
RESET enable_material;
SET enable_nestloop = off;

-- Merge joins: the outer side is sorted before the inner side is read, so that is filtered.
SET enable_hashjoin = off;
SET enable_mergejoin = on;
CREATE TABLE probe AS SELECT *, -1 AS x FROM f;
INSERT INTO probe SELECT 500000 + i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'null', NULL FROM generate_series(1, 100) i;
ANALYZE probe;
EXPLAIN (COSTS OFF) SELECT seven.id, f.id FROM seven JOIN f ON seven.i4 = f.i4;
SELECT * FROM filtered_tables('SELECT seven.id, f.id FROM seven JOIN f ON seven.i4 = f.i4');
SELECT "table", "column", kind, build_rows, rows_checked, rows_removed FROM bloomx_last_runtime_filters();
SELECT * FROM filtered_tables('SELECT seven.id, p.id FROM seven JOIN probe p ON seven.i8 = p.i4');
SELECT * FROM filtered_tables('SELECT seven.id, p.id FROM seven JOIN probe p ON seven.t = p.v');
SELECT * FROM filtered_tables('SELECT seven.id, p.id FROM seven JOIN probe p ON seven.n = p.n AND seven.i4 = p.i4');
SELECT * FROM filtered_tables('SELECT seven.id, p.id FROM (SELECT id, i4 + 1 AS k FROM seven) seven JOIN probe p ON seven.k = p.i4');
-- Repeated keys on both sides: the inner side's position is restored.
SELECT * FROM filtered_tables('SELECT a.id, b.id FROM (SELECT * FROM f WHERE i4 BETWEEN 71 AND 73 AND ten < 3) a JOIN probe b ON a.i4 = b.i4');
-- Left joins, semijoins and antijoins: an inner row without a match changes nothing.  Right and full joins return it.
SELECT * FROM filtered_tables('SELECT seven.id, p.id FROM dim seven LEFT JOIN probe p ON seven.i4 + 290 = p.i4');
SELECT * FROM filtered_tables('SELECT id FROM dim WHERE EXISTS (SELECT FROM probe p WHERE dim.i4 + 290 = p.i4 AND dim.id <> p.id)');
SELECT * FROM filtered_tables('SELECT id FROM dim WHERE NOT EXISTS (SELECT FROM probe p WHERE dim.i4 + 290 = p.i4 AND dim.id <> p.id)');
SELECT * FROM filtered_tables('SELECT p.id FROM (SELECT * FROM g WHERE ten = 0) g RIGHT JOIN probe p ON g.i4 = p.i4');
SELECT * FROM filtered_tables('SELECT p.id, g.id FROM g FULL JOIN probe p ON g.i4 = p.i4');
-- No row on the outer side, or only rows without a key: the inner side is not read.
SELECT * FROM filtered_tables('SELECT seven.id, p.id FROM (SELECT * FROM dim WHERE grp = 99) seven JOIN probe p ON seven.i4 = p.i4');
SELECT * FROM filtered_tables('SELECT seven.id, p.id FROM (SELECT id, nullif(grp, 1) AS k FROM dim WHERE grp = 1) seven JOIN probe p ON seven.k = p.i4');
-- An index scan on the outer side yields its first row before all keys are known.
CREATE INDEX dim_i4 ON dim (i4);
CREATE INDEX probe_i4 ON probe (i4);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT d.id, p.id FROM (SELECT * FROM dim WHERE i4 BETWEEN 70 AND 79) d JOIN probe p ON d.i4 = p.i4;
SELECT * FROM filtered_tables('SELECT d.id, p.id FROM (SELECT * FROM dim WHERE i4 BETWEEN 70 AND 79) d JOIN probe p ON d.i4 = p.i4');
-- On the inner side it stops at the end of the outer side.  A filter would read on, for a row that passes.
DROP INDEX dim_i4;
SET enable_sort = on;
SELECT * FROM filtered_tables('SELECT d.id, p.id FROM (SELECT * FROM dim WHERE i4 BETWEEN 70 AND 79) d JOIN probe p ON d.i4 = p.i4');
-- The same holds below a hash join: its filter stays above.
SET enable_hashjoin = on;
SET enable_sort = off;
CREATE INDEX f_i4 ON f (i4);
CREATE INDEX g_i4 ON g (i4);
SELECT * FROM filtered_tables('SELECT f.id, g.id FROM f JOIN g ON f.i4 = g.i4 JOIN seven ON f.i4 = seven.i4');
-- And below a merge of sorted inputs, of which each is read as far as needed.
SELECT * FROM filtered_tables('SELECT x.id FROM (SELECT id, i4 FROM f UNION ALL SELECT id, i4 FROM g ORDER BY i4 OFFSET 0) x JOIN seven USING (i4)');
RESET enable_seqscan;
RESET enable_bitmapscan;
SET enable_hashjoin = off;
SET enable_sort = on;
DROP INDEX probe_i4, f_i4, g_i4;
-- Rescans: each row of the outer query has other keys, so the inner sort must keep all rows.
SELECT * FROM filtered_tables('SELECT o.id, x.* FROM (VALUES (1), (7), (2), (7)) o (id), LATERAL (SELECT d.id, p.id FROM (SELECT * FROM dim WHERE grp = o.id) d JOIN probe p ON d.i4 = p.i4 OFFSET 0) x (a, b)');
SELECT * FROM filtered_tables('SELECT o.id, x.* FROM (VALUES (1), (7), (2), (7)) o (id), LATERAL (SELECT d.id, p.id FROM (SELECT * FROM dim WHERE grp = 7) d JOIN probe p ON d.i4 = p.i4 OFFSET 0) x (a, b) WHERE x.a > o.id');
SELECT * FROM filtered_tables('SELECT d.id, p.id FROM (SELECT * FROM dim WHERE grp = 7 AND random() >= 0) d JOIN probe p ON d.i4 = p.i4');

-- Containers whose elements have no hash: the planner would make no hash join of arrays and rows, and of ranges one that fails.
CREATE TYPE price AS (id int, amount money);
CREATE TYPE prices AS RANGE (subtype = money);
CREATE TYPE place AS (id int, t text);
CREATE TABLE contained AS SELECT ARRAY[i4::money] AS a, (i4, i4::money)::price AS r, prices(i4::money, NULL) AS p,
	ARRAY[(i4, t)::place] AS h, (i4, t)::place AS c, int4range(i4, i4 + 1) AS n, i4 FROM f;
ANALYZE contained;
SELECT * FROM filtered_tables('SELECT o.i4 FROM (SELECT * FROM contained WHERE i4 = 7) c JOIN contained o USING (a)');
SELECT * FROM filtered_tables('SELECT o.i4 FROM (SELECT * FROM contained WHERE i4 = 7) c JOIN contained o USING (r)');
SELECT * FROM filtered_tables('SELECT o.i4 FROM (SELECT * FROM contained WHERE i4 = 7) c JOIN contained o USING (p)');
SELECT * FROM filtered_tables('SELECT o.i4 FROM (SELECT (i4, i4::bit(16)::varbit) AS c, i4 FROM f WHERE i4 = 7) c JOIN (SELECT (i4, i4::bit(16)::varbit) AS c, i4 FROM f) o USING (c)');
-- Those whose elements have one.
SELECT * FROM filtered_tables('SELECT o.i4 FROM (SELECT * FROM contained WHERE i4 = 7) c JOIN contained o USING (h)');
SELECT * FROM filtered_tables('SELECT o.i4 FROM (SELECT * FROM contained WHERE i4 = 7) c JOIN contained o USING (c)');
SELECT * FROM filtered_tables('SELECT o.i4 FROM (SELECT * FROM contained WHERE i4 = 7) c JOIN contained o USING (n)');
DROP TABLE contained;
DROP TYPE price, prices, place;

-- Keys of the filtered side that are expressions: computed at the scan, if each row of the scan comes to the join at once.
SET enable_hashjoin = on;
SET enable_mergejoin = off;
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON f.i4 + 1 = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON f.i4 * 10 + f.ten = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON upper(f.t) = upper(seven.t)');
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON date_trunc(''month'', DATE ''2020-01-01'' + f.i4) = TIMESTAMPTZ ''2020-01-01'' + seven.grp * INTERVAL ''1 month''');
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON f.i4 + 1 = seven.i4 AND f.ten = seven.grp');
SELECT * FROM filtered_tables('SELECT x.id FROM (SELECT id, i4 FROM f UNION ALL SELECT id, i4 FROM g) x JOIN seven ON x.i4 + 1 = seven.i4');
SELECT * FROM filtered_tables('SELECT x.id FROM (SELECT id, i4 + 1 AS k FROM f OFFSET 0) x JOIN seven ON x.k - 1 = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM f WHERE EXISTS (SELECT FROM seven WHERE seven.i4 = abs(f.i4 - 100))');
-- What may fail is not computed for rows that would not come to the join: not below joins and sorts, and not before another
-- key that may be NULL.
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN g ON f.i4 = g.i4 JOIN seven ON 300 / (f.i4 - 1) = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM (SELECT * FROM f WHERE i4 <> 1) f JOIN seven ON 300 / (f.i4 - 1) = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON nullif(f.i4, 1) = seven.i4 AND 300 / (f.i4 - 1) = seven.grp - 3');
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON 300 / (f.i4 - 1) = seven.i4');
SET bloomx.runtime_filter = on;
SELECT f.id FROM (SELECT * FROM f ORDER BY i4 = 1, id) f JOIN seven ON 300 / (f.i4 - 1) = seven.i4 LIMIT 1;
SELECT "table", rows_removed FROM bloomx_last_runtime_filters();
SET bloomx.runtime_filter = off;
-- The same on the side whose keys are collected: a hash join computes no key after one that is NULL.
SELECT * FROM filtered_tables('SELECT o.id, x.* FROM (VALUES (0), (1)) o (id), LATERAL (SELECT f.id FROM f JOIN (SELECT nullif(ten, 0) AS ten, ten AS x FROM g OFFSET 0) d ON f.ten + o.id = d.ten AND f.i4 = 280 / d.x OFFSET 0) x (a)');
-- A leakproof function never fails: that goes below joins as a column does.
CREATE FUNCTION half(int) RETURNS int LANGUAGE plpgsql LEAKPROOF STRICT IMMUTABLE AS 'BEGIN RETURN $1 / 2; END';
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN g ON f.i4 = g.i4 JOIN seven ON half(f.i4) = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM (SELECT * FROM f ORDER BY i4 = 1, id OFFSET 0) f JOIN seven ON half(f.i4) = seven.i4');
-- Something volatile, a parameter that changes, or a subquery is no key.
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON f.i4 + (random() * 0)::int = seven.i4');
SELECT * FROM filtered_tables('SELECT o.id, x.* FROM (VALUES (0), (1), (2)) o (id), LATERAL (SELECT f.id FROM f JOIN seven ON f.i4 + o.id = seven.i4 OFFSET 0) x (a)');
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON f.i4 + (SELECT count(*) FROM g WHERE g.i4 = f.i4) = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven ON f.i4 + (SELECT 1 FROM dim LIMIT 1) = seven.i4');
-- Parameters of a prepared statement and of a function do not change.
PREPARE plus (int) AS SELECT count(*), min(f.i4), max(f.i4) FROM f JOIN seven ON f.i4 + $1 = seven.i4;
SET plan_cache_mode = force_generic_plan;
SET bloomx.runtime_filter = on;
EXECUTE plus (5);
SELECT "table", rows_removed FROM bloomx_last_runtime_filters();
EXECUTE plus (6);
CREATE FUNCTION plus(k int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM f JOIN seven ON f.i4 + k = seven.i4 + k - 5); END';
SELECT plus(1), plus(2), plus(NULL);
SELECT "table", rows_removed FROM bloomx_last_runtime_filters() ORDER BY rows_removed;
RESET plan_cache_mode;
SET bloomx.runtime_filter = off;
-- In a merge join the key is a column of the sort's input, or it must not fail.
SET enable_hashjoin = off;
SET enable_mergejoin = on;
SELECT * FROM filtered_tables('SELECT f.id FROM seven JOIN f ON f.i4 + 1 = seven.i4');
SELECT * FROM filtered_tables('SELECT f.id FROM seven JOIN f ON half(f.i4) = seven.i4');

-- Groups by the key: a group without a match loses its rows before it is made.
RESET enable_hashjoin;
SET enable_mergejoin = off;
SET enable_hashagg = on;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT g.* FROM (SELECT i4, count(*), sum(id) FROM f GROUP BY i4) g JOIN seven USING (i4);
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*), sum(id) FROM f GROUP BY i4) g JOIN seven USING (i4)');
SELECT "table", "column", kind, build_rows, rows_checked, rows_removed FROM bloomx_last_runtime_filters();
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT DISTINCT i4, ten FROM f) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4 FROM f UNION SELECT i4 FROM g) g JOIN seven USING (i4)');
SET enable_sort = on;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT g.* FROM (SELECT i4, count(*), sum(id) FROM f GROUP BY i4) g JOIN seven USING (i4);
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*), sum(id) FROM f GROUP BY i4) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT DISTINCT i4, ten FROM f) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT DISTINCT ON (i4) * FROM f ORDER BY i4, id DESC) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4 FROM f GROUP BY i4) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4 FROM f UNION SELECT i4 FROM g) g JOIN seven USING (i4)');
-- Not if the key is another column: rows of a group that is returned would be missing.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT DISTINCT ON (ten) * FROM f ORDER BY ten, id DESC) g JOIN seven ON g.i4 - 220 = seven.i4 OR g.i4 = seven.i4');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT DISTINCT ON (ten) * FROM f ORDER BY ten, id DESC) g JOIN dim ON g.i4 = dim.i4 WHERE dim.i4 >= 299');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT DISTINCT ON (ten) * FROM f ORDER BY ten, id) g JOIN dim ON g.i4 = dim.i4 WHERE dim.i4 >= 299');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT max(i4) AS k, count(*) FROM f GROUP BY ten) g JOIN dim ON g.k = dim.i4 WHERE dim.i4 >= 299');
SET enable_hashagg = on;
SET enable_sort = off;
-- Other names, nested groups, keys of several columns, and a key that is an aggregate.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k AS l, max(n) AS m FROM (SELECT ten, i4 AS k, count(*) AS n FROM f GROUP BY ten, i4) x GROUP BY k) g JOIN seven ON g.l = seven.i4');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT id % 300 AS k, count(*) FROM f GROUP BY 1) g JOIN seven ON g.k = seven.i4');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, ten, count(*) FROM f GROUP BY 1, 2) g JOIN seven ON g.i4 = seven.i4 AND g.ten = seven.grp');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) AS n FROM f GROUP BY 1) g JOIN seven ON g.i4 = seven.i4 AND g.n = seven.i4 + 28');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) AS n FROM f GROUP BY 1) g JOIN seven ON g.n - 28 = seven.i4');
-- Types: groups by another equality than the join's have rows with different keys.  An expression of the key may differ, too.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g JOIN seven ON g.i4 = seven.i8');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT v, count(*) FROM f GROUP BY 1) g JOIN seven ON g.v = seven.t');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT round(n, id % 3) AS n, count(*) FROM f GROUP BY 1) g JOIN seven USING (n)');
SELECT * FROM filtered_tables('SELECT g.k, g.count FROM (SELECT round(n, id % 3) AS k, count(*) FROM f GROUP BY 1) g JOIN (SELECT i4::text AS t FROM seven) s ON g.k::text = s.t');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT t COLLATE "POSIX" AS t, count(*) FROM f GROUP BY 1) g JOIN seven ON g.t COLLATE "C" = seven.t');
CREATE FUNCTION tens(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 - $2 / 10';
CREATE FUNCTION tens_lt(int, int) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 < $2 / 10';
CREATE FUNCTION tens_le(int, int) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 <= $2 / 10';
CREATE FUNCTION tens_eq(int, int) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 = $2 / 10';
CREATE FUNCTION tens_ge(int, int) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 >= $2 / 10';
CREATE FUNCTION tens_gt(int, int) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 > $2 / 10';
CREATE OPERATOR <# (FUNCTION = tens_lt, LEFTARG = int, RIGHTARG = int, COMMUTATOR = >#);
CREATE OPERATOR <=# (FUNCTION = tens_le, LEFTARG = int, RIGHTARG = int, COMMUTATOR = >=#);
CREATE OPERATOR =# (FUNCTION = tens_eq, LEFTARG = int, RIGHTARG = int, COMMUTATOR = =#, MERGES);
CREATE OPERATOR >=# (FUNCTION = tens_ge, LEFTARG = int, RIGHTARG = int, COMMUTATOR = <=#);
CREATE OPERATOR ># (FUNCTION = tens_gt, LEFTARG = int, RIGHTARG = int, COMMUTATOR = <#);
CREATE OPERATOR CLASS tens FOR TYPE int USING btree AS OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#, FUNCTION 1 tens(int, int);
SET enable_sort = on;
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT DISTINCT ON (i4) i4, id FROM f ORDER BY i4 USING <#, id) g JOIN dim ON g.i4 = dim.i4 WHERE dim.i4 % 10 = 5');
SET enable_sort = off;
-- Groups of NULL match nothing.  Left joins and antijoins return them, semijoins do not.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g LEFT JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g FULL JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g RIGHT JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g WHERE EXISTS (SELECT FROM seven WHERE seven.i4 = g.i4)');
-- (From 16 on the planner may build the hash table of the groups, and filter seven.)
SELECT same, count, coalesce(filters ~ 'f\.', false) AS below_groups FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g WHERE NOT EXISTS (SELECT FROM seven WHERE seven.i4 = g.i4)');
-- A sum of no rows is a row.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT max(i4) AS k, count(*) AS n FROM f) g JOIN seven ON g.k - 220 = seven.i4');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY GROUPING SETS ((i4), ())) g JOIN seven ON coalesce(g.i4, 70) = seven.i4');
-- Grouping sets, hashed and sorted: the key must be in one of them; in the rows of the others it is NULL.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, ten, count(*) FROM f GROUP BY GROUPING SETS ((i4), (i4, ten))) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, ten, t, count(*) FROM f GROUP BY GROUPING SETS ((ten, i4), (i4, t))) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, ten, count(*) FROM f GROUP BY GROUPING SETS ((i4), (ten))) g JOIN dim ON g.ten = dim.i4 WHERE dim.i4 < 5');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, ten, count(*) FROM f GROUP BY GROUPING SETS ((i4), (ten), ())) g JOIN dim ON coalesce(g.ten, 3) = dim.i4 WHERE dim.i4 < 5');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, ten, grouping(i4, ten), count(*) FROM f GROUP BY ROLLUP (i4, ten)) g JOIN seven USING (i4)');
SET enable_sort = on;
SET enable_hashagg = off;
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, ten, t, count(*) FROM f GROUP BY GROUPING SETS ((ten, i4), (i4, t))) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, ten, count(*) FROM f GROUP BY GROUPING SETS ((i4), (ten))) g JOIN dim ON g.ten = dim.i4 WHERE dim.i4 < 5');
SET enable_hashagg = on;
SET enable_sort = off;
-- HAVING, FILTER, DISTINCT; a function that is volatile; LIMIT and window functions above the groups.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FILTER (WHERE ten > 3), count(DISTINCT ten) AS d FROM f GROUP BY 1 HAVING sum(id) > 100) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, sum(id::bigint) AS s FROM f GROUP BY 1 HAVING sum(id::bigint) > 100) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, sum(id + (random() * 0)::int) FROM f GROUP BY 1) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1 HAVING count(*) > random() - 1) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FILTER (WHERE random() >= 0) FROM f GROUP BY 1) g JOIN seven USING (i4)');
SELECT count, same FROM filtered_tables('SELECT g.n FROM (SELECT i4, count(*) AS n FROM f GROUP BY 1 LIMIT 250) g LEFT JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.n FROM (SELECT i4, count(*) AS n FROM f GROUP BY 1 OFFSET 0 LIMIT 1000) g JOIN seven USING (i4)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) OVER () AS n FROM f GROUP BY 1) g JOIN seven USING (i4)');
SET enable_sort = on;
-- Rescans: the groups are kept, so each build must have the same keys.
SELECT * FROM filtered_tables('SELECT o.id, x.* FROM (VALUES (1), (7), (2), (7)) o (id), LATERAL (SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g JOIN dim d ON d.i4 = g.i4 WHERE d.grp = o.id OFFSET 0) x');
SELECT * FROM filtered_tables('SELECT o.id, x.* FROM (VALUES (1), (7), (2), (7)) o (id), LATERAL (SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g JOIN dim d ON d.i4 = g.i4 WHERE d.grp = 7 AND g.i4 > o.id OFFSET 0) x');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT i4, count(*) FROM f GROUP BY 1) g JOIN dim d ON d.i4 = g.i4 WHERE d.grp + random() * 0 = 7');
-- What is computed of groups: a filter may pause, and a group without a match then has some of its rows.  Each such group
-- has three; the filter drops one of them.
CREATE TABLE visits AS SELECT CASE WHEN id <= 200 THEN 1000 + id WHEN id > 20000 THEN 1001 + id % 200 ELSE id % 140 END AS k, CASE WHEN id <= 200 THEN -1e308::float8 WHEN id > 20000 THEN 1e308 ELSE 0 END AS v,
	CASE WHEN id <= 200 THEN -9e131071 WHEN id > 20000 THEN 9e131071 ELSE 0 END AS n, id::numeric(9, 2) AS m FROM generate_series(1, 20400) id;
ANALYZE visits;
CREATE VIEW visitors AS SELECT i4 AS k, grp - 7 AS x FROM dim WHERE i4 < 140;
CREATE AGGREGATE product(int) (SFUNC = int4mul, STYPE = int);
SET bloomx.runtime_filter_min_removed = 0.5;
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, count(*) FROM visits GROUP BY k) g JOIN visitors USING (k)');
SELECT "table", rows_checked BETWEEN 8192 AND 20000 AS "not all are checked", rows_removed FROM bloomx_last_runtime_filters();
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, 1 / (count(*) - 2) FROM visits GROUP BY k) g JOIN visitors USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, count(*) FROM visits GROUP BY k HAVING 1 / (count(*) - 2) < 2) g JOIN (SELECT * FROM visitors WHERE k < 60) c USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, 1 / (n - 2) AS x FROM (SELECT k, count(*) AS n FROM visits GROUP BY k OFFSET 0) p OFFSET 0) g JOIN visitors USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, count(*) AS n FROM visits GROUP BY k) g JOIN visitors c ON g.k = c.k AND 1 / (g.n - 2) = c.x WHERE c.k < 60');
SELECT * FROM filtered_tables('SELECT g.* FROM ((SELECT k, count(*) AS n FROM visits GROUP BY k) g JOIN dim x ON x.i4 = 1 / (g.n - 2)) JOIN visitors USING (k)');
SET enable_nestloop = on;
SELECT * FROM filtered_tables('SELECT g.* FROM ((SELECT k, count(*) AS n FROM visits GROUP BY k) g JOIN (VALUES (0), (1)) x (v) ON x.v >= 1 / (g.n - 2)) JOIN visitors USING (k)');
SELECT * FROM filtered_tables('SELECT g.*, x.* FROM ((SELECT k, count(*) AS n FROM visits GROUP BY k) g CROSS JOIN LATERAL (SELECT 1 / (g.n - 2) AS v FROM (VALUES (0)) y OFFSET 0) x) JOIN visitors USING (k)');
SET enable_nestloop = off;
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, product(1) FROM visits GROUP BY k) g JOIN visitors USING (k)');
-- Sums that overflow only without the row that is removed, and some that cannot.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, sum(v) FROM visits GROUP BY k) g JOIN visitors USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, sum(n) FROM visits GROUP BY k) g JOIN visitors USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, sum(m * (k - 1.5)), avg(m), sum(k), max(v), min(n), bool_or(v > 0) FROM visits GROUP BY k) g JOIN visitors USING (k)');
-- What is computed only of groups of few rows, also of columns alone or of nothing.
CREATE FUNCTION stop() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''stop''; END';
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, CASE WHEN count(*) < 3 THEN 1 / (k - 1007) END FROM visits GROUP BY k) g JOIN visitors USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, CASE WHEN count(*) < 3 THEN stop() END FROM visits GROUP BY k) g JOIN visitors USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k FROM visits GROUP BY k HAVING CASE WHEN count(*) < 3 THEN 1 / (k - 1007) < 2 ELSE true END) g JOIN (SELECT * FROM visitors WHERE k < 60) c USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, 1 / (k - 1007) AS x FROM (SELECT k, count(*) AS n FROM visits GROUP BY k OFFSET 0) p WHERE n < 3 OFFSET 0) g JOIN (SELECT * FROM visitors WHERE k < 20) c USING (k)');
-- Groups of groups: a column by which the second ones are made is a count of the first ones.
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, 1 / (n - 2) AS x FROM (SELECT k, count(*) AS n FROM visits GROUP BY k) p GROUP BY k, n) g JOIN visitors USING (k)');
SELECT * FROM filtered_tables('SELECT g.* FROM (SELECT k, max(1 / (n - 2)) AS x FROM (SELECT k, count(*) AS n FROM visits GROUP BY k) p GROUP BY k) g JOIN (SELECT * FROM visitors WHERE k < 20) c USING (k)');
DROP FUNCTION stop();
DROP AGGREGATE product(int);
DROP OPERATOR FAMILY tens USING btree;
DROP OPERATOR <# (int, int), <=# (int, int), =# (int, int), >=# (int, int), ># (int, int);
DROP FUNCTION tens, tens_lt, tens_le, tens_eq, tens_ge, tens_gt;
DROP TABLE visits;

SET bloomx.runtime_filter_min_removed = 0;
-- A volatile condition of a scan is computed for each row: none is removed before it.
CREATE SEQUENCE computed;
SELECT * FROM filtered_tables('SELECT f.id FROM f JOIN seven USING (i4) WHERE nextval(''computed'') + f.id > 0');
SELECT last_value = 2 * (SELECT count(*) FROM f) AS "for each row" FROM computed;
-- The same holds of what a nested loop computes on its inner side, and of a hash table below that would not be built if no row came.
SET enable_nestloop = on;
SELECT setval('computed', 1, false);
SELECT * FROM filtered_tables('SELECT f.id FROM (f CROSS JOIN LATERAL (SELECT nextval(''computed'') + 0 * f.id AS v OFFSET 0) l) JOIN seven USING (i4)');
SELECT last_value = 2 * (SELECT count(*) FROM f) AS "for each row" FROM computed;
SET enable_nestloop = off;
SELECT setval('computed', 1, false);
SELECT * FROM filtered_tables('SELECT f.id, l.v FROM (f LEFT JOIN (SELECT id, nextval(''computed'') AS v FROM dim OFFSET 0) l ON f.id = l.id) JOIN (SELECT i4 FROM g WHERE id >= 2000000) d ON f.i4 = d.i4');
SELECT last_value = 2 * (SELECT count(*) FROM dim) AS "for each row" FROM computed;
SELECT setval('computed', 1, false);
SELECT same, count FROM filtered_tables('WITH c AS MATERIALIZED (SELECT id, nextval(''computed'') AS v FROM dim) SELECT f.id, c.v FROM (f LEFT JOIN c ON f.id = c.id) JOIN (SELECT i4 FROM g WHERE id >= 2000000) d ON f.i4 = d.i4');
SELECT last_value = 2 * (SELECT count(*) FROM dim) AS "for each row" FROM computed;
-- And of a condition of a join on the way.
SELECT setval('computed', 1, false);
SELECT * FROM filtered_tables('SELECT f.id FROM (f LEFT JOIN (SELECT id FROM dim) l ON f.id = l.id) JOIN seven USING (i4) WHERE nextval(''computed'') + coalesce(l.id, 0) > 0');
SELECT last_value = 2 * (SELECT count(*) FROM f) AS "for each row" FROM computed;
SELECT * FROM filtered_tables('SELECT f.id FROM (f JOIN (SELECT ten, row_number() OVER () AS n FROM g LIMIT 100) l USING (ten)) JOIN seven USING (i4)');
DROP SEQUENCE computed;

-- Operators of a type's other equality: letters of any case are equal, and so are NULLs.
CREATE FUNCTION same_letters(text, text) RETURNS bool IMMUTABLE COST 0.01 LANGUAGE plpgsql AS 'BEGIN RETURN lower($1) IS NOT DISTINCT FROM lower($2); END';
CREATE FUNCTION hash_letters(text) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN hashtext(lower($1)); END';
CREATE OPERATOR =~= (LEFTARG = text, RIGHTARG = text, FUNCTION = same_letters, COMMUTATOR = =~=, HASHES);
CREATE OPERATOR CLASS letters_ops FOR TYPE text USING hash AS OPERATOR 1 =~= (text, text), FUNCTION 1 hash_letters(text);
CREATE TABLE capitals AS SELECT id, upper(t) AS t FROM g;
INSERT INTO capitals SELECT g, NULL FROM generate_series(1, 3) g;
CREATE TABLE letters AS SELECT i4, CASE WHEN i4 < 299 THEN t END AS t FROM dim WHERE grp IN (7, 29);
ANALYZE capitals, letters;
-- It carries a key of = no further, and where NULL matches NULL there is no filter.
SELECT * FROM filtered_tables('SELECT f.id, c.id FROM f JOIN capitals c ON f.t =~= c.t JOIN seven ON f.t = seven.t');
SELECT * FROM filtered_tables('SELECT c.id, l.i4 FROM capitals c JOIN letters l ON c.t =~= l.t');
DROP TABLE capitals, letters;
DROP OPERATOR FAMILY letters_ops USING hash;
DROP OPERATOR =~= (text, text);
DROP FUNCTION same_letters, hash_letters;

RESET ALL;
DROP FUNCTION half, plus, filtered_tables;
DROP TABLE f, g, dim, probe CASCADE;

-- Below a nested loop that searches an index.  Two keys of one join, of which one ends at the loop and the other one on the way there,
-- are tested together at the loop; a key that the index is searched by, as the column of the outer side that it is searched for; and a key that only
-- the inner side has not at all, if that is as dear as to look it up in a small hash table.
CREATE TABLE customer AS SELECT g AS ck, g % 25 AS nation FROM generate_series(1, 2000) g;
CREATE TABLE item AS SELECT 1 + g * 7 % 2000 AS ck, 1 + g * 13 % 1000 AS sk, repeat('x', 50) AS pad FROM generate_series(1, 60000) g;
CREATE TABLE supplier AS SELECT g AS sk, g % 25 AS nation, g AS n FROM generate_series(1, 1000) g;
CREATE INDEX ON item (ck);
ANALYZE customer, item, supplier;
SET bloomx.runtime_filter = on; SET bloomx.runtime_filter_min_rows = 0; SET bloomx.runtime_filter_min_removed = 0; SET bloomx.runtime_filter_index_pages = off;
SET max_parallel_workers_per_gather = 0; SET enable_mergejoin = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SET enable_memoize = off;
SET join_collapse_limit = 1; SET random_page_cost = 0.01; SET seq_page_cost = 5;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (customer c JOIN item i ON c.ck = i.ck) JOIN supplier s ON s.sk = i.sk AND s.nation = c.nation WHERE c.ck <= 40;
SELECT count(*) FROM (customer c JOIN item i ON c.ck = i.ck) JOIN supplier s ON s.sk = i.sk AND s.nation = c.nation WHERE c.ck <= 40;
SELECT "table", keys, rows_checked, rows_removed > 1000 AS most FROM bloomx_last_runtime_filters();
CREATE FUNCTION of_suppliers() RETURNS TABLE ("table" text, keys int, rows_checked bigint, rows_removed bigint, count bigint) LANGUAGE plpgsql AS $$
BEGIN
	count := (SELECT count(ci.ck) FROM (SELECT c.nation, i.* FROM customer c JOIN item i ON c.ck = i.ck AND c.ck <= 40) ci RIGHT JOIN (SELECT * FROM supplier WHERE n BETWEEN 10 AND 90) s ON s.sk = ci.ck);
	FOR "table", keys, rows_checked, rows_removed IN SELECT f."table", f.keys, f.rows_checked, f.rows_removed FROM bloomx_last_runtime_filters() f
	LOOP
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM of_suppliers();
SET enable_bitmapscan = on; SET enable_indexscan = off;
SELECT * FROM of_suppliers();
SET enable_memoize = on; SET enable_indexscan = on; SET enable_bitmapscan = off;
TRUNCATE customer;
INSERT INTO customer SELECT g % 20 + 1, g % 25 FROM generate_series(1, 400) g;
ANALYZE customer;
EXPLAIN (COSTS OFF) SELECT count(ci.ck) FROM (SELECT c.nation, i.* FROM customer c JOIN item i ON c.ck = i.ck AND c.ck <= 40) ci RIGHT JOIN (SELECT * FROM supplier WHERE n BETWEEN 10 AND 90) s ON s.sk = ci.ck;
SELECT * FROM of_suppliers();
SELECT count(*) FROM (customer c JOIN item i ON c.ck = i.ck AND c.ck <= 40) JOIN supplier s ON s.sk = i.sk AND s.n <= 40;
SELECT "table", keys, rows_removed > 1000 AS most FROM bloomx_last_runtime_filters();
RESET bloomx.runtime_filter_min_removed;
SELECT count(*) FROM (customer c JOIN item i ON c.ck = i.ck AND c.ck <= 40) JOIN supplier s ON s.sk = i.sk AND s.n <= 40;
SELECT count(*) AS filters FROM bloomx_last_runtime_filters();
RESET ALL;
DROP FUNCTION of_suppliers;
DROP TABLE customer, item, supplier;
