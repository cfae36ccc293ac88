--
-- partition_store: the keys of partitions, as inserts, VACUUM and DDL leave them
--
SET client_min_messages = warning;
-- a partition in which a key is must be among those that possibly have it
CREATE FUNCTION lost(index regclass, tab regclass, key text, column_number int DEFAULT 1) RETURNS TABLE (rows bigint, lost bigint, partitions numeric) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE NOT t.tableoid = ANY (coalesce(p.found, ARRAY[]::oid[]))), round(avg(cardinality(p.found)), 1)
		FROM %s t, LATERAL (SELECT array_agg(f::oid) AS found FROM bloomx_possible_partitions(%L, t.%I, %s) f) p', tab, index, key, column_number);
END $$;
-- state of the partitions
CREATE FUNCTION states(index regclass) RETURNS TABLE (partitions bigint, complete boolean, sealed boolean, keys numeric, low_rate boolean) LANGUAGE sql AS $$
	SELECT count(*), complete, sealed, sum(keys), bool_and(fpr < 0.01) FROM bloomx_partitions(index) GROUP BY 2, 3 ORDER BY 2, 3;
$$;

-- ---------------------------------------------------------------------------
-- CREATE INDEX, INSERT, sealing
-- ---------------------------------------------------------------------------

CREATE TABLE log (id bigint, word text, ts int) PARTITION BY RANGE (ts);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 9) i \gexec
INSERT INTO log SELECT g, 'w' || g, g % 10 FROM generate_series(1, 1000) g;
SELECT pg_relation_size('bloomx_partition_store_pages') AS size_before \gset
CREATE INDEX log_id ON log USING bloomx (id, word) WITH (partition_lookup = on);
SELECT * FROM states('log_id');
SELECT * FROM lost('log_id', 'log', 'id');
SELECT * FROM lost('log_id', 'log', 'word', 2);
SELECT bloomx_seal('log_id');
SELECT * FROM states('log_id');
SELECT * FROM lost('log_id', 'log', 'id');
-- the filters take the place of those before
SELECT bloomx_seal('log_id'), pg_relation_size('bloomx_partition_store_pages') - :size_before < 400000 AS small;
-- late rows go into filters beside the sealed ones
INSERT INTO log SELECT g, 'w' || g, g % 10 FROM generate_series(1001, 1100) g;
UPDATE log SET ts = (ts + 1) % 10 WHERE id <= 100;
UPDATE log SET word = word || 'x' WHERE id BETWEEN 101 AND 200;
SELECT * FROM states('log_id');
SELECT * FROM lost('log_id', 'log', 'id');
SELECT * FROM lost('log_id', 'log', 'word', 2);
-- many keys: open filters grow
INSERT INTO log SELECT g, NULL, 0 FROM generate_series(100001, 130000) g;
SELECT complete, sealed, fpr < 0.01 AS low_rate, keys BETWEEN 29000 AND 32000 AS keys FROM bloomx_partitions('log_id') WHERE partition = 'log_0'::regclass;
SELECT * FROM lost('log_id', 'log', 'id');
VACUUM log_0;
SELECT complete, sealed, fpr < 0.01 AS low_rate, keys BETWEEN 30000 AND 31000 AS keys FROM bloomx_partitions('log_id') WHERE partition = 'log_0'::regclass;
SELECT bloomx_seal('log_id');
SELECT * FROM states('log_id');
SELECT sum(bloomx_check_index(c.oid)) FROM pg_class c WHERE relname ~ '^log_\d+_id_word_idx';
-- deleted rows go when the table is read again
DELETE FROM log WHERE id > 100000;
VACUUM log_0;
INSERT INTO log SELECT g, NULL, 0 FROM generate_series(1, 10) g;
SELECT bloomx_seal('log_id');
SELECT sum(keys) < 3000 AS forgotten FROM bloomx_partitions('log_id');
SELECT * FROM lost('log_id', 'log', 'id');
-- a rollback leaves keys, and no harm
BEGIN;
INSERT INTO log SELECT g, NULL, 3 FROM generate_series(1, 100) g;
SAVEPOINT a;
INSERT INTO log SELECT g, NULL, 4 FROM generate_series(1, 100) g;
SELECT * FROM lost('log_id', 'log', 'id');
ROLLBACK TO a;
SELECT * FROM lost('log_id', 'log', 'id');
ROLLBACK;
SELECT * FROM lost('log_id', 'log', 'id');

