--
-- Joins that do not read the pages and partitions that their keys miss.
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
SET bloomx.runtime_filter_min_rows = 0;
SET bloomx.runtime_filter_min_removed = 0;
SET bloomx.runtime_filter_min_pages = 0;

-- Runs a query with filters off and on.  Says whether the rows are the same, how many there are, and what was skipped.
CREATE FUNCTION skipped(query text, OUT same boolean, OUT count bigint, OUT pages text, OUT partitions text) LANGUAGE plpgsql AS $$
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
	-- roughly, so that it does not depend on how many rows a page has
	SELECT string_agg(CASE WHEN j.pages = 0 THEN NULL WHEN j.pages_skipped = 0 THEN 'none' WHEN j.pages_skipped > 0.85 * j.pages THEN 'nearly all' ELSE 'some' END, ', ' ORDER BY pages_skipped),
	       sum(j.partitions_skipped) || ' of ' || sum(j.partitions)
	INTO pages, partitions FROM bloomx_last_runtime_filters() j WHERE j.pages > 0 OR j.partitions > 0;
END $$;

-- Ordered by d; bursts of one tenant, in no order; one row in 40 of key k is NULL, and so are 1,000 rows at once.
CREATE TABLE fact AS
	SELECT g AS id, DATE '2020-01-01' + g / 100 AS d, g / 100 AS i4, (g / 100)::int8 AS i8, (g / 100)::int2 AS i2, TIMESTAMP '2020-01-01' + g * INTERVAL '1 minute' AS ts,
	       (hashint4(g / 200)::bigint & 1048575)::int AS tenant, (hashint4(g / 200)::bigint & 1048575) AS tenant8,
	       CASE WHEN g % 40 > 0 AND g / 1000 <> 5 THEN g / 100 END AS k, (g / 100)::oid AS o, repeat('x', 200) AS pad
	FROM generate_series(0, 39999) g;
CREATE TABLE dim AS SELECT DATE '2020-01-01' + g AS d, g AS i4, g::int8 AS i8, g::int2 AS i2, g::oid AS o, g / 30 AS month, g % 30 AS day, TIMESTAMP '2020-01-01' + g * INTERVAL '1 hour' AS ts FROM generate_series(0, 399) g;
CREATE TABLE account AS SELECT DISTINCT tenant, tenant8, i4 / 2 AS i FROM fact;
ANALYZE fact, dim, account;

-- Without an index, all is read.
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
-- A min/max index: a range of keys, and a set.
CREATE INDEX ON fact USING brin (d, i8) WITH (pages_per_range = 4);
CREATE INDEX ON fact USING brin (i4, i2, ts, o) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE day = 5');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (i4) WHERE day = 5');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (i8) WHERE day = 5');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (i2) WHERE day = 5');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (o) WHERE day = 5');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (ts) WHERE day = 5');
-- An oid has no sign: a range may go from below 2^31 to above it.
CREATE TABLE oids AS SELECT g AS id, (2147480000 + g::bigint)::oid AS o, repeat('x', 200) AS pad FROM generate_series(0, 7999) g;
CREATE INDEX ON oids USING brin (o) WITH (pages_per_range = 16);
CREATE TABLE oid AS SELECT (2147480000 + g::bigint)::oid AS o FROM generate_series(3600, 3700, 20) g;
ANALYZE oids, oid;
SELECT * FROM skipped('SELECT oids.id FROM oids JOIN oid USING (o)');
DROP TABLE oids, oid;
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim ON f.i4 = dim.i8 WHERE day = 5');
SELECT * FROM skipped('SELECT f.id FROM fact f WHERE d IN (SELECT d FROM dim WHERE month = 12)');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 99');
-- Two filters, and a key of two columns.
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim a ON f.d = a.d JOIN dim b ON f.i4 = b.i4 WHERE a.month BETWEEN 3 AND 5 AND b.month BETWEEN 5 AND 7');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d, i4) WHERE month = 5');
-- More keys than a set has room for are a bitmap, which is searched as well.
SELECT * FROM skipped('SELECT f.id FROM fact f WHERE i4 IN (SELECT CASE WHEN g % 2 = 0 THEN g ELSE -g END FROM generate_series(380, 40000) g)');
-- NULL is not a key: neither a row's, nor that of a range that has nothing else.
CREATE INDEX ON fact USING brin (k) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim ON f.k = dim.i4 WHERE month = 2 OR month IS NULL');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN (SELECT nullif(i4, 60) AS i4 FROM dim WHERE month = 2) d ON f.k = d.i4');

