--
-- Sets without a table of rows: the table access method bloomset_table
--

-- Quick start
CREATE TABLE seen (filter bloomset_stage(100000, 0.01)) USING bloomset_table;
SELECT bloomset_contains('seen', 'a'), keys, stages, bytes FROM bloomset_info('seen');
SELECT bloomset_add('seen', 'a'), bloomset_add('seen', 'b');
SELECT bloomset_add('seen', 'a'), bloomset_contains('seen', 'a'), bloomset_contains('seen', 'c');
SELECT bloomset_add_new('seen', ARRAY['x', 'b', 'y', 'x', NULL]), bloomset_add_new('seen', '{}'::text[]);
SELECT bloomset_contains_all('seen', ARRAY['a', 'b', 'x', 'y']), bloomset_contains_any('seen', ARRAY['p', 'q']);
SELECT count(*), sum(keys) FROM seen, LATERAL (SELECT bloom_cardinality(filter)::int AS keys) k;
SELECT bloomset_check('seen');
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'seen'::regclass AND attnum = 1;

-- The first key fixes the type; TRUNCATE forgets it.  Untyped keys are read as it.
SELECT bloomset_contains('seen', 5);
SELECT bloomset_add('seen', 5);
TRUNCATE seen;
SELECT bloomset_contains('seen', 'a'), bloomset_add('seen', 5), bloomset_add('seen', '6'), bloomset_contains('seen', 6::bigint);
TRUNCATE seen;
SELECT bloomset_add('seen', ROW(1, 'a')), bloomset_contains('seen', ROW(1, 'a')), bloomset_contains('seen', ROW(1, 'b'));
TRUNCATE seen;

-- Growth by large arrays: nearly all are new, and the rate is kept.
SELECT cardinality(bloomset_add_new('seen', array_agg('k' || i))) > 297000 AS new FROM generate_series(1, 300000) i;
SELECT stages, keys BETWEEN 296000 AND 301000 AS counted, fpr < 0.01 AS kept FROM bloomset_info('seen');
SELECT count(*) FILTER (WHERE bloomset_contains('seen', 'k' || i)), count(*) FILTER (WHERE bloomset_contains('seen', 'n' || i)) < 1500 AS few FROM generate_series(1, 100000) i;
SELECT cardinality(bloomset_add_new('seen', array_agg('k' || i))) FROM generate_series(1, 300000) i;
SELECT count(*) FROM generate_series(1, 100000) i WHERE 'k' || i <@ (SELECT bloomset_value('seen'));

-- INSERT merges filters.  What is there already changes nothing; a filter of a set's own shape goes into a stage, others become one.
CREATE TABLE merged (filter bloomset_stage) USING bloomset_table;
INSERT INTO merged SELECT bloom_agg('m' || i, 150000, 0.01) FROM generate_series(1, 100000) i;
INSERT INTO merged SELECT bloom_agg('m' || i, 150000, 0.01) FROM generate_series(1, 1000) i;
SELECT stages, keys BETWEEN 99000 AND 101000 AS counted FROM bloomset_info('merged');
INSERT INTO merged SELECT bloom_agg('m' || i, 150000, 0.01) FROM generate_series(100001, 140000) i;
SELECT stages, keys BETWEEN 138000 AND 142000 AS counted FROM bloomset_info('merged');
INSERT INTO merged SELECT bloom_agg('m' || i, 150000, 0.01) FROM generate_series(200001, 300000) i;
SELECT stages FROM bloomset_info('merged');
-- (few keys are a set of hashes; a chain has several stages)
INSERT INTO merged SELECT bloom_agg('s' || i) FROM generate_series(1, 50) i;
SELECT bloomset_merge('merged', bloomset_value('seen'));
SELECT count(*) FILTER (WHERE bloomset_contains('merged', 'm' || i)) AS m, count(*) FILTER (WHERE bloomset_contains('merged', 'k' || i)) AS k,
	count(*) FILTER (WHERE i <= 50 AND bloomset_contains('merged', 's' || i)) AS s FROM generate_series(1, 100000) i;
-- a larger filter, or one of more parts, goes into a stage that has room
SELECT stages FROM bloomset_info('merged') \gset merged_
INSERT INTO merged SELECT bloom_agg('f' || i, 5000000, 0.001) FROM generate_series(1, 5000) i;
SELECT stages - :merged_stages AS more, fpr < 0.05 AS kept FROM bloomset_info('merged');
SELECT count(*) FROM generate_series(1, 5000) i WHERE bloomset_contains('merged', 'f' || i);
INSERT INTO merged SELECT bloom_agg(i) FROM generate_series(1, 50) i;
INSERT INTO merged SELECT bloom_agg('x' || i, 100000, 0.0000001) FROM generate_series(1, 50000) i;
INSERT INTO merged SELECT bloom_agg('x' || i, bloom_empty(1000, layout => 'counting')) FROM generate_series(1, 1000) i;
INSERT INTO merged VALUES (NULL);
INSERT INTO merged SELECT bloom_empty(1000);

