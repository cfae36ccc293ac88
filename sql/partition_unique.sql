-- Keys that one row of all partitions may have (src/pg/partitions/unique); test/server/partition_unique.py has concurrent sessions.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA uniques;
SET search_path = uniques, public;
CREATE TABLE log (id bigint, part int, note text) PARTITION BY LIST (part);
CREATE TABLE log_1 PARTITION OF log FOR VALUES IN (1);
CREATE TABLE log_2 (note text, gone int, part int, id bigint);
ALTER TABLE log_2 DROP gone;
ALTER TABLE log ATTACH PARTITION log_2 FOR VALUES IN (2);
CREATE TABLE log_34 PARTITION OF log FOR VALUES IN (3, 4) PARTITION BY LIST (part);
CREATE TABLE log_3 PARTITION OF log_34 FOR VALUES IN (3);
-- a statement's error without the lines of the source that raised it
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
	at text;
	n int;
BEGIN
	EXECUTE statement;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, at = TABLE_NAME;
	RETURN concat_ws(' | ', SQLSTATE, message, nullif(detail, ''), nullif(hint, ''), nullif(at, ''));
END $$;
\pset format unaligned
\pset tuples_only on

-- What is refused.
SELECT try('SELECT bloomx_unique(NULL, ''id'')');
SELECT try('SELECT bloomx_unique(''log'', ''id'')');
SELECT try('SELECT bloomx_unique(''log'', ''ID'')');
SELECT try('SELECT bloomx_unique(''log'', ''ctid'')');
SELECT try('SELECT bloomx_unique(''log_1'', ''id'')');
CREATE TABLE whole (id int);
SELECT try('SELECT bloomx_unique(''whole'', ''id'')');
CREATE INDEX ON log (id) WHERE id > 0;
CREATE INDEX ON log (part, id);
CREATE INDEX ON log USING hash (id);
CREATE INDEX ON log (note COLLATE "C");
SELECT try('SELECT bloomx_unique(''log'', ''id'')'), try('SELECT bloomx_unique(''log'', ''note'')');
CREATE INDEX log_id ON log (id, note);
SET default_transaction_isolation = 'repeatable read';
SELECT try('SELECT bloomx_unique(''log'', ''id'')');
RESET default_transaction_isolation;
CREATE TABLE away (id bigint, part int) PARTITION BY LIST (part);
CREATE INDEX ON away (id);
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE away_1 PARTITION OF away FOR VALUES IN (1) SERVER nowhere;
SELECT try('SELECT bloomx_unique(''away'', ''id'')');
DROP FOREIGN DATA WRAPPER nowhere CASCADE;
INSERT INTO log VALUES (5, 1), (5, 2), (NULL, 1), (NULL, 2);
SELECT try('SELECT bloomx_unique(''log'', ''id'')');
DELETE FROM log WHERE id = 5;

-- The trigger, with and without an index that knows which partitions possibly have the key.
SELECT bloomx_unique('log', 'id');
SELECT tgrelid::regclass, tgenabled, tgdeferrable, tginitdeferred, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'log_id_key' ORDER BY 1;
CREATE PROCEDURE keys() LANGUAGE plpgsql AS $$
DECLARE
	statement text;