-- ---------------------------------------------------------------------------
-- TRUNCATE, REINDEX, CLUSTER and the like
-- ---------------------------------------------------------------------------

-- another session could see the old rows as long as this is not committed
BEGIN;
TRUNCATE log_5;
INSERT INTO log VALUES (-1, NULL, 5);
REINDEX INDEX log_5_id_word_idx;
ROLLBACK;
SELECT * FROM lost('log_id', 'log', 'id');
BEGIN;
SELECT bloomx_seal('log_id') IS NOT NULL AS sealed;
TRUNCATE log_5;
INSERT INTO log VALUES (-1, NULL, 5);
SELECT bloomx_seal('log_id') IS NOT NULL AS sealed;
ROLLBACK;
SELECT * FROM lost('log_id', 'log', 'id');
TRUNCATE log_5;
INSERT INTO log VALUES (-1, NULL, 5);
SELECT bloomx_possible_partitions('log_id', -1::bigint);
REINDEX INDEX log_6_id_word_idx;
VACUUM FULL log_7;
CREATE INDEX log_8_ts ON log_8 (ts);
CLUSTER log_8 USING log_8_ts;
ALTER TABLE log ADD COLUMN extra timestamptz DEFAULT clock_timestamp();
SELECT * FROM lost('log_id', 'log', 'id');
SELECT * FROM states('log_id');
-- REINDEX reads the table again
DELETE FROM log_9 WHERE id < 900;
VACUUM log_9;
SELECT keys FROM bloomx_partitions('log_id') WHERE partition = 'log_9'::regclass;
REINDEX INDEX log_9_id_word_idx;
SELECT keys FROM bloomx_partitions('log_id') WHERE partition = 'log_9'::regclass;
-- rows that are frozen when they come
BEGIN;
TRUNCATE log_9;
COPY log_9 (id, word, ts) FROM STDIN (FREEZE);
-9	frozen	9
\.
COMMIT;
SELECT bloomx_possible_partitions('log_id', -9::bigint), bloomx_possible_partitions('log_id', 'frozen'::text, 2);
REINDEX TABLE CONCURRENTLY log_3;
SELECT partition, complete FROM bloomx_partitions('log_id') WHERE NOT complete OR partition = 'log_3'::regclass;
INSERT INTO log VALUES (-3, NULL, 3);
SELECT * FROM lost('log_id', 'log', 'id');
VACUUM log_3;
SELECT * FROM states('log_id');

-- ---------------------------------------------------------------------------
-- DETACH and ATTACH
-- ---------------------------------------------------------------------------