-- A filter of few keys is a stage like any other: it is full at its capacity, and the next stage is not of its size.
CREATE TABLE grown (filter bloomset_stage(1000, 0.001)) USING bloomset_table;
INSERT INTO grown SELECT bloom_agg('few' || i) FROM generate_series(1, 100) i;
SELECT count(bloomset_add('grown', 'single' || i)) AS added FROM generate_series(1, 1000) i;
SELECT stages, round(keys, -2) AS keys, fpr < 0.012 AS kept FROM bloomset_info('grown');
TRUNCATE grown;
INSERT INTO grown SELECT bloom_agg('few' || i) FROM generate_series(1, 100) i;
SELECT cardinality(bloomset_add_new('grown', array_agg('array' || i))) > 980 AS new FROM generate_series(1, 1000) i;
SELECT stages, round(keys, -2) AS keys, fpr < 0.012 AS kept FROM bloomset_info('grown');
TRUNCATE grown;
INSERT INTO grown SELECT bloom_agg(i, 1000, 0.001) FROM generate_series(1, 10) i;
SELECT cardinality(bloomset_add_new('grown', array_agg(i))) > 195000 AS new FROM generate_series(1, 200000) i;
SELECT fpr < 0.006 AS "kept in one large array" FROM bloomset_info('grown');
DROP TABLE grown;

-- A copy of the stages, by a query or by COPY, answers alike and has the same rate.
CREATE TABLE copied (filter bloomset_stage(100000, 0.01)) USING bloomset_table;
INSERT INTO copied SELECT * FROM seen;
SELECT (SELECT array_agg(md5(filter::bloomfilter::bytea)) FROM seen) = (SELECT array_agg(md5(filter::bloomfilter::bytea)) FROM copied) AS same,
	(bloomset_info('seen')).capacity = (bloomset_info('copied')).capacity AS as_full;
TRUNCATE copied;
\copy seen TO 'results/bloomset_stages' (FORMAT binary)
\copy copied FROM 'results/bloomset_stages' (FORMAT binary)
\copy seen TO 'results/bloomset_stages'
\copy copied FROM 'results/bloomset_stages'
SELECT (SELECT array_agg(md5(filter::bloomfilter::bytea)) FROM seen) = (SELECT array_agg(md5(filter::bloomfilter::bytea)) FROM copied) AS same;

-- (a stage with room, a merged filter that is full, and a stage that could be folded into the first one, but was not)
TRUNCATE seen, copied;
SELECT cardinality(bloomset_add_new('seen', array_agg('a' || i))) AS added FROM generate_series(1, 10) i;
INSERT INTO seen SELECT bloom_agg('b' || i, 500, 0.1) FROM generate_series(1, 500) i;
SELECT count(*) > 1500 AS added FROM generate_series(1, 2000) i WHERE bloomset_add('seen', 'c' || i);
INSERT INTO copied SELECT * FROM seen;
SELECT (SELECT array_agg(md5(filter::bloomfilter::bytea)) FROM seen) = (SELECT array_agg(md5(filter::bloomfilter::bytea)) FROM copied) AS same, stages FROM bloomset_info('copied');
TRUNCATE seen;
SELECT cardinality(bloomset_add_new('seen', array_agg('k' || i))) > 297000 AS new FROM generate_series(1, 300000) i;

-- claim: remembered only if the transaction commits
CREATE TABLE jobs (filter bloomset_stage) USING bloomset_table;
BEGIN;
SELECT bloomset_claim('jobs', 1), bloomset_claim('jobs', 1), bloomset_claim('jobs', 2);
ROLLBACK;
SELECT bloomset_contains('jobs', 1);
BEGIN;
SELECT bloomset_claim('jobs', 1);
SAVEPOINT a;
SELECT bloomset_claim('jobs', 2);
ROLLBACK TO a;
SAVEPOINT b;
SELECT bloomset_claim('jobs', 3);
RELEASE b;
SELECT bloomset_contains('jobs', 1);
COMMIT;
SELECT bloomset_contains('jobs', 1), bloomset_contains('jobs', 2), bloomset_contains('jobs', 3), bloomset_claim('jobs', 1), bloomset_claim('jobs', 3);
BEGIN;
SELECT bloomset_claim('jobs', 7);
TRUNCATE jobs;
COMMIT;
SELECT bloomset_contains('jobs', 7);

