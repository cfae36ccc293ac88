--
-- Joins that find the pages of few keys in an index.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SELECT filters >= 0 AS loaded FROM bloomx_runtime_filter_totals();
SET max_parallel_workers_per_gather = 0;
SET synchronize_seqscans = off;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET bloomx.runtime_filter_min_rows = 0;
SET bloomx.runtime_filter_min_removed = 0;
SET bloomx.runtime_filter_min_pages = 0;

-- Runs a query with filters off and on.  Says whether the rows are the same, how many there are, how many searches told pages, and what was skipped.
CREATE FUNCTION searched(query text, OUT same boolean, OUT count bigint, OUT searches bigint, OUT pages text) LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	rows text;
BEGIN
	query := format('SELECT count(*), md5(string_agg(q::text, ''|'' ORDER BY q::text COLLATE "C")) FROM (%s) q', query);
	SET LOCAL bloomx.runtime_filter = off;
	EXECUTE query INTO count, plain;
	SET LOCAL bloomx.runtime_filter = on;
	EXECUTE query INTO count, rows;
	same := plain IS NOT DISTINCT FROM rows;
	SELECT sum(j.index_searches), string_agg(CASE WHEN j.pages_skipped = 0 THEN 'none' WHEN j.pages_skipped > 0.85 * j.pages THEN 'nearly all' ELSE 'some' END, ', ' ORDER BY pages_skipped)
	INTO searches, pages FROM bloomx_last_runtime_filters() j WHERE j.pages > 0;
END $$;

-- 2,000 keys, each of which has 20 rows that are anywhere; one row in 37 has none.
CREATE TABLE fact AS
	SELECT id, k AS i4, k::int2 AS i2, k::int8 * 1 AS i8, k::oid AS o, DATE '2020-01-01' + k AS d, TIMESTAMP '2020-01-01' + k * INTERVAL '1 hour' AS ts, TIME '00:00' + k * INTERVAL '1 second' AS tm,
	       'key ' || k AS t, ('key ' || k)::varchar(20) AS v, k * 1.50 AS n, k + 0.5::float8 AS f8, md5(k::text)::uuid AS u, ('key ' || k)::char(12) AS b, ('key ' || k)::name AS na,
	       k * INTERVAL '1 hour' AS iv, repeat('x', 150) AS pad
	FROM (SELECT g AS id, CASE WHEN g % 37 > 0 THEN g * 7919 % 2000 END AS k FROM generate_series(1, 40000) g) s;
CREATE TABLE dim AS
	SELECT g AS id, g AS i4, g::int2 AS i2, g::int8 AS i8, g::oid AS o, DATE '2020-01-01' + g AS d, TIMESTAMP '2020-01-01' + g * INTERVAL '1 hour' AS ts, TIME '00:00' + g * INTERVAL '1 second' AS tm,
	       'key ' || g AS t, ('key ' || g)::varchar(20) AS v, g * 1.50 AS n, g + 0.5::float8 AS f8, md5(g::text)::uuid AS u, ('key ' || g)::char(12) AS b, ('key ' || g)::name AS na,
	       g * INTERVAL '1 hour' AS iv
	FROM generate_series(0, 2999) g;
ANALYZE fact, dim;