ALTER TABLE log DETACH PARTITION log_4;
INSERT INTO log_4 VALUES (-4, 'detached', 4);
ALTER TABLE log ATTACH PARTITION log_4 FOR VALUES FROM (4) TO (5);
SELECT bloomx_possible_partitions('log_id', -4::bigint);
-- the index is dropped in between: the new one is built
ALTER TABLE log DETACH PARTITION log_4;
DROP INDEX log_4_id_word_idx;
INSERT INTO log_4 VALUES (-44, 'detached', 4);
ALTER TABLE log ATTACH PARTITION log_4 FOR VALUES FROM (4) TO (5);
SELECT bloomx_possible_partitions('log_id', -44::bigint);
-- with an index of its own, made before: the next statement that inserts, or VACUUM, notices
CREATE TABLE log_10 (LIKE log INCLUDING ALL);
INSERT INTO log_10 SELECT g, 'ten', 10 FROM generate_series(1, 100) g;
ALTER TABLE log ATTACH PARTITION log_10 FOR VALUES FROM (10) TO (11);
SELECT count(*) FROM bloomx_possible_partitions('log_id', 123456789::bigint);
INSERT INTO log VALUES (-10, 'ten', 10);
SELECT count(*) FROM bloomx_possible_partitions('log_id', 123456789::bigint);
-- nobody inserts into it, or it comes from another table: VACUUM and bloomx_seal notice
CREATE TABLE old (id bigint, word text, ts int) PARTITION BY RANGE (ts);
CREATE INDEX old_id ON old USING bloomx (id, word) WITH (partition_lookup = on);
CREATE TABLE old_0 (LIKE old INCLUDING ALL);
CREATE TABLE old_1 (LIKE old INCLUDING ALL);
INSERT INTO old_0 VALUES (1, 'one', 0);
INSERT INTO old_1 VALUES (2, 'two', 1);
ALTER TABLE old ATTACH PARTITION old_0 FOR VALUES FROM (0) TO (1);
VACUUM old_0;
ALTER TABLE old ATTACH PARTITION old_1 FOR VALUES FROM (1) TO (2);
SELECT bloomx_possible_partitions('old_id', 123456789::bigint);
SELECT bloomx_seal('old_id');
SELECT count(*) FROM bloomx_possible_partitions('old_id', 123456789::bigint);
ALTER TABLE old DETACH PARTITION old_0;
CREATE TABLE older (LIKE old) PARTITION BY RANGE (ts);
CREATE INDEX older_id ON older USING bloomx (id, word) WITH (partition_lookup = on);
ALTER TABLE older ATTACH PARTITION old_0 FOR VALUES FROM (0) TO (1);
SELECT bloomx_possible_partitions('older_id', 123456789::bigint);
VACUUM older;
SELECT count(*) FROM bloomx_possible_partitions('older_id', 123456789::bigint);
SELECT bloomx_possible_partitions('older_id', 1::bigint);
DROP TABLE old, older;
-- without the option: always a candidate, and the option can come later
CREATE TABLE log_11 (LIKE log);
CREATE INDEX ON log_11 USING bloomx (id, word);
ALTER TABLE log ATTACH PARTITION log_11 FOR VALUES FROM (11) TO (12);
INSERT INTO log VALUES (-11, 'eleven', 11);
SELECT bloomx_possible_partitions('log_id', 123456789::bigint);
ALTER INDEX log_11_id_word_idx SET (partition_lookup = on);
INSERT INTO log VALUES (-111, 'eleven', 11);
SELECT bloomx_possible_partitions('log_id', 123456789::bigint);
VACUUM log_11;
SELECT bloomx_possible_partitions('log_id', 123456789::bigint);
ALTER INDEX log_11_id_word_idx RESET (partition_lookup);
INSERT INTO log VALUES (-1111, 'eleven', 11);
SELECT * FROM lost('log_id', 'log', 'id');
VACUUM log_11;
INSERT INTO log VALUES (-11111, 'eleven', 11);
SELECT bloomx_possible_partitions('log_id', 123456789::bigint);
SELECT * FROM lost('log_id', 'log', 'id');

-- ---------------------------------------------------------------------------
-- unlogged, concurrent, sub-partitions, default, other types
-- ---------------------------------------------------------------------------

ALTER TABLE log_2 SET UNLOGGED;
INSERT INTO log VALUES (-2, NULL, 2);
SELECT partition, complete FROM bloomx_partitions('log_id') WHERE NOT complete;
ALTER TABLE log_2 SET LOGGED;
SELECT * FROM lost('log_id', 'log', 'id');
VACUUM log_2;
SELECT partition, complete FROM bloomx_partitions('log_id') WHERE NOT complete;
CREATE UNLOGGED TABLE log_12 PARTITION OF log FOR VALUES FROM (12) TO (13);
INSERT INTO log VALUES (-12, NULL, 12);
SELECT partition, complete FROM bloomx_partitions('log_id') WHERE NOT complete;
CREATE TABLE log_d PARTITION OF log DEFAULT PARTITION BY LIST (word);
CREATE TABLE log_d_null PARTITION OF log_d FOR VALUES IN (NULL);
CREATE TABLE log_d_rest PARTITION OF log_d DEFAULT;
INSERT INTO log VALUES (-100, NULL, 100), (-101, 'rest', NULL);
SELECT * FROM lost('log_id', 'log', 'id');
SELECT unnest(ARRAY[(SELECT bloomx_possible_partitions('log_id', -100::bigint) EXCEPT SELECT unnest('{log_11,log_12}'::regclass[])),
	(SELECT bloomx_possible_partitions('log_id', -101::bigint) EXCEPT SELECT unnest('{log_11,log_12}'::regclass[]))]);