-- The row of the outer side that a join may read before it has built its table must not start the scan without a filter.
SELECT pages_skipped > 0.9 * pages AS skips FROM (SELECT skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5')) q, bloomx_last_runtime_filters();

-- Statistics count one sequential scan, however many runs of pages it has, and all rows of the pages that it reads.
SELECT FROM pg_stat_force_next_flush();
BEGIN;
SET LOCAL bloomx.runtime_filter = on;
SELECT count(*) FROM fact f JOIN dim USING (d) WHERE day = 5;
SELECT pg_stat_get_xact_numscans('fact'::regclass) AS scans, pg_stat_get_xact_tuples_returned('fact'::regclass) < 10000 AS few_rows;
COMMIT;
SELECT FROM pg_stat_force_next_flush();
BEGIN;
SET LOCAL bloomx.runtime_filter = on;
SET LOCAL bloomx.runtime_filter_min_pages = 1000000;
SELECT count(*) FROM fact f JOIN dim USING (d) WHERE day = 5;
SELECT pg_stat_get_xact_numscans('fact'::regclass) AS scans, pg_stat_get_xact_tuples_returned('fact'::regclass) AS rows;
COMMIT;

-- Other classes of BRIN indexes, on values in no order.
CREATE INDEX by_bounds ON fact USING brin (tenant) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN account USING (tenant) WHERE i < 10');
DROP INDEX by_bounds;
CREATE INDEX by_multi ON fact USING brin (tenant int4_minmax_multi_ops) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN account USING (tenant) WHERE i < 10');
DROP INDEX by_multi;
CREATE INDEX by_bloom ON fact USING brin (tenant int4_bloom_ops) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN account USING (tenant) WHERE i < 10');
DROP INDEX by_bloom;
CREATE INDEX by_bloomx ON fact USING brin (tenant int4_bloomx_ops) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN account USING (tenant) WHERE i < 10');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN account ON f.tenant = account.tenant8 WHERE i < 10');
-- Both at once: each excludes what it can.
CREATE INDEX by_bounds ON fact USING brin (tenant) WITH (pages_per_range = 8);
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN account USING (tenant) WHERE i < 10');
DROP INDEX by_bloomx, by_bounds;
-- Indexes that do not tell: of some of the rows, of an expression, or in another order.
CREATE INDEX partial ON fact USING brin (tenant int4_bloomx_ops) WITH (pages_per_range = 4) WHERE id > 39900;
CREATE INDEX ON fact USING brin ((tenant + 1)) WITH (pages_per_range = 4);
CREATE OPERATOR CLASS backwards FOR TYPE int4 USING brin AS
	OPERATOR 1 > , OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <,
	FUNCTION 1 brin_minmax_opcinfo (internal), FUNCTION 2 brin_minmax_add_value (internal, internal, internal, internal),
	FUNCTION 3 brin_minmax_consistent (internal, internal, internal), FUNCTION 4 brin_minmax_union (internal, internal, internal);
CREATE INDEX ON fact USING brin (tenant backwards) WITH (pages_per_range = 4);
SELECT same, count FROM skipped('SELECT f.id FROM fact f JOIN account USING (tenant) WHERE i < 10');
SELECT pages_skipped FROM bloomx_last_runtime_filters();

-- Ranges without a summary may hold anything: rows that came later, and ranges whose summary was removed.
INSERT INTO fact SELECT 100000 + g, DATE '2020-05-31' + g / 1000, 150, 150, 150, NULL, 0, 0, 150, 150, repeat('y', 200) FROM generate_series(0, 999) g;
UPDATE fact SET d = DATE '2020-06-01', i4 = 151 WHERE id = 7;
DELETE FROM fact WHERE id BETWEEN 15000 AND 15099;
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
SELECT brin_desummarize_range('fact_d_i8_idx', 8);
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 0');
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
SELECT brin_summarize_new_values('fact_d_i8_idx') > 0;
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
-- A transaction sees its own rows.
BEGIN;
INSERT INTO fact SELECT 200000 + g, DATE '2020-06-02', 153, 153, 153, NULL, 0, 0, 153, 153, 'z' FROM generate_series(0, 9) g;
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
ROLLBACK;