BEGIN
	DELETE FROM log;
	FOREACH statement IN ARRAY ARRAY[
		'INSERT INTO log VALUES (1, 1), (2, 2), (3, 3), (NULL, 1), (NULL, 3)',
		'INSERT INTO log VALUES (1, 2)', 'INSERT INTO log VALUES (1, 1)', 'INSERT INTO log VALUES (2, 3)', 'INSERT INTO log VALUES (3, 1)',
		'INSERT INTO log_2 (id, part) VALUES (3, 2)', 'INSERT INTO log_34 VALUES (1, 3)',
		'INSERT INTO log VALUES (7, 1), (8, 1), (7, 3)', 'INSERT INTO log SELECT g % 10 + 10, g % 3 + 1 FROM generate_series(1, 11) g',
		'INSERT INTO log SELECT g + 10, g % 3 + 1 FROM generate_series(1, 10) g',
		-- the key leaves a partition, and comes back
		'UPDATE log SET part = 2 WHERE id = 1', 'UPDATE log SET part = part % 3 + 1 WHERE id < 10', 'UPDATE log SET note = ''same'', id = id',
		'UPDATE log SET id = 3 WHERE id = 2', 'UPDATE log SET id = 2, part = 3 WHERE id = 1', 'UPDATE log SET id = id + 1', 'UPDATE log SET id = 4 - id WHERE id < 4',
		'WITH gone AS (DELETE FROM log WHERE id = 2 RETURNING *) INSERT INTO log SELECT id, part % 3 + 1, note FROM gone',
		'MERGE INTO log USING (VALUES (3), (99)) v (k) ON log.id = k WHEN MATCHED THEN UPDATE SET part = part % 3 + 1 WHEN NOT MATCHED THEN INSERT VALUES (k, 1)',
		'MERGE INTO log USING (VALUES (98)) v (k) ON log.id = k WHEN NOT MATCHED THEN INSERT VALUES (99, 3)',
		'INSERT INTO log VALUES (99, 3) ON CONFLICT DO NOTHING'] LOOP
		RAISE INFO '%: %', statement, try(statement);
	END LOOP;
END $$;
CALL keys();
SELECT array_agg(id ORDER BY id), count(*) FROM log;
CREATE INDEX log_lookup ON log USING bloomx (note, id) WITH (partition_lookup = on);
CALL keys();
SELECT array_agg(id ORDER BY id), count(*) FROM log;
SET bloomx.partition_lookup = off;
CALL keys();
SELECT array_agg(id ORDER BY id), count(*) FROM log;
RESET bloomx.partition_lookup;
-- a store that knows nothing
REINDEX INDEX public.bloomx_partition_store_pages;
CALL keys();
SELECT count(bloomx_seal('log_lookup'));