BEGIN;
SELECT bloomset_claim('jobs', 8), bloomset_add('jobs', 8) AS "added, but not new", bloomset_add_new('jobs', ARRAY[9, 8, 9]), bloomset_claim('jobs', 9);
ROLLBACK;
SELECT bloomset_contains('jobs', 8), count(*) AS locks FROM pg_locks WHERE locktype = 'advisory';

-- What is refused
DELETE FROM seen;
UPDATE seen SET filter = filter;
SELECT 1 FROM seen FOR UPDATE;
CREATE INDEX ON seen USING hash (filter);
CREATE TABLE bad (a int) USING bloomset_table;
CREATE TABLE bad (a bloomset_stage, b int) USING bloomset_table;
CREATE TABLE bad (a bloomset_stage(0)) USING bloomset_table;
CREATE TABLE bad (a bloomset_stage(10, 0.1, 'scalable')) USING bloomset_table;
SELECT bloomset_add('pg_class', 5);
CREATE TABLE numbers AS SELECT 1 AS i;
CREATE INDEX numbers_i ON numbers USING bloomset (i);
SELECT bloomset_add('numbers_i', 5);
SELECT bloomset_add_new('numbers_i', ARRAY[5]);
SELECT bloomset_claim('numbers_i', 5);
SELECT bloomset_merge('numbers_i', bloom_empty(5));
BEGIN READ ONLY;
SELECT bloomset_add('jobs', 5);
ROLLBACK;
ALTER TABLE jobs ADD COLUMN i int;
SELECT count(*) FROM jobs;
ALTER TABLE jobs DROP COLUMN i;
SELECT count(*) FROM jobs;
CREATE ROLE regress_bloomset_writer;
SET ROLE regress_bloomset_writer;
SELECT bloomset_add('seen', 'a');
SELECT bloomset_contains('seen', 'a');
RESET ROLE;
GRANT INSERT ON seen TO regress_bloomset_writer;
SET ROLE regress_bloomset_writer;
SELECT bloomset_add('seen', 'k1'), bloomset_add_new('seen', ARRAY['k2']);
SELECT bloomset_contains('seen', 'k1');
RESET ROLE;
REVOKE INSERT ON seen FROM regress_bloomset_writer;
DROP ROLE regress_bloomset_writer;

