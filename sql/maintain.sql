--
-- bloom_maintain: triggers that keep a filter column current.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
\set SHOW_CONTEXT never
CREATE ROLE regress_bloomx_owner;
CREATE ROLE regress_bloomx_writer;
GRANT CREATE ON SCHEMA public TO regress_bloomx_owner, regress_bloomx_writer;
SET ROLE regress_bloomx_owner;

-- One table, one filter: existing rows, INSERT, UPDATE, COPY, TRUNCATE. What is created is printed.
CREATE TABLE account (email text, country text);
INSERT INTO account SELECT 'user ' || i, 'c' || i % 3 FROM generate_series(1, 2000) i;
CREATE TABLE emails (f bloomfilter);
SET client_min_messages = notice;
SELECT bloom_maintain('account', 'email', 'emails', 'f');
SET client_min_messages = warning;
CREATE VIEW emails_lost AS SELECT count(*) FROM account, emails WHERE NOT f @> email;
SELECT * FROM emails_lost;
INSERT INTO account VALUES ('inserted', 'c1'), (NULL, 'c1');
UPDATE account SET email = 'updated' WHERE email = 'user 7';
COPY account FROM stdin;
copied	c2
\.
MERGE INTO account USING (VALUES ('merged')) m(email) ON account.email = m.email WHEN NOT MATCHED THEN INSERT VALUES (m.email, 'c2');
SELECT f @> 'inserted' AS inserted, f @> 'updated' AS updated, f @> 'copied' AS copied, f @> 'merged' AS merged, f @> 'user 7' AS "stays possible", (SELECT * FROM emails_lost) AS lost FROM emails;
-- ... a statement without new keys leaves the filter as it is
SELECT ctid AS before FROM emails \gset
UPDATE account SET country = 'c9' WHERE email = 'user 8';
INSERT INTO account VALUES ('inserted', 'c1');
SELECT ctid = :'before' AS untouched FROM emails;
-- ... a second call fills again, and changes nothing else
SELECT bloom_maintain('account', 'email', 'emails', 'f');
SELECT count(*) AS triggers, (SELECT * FROM emails_lost) AS lost FROM pg_trigger WHERE tgrelid = 'account'::regclass;
TRUNCATE account;
SELECT bloom_is_empty(f) AS emptied, f @> 'copied' AS copied FROM emails;
-- ... a filter that is gone is no silent loss
DELETE FROM emails;
INSERT INTO account VALUES ('lost', 'c1');
INSERT INTO emails VALUES (NULL);
INSERT INTO account VALUES ('found', 'c1');
SELECT f @> 'found' AS found FROM emails;
SET client_min_messages = notice;
SELECT bloom_unmaintain('account', 'email', 'emails', 'f');
SELECT bloom_unmaintain('account', 'email', 'emails', 'f');
SET client_min_messages = warning;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'account'::regclass;
DROP TABLE account, emails CASCADE;
RESET ROLE;

-- A row for each segment, an expression as key, names that need quotes, a column of one geometry; an array by its elements.
CREATE SCHEMA "Odd $body$ %s";
CREATE TABLE "Odd $body$ %s"."my ""table$body$" (r_ text, "Kind of" text, s int[], k int, added int);
CREATE TABLE "Odd $body$ %s"."per %1$s kind" ("Kind of" text PRIMARY KEY, id int UNIQUE, "F $f$" bloomfilter(1000, 0.001));
CREATE TABLE "Odd $body$ %s".elements (len int UNIQUE, f bloomfilter);
SET search_path = "Odd $body$ %s", public;
INSERT INTO "my ""table$body$" SELECT 'A' || i, 'kind ' || i % 4, ARRAY[i, -i], i, i FROM generate_series(1, 400) i;
SELECT bloom_maintain('"my ""table$body$"', 'lower(r_)', '"per %1$s kind"', 'F $f$', 'Kind of');
SELECT bloom_maintain('"my ""table$body$"', 'unnest(s)', 'elements', 'f', 'length(r_)');
INSERT INTO "my ""table$body$" VALUES ('NEW', 'kind 1', '{77777, 88888}'), ('Only', 'kind new', NULL), (NULL, NULL, NULL);
UPDATE "my ""table$body$" SET r_ = 'Changed' WHERE k = 5;
SELECT p."Kind of", "F $f$" @> 'new' AS new, "F $f$" @> 'only' AS only, "F $f$" @> 'changed' AS changed, (bloom_info("F $f$")).capacity,
       (SELECT count(*) FROM "my ""table$body$" t WHERE t."Kind of" = p."Kind of" AND NOT "F $f$" @> lower(r_)) AS lost