-- What a scan computes with side effects is computed for all rows.
CREATE SEQUENCE page_calls;
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5 AND f.id < nextval(''page_calls'') + 1000000');
SELECT last_value = 2 * count(*) AS calls_for_all FROM page_calls, fact GROUP BY last_value;

-- LIMIT, rescans, cursors, SERIALIZABLE.
SET bloomx.runtime_filter = on;
SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 13 LIMIT 2;
SELECT count(*), sum(id) FROM dim a, LATERAL (SELECT f.id FROM fact f JOIN dim b USING (d) WHERE b.month = a.i4 OFFSET 0) x WHERE a.i4 IN (2, 90, 3, 4);
SELECT pages_skipped > pages * 0.8 AS skips FROM bloomx_last_runtime_filters();
-- What a scan was told for the keys before does not hold for the row that the join reads before it builds its next table.
CREATE TABLE one_range AS SELECT g AS k, repeat('x', 200) AS pad FROM generate_series(0, 2799) g;
CREATE INDEX ON one_range USING brin (k);
ANALYZE one_range;
SET bloomx.runtime_filter_min_removed = 0.1;
SET temp_file_limit = '1GB';
SELECT a.i4, (SELECT count(*) FROM one_range f JOIN dim b ON f.k = CASE WHEN month < 3 THEN -1 ELSE b.i4 END WHERE b.month = a.i4) FROM dim a WHERE a.i4 < 5 ORDER BY a.i4;
SELECT pages_skipped > 0.3 * pages AS skips FROM bloomx_last_runtime_filters();
RESET temp_file_limit;
SET bloomx.runtime_filter_min_removed = 0;
DROP TABLE one_range;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM fact f JOIN dim USING (d) WHERE month = 4;
SELECT count(*) > 0 AS locked FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'fact'::regclass AND page IS NULL AND tuple IS NULL;
COMMIT;
-- A scan counts once, whatever it skips, and so does each of its rescans.
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS 'SELECT pg_stat_get_xact_numscans(''fact''::regclass)';
BEGIN;
SELECT scans() AS before \gset
SELECT count(*) FROM fact f JOIN dim USING (d) WHERE day = 5;
SELECT scans() - :before AS scans;
SELECT scans() AS before \gset
SELECT count(*) FROM dim a, LATERAL (SELECT f.id FROM fact f JOIN dim b USING (d) WHERE b.month = a.i4 OFFSET 0) x WHERE a.i4 IN (2, 3, 4);
SELECT scans() - :before AS scans;
COMMIT;
-- Small tables are not worth it.
SET bloomx.runtime_filter_min_pages = 100000;
SELECT * FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
SET bloomx.runtime_filter_min_pages = 0;
-- Neither are questions that exclude too little: they pause.
SELECT same, count FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month % 2 = 0');
SELECT pages_skipped > 0.4 * pages AS skips FROM bloomx_last_runtime_filters();
SET bloomx.runtime_filter_min_removed = 0.9;
SELECT same, count FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month % 2 = 0');
SELECT pages_skipped < 0.35 * pages AS pauses FROM bloomx_last_runtime_filters();
SET bloomx.runtime_filter_min_removed = 0;