-- Without an index, and with each kind of index on each type.
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
CREATE FUNCTION each(method text, types text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT unnest(ARRAY[
		format('CREATE INDEX one ON fact USING %s (%I)', method, type),
		format('SELECT %L AS method, %L AS type, * FROM searched(''SELECT f.id FROM fact f JOIN dim USING (%I) WHERE dim.id IN (0, 3, 77, 1999, 2500)'')', method, type, type),
		'DROP INDEX one'])
	FROM unnest(types) type
$$;
SELECT each('btree', '{i4,i2,i8,o,d,ts,tm,t,v,n,f8,u,b,na,iv}') \gexec
SELECT each('hash', '{i4,i2,i8,o,d,ts,tm,t,v,n,f8,u,b,na,iv}') \gexec
SELECT each('bloomx', '{i4,i2,i8,o,d,ts,t,v,n,u,b}') \gexec

-- Keys of another type, of which some are not in the column's; expressions; NULL; no key, one, many, too many.
CREATE INDEX fact_i4 ON fact (i4);
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim ON f.i4 = dim.i8 WHERE dim.id < 3');
SELECT * FROM searched('SELECT f.id, k FROM fact f JOIN (VALUES (7::int8), (4294967303), (-4294967289), (9223372036854775807)) x (k) ON f.i4 = x.k');
SELECT * FROM searched('SELECT f.id, k FROM fact f JOIN (SELECT i8 + 4294967296 AS k FROM dim WHERE id < 20) x ON f.i4 = x.k');
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim ON f.i4 = dim.i4 + dim.i2 WHERE dim.id < 3');
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim ON f.i4 + 1 = dim.i4 WHERE dim.id < 3');
SELECT * FROM searched('SELECT f.id FROM fact f JOIN (SELECT nullif(i4, 1) AS i4 FROM dim WHERE id < 3) x USING (i4)');
SELECT * FROM searched('SELECT f.id FROM fact f RIGHT JOIN (SELECT i4 FROM dim WHERE id < 0) x USING (i4)');
SELECT * FROM searched('SELECT f.id FROM fact f WHERE i4 IN (SELECT i4 FROM dim WHERE id = 5)');
SELECT same, count, searches FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id % 4 = 0');
SELECT * FROM searched('SELECT f.id FROM fact f WHERE i4 IN (SELECT g * 3 FROM generate_series(-20000, 20000) g)');
-- A join by two keys, of which one has an index; two filters, of which that with fewer keys is chosen.
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4, d) WHERE dim.id < 3');
CREATE INDEX fact_t ON fact (t);
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim a ON f.i4 = a.i4 JOIN dim b ON f.t = b.t WHERE a.id < 200 AND b.id BETWEEN 198 AND 201');
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim a ON f.i4 = a.i4 JOIN dim b ON f.t = b.t WHERE a.id < 2 AND b.id < 100');
-- Texts: not more than 1,024.
SELECT same, count, searches FROM searched('SELECT f.id FROM fact f JOIN dim USING (t) WHERE dim.id < 500');
SELECT same, count, searches FROM searched('SELECT f.id FROM fact f JOIN dim USING (t) WHERE dim.id < 1500');
-- If a BRIN index is there as well.
CREATE INDEX fact_brin ON fact USING brin (i4 int4_bloomx_ops) WITH (pages_per_range = 4);
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
DROP INDEX fact_brin;
-- What EXPLAIN and the view say.
CREATE FUNCTION notes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN SELECT bloomx_explain('ANALYZE ' || query)
	LOOP
		IF line LIKE '%from index%' THEN RETURN NEXT regexp_replace(line, '.*(pages from index \w+).*', '\1'); END IF;
	END LOOP;