-- Partitions that are read: the row's own and those that possibly have the key.  Other partitions have no index to read.
BEGIN;
CREATE TABLE few (id int, part int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE few_%s PARTITION OF few FOR VALUES IN (%s)', g, g) FROM generate_series(1, 20) g \gexec
CREATE INDEX few_id ON few (id);
CREATE INDEX few_lookup ON few USING bloomx (id) WITH (partition_lookup = on);
INSERT INTO few SELECT g, g FROM generate_series(1, 20) g;
SELECT bloomx_unique('few', 'id');
DROP INDEX few_id;
CREATE INDEX ON few_3 (id);
SELECT try('INSERT INTO few VALUES (1000, 3)'), try('INSERT INTO few VALUES (3, 3)'), try('INSERT INTO few VALUES (4, 3)');
SET LOCAL bloomx.partition_lookup = off;
SELECT try('INSERT INTO few VALUES (1001, 3)');
ROLLBACK;

-- Deferred.
DELETE FROM log;
INSERT INTO log VALUES (1, 1), (2, 2);
BEGIN;
SET CONSTRAINTS log_id_key DEFERRED;
INSERT INTO log VALUES (1, 3);
DELETE FROM log WHERE id = 1 AND part = 1;
COMMIT;
BEGIN;
SET CONSTRAINTS log_id_key DEFERRED;
INSERT INTO log VALUES (2, 3), (1, 2);
UPDATE log SET id = 9 WHERE id = 1 AND part = 2;
DELETE FROM log WHERE (id, part) IN ((2, 3), (9, 2));
COMMIT;
BEGIN;
SET CONSTRAINTS log_id_key DEFERRED;
INSERT INTO log VALUES (1, 2);
-- the first version of the row is dead when the check comes, and the update does not change the key
UPDATE log SET note = 'next' WHERE id = 1 AND part = 2;
SELECT try('SET CONSTRAINTS log_id_key IMMEDIATE');
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO log VALUES (1, 2);
SAVEPOINT a;
DELETE FROM log WHERE id = 1 AND part = 3;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO a;
COMMIT;
BEGIN;
INSERT INTO log VALUES (5, 1);
SAVEPOINT a;
DELETE FROM log WHERE id = 5;
INSERT INTO log VALUES (5, 2);
ROLLBACK TO a;
SELECT try('INSERT INTO log VALUES (5, 2)');
COMMIT;
SELECT id, part FROM log ORDER BY 1;
-- a name reaches the partitions of one schema
CREATE SCHEMA archive;
CREATE TABLE archive.log_4 PARTITION OF log_34 FOR VALUES IN (4);
CREATE FUNCTION deferred(names text, part int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET CONSTRAINTS %s DEFERRED', names);
	INSERT INTO log VALUES (5, part);
	DELETE FROM log WHERE id = 5 AND log.part = deferred.part;
	RETURN 'deferred';
END $$;
SELECT format('SELECT %L, %s, left(try($$SELECT uniques.deferred(%1$L, %2$s)$$), 5)', names, part)
FROM unnest('{log_id_key,uniques.log_id_key,archive.log_id_key,ALL}'::text[]) names, unnest('{2,4}'::int[]) part \gexec
SELECT left(try('SET CONSTRAINTS public.log_id_key DEFERRED'), 5);
DROP FUNCTION deferred;
DROP SCHEMA archive CASCADE;
-- a row that is frozen when it comes is checked
BEGIN;
TRUNCATE log_2;
COPY log_2 (id, part) FROM STDIN (FREEZE);
5	2
\.
ROLLBACK;

-- New partitions; one that is attached with rows; one that is detached.
CREATE TABLE log_4 PARTITION OF log_34 FOR VALUES IN (4);
SELECT try('INSERT INTO log VALUES (5, 4)'), try('INSERT INTO log VALUES (6, 4)'), try('INSERT INTO log VALUES (6, 1)');
ALTER TABLE log_34 DETACH PARTITION log_4;
INSERT INTO log_4 VALUES (5, 4);
SELECT try('INSERT INTO log VALUES (6, 1)');
BEGIN;
ALTER TABLE log_34 ATTACH PARTITION log_4 FOR VALUES IN (4);
SELECT try('SELECT bloomx_unique(''log'', ''id'')');
DELETE FROM log_4;
SELECT bloomx_unique('log', 'id');
COMMIT;
SELECT try('INSERT INTO log VALUES (5, 4)'), try('INSERT INTO log VALUES (8, 4)'), try('INSERT INTO log VALUES (8, 1)');
TRUNCATE log_4;
SELECT try('INSERT INTO log VALUES (8, 1)');

-- As a unique index it holds in replicas.  The column may be renamed; nothing takes it away unseen.
SET session_replication_role = replica;
SELECT try('INSERT INTO log VALUES (8, 2)');
RESET session_replication_role;
ALTER TABLE log RENAME id TO "Key";
ALTER TABLE log RENAME TO "Log";
SELECT try('INSERT INTO "Log" VALUES (8, 2)');
SELECT left(try('ALTER TABLE "Log" DROP "Key"'), 5);
SELECT left(try('ALTER TABLE "Log" ALTER "Key" TYPE int'), 5);
SELECT left(try('DROP TRIGGER log_id_key ON log_1'), 5);
SELECT bloomx_unique('"Log"', 'Key');

-- Nothing is told but that the key exists, and the key to who may read the column.
CREATE ROLE regress_bloomx_writer;
GRANT USAGE ON SCHEMA uniques TO regress_bloomx_writer;
GRANT INSERT ON "Log" TO regress_bloomx_writer;
SET ROLE regress_bloomx_writer;
SELECT try('INSERT INTO "Log" VALUES (8, 2)');
SELECT try('SELECT bloomx_unique(''"Log"'', ''note'')');
RESET ROLE;
GRANT SELECT ("Key") ON "Log" TO regress_bloomx_writer;
SET ROLE regress_bloomx_writer;
SELECT try('INSERT INTO "Log" VALUES (8, 2)');
RESET ROLE;
ALTER TABLE "Log" ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON "Log" FOR INSERT TO regress_bloomx_writer WITH CHECK (true);
SET ROLE regress_bloomx_writer;
SELECT try('INSERT INTO "Log" VALUES (8, 2)');
RESET ROLE;
-- the owner checks all rows, or none
ALTER TABLE "Log" FORCE ROW LEVEL SECURITY;
ALTER TABLE "Log" OWNER TO regress_bloomx_writer;
SET ROLE regress_bloomx_writer;
SELECT left(try('SELECT bloomx_unique(''"Log"'', ''Key'')'), 5);
RESET ROLE;

-- Other types.
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN word AS varchar(20);
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE typed (part int, n numeric, f float8, w word, p pair, a int[], t text COLLATE blind, u uuid) PARTITION BY LIST (part);
SELECT format('CREATE TABLE typed_%s PARTITION OF typed FOR VALUES IN (%s)', g, g) FROM generate_series(1, 3) g \gexec
SELECT format('CREATE INDEX ON typed (%I)', c) FROM unnest('{n,f,w,p,a,t,u}'::text[]) c \gexec
CREATE INDEX ON typed USING bloomx (n, f, w, u) WITH (partition_lookup = on);
SELECT string_agg(bloomx_unique('typed', c), ' ') FROM unnest('{n,f,w,p,a,t,u}'::name[]) c;
INSERT INTO typed VALUES (1, 1.0, '-0', 'word', '(1,)', '{1,2}', 'Word', '00000000-0000-0000-0000-000000000001');
SELECT c, try(format('INSERT INTO typed (part, %I) VALUES (2, %L)', c, v)), left(try(format('INSERT INTO typed (part, %I) VALUES (3, %L)', c, v)), 5)
FROM (VALUES ('n', '1.000'), ('n', '1.001'), ('f', '0'), ('f', 'NaN'), ('w', 'word'), ('w', 'word '), ('p', '(1,)'), ('p', '(2,)'), ('a', '{1,2}'), ('a', '{2,1}'), ('t', 'wORD'), ('t', 'words'),
	('u', '{00000000-0000-0000-0000-000000000001}')) v (c, v);

-- The function is for these triggers.
CREATE TRIGGER other AFTER INSERT ON whole FOR EACH ROW EXECUTE FUNCTION bloomx_unique_check();
SELECT try('INSERT INTO whole VALUES (1)');
DROP TRIGGER other ON whole;
CREATE TRIGGER other BEFORE INSERT ON whole FOR EACH ROW WHEN (NEW.id IS NOT NULL) EXECUTE FUNCTION bloomx_unique_check();
SELECT try('INSERT INTO whole VALUES (1)');
DROP TRIGGER other ON whole;
CREATE TRIGGER other AFTER INSERT ON whole FOR EACH ROW WHEN (NEW.id IS NOT NULL) EXECUTE FUNCTION bloomx_unique_check();
SELECT try('INSERT INTO whole VALUES (1)');
DROP TRIGGER other ON whole;
CREATE TRIGGER other AFTER INSERT ON whole FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION bloomx_unique_check();
SELECT try('INSERT INTO whole VALUES (NULL)');

-- DROP TRIGGER is all that takes it away.
DROP TRIGGER log_id_key ON "Log";
SELECT try('INSERT INTO "Log" VALUES (8, 2)'), count(*) FROM pg_trigger WHERE tgname = 'log_id_key';
DROP SCHEMA uniques CASCADE;
DROP ROLE regress_bloomx_writer;

-- names that are too long
CREATE TABLE a_table_with_a_name_of_sixty_three_bytes_which_is_the_most_ther (a int, b int, at int) PARTITION BY RANGE (at);
CREATE TABLE a_leaf PARTITION OF a_table_with_a_name_of_sixty_three_bytes_which_is_the_most_ther DEFAULT;
CREATE INDEX ON a_table_with_a_name_of_sixty_three_bytes_which_is_the_most_ther (a);
CREATE INDEX ON a_table_with_a_name_of_sixty_three_bytes_which_is_the_most_ther (b);
SELECT bloomx_unique('a_table_with_a_name_of_sixty_three_bytes_which_is_the_most_ther', 'a');
SELECT bloomx_unique('a_table_with_a_name_of_sixty_three_bytes_which_is_the_most_ther', 'b');
DROP TABLE a_table_with_a_name_of_sixty_three_bytes_which_is_the_most_ther;