-- Parallel scans, with a hash table in each process and with one for all.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_parallel_hash = off;
SELECT same, count FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
-- Bursts of keys: a block that ends one run of pages and begins the next is not lost.
SELECT same FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE dim.i4 % 13 = 0');
SET enable_parallel_hash = on;
SELECT same FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE dim.i4 % 13 = 0');
SELECT same, count FROM skipped('SELECT f.id FROM fact f JOIN (SELECT i4 * 2 AS k, month FROM dim OFFSET 0) x ON f.i4 = x.k / 2 + 1 WHERE month = 5');
SELECT same, count FROM skipped('SELECT f.id FROM fact f JOIN dim ON f.i4 = dim.i4 + 1 WHERE month = 5');
SELECT same, count FROM skipped('SELECT f.id FROM fact f JOIN dim USING (d) WHERE month = 5');
SET work_mem = '64kB';
SELECT same, count FROM skipped('SELECT f.id FROM fact f JOIN account USING (tenant)');
RESET work_mem;
SELECT same, count FROM skipped('SELECT f.id, g.id FROM fact f JOIN dim USING (d) JOIN fact g ON f.id = g.id WHERE month = 5');
SET max_parallel_workers_per_gather = 0;

-- Keys that are no integers: a few of their values are kept, and compared as the index does.
CREATE TABLE typed AS
	SELECT g AS id, lpad((g / 100)::text, 6, '0') AS t, lpad((g / 100)::text, 6, '0')::varchar AS v, (g / 100) * 1.0 AS n, (g / 100)::float8 AS f8, (g / 100)::float4 AS f4,
	       lpad(to_hex(g / 100), 32, '0')::uuid AS u, lpad((g / 100)::text, 6, '0')::char(8) AS b, g / 100 * INTERVAL '1 hour' AS iv, '10.0.0.0'::inet + g / 100 AS ip,
	       CASE WHEN g % 40 > 0 THEN md5((g / 200)::text) END AS burst, repeat('x', 150) AS pad
	FROM generate_series(0, 39999) g;