FROM "per %1$s kind" p ORDER BY 1;
SELECT len, f @> 77777 AS "77777", (SELECT count(*) FROM "my ""table$body$", unnest(s) e WHERE length(r_) = len AND NOT f @> e) AS lost FROM elements ORDER BY 1;
-- ... a key without a segment would be in no filter
INSERT INTO "my ""table$body$" VALUES ('nowhere', NULL, NULL);
TRUNCATE "my ""table$body$";
SELECT count(*) AS segments, bool_and(bloom_is_empty("F $f$")) AS emptied FROM "per %1$s kind";
SELECT bloom_unmaintain('"my ""table$body$"', 'lower(r_)', '"per %1$s kind"', 'F $f$', 'Kind of');
INSERT INTO "my ""table$body$" VALUES ('later', 'kind 1', '{5}');
SELECT "F $f$" @> 'later' AS maintained FROM "per %1$s kind" WHERE "Kind of" = 'kind 1';
SELECT f @> 5 AS "the other stays" FROM elements WHERE len = 5;
RESET search_path;
DROP SCHEMA "Odd $body$ %s" CASCADE;

-- An empty table whose keys are of another type than those of the filters is refused at once; in the filters of others it may be.
CREATE TABLE numbers (n int, "half" numeric);
CREATE TABLE words (name text PRIMARY KEY, f bloomfilter);
INSERT INTO words SELECT 'all', bloom_agg('word'::text);
SELECT bloom_maintain('numbers', 'n', 'words', 'f');
SELECT bloom_maintain('numbers', 'n', 'words', 'f', $$'all'$$);
SELECT bloom_maintain('numbers', 'n', 'words', 'f', 'n::text');
SELECT bloom_maintain('numbers', 'n', 'words', 'f', $$'numbers'$$), bloom_maintain('numbers', 'n::text', 'words', 'f', $$'all'$$);
INSERT INTO numbers VALUES (7);
SELECT name, CASE name WHEN 'numbers' THEN f @> 7 ELSE f @> '7'::text END AS "7" FROM words ORDER BY name;
DROP TABLE numbers, words;

-- Counting filters forget the keys of deleted rows, each once.
CREATE TABLE session (server int, client text);
CREATE TABLE clients (server int PRIMARY KEY, f bloomfilter(1000, 0.001, counting));
INSERT INTO session VALUES (1, 'early');
SELECT bloom_maintain('session', 'client', 'clients', 'f', 'server');
INSERT INTO session VALUES (1, 'anna'), (1, 'anna'), (1, 'ben'), (2, 'ben');
DELETE FROM session WHERE ctid = (SELECT min(ctid) FROM session WHERE client = 'anna');
UPDATE session SET client = 'carl', server = 2 WHERE client = 'ben' AND server = 1;
DELETE FROM session WHERE client = 'early';
SELECT server, f @> 'early' AS early, f @> 'anna' AS anna, f @> 'ben' AS ben, f @> 'carl' AS carl FROM clients ORDER BY 1;
TRUNCATE session;
SELECT bool_and(bloom_is_empty(f)) AS emptied FROM clients;
-- ... and so where a backslash in a string escapes, which PostgreSQL 19 has no more
SET client_min_messages = error;
DO $$ BEGIN
	SET standard_conforming_strings = off;
EXCEPTION WHEN OTHERS THEN
END $$;
SELECT bloom_unmaintain('session', 'client', 'clients', 'f', 'server'), bloom_maintain('session', 'client', 'clients', 'f', 'server');
INSERT INTO session VALUES (1, 'dora');
SELECT f @> 'dora' AS dora FROM clients WHERE server = 1;
RESET standard_conforming_strings;
SET client_min_messages = warning;
DROP TABLE session, clients;

