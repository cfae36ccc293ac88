--
-- Nested loops that become lookups: the same rows in the same order, and no inner row read that would not have been.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SELECT filters >= 0 AS loaded FROM bloomx_runtime_filter_totals();
CREATE SCHEMA runtime_lookup;
SET search_path = runtime_lookup, public;
SET max_parallel_workers_per_gather = 0;
SET synchronize_seqscans = off;
SET jit = off;
SET enable_hashjoin = off;
-- PostgreSQL 19 may aggregate below a join
DO $$ BEGIN PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_eager_aggregate'; END $$;
SET enable_mergejoin = off;
SET enable_memoize = off;
SET join_collapse_limit = 1;
SET from_collapse_limit = 1;
-- from the first outer row on, whatever it costs
SET bloomx.runtime_filter_min_removed = 0;

CREATE TABLE o AS
	SELECT g AS id, nullif(g % 37, 5) AS k, (g % 37)::int8 AS k8, nullif('Key ' || g % 37, 'Key 3') AS t, (g % 37) * 1.50 AS n,
	       CASE g % 4 WHEN 0 THEN -0.0 WHEN 1 THEN 'NaN' ELSE g % 37 END::float8 AS f, g % 3 AS three, nullif(g % 11, 4) AS e
	FROM generate_series(1, 120) g;
CREATE TABLE i AS
	SELECT 1000 + g AS id, nullif(g % 41, 7) AS k, (g % 41)::int2 AS k2, nullif('key ' || g % 41, 'key 2') AS t, (g % 41) * 1.5000 AS n,
	       CASE g % 4 WHEN 0 THEN 0.0 WHEN 1 THEN 'NaN' ELSE g % 41 END::float8 AS f, g % 2 AS two, nullif(g % 13, 6) AS e, repeat('x', g % 5) AS pad
	FROM generate_series(1, 150) g;
-- one NULL in each of two columns, and in both
CREATE TABLE s AS SELECT g AS id, nullif(g % 5, 2) AS a, nullif(g % 7, 3) AS b FROM generate_series(1, 70) g;
CREATE TABLE none (k int, id int);
ANALYZE o, i, s, none;

-- Runs a query with lookups off and on, and compares the rows in their order, and how many rows are read from tables.
-- kinds: what each loop had; lookups: were some outer rows looked up?
CREATE FUNCTION compared(query text, OUT rows int, OUT same boolean, OUT more_read boolean, OUT kinds text, OUT lookups boolean) LANGUAGE plpgsql AS $$
DECLARE
	plain text[];
	found text[];
	start bigint;
	read bigint;
	now bigint;
	counted text := 'SELECT sum(pg_stat_get_xact_tuples_returned(oid)) FROM pg_class WHERE relnamespace = ''runtime_lookup''::regnamespace AND relkind = ''r''';
BEGIN
	query := format('SELECT array_agg(q::text) FROM (%s OFFSET 0) q', query);
	SET LOCAL bloomx.runtime_lookup = off;
	EXECUTE counted INTO start;
	EXECUTE query INTO plain;
	EXECUTE counted INTO read;
	read := read - start;
	start := start + read;
	SET LOCAL bloomx.runtime_lookup = on;
	EXECUTE query INTO found;
	EXECUTE counted INTO now;
	more_read := now - start > read;
	rows := coalesce(cardinality(plain), 0);
	same := plain IS NOT DISTINCT FROM found;
	SELECT string_agg(r.kind, ', ' ORDER BY join_node, kind), sum(r.lookups) > 0 INTO kinds, lookups FROM bloomx_last_runtime_filters() r;
END $$;