CREATE TABLE label AS SELECT DISTINCT t, v, n, f8, f4, u, b, iv, ip, burst, id / 100 AS i FROM typed WHERE id % 100 = 1;
INSERT INTO label (i) VALUES (77);
CREATE INDEX ON typed USING brin (t, v, n, f8, f4, u, b, iv, ip) WITH (pages_per_range = 4);
ANALYZE typed, label;
SELECT format('SELECT %L AS k, * FROM skipped(''SELECT f.id FROM typed f JOIN label USING (%I) WHERE i %% 100 = 77 OR i < 2'')', k, k)
FROM unnest('{t,v,n,f8,u,b,iv,ip}'::text[]) k \gexec
-- One key, none, and NULL alone.
SELECT * FROM skipped('SELECT f.id FROM typed f WHERE t IN (SELECT t FROM label WHERE i = 250)');
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label USING (t) WHERE i = -1');
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label USING (t) WHERE i = 77 AND t IS NULL');
-- Keys of both ends of the order.
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN (VALUES ('''', 1), (''~'', 2), (''000000'', 3), (''000399'', 4)) x (t, j) USING (t)');
-- An index compares values of one type, under one collation, and by one equality.
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label ON f.f4 = label.f8 WHERE i = 77');
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label ON f.t = label.t COLLATE "C" WHERE i = 77');
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN (VALUES (''000077'')) x (t) ON f.t = x.t COLLATE caseless');
CREATE TABLE mixed AS SELECT g AS id, CASE WHEN g % 2 = 0 THEN chr(65 + g / 2000) ELSE chr(97 + g / 2000) END COLLATE caseless AS t, repeat('x', 150) AS pad FROM generate_series(0, 39999) g;
CREATE INDEX ON mixed USING brin (t) WITH (pages_per_range = 4);
ANALYZE mixed;
SELECT * FROM skipped('SELECT f.id FROM mixed f JOIN (VALUES (''c'' COLLATE caseless), (''K'')) x (t) USING (t)');
-- Up to 1,024 values are kept.
SELECT * FROM skipped('SELECT f.id FROM typed f WHERE t IN (SELECT lpad(g::text, 6, ''0'') FROM generate_series(390, 1413) g)');
SELECT * FROM skipped('SELECT f.id FROM typed f WHERE t IN (SELECT lpad(g::text, 6, ''0'') FROM generate_series(390, 1414) g)');
-- Repeated ones are kept once.
SELECT * FROM skipped('SELECT f.id FROM typed f WHERE t IN (SELECT lpad((g % 50)::text, 6, ''0'') FROM generate_series(1, 20000) g)');
-- Two columns, of which one has an index.
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label ON f.id / 100 = i AND f.t = label.t WHERE i = 77');
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label ON f.burst = label.burst AND f.t = label.t WHERE i = 77');
-- Classes that know values in no order.
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label USING (burst) WHERE i % 60 = 7');
CREATE INDEX by_bloom ON typed USING brin (burst text_bloom_ops) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label USING (burst) WHERE i % 60 = 7');
DROP INDEX by_bloom;
CREATE INDEX by_bloomx ON typed USING brin (burst text_bloomx_ops) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label USING (burst) WHERE i % 60 = 7');
DROP INDEX typed_t_v_n_f8_f4_u_b_iv_ip_idx;
CREATE INDEX by_numeric ON typed USING brin (n numeric_bloomx_ops, b bpchar_bloomx_ops) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN (SELECT n * 1.000 AS n FROM label WHERE i % 60 = 7) x USING (n)');
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN (SELECT b::char(20) AS b FROM label WHERE i % 60 = 7) x USING (b)');
DROP INDEX by_numeric;
CREATE INDEX ON typed USING brin (n numeric_minmax_multi_ops) WITH (pages_per_range = 4);
SELECT * FROM skipped('SELECT f.id FROM typed f JOIN label USING (n) WHERE i % 100 = 7');
-- An index on an expression that is the key.
CREATE TABLE expressed AS SELECT g AS id, 'Key ' || lpad((g / 100)::text, 6, '0') AS t, TIMESTAMP '2020-01-01' + g * INTERVAL '1 hour' AS ts, g AS a, g / 100 AS b, repeat('x', 150) AS pad FROM generate_series(0, 39999) g;
CREATE INDEX ON expressed USING brin (lower(t), a, (a + b), date_trunc('month', ts)) WITH (pages_per_range = 4);
ANALYZE expressed;
SELECT * FROM skipped('SELECT f.id FROM expressed f JOIN (VALUES (''key 000077''), (''key 000300''), (''Key 000001'')) x (k) ON lower(f.t) = x.k');
SELECT * FROM skipped('SELECT f.id FROM expressed f WHERE f.a + f.b IN (SELECT i4 * 10 FROM dim WHERE month = 2)');
SELECT * FROM skipped('SELECT f.id FROM expressed f JOIN (VALUES (TIMESTAMP ''2020-03-01''), (''2021-07-01''), (''2021-07-02'')) x (k) ON date_trunc(''month'', f.ts) = x.k');
SELECT * FROM skipped('SELECT f.id FROM (SELECT id, a AS c, b AS d FROM expressed OFFSET 0) f WHERE f.c + f.d IN (SELECT i8 * 10 FROM dim WHERE month = 2)');
-- Another expression is another key.
SELECT * FROM skipped('SELECT f.id FROM expressed f JOIN (VALUES (''KEY 000077''), (''KEY 000300'')) x (k) ON upper(f.t) = x.k');
SELECT * FROM skipped('SELECT f.id FROM expressed f WHERE f.b + f.a IN (SELECT i4 * 10 FROM dim WHERE month = 2)');
SELECT * FROM skipped('SELECT f.id FROM expressed f WHERE f.a + f.a IN (SELECT i4 * 10 FROM dim WHERE month = 2)');
DROP TABLE expressed;
-- Zeros of both signs, and what is not a number.
CREATE TABLE floats AS SELECT g AS id, CASE g / 100 WHEN 3 THEN '-0'::float8 WHEN 4 THEN 0 WHEN 9 THEN 'NaN' WHEN 8 THEN 'infinity' ELSE g / 100 END AS f, repeat('x', 150) AS pad FROM generate_series(0, 4999) g;
CREATE INDEX ON floats USING brin (f) WITH (pages_per_range = 1);
ANALYZE floats;
SELECT * FROM skipped('SELECT f.id FROM floats f JOIN (VALUES (''0''::float8), (''NaN'')) x (f) USING (f)');
SELECT * FROM skipped('SELECT f.id FROM floats f JOIN (VALUES (''-0''::float8), (''infinity'')) x (f) USING (f)');
-- An operator that calls other texts equal than the index does: capitals alone are in it.
CREATE FUNCTION same_case(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT COST 0.01 AS 'BEGIN RETURN lower($1) = lower($2); END';
CREATE FUNCTION hash_case(text) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT hashtext(lower($1))';
CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = same_case, COMMUTATOR = ===, HASHES);
CREATE OPERATOR CLASS caseless FOR TYPE text USING hash AS OPERATOR 1 ===, FUNCTION 1 hash_case (text);
CREATE TABLE plain AS SELECT id, t COLLATE "default" AS t, pad FROM mixed WHERE id % 10 = 0;
CREATE INDEX ON plain USING brin (t) WITH (pages_per_range = 1);
ANALYZE plain;
SELECT * FROM skipped('SELECT f.id FROM plain f JOIN (VALUES (''c''), (''K'')) x (t) ON f.t === x.t');
SELECT * FROM skipped('SELECT f.id FROM plain f JOIN (VALUES (''C''), (''c'')) x (t) ON f.t = x.t');
DROP TABLE typed, label, mixed, floats, plain;
DROP OPERATOR FAMILY caseless USING hash CASCADE;
DROP OPERATOR === (text, text);
DROP FUNCTION hash_case, same_case;
DROP COLLATION caseless;

-- Partitions: by range, by list, by hash, by two columns, within partitions, with other places of columns.
CREATE TABLE by_range (id int, i4 int, d date, pad text) PARTITION BY RANGE (d);
CREATE TABLE by_range_1 PARTITION OF by_range FOR VALUES FROM (MINVALUE) TO ('2020-03-01');
CREATE TABLE by_range_2 (pad text, d date, junk int, i4 int, id int);
ALTER TABLE by_range_2 DROP COLUMN junk;
ALTER TABLE by_range ATTACH PARTITION by_range_2 FOR VALUES FROM ('2020-03-01') TO ('2020-06-01');
CREATE TABLE by_range_3 PARTITION OF by_range FOR VALUES FROM ('2020-06-01') TO ('2020-12-01') PARTITION BY LIST (i4);
CREATE TABLE by_range_3_a PARTITION OF by_range_3 FOR VALUES IN (152, 153, 154, NULL);
CREATE TABLE by_range_3_b PARTITION OF by_range_3 DEFAULT;
CREATE TABLE by_range_4 PARTITION OF by_range DEFAULT;
INSERT INTO by_range SELECT id, i4, d, 'x' FROM fact WHERE id < 40000;
CREATE TABLE by_hash (LIKE by_range) PARTITION BY HASH (i4);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE by_hash_2 PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE by_hash_3 PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER 3);
INSERT INTO by_hash SELECT * FROM by_range;
CREATE TABLE by_two (LIKE by_range) PARTITION BY RANGE (i4, id);
CREATE TABLE by_two_1 PARTITION OF by_two FOR VALUES FROM (MINVALUE, MINVALUE) TO (100, 10050);
CREATE TABLE by_two_2 PARTITION OF by_two FOR VALUES FROM (100, 10050) TO (200, MINVALUE);
CREATE TABLE by_two_3 PARTITION OF by_two FOR VALUES FROM (200, MINVALUE) TO (MAXVALUE, MAXVALUE);
INSERT INTO by_two SELECT * FROM by_range WHERE i4 IS NOT NULL;
ANALYZE by_range, by_hash, by_two;
SELECT * FROM skipped('SELECT f.id FROM by_range f JOIN dim USING (d) WHERE dim.i4 < 50');
SELECT * FROM skipped('SELECT f.id FROM by_range f JOIN dim USING (d) WHERE dim.i4 BETWEEN 70 AND 80');
SELECT * FROM skipped('SELECT f.id FROM by_range f JOIN dim USING (d) WHERE dim.i4 IN (10, 170)');
SELECT * FROM skipped('SELECT f.id FROM by_range f JOIN dim USING (i4) WHERE dim.i4 BETWEEN 152 AND 153');
SELECT * FROM skipped('SELECT f.id FROM by_range f JOIN dim USING (d, i4) WHERE dim.i4 = 160');
SELECT * FROM skipped('SELECT f.id FROM by_range f JOIN dim ON f.d = dim.d AND f.i4 = dim.i8 WHERE dim.i4 = 160');
SELECT * FROM skipped('SELECT f.id FROM by_hash f JOIN dim USING (i4) WHERE dim.i4 IN (152, 153)');
SELECT * FROM skipped('SELECT f.id FROM by_two f JOIN dim USING (i4) WHERE dim.i4 IN (100, 101)');
SELECT * FROM skipped('SELECT f.id FROM by_two f JOIN dim USING (i4) WHERE dim.i4 IN (199, 200)');
SELECT * FROM skipped('SELECT f.id FROM by_two f JOIN dim USING (i4) WHERE dim.i4 = 99');
-- The hash of two columns says nothing of one.
CREATE TABLE by_both (LIKE by_range) PARTITION BY HASH (i4, id);
CREATE TABLE by_both_0 PARTITION OF by_both FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_both_1 PARTITION OF by_both FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_both SELECT * FROM by_range;
ANALYZE by_both;
SELECT * FROM skipped('SELECT f.id FROM by_both f JOIN dim USING (i4) WHERE dim.i4 IN (152, 153)');
DROP TABLE by_both;
-- Other keys for each row of the outer query.
SELECT * FROM skipped('SELECT a.i4, x.id FROM dim a, LATERAL (SELECT f.id FROM by_range f JOIN dim b USING (d) WHERE b.month = a.i4 OFFSET 0) x WHERE a.i4 IN (1, 3, 99, 6)');
-- What a scan computes with side effects is computed for the rows of all partitions.
CREATE SEQUENCE range_calls;
SELECT * FROM skipped('SELECT f.id FROM (SELECT * FROM by_range WHERE nextval(''range_calls'') > 0) f JOIN dim USING (d) WHERE dim.i4 < 50');
SELECT last_value = 2 * (SELECT count(*) FROM by_range) AS for_all_rows FROM range_calls;
-- Keys that are no integers: by list, by hash, by range.  NULL matches nothing, and 1.0 is 1.
CREATE TABLE words AS SELECT g AS id, 'key ' || g AS t, ('key ' || g)::varchar AS v, g * 1.00 AS n, md5(g::text)::uuid AS u FROM generate_series(0, 2999) g;
CREATE TABLE by_text (id int, t text, v varchar(20), n numeric, u uuid) PARTITION BY LIST (t);
CREATE TABLE by_text_1 PARTITION OF by_text FOR VALUES IN ('key 1', 'key 2', NULL);
CREATE TABLE by_text_2 PARTITION OF by_text FOR VALUES IN ('key 3', 'key 4');
CREATE TABLE by_text_3 PARTITION OF by_text DEFAULT;
CREATE TABLE by_varchar (LIKE by_text) PARTITION BY HASH (v);
CREATE TABLE by_varchar_0 PARTITION OF by_varchar FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE by_varchar_1 PARTITION OF by_varchar FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE by_varchar_2 PARTITION OF by_varchar FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE by_varchar_3 PARTITION OF by_varchar FOR VALUES WITH (MODULUS 4, REMAINDER 3);
CREATE TABLE by_numeric (LIKE by_text) PARTITION BY RANGE (n, id);
CREATE TABLE by_numeric_1 PARTITION OF by_numeric FOR VALUES FROM (MINVALUE, MINVALUE) TO (100.5, 0);
CREATE TABLE by_numeric_2 PARTITION OF by_numeric FOR VALUES FROM (100.5, 0) TO (200, 0);
CREATE TABLE by_numeric_3 PARTITION OF by_numeric FOR VALUES FROM (200, 0) TO (300, 0);
CREATE TABLE by_numeric_4 PARTITION OF by_numeric DEFAULT;
CREATE TABLE by_uuid (LIKE by_text) PARTITION BY HASH (u);
CREATE TABLE by_uuid_0 PARTITION OF by_uuid FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_uuid_1 PARTITION OF by_uuid FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE by_posix (id int, t text COLLATE "POSIX") PARTITION BY LIST (t);
CREATE TABLE by_posix_1 PARTITION OF by_posix FOR VALUES IN ('key 1');
CREATE TABLE by_posix_2 PARTITION OF by_posix DEFAULT;
INSERT INTO by_text SELECT * FROM words;
INSERT INTO by_text (id) SELECT -g FROM generate_series(1, 10) g;
INSERT INTO by_varchar SELECT * FROM words;
INSERT INTO by_numeric SELECT id, t, v, id, u FROM words;
INSERT INTO by_uuid SELECT * FROM words;
INSERT INTO by_posix SELECT id, t FROM words;
ANALYZE words, by_text, by_varchar, by_numeric, by_uuid, by_posix;
SELECT * FROM skipped('SELECT f.id FROM by_text f JOIN words w USING (t) WHERE w.id = 3');
SELECT * FROM skipped('SELECT f.id FROM by_text f JOIN words w USING (t) WHERE w.id IN (2, 4)');
SELECT * FROM skipped('SELECT f.id FROM by_text f JOIN words w ON f.t = w.v WHERE w.id BETWEEN 1000 AND 2500');
SELECT * FROM skipped('SELECT f.id FROM by_text f JOIN words w USING (t, n) WHERE w.id = 3');
SELECT * FROM skipped('SELECT f.id FROM by_text f JOIN words w USING (t) WHERE w.id < 0');
SELECT * FROM skipped('SELECT f.id FROM by_text f JOIN (SELECT nullif(t, ''key 5'') AS t FROM words WHERE id = 5) w USING (t)');
SELECT * FROM skipped('SELECT f.id FROM by_varchar f JOIN words w USING (v) WHERE w.id IN (7, 1007)');
SELECT * FROM skipped('SELECT f.id FROM by_varchar f JOIN words w ON f.v = w.t AND f.n = w.n WHERE w.id = 7');
SELECT * FROM skipped('SELECT f.id FROM by_uuid f JOIN words w USING (u) WHERE w.id = 7');
SELECT * FROM skipped('SELECT f.id FROM by_numeric f JOIN words w USING (n) WHERE w.id IN (101, 200)');
SELECT * FROM skipped('SELECT f.id FROM by_numeric f JOIN words w USING (n) WHERE w.id IN (1, 2000)');
-- Not if the keys are too many, or the partitions are made by another collation.
SELECT * FROM skipped('SELECT f.id FROM by_varchar f JOIN words w USING (v) WHERE w.id < 1100');
SELECT * FROM skipped('SELECT f.id FROM by_numeric f JOIN words w USING (n) WHERE w.id >= 300');
SELECT * FROM skipped('SELECT f.id FROM by_posix f JOIN words w ON f.t COLLATE "C" = w.t WHERE w.id = 7');
SELECT * FROM skipped('SELECT f.id FROM by_posix f JOIN words w ON f.t = w.t COLLATE "POSIX" WHERE w.id = 7');
-- ... or by one that calls different ones equal, whose hashes need not be.
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE by_caseless (id int, b char(12) COLLATE caseless) PARTITION BY HASH (b);
CREATE TABLE by_caseless_1 PARTITION OF by_caseless FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_caseless_2 PARTITION OF by_caseless FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_caseless SELECT id, t FROM words;
ANALYZE by_caseless;
SELECT * FROM skipped('SELECT f.id FROM by_caseless f JOIN (SELECT upper(t)::char(10) COLLATE caseless AS b FROM words WHERE id = 7) w USING (b)');
SELECT * FROM skipped('SELECT f.id FROM by_caseless f JOIN (SELECT upper(t)::char(10) COLLATE caseless AS b FROM words WHERE id = 8) w USING (b)');
-- In order, and in parallel.
SELECT * FROM skipped('SELECT f.id FROM (SELECT * FROM by_range ORDER BY id) f JOIN dim USING (d) WHERE dim.i4 < 50');
SET max_parallel_workers_per_gather = 2;
SET enable_parallel_append = on;
SELECT same, count FROM skipped('SELECT f.id FROM by_range f JOIN dim USING (d) WHERE dim.i4 < 50');
SELECT same, count FROM skipped('SELECT f.id FROM by_varchar f JOIN words w USING (v) WHERE w.id < 1000');
RESET ALL;
DROP TABLE fact, dim, account, by_range, by_hash, by_two, words, by_text, by_varchar, by_numeric, by_uuid, by_posix, by_caseless CASCADE;
DROP COLLATION caseless;