-- Partitioned: statements on the table and on a partition, rows that move, partitions made and attached later; a partition by itself.
CREATE TABLE log (day date, id int) PARTITION BY RANGE (day);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY RANGE (id);
CREATE TABLE log_2_1 PARTITION OF log_2 FOR VALUES FROM (0) TO (1000000);
INSERT INTO log SELECT '2026-01-15', i FROM generate_series(1, 100) i;
CREATE TABLE ids (f bloomfilter);
CREATE TABLE february (f bloomfilter);
SELECT bloom_maintain('log', 'id', 'ids', 'f'), bloom_maintain('log_2', 'id', 'february', 'f');
INSERT INTO log VALUES ('2026-02-03', 1001);
INSERT INTO log_1 VALUES ('2026-01-03', 1002);
INSERT INTO log_2_1 VALUES ('2026-02-04', 1003);
UPDATE log SET day = '2026-02-05', id = 1004 WHERE id = 100;
CREATE TABLE log_3 PARTITION OF log FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
INSERT INTO log_3 VALUES ('2026-03-03', 1005);
CREATE TABLE log_4 (day date, id int);
ALTER TABLE log ATTACH PARTITION log_4 FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
COPY log_4 FROM stdin;
2026-04-03	1006
\.
SELECT count(*) AS rows, count(*) FILTER (WHERE NOT ids.f @> id) AS lost, count(*) FILTER (WHERE log.tableoid = 'log_2_1'::regclass) AS in_february,
       count(*) FILTER (WHERE log.tableoid = 'log_2_1'::regclass AND NOT february.f @> id) AS lost_in_february FROM log, ids, february;
SELECT bloom_unmaintain('log', 'id', 'ids', 'f');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'log_1'::regclass;
DROP TABLE log, ids, february;

-- Whatever the key: a row, null fields, a type of one's own.
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE keys (a int, b text, m mood);
CREATE TABLE filters (name text PRIMARY KEY, f bloomfilter);
SELECT bloom_maintain('keys', 'ROW(a, b)', 'filters', 'f', $$'rows'::text$$), bloom_maintain('keys', 'm', 'filters', 'f', $$'moods'::text$$);
INSERT INTO keys VALUES (1, 'x', 'sad'), (2, NULL, 'happy');
SELECT (SELECT f @> ROW(1, 'x'::text) AND f @> ROW(2, NULL::text) AND NOT f @> ROW(3, 'x'::text) FROM filters WHERE name = 'rows') AS rows, (SELECT f @> 'sad'::mood FROM filters WHERE name = 'moods') AS mood;
-- ... constant segments of several tables, even the same: TRUNCATE of one takes nothing from the other; nobody else may empty them
CREATE TABLE more_moods (m mood);
SELECT bloom_maintain('more_moods', 'm', 'filters', 'f', $$'moods'::text$$);
INSERT INTO more_moods VALUES ('happy');
TRUNCATE keys;
SELECT name, CASE name WHEN 'moods' THEN f @> 'happy'::mood END AS happy FROM filters ORDER BY name;
SELECT bloom_maintain('more_moods', 'm', 'filters', 'f', 'm::text');
SELECT bloom_unmaintain('keys', 'ROW(a, b)', 'filters', 'f', $$'rows'::text$$), bloom_unmaintain('keys', 'm', 'filters', 'f', $$'moods'::text$$);
DROP TABLE more_moods, filters;
-- ... a table that feeds the only filter, and one that would, too
CREATE TABLE filter (f bloomfilter);
SELECT bloom_maintain('keys', 'ROW(a, b)', 'filter', 'f');
SELECT bloom_maintain('keys', 'a', 'filter', 'f');
INSERT INTO keys VALUES (1, 'x', 'sad');
TRUNCATE keys;
SELECT bloom_is_empty(f) AS emptied FROM filter;
DROP TABLE keys, filter;
DROP TYPE mood;

-- Privileges: who may write to the table need not write to the filters; only the owner of both can couple them.
CREATE TABLE others (f bloomfilter);
SET ROLE regress_bloomx_owner;
CREATE TABLE source (id int);
CREATE TABLE target (f bloomfilter);
GRANT INSERT, SELECT, TRIGGER, REFERENCES ON source TO regress_bloomx_writer;
SELECT bloom_maintain('source', 'id', 'others', 'f');
SELECT bloom_maintain('source', 'id', 'target', 'f');
SET ROLE regress_bloomx_writer;
SELECT bloom_maintain('source', 'id', 'target', 'f');
CREATE FUNCTION pg_temp.bloom_add_all(bloomfilter, int[]) RETURNS bloomfilter LANGUAGE plpgsql AS 'BEGIN RAISE ''called as %'', current_user; END';
CREATE TEMP TABLE target (f bloomfilter);
SET search_path = pg_temp, public;
INSERT INTO public.source VALUES (42);
RESET search_path;
SELECT tgfoid::regproc AS function FROM pg_trigger WHERE tgrelid = 'source'::regclass LIMIT 1 \gset
CREATE TEMP TABLE mine (id int);
CREATE TRIGGER mine AFTER INSERT ON mine REFERENCING NEW TABLE AS added EXECUTE FUNCTION public.:"function"();
DROP TABLE mine, pg_temp.target;
RESET ROLE;
SELECT f @> 42 AS found FROM target;
SELECT pg_get_userbyid(proowner) AS owner, prosecdef, has_function_privilege('regress_bloomx_writer', oid, 'EXECUTE') AS for_all FROM pg_proc WHERE proname = :'function';
-- ... a superuser's call makes the owner's function
SELECT bloom_unmaintain('source', 'id', 'target', 'f'), bloom_maintain('source', 'id', 'target', 'f');
SELECT pg_get_userbyid(proowner) AS owner FROM pg_proc WHERE proname = :'function';
-- ... rows that a policy hides are no reason to leave keys out
ALTER TABLE source ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SET ROLE regress_bloomx_owner;
SELECT bloom_maintain('source', 'id', 'target', 'f');
RESET ROLE;
DROP TABLE source, target, others;
DROP OWNED BY regress_bloomx_owner, regress_bloomx_writer;
DROP ROLE regress_bloomx_owner, regress_bloomx_writer;

