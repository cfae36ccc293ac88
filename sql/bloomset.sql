--
-- Sets: the index access method bloomset
--

-- Quick start: the set has the keys of the table, whatever changes it.
CREATE TABLE seen (id bigint, url text);
CREATE INDEX seen_url ON seen USING bloomset (url);
SELECT bloomset_contains('seen_url', 'a');
INSERT INTO seen VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'a');
SELECT bloomset_contains('seen_url', 'a'), bloomset_contains('seen_url', 'b'), bloomset_contains('seen_url', 'c');
UPDATE seen SET url = 'c' WHERE url = 'b';
COPY seen FROM stdin;
5	d
\.
SELECT bloomset_contains_all('seen_url', ARRAY['a', 'b', 'c', 'd']), bloomset_contains_any('seen_url', ARRAY['e', 'f']);
SELECT keys, stages, fpr < 0.001 AS low, bytes, checkpoint_bytes FROM bloomset_info('seen_url');
SELECT bloomset_check('seen_url');

-- The planner never scans it.
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'bloomset_ops';
SELECT indisvalid, pg_index_has_property(indexrelid, 'index_scan') AS scan, pg_index_has_property(indexrelid, 'bitmap_scan') AS bitmap
	FROM pg_index WHERE indexrelid = 'seen_url'::regclass;

-- Removed keys stay until REINDEX; an aborted row's key may stay as well.
DELETE FROM seen WHERE url = 'd';
VACUUM seen;
SELECT bloomset_contains('seen_url', 'd');
REINDEX INDEX seen_url;
SELECT bloomset_contains('seen_url', 'd'), bloomset_contains('seen_url', 'a');
TRUNCATE seen;
SELECT bloomset_contains('seen_url', 'a'), keys, stages FROM bloomset_info('seen_url');

-- NULL: as = , = ANY and = ALL
INSERT INTO seen VALUES (1, 'a');
SELECT bloomset_contains('seen_url', NULL::text), bloomset_contains(NULL, 'a'),
	bloomset_contains_any('seen_url', ARRAY['a', NULL]), bloomset_contains_any('seen_url', ARRAY['x', NULL]), bloomset_contains_any('seen_url', '{}'::text[]),
	bloomset_contains_all('seen_url', ARRAY['x', NULL]), bloomset_contains_all('seen_url', ARRAY['a', NULL]), bloomset_contains_all('seen_url', '{}'::text[]);

-- Keys of every type: all rows are found, and hardly any other value is.  A set of one stage is what bloom_agg makes.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE FUNCTION of_type(type text, make text, has_value boolean DEFAULT true) RETURNS TABLE (hits bigint, others bigint, alike boolean) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE typed (v %s)', type);
	EXECUTE format('INSERT INTO typed SELECT %s FROM generate_series(1, 500) i', make);
	CREATE INDEX typed_v ON typed USING bloomset (v) WITH (capacity = 1500, fpr = 0.01);
	EXECUTE format('INSERT INTO typed SELECT %s FROM generate_series(501, 1000) i', make);
	EXECUTE 'SELECT count(*) FROM typed WHERE bloomset_contains(''typed_v'', v)' INTO hits;
	EXECUTE format('SELECT count(*) FROM (SELECT %s AS v FROM generate_series(100001, 100100) i) x WHERE bloomset_contains(''typed_v'', v)', make) INTO others;
	IF has_value THEN
		EXECUTE 'SELECT bloomset_value(''typed_v'')::bytea = bloom_agg(v, 1500, 0.01)::bytea FROM typed' INTO alike;
	END IF;
	DROP TABLE typed;
	RETURN NEXT;