END $$;
SET bloomx.runtime_filter = on;
SELECT * FROM notes('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
SELECT sum(index_searches) AS searches FROM bloomx_stat_runtime_filters WHERE scope = 'session' \gset
SELECT count(*) FROM fact f JOIN dim USING (i4) WHERE dim.id < 3;
SELECT index_searches - :searches AS searches FROM bloomx_stat_runtime_filters WHERE scope = 'session';
-- The setting.
SET bloomx.runtime_filter_index_pages = off;
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
RESET bloomx.runtime_filter_index_pages;

-- Rows that were inserted, updated (also in place, with and without the key), deleted; a transaction's own; a cursor, which does not see what comes.
INSERT INTO fact (id, i4, t, pad) SELECT 100000 + g, g % 3, 'key ' || g % 3, 'new' FROM generate_series(1, 50) g;
UPDATE fact SET i4 = 1, t = 'key 1' WHERE id % 4000 = 17;
UPDATE fact SET pad = 'y' WHERE i4 = 2;
DELETE FROM fact WHERE i4 = 0 AND id % 3 = 0;
SELECT * FROM searched('SELECT f.* FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
VACUUM fact;
SELECT * FROM searched('SELECT f.* FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
BEGIN;
DECLARE seen CURSOR FOR SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id = 1 ORDER BY f.id;
UPDATE fact SET i4 = 5000 WHERE i4 = 1;
INSERT INTO fact (id, i4, pad) VALUES (-1, 1, 'own');
SELECT * FROM searched('SELECT f.* FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
MOVE ALL FROM seen;
FETCH BACKWARD 1 FROM seen;
SAVEPOINT s;
DELETE FROM fact WHERE i4 = 2;
ROLLBACK TO s;
SELECT * FROM searched('SELECT f.* FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
ROLLBACK;

-- Rescans with other keys, and with the same ones; LIMIT; SERIALIZABLE; little memory; a temporary table.
SELECT * FROM searched('SELECT a.i4, x.id FROM dim a, LATERAL (SELECT f.id FROM fact f JOIN dim b USING (i4) WHERE b.id IN (a.id, a.id + 1) OFFSET 0) x WHERE a.id IN (1, 77, 1998, 2999)');
SELECT * FROM searched('SELECT a.i4, x.id FROM dim a, LATERAL (SELECT f.id FROM fact f JOIN dim b USING (i4) WHERE b.id < 3 AND f.id % 20 = a.id OFFSET 0) x WHERE a.id < 5');
SELECT count(*) FROM (SELECT FROM fact f JOIN dim USING (i4) WHERE dim.id < 3 LIMIT 5) x;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
SELECT count(*) > 0 AS locked FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'fact'::regclass AND page IS NULL AND tuple IS NULL;
COMMIT;
SET work_mem = '64kB';
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
RESET work_mem;
CREATE TEMPORARY TABLE own AS SELECT id, i4, pad FROM fact;
CREATE INDEX ON own (i4);
SELECT * FROM searched('SELECT f.id FROM own f JOIN dim USING (i4) WHERE dim.id < 3');

-- Indexes that do not tell: of some of the rows, not valid, by another column first, of an expression, under another collation, of another access method.
DROP INDEX fact_i4, fact_t;
CREATE INDEX partial ON fact (i4) WHERE id > 39000;
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
DROP INDEX partial;
CREATE INDEX partial ON fact USING hash (i4) WHERE id > 39000;
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
DROP INDEX partial;
CREATE INDEX invalid ON fact (i4);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'invalid'::regclass;
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
DROP INDEX invalid;
CREATE INDEX second ON fact (id, i4);
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
DROP INDEX second;
CREATE INDEX second ON fact USING bloomx (id, i4);
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
DROP INDEX second;
CREATE INDEX expression ON fact ((i4 + 0));
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
DROP INDEX expression;
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE INDEX other ON fact (t COLLATE "POSIX");
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim ON f.t = dim.t COLLATE "C" WHERE dim.id < 3');
SELECT * FROM searched('SELECT f.id FROM fact f JOIN (VALUES (''KEY 1''), (''key 2'')) x (t) ON f.t = x.t COLLATE caseless');
DROP INDEX other;
CREATE INDEX same ON fact (t COLLATE caseless);
SELECT * FROM searched('SELECT f.id FROM fact f JOIN (VALUES (''KEY 1''), (''key 2'')) x (t) ON f.t = x.t COLLATE caseless');
DROP INDEX same;
CREATE INDEX other ON fact USING gin (to_tsvector('simple', t));
CREATE INDEX another ON fact USING brin (i8);
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
DROP INDEX other, another;
-- Row-level security: an operator that is not leakproof sees no row that the user does not.
CREATE INDEX fact_n ON fact (n);
CREATE INDEX fact_i4 ON fact (i4);
CREATE ROLE index_reader;
GRANT SELECT ON fact, dim TO index_reader;
CREATE POLICY some_rows ON fact USING (id % 2 = 0);
ALTER TABLE fact ENABLE ROW LEVEL SECURITY;
SET ROLE index_reader;
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim ON f.n = dim.n WHERE dim.id < 3');
SELECT * FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
RESET ROLE;
ALTER TABLE fact DISABLE ROW LEVEL SECURITY;
DROP POLICY some_rows ON fact;

-- Partitions, of which some have an index.
CREATE TABLE parts (id int, k int, day int, pad text) PARTITION BY RANGE (day);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10) TO (20);
CREATE TABLE parts_3 (pad text, junk int, day int, k int, id int);
ALTER TABLE parts_3 DROP COLUMN junk;
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM (20) TO (30);
INSERT INTO parts SELECT id, i4, id % 30, pad FROM fact;
CREATE INDEX ON parts_1 (k);
CREATE INDEX ON parts_3 USING hash (k);
ANALYZE parts;
SELECT * FROM searched('SELECT f.id FROM parts f JOIN dim ON k = dim.i4 WHERE dim.id < 3');

-- Parallel scans, with a hash table in each process and with one for all.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_parallel_hash = off;
SELECT same, count, searches > 0 AS searched FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
SELECT same, count, searches > 0 AS searched FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id % 50 = 0');
SET enable_parallel_hash = on;
SELECT same, count, searches > 0 AS searched FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id < 3');
SELECT same, count FROM searched('SELECT f.id FROM fact f JOIN dim ON f.t = dim.t WHERE dim.id % 50 = 0');
SELECT same, count FROM searched('SELECT f.id FROM parts f JOIN dim ON k = dim.i4 WHERE dim.id < 3');
SET max_parallel_workers_per_gather = 0;

-- Not forced: a table of fewer pages than an index is worth, and more keys than a search pays for.
RESET bloomx.runtime_filter_min_removed;
SELECT * FROM searched('SELECT f.id FROM parts_1 f JOIN dim ON k = dim.i4 WHERE dim.id < 3');
SELECT same, count, searches FROM searched('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE dim.id % 2 = 0');
-- A search that is given up, since the first keys are on most pages, says nothing of the others.
CREATE TABLE lopsided AS SELECT g AS id, CASE WHEN g <= 120000 THEN g % 8 ELSE 8 + g % 12 END AS k, repeat('x', 60) AS pad FROM generate_series(1, 200000) g;
CREATE INDEX ON lopsided (k);
ANALYZE lopsided;
SELECT same, count, searches FROM searched('SELECT f.id FROM lopsided f JOIN dim ON k = dim.i4 WHERE dim.id < 20');
RESET ALL;
DROP TABLE fact, dim, parts, lopsided;
DROP FUNCTION searched, each, notes;
DROP COLLATION caseless;
DROP ROLE index_reader;