-- Types: an integer, integers of different sizes, text, numerics of different scales, floats with -0 and NaN, a computed key.
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k = i.k');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k8 = i.k2');
SELECT * FROM compared('SELECT o.id, i.id, i.pad, i.t FROM o JOIN i ON initcap(i.t) = o.t');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.n = i.n');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.f = i.f');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k + 1 = i.k * 2');
-- ... under a collation that calls different ones equal: strings of other lengths, and names, which have no lookups.
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.t = i.t COLLATE caseless');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.t::char(9) = i.t::char(11) COLLATE caseless');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.t::name = i.t COLLATE caseless');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON ARRAY[o.t::name] = ARRAY[i.t::name COLLATE caseless]');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.t::name = initcap(i.t)');
-- Join types, several clauses, a condition above the join.
SELECT * FROM compared('SELECT o.id, x.id FROM o LEFT JOIN i x ON o.k = x.k');
SELECT * FROM compared('SELECT o.id, x.id FROM o LEFT JOIN i x ON o.k = x.k AND x.id > o.id + 1000 WHERE x.two IS NULL OR o.id % 2 = x.two');
SELECT * FROM compared('SELECT o.id FROM o WHERE EXISTS (SELECT FROM i WHERE o.k = i.k AND i.id % 5 < 2)');
SELECT * FROM compared('SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM i WHERE o.k = i.k AND i.two = o.three)');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k = i.k AND o.t = initcap(i.t) AND o.three <> i.two');
SELECT * FROM compared('SELECT o.id, d.k FROM o JOIN (SELECT DISTINCT k FROM i) d ON o.k = d.k');

-- OR: a row that matches by several arms comes once, and in its place.
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k = i.k OR o.e = i.e');
SELECT * FROM compared('SELECT x.id, y.id FROM s x JOIN s y ON x.a = y.a OR x.b = y.b');
SELECT * FROM compared('SELECT o.id, i.id FROM o LEFT JOIN i ON o.k = i.e OR o.e = i.k OR o.t = i.t');
SELECT * FROM compared('SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM i WHERE o.k = i.k AND i.two = 1 OR o.e = i.e AND o.three = i.two AND i.id > 1100)');
SELECT * FROM compared('SELECT o.id FROM o WHERE EXISTS (SELECT FROM i WHERE o.k = i.k OR o.e = i.e AND i.two = 1)');
-- ... beside an equality
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.three = i.two AND (o.k = i.k OR o.e = i.e)');
-- ... an arm that is no equality, or that is computed and might fail
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k = i.k OR o.e > i.e');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k = i.k OR 100 / (o.id + 1) = i.e');

-- ... a comparison without a collation, which nobody reaches
CREATE TABLE posix AS SELECT id, k, t COLLATE "POSIX" AS t FROM i;
CREATE TABLE c AS SELECT id, k, t COLLATE "C" AS t FROM o;
SELECT * FROM compared('SELECT c.id, posix.id FROM c JOIN posix ON c.k = posix.k OR c.id < 0 AND c.t = posix.t');
SELECT * FROM compared('SELECT c.id, posix.id FROM c JOIN posix ON c.id < 0 AND ARRAY[c.t] = ARRAY[posix.t]');

-- What ends early reads no further. The second and later rows go on where the first one stopped.
SET enable_material = off;
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k = i.k LIMIT 3');
SELECT * FROM compared('SELECT o.id, i.id FROM o JOIN i ON o.k = i.k AND o.id > 2 LIMIT 9');
SELECT * FROM compared('SELECT o.id FROM o WHERE EXISTS (SELECT FROM i WHERE o.three = i.two)');
SELECT * FROM compared('SELECT x.id FROM s x WHERE EXISTS (SELECT FROM s y WHERE x.id = y.id)');
SELECT * FROM compared('SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM i WHERE o.three = i.two) LIMIT 2');
SELECT * FROM compared('SELECT o.id, (SELECT i.id FROM i WHERE i.k = o.k OR i.e = o.e LIMIT 1) FROM o');
-- ... an inner row that fails is not reached
SELECT * FROM compared('SELECT o.id, x.v FROM o JOIN (SELECT k, 1000 / (1100 - id) AS v FROM i OFFSET 0) x ON o.k = x.k LIMIT 5');
-- ... nor is the outer row's key computed where there is no inner row
SELECT * FROM compared('SELECT o.id, x.id FROM o LEFT JOIN none x ON 1 / (o.id - o.id) = x.k');
SELECT compared('SELECT o.id, x.id FROM o LEFT JOIN i x ON 1 / (o.id - o.id) = x.k');