END $$;
SELECT type, hits, others < 10 AS few, alike FROM (VALUES
	('int2', '(i % 30000)::int2'), ('int4', 'i'), ('int8', 'i * 10000000000'), ('float4', 'i::float4 / 3'), ('float8', 'i::float8 / 3'), ('numeric', 'i::numeric / 10'),
	('text', '''k'' || i'), ('varchar(20)', '''k'' || i'), ('char(20)', '(''k'' || i)::bpchar'), ('name', '(''k'' || i)::name'), ('bytea', '(''k'' || i)::bytea'),
	('uuid', 'md5(i::text)::uuid'), ('date', 'date ''2000-01-01'' + i'), ('time', 'time ''00:00'' + i * interval ''0.7 s'''),
	('timestamp', 'timestamp ''2000-01-01'' + i * interval ''1 min'''), ('timestamptz', 'timestamptz ''2000-01-01'' + i * interval ''1 min'''),
	('interval', 'i * interval ''1 min'''), ('inet', 'inet ''10.0.0.0'' + i'), ('cidr', '(inet ''10.0.0.0'' + i)::cidr'), ('macaddr', 'lpad(to_hex(i), 12, ''0'')::macaddr'),
	('oid', 'i::oid'), ('money', 'i::money'), ('jsonb', 'jsonb_build_object(''a'', i)'), ('int4range', 'int4range(i, i + 5)'), ('int[]', 'ARRAY[i, 1]'),
	('positive', 'i'), ('pg_lsn', '(''0/'' || to_hex(i))::pg_lsn'), ('xid8', 'i::text::xid8')) AS v (type, make), LATERAL of_type(type, make);
-- (one of three values, so that others are found, too)
SELECT hits FROM of_type('mood', '(ARRAY[''sad'', ''ok'', ''glad'']::mood[])[i % 2 + 1]', false);
SELECT hits, others < 10 AS few FROM of_type('pair', 'ROW(i, ''x'')::pair', false);
SELECT hits FROM of_type('mood[]', 'ARRAY[(ARRAY[''sad'', ''ok'', ''glad'']::mood[])[i % 2 + 1]]', false);

-- An enum's label may be renamed, a composite type may lose a column: no key is lost.
CREATE TABLE moods (m mood, p pair);
INSERT INTO moods VALUES ('sad', ROW(1, 'x'));
CREATE INDEX moods_m ON moods USING bloomset (m);
CREATE INDEX moods_p ON moods USING bloomset (p);
SELECT bloomset_contains('moods_m', 'sad'), bloomset_contains('moods_m', 'glad'), bloomset_contains('moods_m', 'ok'::mood),
	bloomset_contains('moods_p', '(1,x)'), bloomset_contains('moods_p', ROW(2, 'x')::pair);
ALTER TYPE mood RENAME VALUE 'sad' TO 'blue';
ALTER TYPE pair DROP ATTRIBUTE b;
SELECT bloomset_contains('moods_m', m), bloomset_contains('moods_m', 'blue'), bloomset_contains('moods_p', p) FROM moods;
SELECT bloomset_value('moods_m');

-- Several columns are one key, as a row; one with a NULL is none.
CREATE TABLE pairs (a int, b text, c mood);
INSERT INTO pairs SELECT i, 'k' || i, 'ok' FROM generate_series(1, 300) i;
CREATE INDEX pairs_ab ON pairs USING bloomset (a, b) WITH (capacity = 1500);
CREATE INDEX pairs_abc ON pairs USING bloomset (a, b, c);
INSERT INTO pairs SELECT i, 'k' || i, 'ok' FROM generate_series(301, 600) i;
INSERT INTO pairs VALUES (1000, NULL, 'ok'), (NULL, NULL, NULL);
SELECT count(*) FROM pairs WHERE bloomset_contains('pairs_ab', ROW(a, b)) AND bloomset_contains('pairs_abc', ROW(a, b, c));
SELECT count(*) < 20 AS few FROM pairs WHERE bloomset_contains('pairs_ab', ROW(a, b || 'x'));
SELECT bloomset_contains('pairs_ab', ROW(7, 'k7')), bloomset_contains('pairs_ab', ROW('7', 'k7')), bloomset_contains('pairs_ab', ROW(7::bigint, 'k7'::varchar)),
	bloomset_contains('pairs_ab', ROW(7, NULL)), bloomset_contains('pairs_abc', ROW(7, 'k7', 'ok')), bloomset_contains('pairs_abc', ROW(7, 'k7', 'blue'));
SELECT bloomset_value('pairs_ab')::bytea = bloom_agg(ROW(a, b), 1500, 0.01)::bytea FROM pairs WHERE a IS NOT NULL AND b IS NOT NULL;
SELECT bloomset_contains('pairs_ab', 7);
SELECT bloomset_contains('pairs_ab', ROW(7));
SELECT bloomset_contains('pairs_ab', ROW(7, 'k7', 1));
SELECT bloomset_contains('pairs_ab', ROW(7, 7));

-- Expressions, predicates, partitions
CREATE TABLE mails (mail text, kind int) PARTITION BY LIST (kind);
CREATE TABLE mails1 PARTITION OF mails FOR VALUES IN (1);
CREATE TABLE mails2 PARTITION OF mails FOR VALUES IN (2);
CREATE INDEX mails_lower ON mails USING bloomset (lower(mail));
CREATE INDEX mails1_short ON mails1 USING bloomset (mail) WHERE length(mail) < 4;
INSERT INTO mails VALUES ('A@B', 1), ('C@D.EU', 1), ('E@F', 2);
SELECT bloomset_contains('mails1_lower_idx', 'a@b'), bloomset_contains('mails2_lower_idx', 'a@b'), bloomset_contains('mails1_lower_idx', 'A@B'),
	bloomset_contains('mails1_short', 'A@B'), bloomset_contains('mails1_short', 'C@D.EU');
SELECT bloomset_contains('mails_lower', 'a@b');

-- Keys of other types: as in a filter, but texts are read as the column's type.
CREATE TABLE numbers (i int);
CREATE INDEX numbers_i ON numbers USING bloomset (i);
INSERT INTO numbers SELECT generate_series(1, 1000);
SELECT bloomset_contains('numbers_i', '5'), bloomset_contains('numbers_i', 5::bigint), bloomset_contains_any('numbers_i', '{5000000,7}');
PREPARE ask AS SELECT bloomset_contains('numbers_i', $1);
EXECUTE ask('5');
DEALLOCATE ask;
SELECT bloomset_contains('numbers_i', 5.0);
SELECT bloomset_contains('numbers_i', 'five');
SELECT bloomset_contains('numbers_i', i::text) FROM numbers LIMIT 1;
SELECT bloomset_contains_any('numbers_i', ARRAY[1.5]);
CREATE TABLE padded (c char(5));
CREATE INDEX padded_c ON padded USING bloomset (c);
INSERT INTO padded VALUES ('a');
SELECT bloomset_contains('padded_c', 'a'), bloomset_contains('padded_c', 'a  '), bloomset_contains('padded_c', 'a'::bpchar);
SELECT bloomset_contains('padded_c', c::text) FROM padded;

-- Growth: stages come as they are needed, and the rate is kept.
CREATE TABLE growing (k int);
CREATE INDEX growing_k ON growing USING bloomset (k) WITH (fpr = 0.02, stage_size = 128);
INSERT INTO growing SELECT generate_series(1, 150000);
SELECT stages, keys BETWEEN 145000 AND 151000 AS counted, fpr < 0.02 AS kept, checkpoint_bytes FROM bloomset_info('growing_k');
SELECT count(*) FROM growing WHERE NOT bloomset_contains('growing_k', k);
SELECT count(*) FROM growing WHERE NOT k <@ (SELECT bloomset_value('growing_k'));
SELECT count(*) FILTER (WHERE bloomset_contains('growing_k', -k)) BETWEEN 500 AND 3000 AS rate,
	count(*) FILTER (WHERE bloomset_contains('growing_k', -k)) = count(*) FILTER (WHERE -k <@ (SELECT bloomset_value('growing_k'))) AS alike FROM growing;
SELECT layout FROM bloom_info(bloomset_value('growing_k'));
-- what comes again changes nothing
SELECT md5(bloomset_value('growing_k')::bytea) AS before \gset
INSERT INTO growing SELECT generate_series(1, 1000);
SELECT md5(bloomset_value('growing_k')::bytea) = :'before' AS same;
-- a rebuild takes its size from the keys, and has full stages of any size; a hundred rows per key are one key
REINDEX INDEX growing_k;
SELECT stages, keys BETWEEN 149000 AND 151000 AS counted, fpr < 0.02 AS kept, checkpoint_bytes <= 150000 AS bounded FROM bloomset_info('growing_k');
SELECT count(*) FROM growing WHERE NOT bloomset_contains('growing_k', k);
CREATE INDEX growing_few ON growing USING bloomset ((k % 100));
SELECT keys, stages FROM bloomset_info('growing_few');
SET maintenance_work_mem = '1MB';
REINDEX INDEX growing_k;
SELECT bloomset_check('growing_k');
RESET maintenance_work_mem;

-- Rates that need more than eight parts, or several batches: the blocks are any number
CREATE TABLE rare (k int);
INSERT INTO rare SELECT generate_series(1, 20000);
CREATE INDEX rare_k ON rare USING bloomset (k) WITH (capacity = 20000, fpr = 1e-7);
SELECT stages, keys BETWEEN 19900 AND 20100 AS counted, fpr < 1e-7 AS kept FROM bloomset_info('rare_k');
SELECT count(*) FROM rare WHERE bloomset_contains('rare_k', k);
SELECT count(*) FROM rare WHERE bloomset_contains('rare_k', -k);
SELECT bloomset_value('rare_k');

-- Options
CREATE INDEX rare_few ON rare USING bloomset (k) WITH (capacity = 100);
SET bloomx.overfill = off;
REINDEX INDEX rare_few;
RESET bloomx.overfill;
DROP INDEX rare_few;
CREATE INDEX ON rare USING bloomset (k) WITH (capacity = -1);
CREATE INDEX ON rare USING bloomset (k) WITH (fpr = 0);
CREATE INDEX ON rare USING bloomset (k) WITH (stage_size = 1);
CREATE INDEX ON rare USING bloomset (k) WITH (keys = 5);
CREATE INDEX ON rare USING bloomset (k) WITH (capacity = 9e15, fpr = 1e-9);
CREATE UNIQUE INDEX ON rare USING bloomset (k);
CREATE INDEX ON rare USING bloomset (k) INCLUDE (k);
CREATE TABLE documents (j json, p point);
CREATE INDEX ON documents USING bloomset (j);
CREATE INDEX ON documents USING bloomset (p);

-- Other relations
SELECT bloomset_contains('rare', 1);
SELECT bloomset_contains('pg_class_oid_index', 1);
SELECT bloomset_contains(0, 1);
SELECT bloomset_info('rare');

-- The set of a role that may not read the table, or not all of it
CREATE ROLE regress_bloomset_reader;
SET ROLE regress_bloomset_reader;
SELECT bloomset_contains('rare_k', 1);
SELECT bloomset_value('rare_k');
SELECT * FROM bloomset_info('rare_k');
SELECT bloomset_check('rare_k');
RESET ROLE;
GRANT SELECT ON rare TO regress_bloomset_reader;
ALTER TABLE rare ENABLE ROW LEVEL SECURITY;
SELECT bloomset_contains('rare_k', 1);
SET ROLE regress_bloomset_reader;
SELECT bloomset_contains('rare_k', 1);
RESET ROLE;
ALTER TABLE rare DISABLE ROW LEVEL SECURITY;
-- one call site, several roles
CREATE FUNCTION as_role(name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('role', $1::text, true); RETURN $1; END $$;
SET ROLE regress_bloomset_reader;
SELECT bloomset_contains('rare_k', 1);
RESET ROLE;
REVOKE SELECT ON rare FROM regress_bloomset_reader;
SELECT bloomset_contains(r::regclass, 1) FROM (VALUES (1, 'rare_k', 'none'), (2, 'rare_k', 'regress_bloomset_reader')) v (n, r, who), LATERAL (SELECT as_role(who)) x ORDER BY n;
DROP ROLE regress_bloomset_reader;

-- An index that its own transaction may not trust, because of an update before it was made
BEGIN;
CREATE TABLE updated (k int, v int) WITH (fillfactor = 50);
INSERT INTO updated VALUES (1, 1);
UPDATE updated SET k = 2;
CREATE INDEX updated_k ON updated USING bloomset (k);
SELECT bloomset_contains('updated_k', 2);
ROLLBACK;
-- An update of the key is no HOT update, so that REINDEX finds every version's key
CREATE TABLE updated (k int, v int) WITH (fillfactor = 50);
CREATE INDEX updated_k ON updated USING bloomset (k);
INSERT INTO updated VALUES (1, 1);
UPDATE updated SET k = 2;
SELECT pg_stat_force_next_flush();
BEGIN;
UPDATE updated SET k = 3;
UPDATE updated SET v = 3;
SELECT pg_stat_get_xact_tuples_updated('updated'::regclass) AS updates, pg_stat_get_xact_tuples_hot_updated('updated'::regclass) AS hot;
COMMIT;

-- Transactions and subtransactions; one call site in several
BEGIN;
SAVEPOINT s;
INSERT INTO updated VALUES (50, 1);
SELECT bloomset_contains('updated_k', 50);
ROLLBACK TO s;
TRUNCATE updated;
SELECT bloomset_contains('updated_k', 3);
ROLLBACK;
SELECT bloomset_contains('updated_k', 3);
CREATE FUNCTION ask(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN bloomset_contains('updated_k', $1); END $$;
SELECT ask(3), ask(77);
INSERT INTO updated VALUES (77, 1);
SELECT ask(77);
REINDEX INDEX updated_k;
SELECT ask(77), ask(78);
TRUNCATE updated;
SELECT ask(77);
DO $$
BEGIN
	FOR i IN 1..3 LOOP
		BEGIN
			PERFORM ask(i);
			RAISE EXCEPTION 'x';
		EXCEPTION WHEN raise_exception THEN
			PERFORM ask(i);
		END;
	END LOOP;
END $$;
DROP INDEX updated_k;
SELECT ask(77);

-- The keys of many rows go into the set together: before this session reads it, and before others see the rows.
CREATE TABLE many (k int);
CREATE INDEX many_k ON many USING bloomset (k) WITH (fpr = 0.0001);
CREATE FUNCTION is_in(int) RETURNS boolean LANGUAGE sql AS $$ SELECT bloomset_contains('many_k', $1) $$;
BEGIN;
INSERT INTO many SELECT generate_series(1, 1000);
SELECT count(*) FROM many WHERE bloomset_contains('many_k', k);
SAVEPOINT s;
INSERT INTO many SELECT generate_series(1001, 2000);
SELECT keys BETWEEN 1990 AND 2010 AS counted FROM bloomset_info('many_k');
INSERT INTO many SELECT generate_series(2001, 3000);
RELEASE s;
SAVEPOINT s;
INSERT INTO many SELECT generate_series(3001, 4000);
ROLLBACK TO s;
COMMIT;
SELECT bloomset_check('many_k');
WITH new AS (INSERT INTO many SELECT generate_series(4001, 5000) RETURNING k, bloomset_contains('many_k', k) AS has)
SELECT count(*), count(*) FILTER (WHERE is_in(k)) FROM new WHERE NOT has;
SELECT bloomset_check('many_k');
BEGIN;
DECLARE c CURSOR FOR SELECT bloomset_contains('many_k', k) FROM generate_series(5001, 5002) k;
FETCH c;
INSERT INTO many SELECT generate_series(5001, 5100);
FETCH c;
COMMIT;
-- one row after another is not in the way of a function that reads the set each time
CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF bloomset_contains('many_k', NEW.k) THEN NEW.k := -NEW.k; END IF; RETURN NEW; END $$;
CREATE TRIGGER counted BEFORE INSERT ON many FOR EACH ROW EXECUTE FUNCTION counted();
INSERT INTO many SELECT 6001 + i / 2 FROM generate_series(0, 1999) i;
SELECT count(*) FILTER (WHERE k > 6000), count(*) FILTER (WHERE k < -6000) FROM many;
DROP TRIGGER counted ON many;
SELECT bloomset_check('many_k');
-- what happens to the index meanwhile
BEGIN;
INSERT INTO many SELECT generate_series(8001, 9000);
REINDEX TABLE many;
INSERT INTO many SELECT generate_series(9001, 10000);
ALTER TABLE many ALTER k TYPE bigint;
INSERT INTO many SELECT generate_series(10001, 11000);
CREATE INDEX many_more ON many USING bloomset (k);
INSERT INTO many SELECT generate_series(11001, 12000);
DROP INDEX many_more;
COMMIT;
SELECT bloomset_check('many_k');
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO many SELECT generate_series(12001, 13000);
COMMIT;
SELECT bloomset_check('many_k');
DROP FUNCTION is_in, counted CASCADE;

-- Unlogged and temporary tables
CREATE UNLOGGED TABLE unlogged (k int);
CREATE INDEX unlogged_k ON unlogged USING bloomset (k);
INSERT INTO unlogged SELECT generate_series(1, 1000);
SELECT count(*) FROM unlogged WHERE bloomset_contains('unlogged_k', k);
ALTER TABLE unlogged SET LOGGED;
SELECT bloomset_check('unlogged_k');
CREATE TEMP TABLE temporary (k int);
INSERT INTO temporary SELECT generate_series(1, 1000);
CREATE INDEX temporary_k ON temporary USING bloomset (k);
INSERT INTO temporary SELECT generate_series(1001, 2000);
SELECT count(*) FROM temporary WHERE bloomset_contains('temporary_k', k);
SELECT bloomset_check('temporary_k');

-- CONCURRENTLY, CLUSTER, VACUUM FULL, ALTER TABLE
CREATE INDEX CONCURRENTLY numbers_later ON numbers USING bloomset (i) WITH (capacity = 5000, fpr = 0.001);
REINDEX INDEX CONCURRENTLY numbers_later;
VACUUM FULL numbers;
SELECT bloomset_check('numbers_later'), bloomset_check('numbers_i');
ALTER TABLE numbers ALTER i TYPE bigint;
SELECT bloomset_check('numbers_later'), bloomset_contains('numbers_i', 999), bloomset_contains('numbers_i', '2000');
ALTER INDEX numbers_later SET (fpr = 0.01);
ALTER INDEX numbers_later RENAME TO numbers_renamed;
SELECT bloomset_contains('numbers_renamed', 5);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'numbers_renamed'::regclass;
SELECT bloomset_contains('numbers_renamed', 5);
REINDEX INDEX numbers_renamed;
SELECT bloomset_contains('numbers_renamed', 5);
SELECT relname, reltuples, relpages > 0 AS pages FROM pg_class WHERE relname = 'numbers_renamed';

-- TRUNCATE of a table that the same transaction has made keeps the file: a function must not go on with what it knew of the pages.
BEGIN;
CREATE TABLE emptied (k int);
INSERT INTO emptied SELECT generate_series(1, 100000);
CREATE INDEX emptied_k ON emptied USING bloomset (k);
CREATE FUNCTION has_key(set regclass, k int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN bloomset_contains(set, k); END';
SELECT count(*) FROM generate_series(1, 1000) k WHERE has_key('emptied_k', k);
TRUNCATE emptied;
INSERT INTO emptied SELECT generate_series(1, 1000);
SELECT count(*) FROM generate_series(1, 1000) k WHERE has_key('emptied_k', k);
ROLLBACK;

-- Calls that begin no query of their own: keys that are pending, and a stage that was added since the call before.
CREATE FUNCTION has_any(set regclass, keys int[]) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN bloomset_contains_any(set, keys); END';
CREATE FUNCTION has_in_value(set regclass, k int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN k <@ bloomset_value(set); END';
CREATE TABLE called (k int);
CREATE INDEX called_k ON called USING bloomset (k) WITH (stage_size = 64, fpr = 0.0001);
CREATE INDEX called_one ON called USING bloomset (k) WITH (capacity = 1000, fpr = 0.001);
DO $$
BEGIN
	INSERT INTO called SELECT generate_series(1, 100);
	RAISE NOTICE 'array: %', has_any('called_k', ARRAY[100]);
	INSERT INTO called SELECT generate_series(101, 500);
	RAISE NOTICE 'array, set of one stage: %', has_any('called_one', ARRAY[500]);
	INSERT INTO called SELECT generate_series(501, 900);
	RAISE NOTICE 'value: %', has_in_value('called_k', 900);
	INSERT INTO called SELECT generate_series(901, 1300);
	RAISE NOTICE 'value, set of one stage: %', has_in_value('called_one', 1300);
	INSERT INTO called SELECT generate_series(1301, 50000);
	RAISE NOTICE 'a later stage: %', has_any('called_k', ARRAY[49999, 50000]);
END $$;
SELECT stages > 1 AS grown FROM bloomset_info('called_k');
DROP TABLE called;
DROP FUNCTION has_any;
DROP FUNCTION has_in_value;

-- A view keeps the OID of an index, and REINDEX CONCURRENTLY makes another one; a name that is text is looked up each time.
CREATE VIEW by_oid AS SELECT bloomset_contains('numbers_renamed', 5) AS has;
CREATE VIEW by_name AS SELECT bloomset_contains('numbers_renamed'::text::regclass, 5) AS has;
REINDEX INDEX CONCURRENTLY numbers_renamed;
DO $$
DECLARE
	hint text;
BEGIN
	PERFORM FROM by_oid WHERE has;
EXCEPTION WHEN undefined_table THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RAISE NOTICE '%', hint;
END $$;
SELECT * FROM by_name;
DROP VIEW by_oid, by_name;

-- Read-only transactions may ask; parallel workers may not.
BEGIN READ ONLY;
SELECT bloomset_contains('numbers_renamed', 5), keys > 900 AS counted FROM bloomset_info('numbers_renamed');
COMMIT;

DROP TABLE seen, moods, pairs, mails, numbers, padded, growing, many, rare, documents, updated, unlogged, temporary;
DROP FUNCTION of_type, as_role, ask;
DROP TYPE mood, pair, positive;

-- The planner's estimate: keys of the set among the distinct values of the column; a third of the rows where nothing is known.
CREATE TABLE page (id int, url text, k int);
INSERT INTO page SELECT g, 'u' || g, g % 100 FROM generate_series(1, 10000) g;
CREATE INDEX page_urls ON page USING bloomset (url);
CREATE INDEX page_k ON page USING bloomset (k) WITH (fpr = 0.1);
CREATE INDEX page_part ON page USING bloomset (id) WHERE k < 10;
CREATE INDEX page_expr ON page USING bloomset ((id % 500));
CREATE INDEX page_row ON page USING bloomset (id, k);
CREATE TABLE page_set (s bloomset_stage) USING bloomset_table;
CREATE TABLE batch AS SELECT g AS id, 'u' || g AS u, g % 200 AS k, CASE WHEN g % 2 = 0 THEN g END AS half FROM generate_series(1, 20000) g;
ANALYZE page, batch;
CREATE FUNCTION estimated(condition text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM batch WHERE ' || condition INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END $$;
SELECT c AS condition, estimated(c) FROM unnest(ARRAY['bloomset_contains(''page_urls'', u)', 'NOT bloomset_contains(''page_urls'', u)', 'bloomset_contains(''page_k'', k)',
	'bloomset_contains(''page_part'', id)', 'bloomset_contains(''page_part'', half)', 'bloomset_contains(''page_expr'', id)', 'bloomset_contains(''page_row'', ROW(id, k))',
	'bloomset_contains(''page_urls''::text::regclass, u)', 'bloomset_contains(''page_set'', id)', 'bloomset_contains(''page_urls'', ''x'')', 'bloomset_contains(0, id)',
	'bloomset_contains(NULL, u)']) c;
PREPARE any_set AS SELECT FROM batch WHERE bloomset_contains($1, u);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE any_set('page_urls');
RESET plan_cache_mode;
DROP TABLE page, page_set, batch;
DROP FUNCTION estimated;

-- A file that a subtransaction puts in the place of the index's own, and that is taken back: rows of before keep their keys.
CREATE TABLE replaced (k int);
CREATE INDEX replaced_k ON replaced USING bloomset (k);
BEGIN;
INSERT INTO replaced SELECT generate_series(1, 1000);
SAVEPOINT a;
TRUNCATE replaced;
SELECT count(*) FROM replaced;
ROLLBACK TO a;
INSERT INTO replaced SELECT generate_series(1001, 2000);
SAVEPOINT b;
REINDEX INDEX replaced_k;
INSERT INTO replaced SELECT generate_series(2001, 3000);
SELECT count(*) FROM replaced;
ROLLBACK TO b;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE NOT bloomset_contains('replaced_k', k)) AS missing FROM replaced;
DROP TABLE replaced;

-- An index that is built of an expression which begins a subtransaction, with keys that wait.
CREATE FUNCTION caught(k int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF k < 0 THEN
		BEGIN RETURN k; EXCEPTION WHEN others THEN RETURN NULL; END;
	END IF;
	RETURN k;
END $$;
CREATE TABLE expressed (k int);
CREATE INDEX expressed_k ON expressed USING bloomset (caught(k));
BEGIN;
INSERT INTO expressed VALUES (-1);
INSERT INTO expressed SELECT generate_series(101, 100000);
REINDEX INDEX expressed_k;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE NOT bloomset_contains('expressed_k', k)) AS missing FROM expressed;
DROP TABLE expressed;
DROP FUNCTION caught;

-- A change of type that needs no rewrite drops the index, and makes another one of its file: keys that wait go into it.
CREATE TABLE retyped (k varchar(10));
CREATE INDEX retyped_k ON retyped USING bloomset (k);
SELECT pg_relation_filenode('retyped_k') AS file \gset
BEGIN;
INSERT INTO retyped SELECT 'k' || i FROM generate_series(1, 1000) i;
ALTER TABLE retyped ALTER k TYPE varchar(20);
COMMIT;
SELECT pg_relation_filenode('retyped_k') = :file AS same_file, count(*), count(*) FILTER (WHERE NOT bloomset_contains('retyped_k', k)) AS missing FROM retyped;
DROP TABLE retyped;