-- What works, or does nothing
SET enable_seqscan = off;
SELECT ctid FROM seen WHERE ctid = '(1,1)';
SELECT ctid FROM seen WHERE ctid IN ('(0,2)', '(1000,1)', '(0,0)');
SELECT count(*) FROM seen WHERE ctid > '(0,1)';
RESET enable_seqscan;
ANALYZE seen;
VACUUM (FREEZE) seen;
SELECT count(*) FROM seen TABLESAMPLE SYSTEM (100);
VACUUM FULL seen;
SELECT stages, keys BETWEEN 296000 AND 301000 AS counted FROM bloomset_info('seen');
SELECT bloomset_check('seen');
-- a copy has got a relfrozenxid: VACUUM moves it, or the server would stop for it one day
SELECT relfrozenxid AS copied FROM pg_class WHERE relname = 'seen' \gset
SELECT txid_current() > 0 AS later;
VACUUM seen;
SELECT relfrozenxid <> :'copied'::xid AS moved FROM pg_class WHERE relname = 'seen';
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT bloom_is_empty(filter) FROM seen;
FETCH ALL c;
FETCH BACKWARD ALL c;
FETCH FIRST c;
COMMIT;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(filter) = (bloomset_info('seen')).stages AS each_once FROM seen;
RESET ALL;
CREATE UNLOGGED TABLE unlogged (filter bloomset_stage) USING bloomset_table;
SELECT bloomset_add('unlogged', 1);
ALTER TABLE unlogged SET LOGGED;
SELECT bloomset_contains('unlogged', 1), bloomset_contains('unlogged', 2), bloomset_add('unlogged', 2);
CREATE TEMP TABLE temporary (filter bloomset_stage) USING bloomset_table;
SELECT bloomset_add('temporary', 1), bloomset_contains('temporary', 1);
BEGIN;
CREATE TABLE later (filter bloomset_stage) USING bloomset_table;
SELECT bloomset_add('later', 1);
ROLLBACK;
BEGIN;
TRUNCATE temporary;
SELECT bloomset_contains('temporary', 1);
ROLLBACK;
SELECT bloomset_contains('temporary', 1);
-- TRUNCATE keeps the file of a table that the same transaction has made: a function must not go on with what it knew of the pages
BEGIN;
CREATE TABLE emptied (filter bloomset_stage(100000, 0.01)) USING bloomset_table;
CREATE FUNCTION has_key(set regclass, k int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN bloomset_contains(set, k); END';
SELECT count(*) FROM generate_series(1, 1000) k WHERE bloomset_add('emptied', k);
SELECT count(*) FROM generate_series(1, 1000) k WHERE has_key('emptied', k);
TRUNCATE emptied;
SELECT count(*) FROM generate_series(1, 1000) k WHERE has_key('emptied', k);
ROLLBACK;
-- as a heap table, and back
CREATE TABLE to_heap (filter bloomset_stage(100000, 0.01)) USING bloomset_table;
SELECT cardinality(bloomset_add_new('to_heap', array_agg(i))) > 19000 AS added FROM generate_series(1, 20000) i;
ALTER TABLE to_heap SET ACCESS METHOD heap;
SELECT count(*), round(sum(bloom_cardinality(filter)::numeric), -3) AS keys FROM to_heap;
SELECT bloomset_contains('to_heap', 1);
ALTER TABLE to_heap SET ACCESS METHOD bloomset_table;
SELECT count(*) FROM generate_series(1, 20000) i WHERE bloomset_contains('to_heap', i);
DROP TABLE to_heap;
CREATE MATERIALIZED VIEW refused USING bloomset_table AS SELECT filter FROM seen;
-- a capacity is only an expectation
CREATE TABLE huge (filter bloomset_stage(9000000000000, 0.000001)) USING bloomset_table;
DROP TABLE huge;
CREATE TABLE huge (filter bloomset_stage(100000000, 0.001)) USING bloomset_table;
SELECT bloomset_add('huge', 1), bloomset_add('huge', 1);
SELECT stages, bytes BETWEEN 60000000 AND 70000000 AS bounded FROM bloomset_info('huge');
DROP TABLE huge;
CREATE TABLE as_query USING bloomset_table AS SELECT filter FROM temporary;
SELECT bloomset_contains('as_query', 1), bloomset_contains('as_query', 2);
DROP TABLE as_query;
-- filters that are full share no stage; too many of them are refused, and keys can still be added
CREATE TABLE full_of (filter bloomset_stage) USING bloomset_table;
DO $$
DECLARE
	n int := 0;
BEGIN
	LOOP
		PERFORM bloomset_merge('full_of', (SELECT bloom_agg(i) FROM generate_series(n * 300 + 1, n * 300 + 300) i));
		n := n + 1;
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RAISE NOTICE '% after %', SQLERRM, n;
END $$;
SELECT stages FROM bloomset_info('full_of') \gset full_
SELECT bloomset_contains('full_of', 300 * 200), count(*) > 0 AS added, count(*) = count(*) FILTER (WHERE bloomset_contains('full_of', -k)) AS found FROM generate_series(1, 1000) k WHERE bloomset_add('full_of', -k);
SELECT stages - :full_stages AS "stages for a thousand keys" FROM bloomset_info('full_of');
DROP TABLE full_of;
-- a function must not write into a table that is a set no longer
BEGIN;
CREATE TABLE becomes_heap (filter bloomset_stage) USING bloomset_table;
DO $$
DECLARE
	set regclass := 'becomes_heap';
	is_new boolean;
BEGIN
	FOR i IN 1..2 LOOP
		is_new := bloomset_add(set, i);
		TRUNCATE becomes_heap;
		ALTER TABLE becomes_heap SET ACCESS METHOD heap;
	END LOOP;
EXCEPTION WHEN wrong_object_type THEN
	RAISE NOTICE 'not a bloomset any more';
END $$;
ROLLBACK;
-- its transaction is rolled back, the key stays
BEGIN;
SELECT bloomset_add('temporary', 9);
ROLLBACK;
SELECT bloomset_contains('temporary', 9);
-- an ALTER TABLE that copies the rows keeps a claim, though the set has no key yet; TRUNCATE forgets it
BEGIN;
CREATE TABLE rewritten (filter bloomset_stage(1000000, 0.001)) USING bloomset_table;
SELECT bloomset_claim('rewritten', 5);
ALTER TABLE rewritten SET UNLOGGED;
SELECT count(*) AS empty_filters FROM rewritten;
COMMIT;
SELECT bloomset_claim('rewritten', 5), bloomset_claim('rewritten', 'five'::text);
SELECT bloomset_claim('rewritten', 5), bloomset_contains('rewritten', 5), bloomset_contains('rewritten', 6);
-- no larger than the expected keys need
SELECT keys, capacity BETWEEN 1000000 AND 1100000 AS as_asked, stages, pg_size_pretty(bytes) FROM bloomset_info('rewritten');
BEGIN;
SELECT bloomset_claim('rewritten', 6);
TRUNCATE rewritten;
COMMIT;
SELECT bloomset_contains('rewritten', 6);
DROP TABLE rewritten;

DROP TABLE seen, merged, copied, jobs, numbers, unlogged, temporary;