DROP TABLE log_11, log_12;
CREATE TABLE uuids (id uuid, n numeric, c varchar(10), h int) PARTITION BY HASH (h);
SELECT format('CREATE TABLE uuids_%s PARTITION OF uuids FOR VALUES WITH (MODULUS 4, REMAINDER %s)', i, i) FROM generate_series(0, 3) i \gexec
CREATE INDEX uuids_key ON ONLY uuids USING bloomx (id, n, c) WITH (partition_lookup = on);
SELECT format('CREATE INDEX CONCURRENTLY uuids_%s_key ON uuids_%1$s USING bloomx (id, n, c) WITH (partition_lookup = on)', i) FROM generate_series(0, 3) i \gexec
INSERT INTO uuids SELECT md5(g::text)::uuid, g / 10.0, g, g FROM generate_series(1, 1000) g;
SELECT format('ALTER INDEX uuids_key ATTACH PARTITION uuids_%s_key', i) FROM generate_series(0, 3) i \gexec
INSERT INTO uuids SELECT md5(g::text)::uuid, g / 10.0, g, g FROM generate_series(1001, 1400) g;
SELECT * FROM lost('uuids_key', 'uuids', 'id');
SELECT * FROM lost('uuids_key', 'uuids', 'n', 2);
SELECT * FROM lost('uuids_key', 'uuids', 'c', 3);
-- what CREATE INDEX CONCURRENTLY leaves behind that was cancelled after the index was built: rows of that moment are in no index
CREATE TABLE half (id int, h int) PARTITION BY RANGE (h);
CREATE TABLE half_0 PARTITION OF half FOR VALUES FROM (0) TO (1);
CREATE TABLE half_1 PARTITION OF half FOR VALUES FROM (1) TO (2);
CREATE INDEX half_id ON ONLY half USING bloomx (id) WITH (partition_lookup = on);
CREATE INDEX half_0_id ON half_0 USING bloomx (id) WITH (partition_lookup = on);
CREATE INDEX half_1_id ON half_1 USING bloomx (id) WITH (partition_lookup = on);
UPDATE pg_index SET indisready = false, indisvalid = false WHERE indexrelid = 'half_0_id'::regclass;
INSERT INTO half VALUES (1, 0);
UPDATE pg_index SET indisready = true WHERE indexrelid = 'half_0_id'::regclass;
ALTER INDEX half_id ATTACH PARTITION half_0_id;
ALTER INDEX half_id ATTACH PARTITION half_1_id;
INSERT INTO half VALUES (2, 0), (3, 1);
SELECT * FROM lost('half_id', 'half', 'id');
SELECT * FROM half WHERE id = 1;
VACUUM half;
SELECT * FROM half WHERE id = 1;
REINDEX INDEX half_0_id;
INSERT INTO half VALUES (4, 0);
SELECT * FROM lost('half_id', 'half', 'id');
SELECT * FROM half WHERE id = 1;
-- a file made twice in one transaction, of which the second is taken back
VACUUM half;
TRUNCATE bloomx_partition_store;
BEGIN;
TRUNCATE half_1;
SAVEPOINT s;
TRUNCATE half_1;
ROLLBACK TO s;
REINDEX TABLE half_1;
SELECT bloomx_seal('half_id') IS NOT NULL AS sealed;
ROLLBACK;
SELECT * FROM lost('half_id', 'half', 'id');
SELECT * FROM half WHERE id = 3;
VACUUM log, uuids, half;
CREATE TEMPORARY TABLE temps (id int) PARTITION BY HASH (id);
CREATE TEMPORARY TABLE temps_0 PARTITION OF temps FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE INDEX temps_id ON temps USING bloomx (id) WITH (partition_lookup = on);
INSERT INTO temps VALUES (1);
SELECT complete FROM bloomx_partitions('temps_id');