-- The inner side: a CTE, groups, a function, VALUES, rows that are kept by Materialize.
SELECT * FROM compared('WITH c AS MATERIALIZED (SELECT * FROM i) SELECT o.id, c.id, c.pad FROM o JOIN c ON o.k = c.k');
SELECT * FROM compared('SELECT o.id, x.c FROM o LEFT JOIN (SELECT k, count(*) AS c FROM i GROUP BY k) x ON o.k = x.k');
SELECT * FROM compared('SELECT o.id, x FROM o JOIN generate_series(1, 40, 3) x ON o.k = x');
SELECT * FROM compared('SELECT o.id, x.b FROM o JOIN (VALUES (1, ''a''), (2, ''b''), (NULL, ''c''), (2, NULL)) x(a, b) ON o.k = x.a');
SET enable_material = on;
SELECT * FROM compared('SELECT o.id, x.id FROM o LEFT JOIN (SELECT * FROM i ORDER BY id DESC LIMIT 100) x ON o.k = x.k');
-- ... volatile, but read once
SELECT * FROM compared('WITH c AS MATERIALIZED (SELECT id, k, random() FROM i) SELECT o.id, c.id FROM o JOIN c ON o.k = c.k');
SET enable_material = off;
-- Values that are copied: TOASTed, expanded, longer than a block, NULL.
CREATE FUNCTION array_of(k int) RETURNS int[] LANGUAGE plpgsql STABLE AS $$ DECLARE a int[] := ARRAY[k]; BEGIN FOR j IN 1..5 LOOP a[j] := k + j; END LOOP; RETURN a; END $$;
CREATE TABLE wide AS SELECT id, k, repeat(md5(id::text), 100) AS short, CASE WHEN id % 3 > 0 THEN (SELECT string_agg(md5((id * j)::text), '') FROM generate_series(1, 150) j) END AS long FROM i;
ALTER TABLE wide ALTER short SET STORAGE EXTENDED, ALTER long SET STORAGE EXTERNAL;
SELECT * FROM compared('SELECT o.id, w.* FROM o JOIN wide w ON o.k = w.k');
SELECT * FROM compared('SELECT o.id, w.long || w.short FROM o LEFT JOIN (SELECT k, long || '''' AS long, short FROM wide OFFSET 0) w ON o.k = w.k');
SELECT * FROM compared('SELECT o.id, x.a FROM o LEFT JOIN (SELECT k, array_of(k) AS a FROM i OFFSET 0) x ON o.k = x.k');
SELECT * FROM compared('SELECT o.id, x FROM o JOIN (SELECT i AS x, k FROM i OFFSET 0) x ON o.k = x.k');

SET enable_material = on;
-- An inner side whose parameter changes has other rows, and one whose parameter stays has the same.
SELECT * FROM compared('SELECT z.*, s.* FROM (VALUES (0), (1), (3), (1)) z(a),
	LATERAL (SELECT count(*), count(x.e), min(x.k) FROM o LEFT JOIN (SELECT k, e FROM i WHERE i.two = z.a OFFSET 0) x ON o.id = x.k) s');
SELECT * FROM compared('SELECT z.*, s.* FROM (VALUES (0), (1), (30), (1)) z(a),
	LATERAL (SELECT count(*), count(x.e), min(x.k) FROM (SELECT * FROM o WHERE id > z.a OFFSET 0) o LEFT JOIN (SELECT k, e FROM i OFFSET 0) x ON o.id = x.k) s');
SELECT * FROM compared('SELECT z.*, s.* FROM (VALUES (0), (1), (3), (1)) z(a),
	LATERAL (WITH c AS MATERIALIZED (SELECT * FROM i WHERE two = z.a) SELECT count(*), count(c.e), min(c.k) FROM o LEFT JOIN c ON o.id = c.k) s');
SELECT * FROM compared('SELECT z.*, s.* FROM (VALUES (0), (1), (3), (1)) z(a), LATERAL (SELECT count(*), count(x), min(x) FROM o LEFT JOIN generate_series(z.a, 30) x ON o.id = x) s');
-- ... also where the last outer row had another match, which nobody asked for
SELECT * FROM compared('SELECT z.*, s.* FROM (VALUES (0), (7), (1)) z(a), LATERAL (SELECT count(*) FROM (SELECT * FROM o WHERE k = 9 OFFSET 0) o WHERE EXISTS (SELECT FROM (SELECT * FROM i WHERE two = z.a OFFSET 0) x WHERE o.k8 = x.k2 AND (x.id > 1100 OR o.id <> 46))) s');
SELECT * FROM compared('WITH RECURSIVE w(id, depth) AS (SELECT 1, 0 UNION ALL SELECT i.id - 1000, depth + 1 FROM w JOIN (SELECT * FROM i OFFSET 0) i ON w.id + 3 = i.k2 WHERE depth < 5) SELECT * FROM w');
SELECT * FROM compared('SELECT o.id FROM o WHERE 3 < (SELECT count(*) FROM s JOIN (SELECT * FROM i WHERE two = o.three OFFSET 0) x ON s.id = x.k)');
SET enable_material = off;
-- ... and goes on where the last run of the loop stopped
SELECT * FROM compared('SELECT z.a, s.* FROM (VALUES (1), (2), (20)) z(a), LATERAL (SELECT o.id AS o, i.id FROM (SELECT * FROM o WHERE id >= z.a OFFSET 0) o JOIN i ON o.three = i.two LIMIT z.a * 10) s');
SELECT * FROM compared('SELECT z.a, s.* FROM (VALUES (1), (2), (20)) z(a), LATERAL (SELECT o.id AS o, i.id FROM (SELECT * FROM o WHERE id >= z.a OFFSET 0) o JOIN i ON o.three = i.two OR o.e = i.e LIMIT z.a * 10) s');
-- ... a parameter in the condition
SELECT * FROM compared('SELECT z.*, s.* FROM (VALUES (0), (1), (3), (1)) z(a), LATERAL (SELECT count(*), sum(i.id) FROM o JOIN i ON o.k = i.k AND i.e > z.a) s');
SELECT * FROM compared('SELECT z.*, s.* FROM (VALUES (0), (1), (3), (1)) z(a), LATERAL (SELECT count(*), sum(x.id) FROM o LEFT JOIN i x ON o.k = x.k + z.a) s');

-- No lookups: the inner side depends on the outer row, or is not the same each time; volatile conditions; no equality.
SELECT * FROM compared('SELECT o.id, p.id, l.id FROM o CROSS JOIN (SELECT * FROM s LIMIT 9 OFFSET 1) p, LATERAL (SELECT i.id, i.k FROM i WHERE i.two = o.three OFFSET 0) l WHERE p.a = l.k');
SELECT kinds FROM compared('SELECT o.id, x.id FROM o LEFT JOIN (SELECT id, k FROM i WHERE random() < 2 OFFSET 0) x ON o.k = x.k');
SELECT kinds FROM compared('SELECT o.id, x.id FROM o LEFT JOIN (SELECT * FROM i TABLESAMPLE SYSTEM (100) OFFSET 0) x ON o.k = x.k');
SELECT kinds FROM compared('SELECT o.id, x.id FROM o LEFT JOIN i x ON o.k = x.k AND random() < 2');
SELECT kinds FROM compared('SELECT o.id, x.id FROM o LEFT JOIN i x ON o.k < x.k');
SELECT kinds FROM compared('SELECT o.id, x FROM o LEFT JOIN (SELECT x FROM generate_series(1, 40) x WHERE random() < 2 OFFSET 0) x ON o.k = x');
-- ... rows that a view hides, by an operator that is not leakproof, after another condition
CREATE VIEW hiding WITH (security_barrier) AS SELECT * FROM i WHERE id % 3 > 0;
SELECT kinds FROM compared('SELECT o.id, x.id FROM o LEFT JOIN hiding x ON o.id < x.id AND o.n = x.n');
SELECT kinds FROM compared('SELECT o.id, x.id FROM o LEFT JOIN hiding x ON o.id < x.id AND o.k = x.k');

-- More rows than memory: from the third outer row on the keys are known, and the inner side is read for those that it has.
CREATE TABLE large AS SELECT g AS id, g % 40 * 3 AS k, g % 40 AS k2, 'key ' || g % 40 * 3 AS t, 7 AS all_of_them FROM generate_series(1, 4000) g;
ANALYZE large;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compared('SELECT o.id, l.id FROM o LEFT JOIN large l ON o.k = l.k');
SELECT * FROM compared('SELECT o.id, l.id FROM o LEFT JOIN large l ON lower(o.t) = l.t');
SELECT * FROM compared('SELECT o.id, count(l.id), sum(l.id) FROM o LEFT JOIN large l ON o.k = l.k OR o.e = l.k2 GROUP BY o.id');
SELECT * FROM compared('SELECT o.id, count(l.id), sum(l.id) FROM o JOIN large l ON o.three + 6 = l.all_of_them GROUP BY o.id');
SELECT kind, lookups, rows_checked, rows_removed FROM bloomx_last_runtime_filters();
-- ... or never: what ends early collects no keys
SELECT * FROM compared('SELECT o.id FROM o WHERE EXISTS (SELECT FROM large l WHERE o.id = l.id - 3800)');
SELECT * FROM compared('SELECT o.id FROM o WHERE EXISTS (SELECT FROM large l WHERE o.three = l.id - 3990)');
SELECT * FROM compared('SELECT o.id FROM o WHERE EXISTS (SELECT FROM large l WHERE o.id * 30 = l.id)');
SELECT * FROM compared('SELECT z.a, s.* FROM (VALUES (1), (500), (1)) z(a), LATERAL (SELECT count(*), count(l.id), sum(l.id) FROM o LEFT JOIN (SELECT * FROM large WHERE id % 500 > z.a OFFSET 0) l ON o.k = l.k) s');
RESET work_mem;
RESET hash_mem_multiplier;
SET enable_material = on;

-- Cursors that take turns; an error in the middle of a loop; the next query has the memory of the one before.
BEGIN;
SET LOCAL bloomx.runtime_lookup = on;
DECLARE d CURSOR FOR SELECT o.id, i.id, i.t FROM o LEFT JOIN i ON o.k = i.k AND i.id < 1100;
DECLARE e CURSOR FOR SELECT o.id, i.id, i.pad FROM o LEFT JOIN i ON o.k = i.k AND i.id < 1100;
FETCH 3 FROM d;
FETCH 3 FROM e;
SAVEPOINT before;
SELECT o.id, 1 / (i.id - 1110) FROM o LEFT JOIN i ON o.k = i.k;
ROLLBACK TO before;
FETCH 2 FROM d;
CLOSE d;
FETCH 2 FROM e;
COMMIT;

-- Lookups in vain: not before nine passes of eight rows or more, and 8,192 rows in all.
RESET bloomx.runtime_filter_min_removed;
SET bloomx.runtime_lookup = on;
-- loops: that kept rows; lookups: outer rows
CREATE FUNCTION looked_up(query text, OUT loops bigint, OUT lookups bigint) LANGUAGE plpgsql AS $$
DECLARE
	before record;
BEGIN
	SELECT * INTO before FROM bloomx_runtime_filter_totals() WHERE scope = 'session';
	EXECUTE 'SELECT count(*) FROM (' || query || ' OFFSET 0) q';
	SELECT t.filters - before.filters, t.lookups - before.lookups INTO loops, lookups FROM bloomx_runtime_filter_totals() t WHERE scope = 'session';
END $$;
SELECT * FROM looked_up('SELECT o.id FROM (SELECT * FROM o LIMIT 8) o LEFT JOIN large l ON o.k = l.k');
SELECT * FROM looked_up('SELECT o.id FROM (SELECT * FROM o LIMIT 9) o LEFT JOIN large l ON o.k = l.k');
SELECT * FROM looked_up('SELECT o.id FROM (SELECT * FROM o LIMIT 20) o LEFT JOIN large l ON o.k = l.k');
-- ... later where texts are copied
SELECT * FROM looked_up('SELECT o.id FROM (SELECT * FROM o LIMIT 17) o LEFT JOIN large l ON o.t = l.t');
SELECT * FROM looked_up('SELECT o.id FROM (SELECT * FROM o LIMIT 20) o LEFT JOIN large l ON o.t = l.t');
SELECT * FROM looked_up('SELECT l.id FROM large l LEFT JOIN (SELECT * FROM o LIMIT 7) o ON o.k = l.k');
SELECT * FROM looked_up('SELECT l.id FROM large l LEFT JOIN (SELECT * FROM o LIMIT 10) o ON o.k = l.k');

-- A function in SQL has memory that lives as long as the statement that calls it: its queries leave nothing there.
CREATE FUNCTION pairs_of(int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM s x LEFT JOIN s y ON x.a = y.a WHERE x.id = $1';
CREATE FUNCTION used_bytes() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT sum(used_bytes) FROM pg_backend_memory_contexts); END';
CREATE FUNCTION left_with(mode text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('bloomx.runtime_lookup', mode, true);
	RETURN (SELECT max(bytes) - min(bytes) FROM (SELECT pairs_of(g), CASE WHEN g IN (100, 2100) THEN used_bytes() END AS bytes FROM generate_series(1, 2100) g OFFSET 0) q);
END $$;
SELECT left_with('on') - left_with('off') < 100000 AS nothing_is_left;

-- By itself or with runtime filters.
SET bloomx.runtime_lookup = auto;
SELECT * FROM looked_up('SELECT o.id FROM o LEFT JOIN large l ON o.k = l.k');
SET bloomx.runtime_filter = on;
SELECT * FROM looked_up('SELECT o.id FROM o LEFT JOIN large l ON o.k = l.k');
SET bloomx.runtime_lookup = off;
SELECT * FROM looked_up('SELECT o.id FROM o LEFT JOIN large l ON o.k = l.k');
RESET bloomx.runtime_lookup;
-- Both at one node: a loop whose rows are filtered for a hash join above it.
SET enable_hashjoin = on;
SET bloomx.runtime_filter_min_removed = 0;
SET bloomx.runtime_filter_min_rows = 0;
SELECT count(*), sum(l.id) FROM (o LEFT JOIN large l ON o.k = l.k OR o.e = l.k2) JOIN (SELECT DISTINCT three FROM o WHERE three > 1) d ON coalesce(l.k2, 0) % 3 = d.three;
SELECT kind, rows_removed > 0 AS removes, lookups FROM bloomx_last_runtime_filters() ORDER BY lookups;
SET bloomx.runtime_filter = off;
SELECT count(*), sum(l.id) FROM (o LEFT JOIN large l ON o.k = l.k OR o.e = l.k2) JOIN (SELECT DISTINCT three FROM o WHERE three > 1) d ON coalesce(l.k2, 0) % 3 = d.three;

-- A loop whose inner rows are filtered for a hash join above it that gets other keys at each rescan: what the loop has kept was thinned by the old ones.
CREATE TABLE many AS SELECT g AS id, g % 20 AS k, g % 1000 AS v, g % 7 AS e FROM generate_series(1, 20000) g;
CREATE TABLE few AS SELECT g AS id, g % 20 AS k, g % 7 AS e FROM generate_series(1, 40) g;
CREATE TABLE keyed AS SELECT g % 1000 AS v, g AS a FROM generate_series(1, 1000) g;
ANALYZE many, few, keyed;
SET enable_hashjoin = on;
SET enable_material = off;
SET join_collapse_limit = 1;
PREPARE rescanned AS SELECT z.a, s.* FROM generate_series(1, 4) z(a), LATERAL (SELECT count(*), sum(x.id) FROM
	(SELECT f.id, m.v FROM few f, many m WHERE f.k = m.k OR f.e = m.e OFFSET 0) x
	JOIN (SELECT v FROM keyed WHERE keyed.a % 25 = z.a OFFSET 0) d ON x.v = d.v) s ORDER BY 1;
SET bloomx.runtime_filter = off;
SET bloomx.runtime_lookup = off;
EXECUTE rescanned;
SET bloomx.runtime_filter = on;
SET bloomx.runtime_lookup = on;
EXECUTE rescanned;
SET bloomx.runtime_filter = off;
-- The first clause is computed of each row, also of one that is NULL in every arm.
SET enable_hashjoin = off;
SELECT count(*) FROM (SELECT g AS id, CASE WHEN g <> 5 THEN g END AS k FROM generate_series(1, 9) g OFFSET 0) f LEFT JOIN many m ON 1 / (f.id - 5) = m.v AND (f.k = m.k OR f.k = m.e OR f.k = m.id OR f.k = m.v);
RESET enable_material;
RESET join_collapse_limit;

-- EXPLAIN says which loops can have lookups; with ANALYZE, what was done; the totals count it.
SET enable_hashjoin = off;
SET bloomx.runtime_lookup = on;
SET bloomx.runtime_filter = on;
SELECT statement, substring(lower(line) FROM '(?:no runtime filter|runtime lookup)[^'']*') AS note FROM unnest(ARRAY['o.k = i.k', 'o.k = i.k OR o.e = i.e', 'o.k < i.k', 'o.k = i.k AND random() < 2']) statement,
	bloomx_explain('SELECT FROM o LEFT JOIN i ON ' || statement) line WHERE line ~* 'runtime (lookup|filter)';
SET enable_material = off;
SELECT substring(lower(line) FROM '(?:no runtime filter|runtime lookup)[^'']*') AS note
FROM bloomx_explain('SELECT FROM o LEFT JOIN (SELECT * FROM i WHERE random() < 2 OFFSET 0) i ON o.k = i.k') line WHERE line ~* 'runtime (lookup|filter)';
SELECT substring(lower(line) FROM '(?:no runtime filter|runtime lookup)[^'']*') AS note
FROM bloomx_explain('ANALYZE SELECT o.id, i.id FROM o LEFT JOIN i ON o.k = i.k AND random() < 2') line WHERE line ~* 'runtime (lookup|filter)';
RESET enable_material;
SET bloomx.runtime_filter = off;
-- ... by its own switch alone, and not unless asked for
SELECT substring(lower(line) FROM '(?:no runtime filter|runtime lookup)[^'']*') AS note FROM bloomx_explain('SELECT FROM o LEFT JOIN i ON o.k = i.k') line WHERE line ~* 'runtime (lookup|filter)';
EXPLAIN (COSTS OFF) SELECT FROM o LEFT JOIN i ON o.k = i.k;
SELECT regexp_replace(substring(lower(line) FROM 'runtime lookup[^'']*'), '[0-9]+ bytes', 'N bytes') AS note FROM bloomx_explain('ANALYZE SELECT o.id, i.id FROM o LEFT JOIN i ON o.k = i.k') line WHERE line ~* 'runtime lookup';
SELECT bloomx_stat_reset();
SELECT count(*) FROM (SELECT o.id, i.id FROM o LEFT JOIN i ON o.k = i.k) q;
SELECT scope, filters, lookups FROM bloomx_stat_runtime_filters WHERE scope = 'session';
-- ... also what workers did: outer rows are looked up in each process, but for its first one
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SELECT count(*), sum(i.id) FROM large LEFT JOIN i ON large.k = i.k AND large.id > i.id;
SELECT kind, build_rows, lookups = 4000 - processes AS all_but_the_first, processes > 0 AS in_workers FROM bloomx_last_runtime_filters();
SET client_min_messages = warning;
DROP SCHEMA runtime_lookup CASCADE;