-- Columns of the target may have the names that bloom_maintain uses.
CREATE TABLE source (k int, c int);
CREATE TABLE target (k int, c int, e int, keys int, f bloomfilter);
INSERT INTO source VALUES (4, 0);
SELECT bloom_maintain('source', 'k', 'target', 'f');
INSERT INTO source VALUES (5, 0);
SELECT f @> 4 AS old, f @> 5 AS new, f @> 6 AS no FROM target;
SELECT bloom_unmaintain('source', 'k', 'target', 'f');
DROP TABLE source, target;

-- DROP EXTENSION leaves no triggers that could only fail.
CREATE TABLE source (id int);
CREATE TABLE target (f bloomfilter);
SELECT bloom_maintain('source', 'id', 'target', 'f'), bloom_maintain('source', 'id', 'target', 'f');
SELECT deptype, count(*) FROM pg_depend WHERE objid IN (SELECT tgfoid FROM pg_trigger WHERE tgrelid = 'source'::regclass) AND refclassid = 'pg_extension'::regclass GROUP BY 1;
BEGIN;
DROP EXTENSION bloomx CASCADE;
INSERT INTO source VALUES (1);
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'source'::regclass;
ROLLBACK;
DROP TABLE source, target CASCADE;

-- What cannot be.
CREATE TABLE source (id int, tags int[], note text);
CREATE TABLE target (f bloomfilter, a int UNIQUE, b int UNIQUE, t text);
CREATE VIEW seen AS SELECT * FROM source;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT bloom_maintain('source', 'id', 'target', 'f');
ROLLBACK;
SELECT bloom_maintain('seen', 'id', 'target', 'f');
SELECT bloom_maintain('source', 'id', 'target', 't');
SELECT bloom_maintain('source', 'id', 'target', '"f"');
SELECT bloom_maintain('source', 'no_such', 'target', 'f');
SELECT bloom_maintain('source', 'tags', 'target', 'f');
SELECT bloom_maintain('source', 'id', 'target', 'f', 'note');
SELECT bloom_maintain('source', NULL, 'target', 'f');
INSERT INTO target VALUES (NULL, 1, 1), (NULL, 2, 2);
SELECT bloom_maintain('source', 'id', 'target', 'f');
CREATE TABLE by_day (day date PRIMARY KEY, f bloomfilter);
SELECT bloom_maintain('source', 'id', 'by_day', 'f');
DROP TABLE by_day;
CREATE TABLE child () INHERITS (source);
SELECT bloom_maintain('source', 'id', 'target', 'f');
DROP TABLE source, target CASCADE;

-- Who can make objects in the schema of bloomx cannot have them called by others.
CREATE ROLE regress_bloomx_intruder;
GRANT CREATE ON SCHEMA public TO regress_bloomx_intruder;
SET ROLE regress_bloomx_intruder;
CREATE FUNCTION format(text, text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''called by %'', current_user; END';
CREATE FUNCTION intrude(integer[], integer) RETURNS integer[] LANGUAGE plpgsql AS 'BEGIN RAISE ''called by %'', current_user; END';
CREATE AGGREGATE array_agg(integer) (SFUNC = intrude, STYPE = integer[]);
RESET ROLE;
CREATE TABLE source (id integer);
CREATE TABLE target (f bloomfilter);
SET client_min_messages = warning;
SELECT bloom_maintain('source', 'id', 'target', 'f');
INSERT INTO source VALUES (5);
SELECT f @> 5 AS found FROM target;
SELECT bloom_unmaintain('source', 'id', 'target', 'f');
DROP TABLE source, target;
DROP OWNED BY regress_bloomx_intruder CASCADE;
DROP ROLE regress_bloomx_intruder;
RESET client_min_messages;