-- ---------------------------------------------------------------------------
-- DROP, the store itself, refusals
-- ---------------------------------------------------------------------------

DROP INDEX log_id;
CREATE INDEX log_id ON log USING bloomx (id) WITH (partition_lookup = on);
SELECT * FROM lost('log_id', 'log', 'id');
-- an empty store: all are candidates until VACUUM
REINDEX INDEX bloomx_partition_store_pages;
SELECT bool_or(complete) FROM bloomx_partitions('log_id');
INSERT INTO log VALUES (-5, NULL, 5);
SELECT rows, lost FROM lost('log_id', 'log', 'id');
VACUUM log, uuids;
SELECT * FROM states('log_id');
SELECT * FROM lost('log_id', 'log', 'id');
SELECT * FROM lost('uuids_key', 'uuids', 'id');
-- one that has come in the place of another while inserts may go on: the second VACUUM believes what it has
REINDEX INDEX CONCURRENTLY bloomx_partition_store_pages;
VACUUM log;
INSERT INTO log VALUES (-6, NULL, 6);
VACUUM log;
SELECT * FROM lost('log_id', 'log', 'id');
-- under another name it is not found: nothing is looked up, and no row comes whose keys it would lack afterwards
ALTER INDEX bloomx_partition_store_pages RENAME TO elsewhere;
INSERT INTO log VALUES (-7, NULL, 7);
SELECT count(*) FROM log WHERE id = -6;
CREATE TABLE plain (id bigint);
CREATE INDEX ON plain USING bloomx (id);
INSERT INTO plain VALUES (1);
ALTER INDEX elsewhere RENAME TO bloomx_partition_store_pages;
ALTER TABLE bloomx_partition_store RENAME TO elsewhere;
UPDATE log SET id = -7 WHERE id = -6;
ALTER TABLE elsewhere RENAME TO bloomx_partition_store;
INSERT INTO log VALUES (-7, NULL, 7);
SELECT * FROM lost('log_id', 'log', 'id');
-- one that has been dropped cannot come back
BEGIN;
ALTER EXTENSION bloomx DROP TABLE bloomx_partition_store;
DROP TABLE bloomx_partition_store;
INSERT INTO log VALUES (-8, NULL, 8);
SELECT count(*) FROM log WHERE id = -8;
ALTER EXTENSION bloomx DROP OPERATOR CLASS bloomx_partition_store_ops USING bloomx_partition_store;
ALTER EXTENSION bloomx DROP OPERATOR FAMILY bloomx_partition_store_ops USING bloomx_partition_store;
ALTER EXTENSION bloomx DROP ACCESS METHOD bloomx_partition_store;
SET LOCAL client_min_messages = warning;
DROP ACCESS METHOD bloomx_partition_store CASCADE;
INSERT INTO log VALUES (-9, NULL, 8);
ROLLBACK;
INSERT INTO log VALUES (-8, NULL, 8);
SELECT * FROM lost('log_id', 'log', 'id');
INSERT INTO bloomx_partition_store VALUES (NULL);
CREATE TABLE refused (b boolean);
INSERT INTO refused VALUES (true);
CREATE INDEX ON refused USING bloomx_partition_store (b);
CREATE INDEX ON log USING bloomx ((id + 1)) WITH (partition_lookup = on);
CREATE INDEX ON log USING bloomx (id) WITH (partition_lookup = on) WHERE id > 0;
CREATE TABLE filters (f bloomfilter);
CREATE INDEX ON filters USING bloomx (f) WITH (partition_lookup = on);
SELECT bloomx_seal('pg_class_oid_index');
SELECT bloomx_partitions('log');
SELECT bloomx_possible_partitions('log_id', 'a'::text);
SELECT bloomx_possible_partitions('log_id', 1, 2);
CREATE ROLE regress_bloomx_reader;
SET ROLE regress_bloomx_reader;
SELECT bloomx_seal('log_id');
SELECT bloomx_possible_partitions('log_id', 1);
RESET ROLE;
DROP ROLE regress_bloomx_reader;
DROP TABLE log, uuids, filters, refused, plain;
DROP FUNCTION lost(regclass, regclass, text, int), states(regclass);
