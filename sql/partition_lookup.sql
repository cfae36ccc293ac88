-- Plans have only the partitions that may have the key (src/pg/partitions/lookup).
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA lookups;
SET search_path = lookups, public;
SELECT scope FROM bloomx_stat_partition_lookups WHERE scope = 'session';

CREATE TABLE log (id bigint, ts int, note text) PARTITION BY RANGE (ts);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 100, i * 100 + 100) FROM generate_series(0, 9) i \gexec
CREATE INDEX log_id ON log USING bloomx (id) WITH (partition_lookup = on);
INSERT INTO log SELECT g, g, 'n' || g FROM generate_series(0, 999) g;

-- The partitions that a plan reads.
CREATE FUNCTION partitions(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	names text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || statement LOOP
		IF line ~ ' on [a-z]+_[0-9_a-z]+' AND line !~ '^ *->  Bitmap Index|Update on|Delete on' THEN
			names := names || substring(line FROM ' on ([a-z]+_[0-9_a-z]+)');
		END IF;
	END LOOP;
	RETURN coalesce(nullif(array_to_string(names, ' '), ''), 'none');
END $$;

SELECT partitions('SELECT * FROM log WHERE id = 555'), partitions('SELECT * FROM log WHERE id = 5'), partitions('SELECT * FROM log WHERE id = -5');
SELECT partitions('SELECT * FROM log WHERE 555 = id'), partitions('SELECT * FROM log WHERE id = 555::smallint'), partitions('SELECT * FROM log WHERE id IN (5, 555, NULL)');
SELECT partitions('SELECT * FROM log WHERE id = ANY (ARRAY[5, 555]::bigint[])'), partitions('SELECT * FROM log WHERE id = ANY (''{}'')'), partitions('SELECT * FROM log WHERE id = NULL');
SELECT partitions('SELECT * FROM log WHERE id = 555 AND ts < 600'), partitions('SELECT * FROM log WHERE id = 555 AND ts < 500'), partitions('SELECT * FROM log WHERE id = 555 AND id = 5');
SELECT partitions('UPDATE log SET note = note WHERE id = 555'), partitions('DELETE FROM log WHERE id = 555'), partitions('SELECT * FROM log WHERE id = 555 FOR UPDATE');
-- not asked: another operator, another type's equality, OR, a volatile value, more keys than there may be
SELECT partitions('SELECT * FROM log WHERE id > 998') AS greater, partitions('SELECT * FROM log WHERE id = 555.0') AS "numeric", partitions('SELECT * FROM log WHERE id::text = ''555''') AS expression;
SELECT partitions('SELECT * FROM log WHERE id = 555 OR id = 5') AS "or", partitions('SELECT * FROM log WHERE id = (random() * 5)::int') AS volatile,
	partitions('SELECT * FROM log WHERE id = ANY (ARRAY(SELECT generate_series(1, 2)))') AS subquery;
SELECT partitions(format('SELECT * FROM log WHERE id IN (%s)', string_agg((g % 9)::text, ', '))) FROM generate_series(1, 300) g;

-- Rows.
SELECT * FROM log WHERE id = 555;
SELECT * FROM log WHERE id IN (5, 555, -5) ORDER BY id;
UPDATE log SET note = 'moved', ts = 950 WHERE id = 555 RETURNING tableoid::regclass, *;
SELECT tableoid::regclass, * FROM log WHERE id = 555;
SELECT partitions('SELECT * FROM log WHERE id = 555') AS "bits stay";
DELETE FROM log WHERE id = 555 RETURNING note;
DELETE FROM log WHERE id = -5 RETURNING note;
UPDATE log SET note = 'none' WHERE id = -5 RETURNING note;

-- The setting.
SET bloomx.partition_lookup = off;
SELECT partitions('SELECT * FROM log WHERE id = 5');
RESET bloomx.partition_lookup;

-- Prepared statements: the plan cache keeps a stub.
PREPARE by_id (bigint) AS SELECT * FROM log WHERE id = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_id (7);
EXECUTE by_id (707);
EXECUTE by_id (-7);
SELECT partitions('EXECUTE by_id (707)');
SET bloomx.partition_lookup = off;
EXECUTE by_id (707);
SELECT partitions('EXECUTE by_id (707)');
RESET bloomx.partition_lookup;
SET plan_cache_mode = auto;
EXECUTE by_id (1); EXECUTE by_id (1); EXECUTE by_id (1); EXECUTE by_id (1); EXECUTE by_id (1); EXECUTE by_id (1); EXECUTE by_id (808);
SELECT partitions('EXECUTE by_id (808)');
SELECT generic_plans, custom_plans > 5 AS custom FROM pg_prepared_statements WHERE name = 'by_id';
-- a cached plan for a constant asks each time
PREPARE constant AS SELECT count(*) FROM log WHERE id = 12345;
EXECUTE constant;
INSERT INTO log VALUES (12345, 5, 'new');
EXECUTE constant;
SELECT partitions('EXECUTE constant');
INSERT INTO log VALUES (12345, 905, 'new');
EXECUTE constant;
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Functions, views, CTEs, sublinks, outer joins, implied equality.
CREATE FUNCTION by_sql(k bigint) RETURNS SETOF log LANGUAGE sql STABLE AS 'SELECT * FROM log WHERE id = k';
CREATE FUNCTION by_volatile(k bigint) RETURNS text LANGUAGE sql VOLATILE AS 'SELECT note FROM log WHERE id = k';
CREATE FUNCTION by_plpgsql(k bigint) RETURNS text LANGUAGE plpgsql AS 'DECLARE r text; BEGIN SELECT note INTO r FROM log WHERE id = k; RETURN r; END';
CREATE VIEW seen AS SELECT id, note FROM log WHERE note <> 'hidden';
CREATE TABLE keys (k bigint PRIMARY KEY);
INSERT INTO keys SELECT g * 100 FROM generate_series(0, 12) g;
ANALYZE keys;
SELECT partitions('SELECT * FROM by_sql(777)'), partitions('SELECT * FROM seen WHERE id = 777'), partitions('WITH c AS MATERIALIZED (SELECT * FROM log WHERE id = 777) SELECT * FROM c');
SELECT partitions('SELECT 1 WHERE EXISTS (SELECT FROM log WHERE id = 777)'), partitions('SELECT * FROM keys LEFT JOIN log ON id = 777'), partitions('SELECT * FROM keys JOIN log ON k = id WHERE k = 700');
SELECT note, by_volatile(id), by_plpgsql(id) FROM by_sql(777);
SELECT k, by_volatile(k), by_plpgsql(k) FROM keys WHERE k % 300 = 0 ORDER BY k;

-- Cursors.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM log WHERE id IN (3, 303, 603) ORDER BY id;
FETCH ALL c;
FETCH BACKWARD 2 c;
DECLARE d CURSOR WITH HOLD FOR SELECT note FROM log WHERE id = 303;
COMMIT;
FETCH d;
CLOSE d;
-- WHERE CURRENT OF wants every partition in the cursor's plan.
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM log WHERE id = 303 FOR UPDATE;
FETCH c;
UPDATE log SET note = 'current' WHERE CURRENT OF c;
DECLARE d CURSOR FOR SELECT * FROM log WHERE id = 404;
FETCH d;
DELETE FROM log WHERE CURRENT OF d RETURNING id;
DECLARE e CURSOR FOR SELECT * FROM log WHERE id = 505 LIMIT 1;
FETCH e;
DELETE FROM log WHERE CURRENT OF e RETURNING id;
DECLARE f CURSOR FOR SELECT * FROM log WHERE id = 606 UNION ALL SELECT 0, 0, NULL;
FETCH f;
DELETE FROM log WHERE CURRENT OF f RETURNING id;
DECLARE g CURSOR FOR SELECT log.* FROM log LEFT JOIN keys ON k = id, (SELECT 1) one WHERE id = 707;
FETCH g;
DELETE FROM log WHERE CURRENT OF g RETURNING id;
ROLLBACK;
-- A join of tables has no such row.
BEGIN;
SELECT partitions_pruned AS before FROM bloomx_stat_partition_lookups WHERE scope = 'session' \gset
DECLARE c CURSOR FOR SELECT note FROM log, keys WHERE id = 808 AND k = 800;
FETCH c;
SELECT partitions_pruned > :before AS pruned FROM bloomx_stat_partition_lookups WHERE scope = 'session';
ROLLBACK;

-- Values of parameters are not looked at before a row needs them.  (A plan for values would: from 18 on also in SQL functions.)
CREATE FUNCTION needs_no_division(k bigint, b int) RETURNS bigint LANGUAGE sql VOLATILE SET plan_cache_mode = force_generic_plan AS
	'SELECT count(*) FROM log WHERE id = k AND CASE WHEN ts >= 0 THEN true ELSE 10 / b = 1 END';
CREATE FUNCTION needs_no_record(k bigint, b bool) RETURNS bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	r record;
BEGIN
	IF b THEN
		SELECT 1 AS x INTO r;
	END IF;
	RETURN (SELECT count(*) FROM log WHERE id = k AND CASE WHEN b THEN r.x = 1 ELSE true END);
END $$;
SELECT needs_no_division(303, 0), needs_no_record(303, true), needs_no_record(303, false);

-- Nested loops ask at each scan.
CREATE INDEX ON log (id);
ANALYZE log;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_material = off; SET enable_memoize = off;
CREATE FUNCTION scanned(statement text) RETURNS TABLE (scans bigint) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	scans := 0;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) ' || statement LOOP
		scans := scans + coalesce(substring(line FROM 'Scan.* on log_[0-9]+.*loops=([0-9]+)')::bigint, 0);
	END LOOP;
	RETURN NEXT;
END $$;
SELECT scans FROM scanned('SELECT * FROM keys JOIN log ON id = k');
SET bloomx.partition_lookup = off;
SELECT scans FROM scanned('SELECT * FROM keys JOIN log ON id = k');
RESET bloomx.partition_lookup;
SELECT k, note FROM keys JOIN log ON id = k ORDER BY k;
SELECT k, (SELECT note FROM log WHERE id = k) FROM keys ORDER BY k;
SELECT k, l.note FROM keys, LATERAL (SELECT * FROM log WHERE id = k ORDER BY id, ts LIMIT 1) l ORDER BY k;
SELECT scans FROM scanned('SELECT k, l.note FROM keys, LATERAL (SELECT * FROM log WHERE id = k ORDER BY id LIMIT 1) l');
SELECT scans FROM scanned('SELECT * FROM log WHERE id = (SELECT k FROM keys WHERE k = 500)');
-- together with pruning by the partition key at run time
SELECT scans FROM scanned('SELECT * FROM keys JOIN log ON id = k AND ts >= k - 50');
SELECT scans FROM scanned('SELECT * FROM keys JOIN log ON id = k AND ts >= (extract(epoch FROM now()) * 0 + 350)::int');
SELECT k, ts FROM keys JOIN log ON id = k AND ts >= k - 50 AND ts < (extract(epoch FROM now()) * 0 + 350)::int ORDER BY k;
-- what is computed of a parameter; it fails as without lookups, and not where nothing is searched
SELECT scans FROM scanned('SELECT k, l.note FROM keys, LATERAL (SELECT * FROM log WHERE id = k + 5 OFFSET 0) l');
SELECT k, l.note FROM keys, LATERAL (SELECT * FROM log WHERE id = k + 5 OFFSET 0) l ORDER BY k LIMIT 3;
SELECT k, l.note FROM keys, LATERAL (SELECT * FROM log WHERE id = 1 / k OFFSET 0) l;
-- a scan of it again and again, by two parameters
SELECT count(*), sum(a.ts + b.ts) FROM keys x JOIN log a ON a.id = x.k JOIN keys y ON y.k >= x.k JOIN log b ON b.id = y.k;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_material; RESET enable_memoize;

-- Levels: a partition that has partitions, columns in another order, a default partition; and a cached plan learns of partitions below one
-- that it has left out.
CREATE TABLE tree (a int, b int, id text) PARTITION BY LIST (a);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1) PARTITION BY HASH (b);
CREATE TABLE tree_1_0 PARTITION OF tree_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE tree_1_1 (id text, x int, b int, a int);
ALTER TABLE tree_1_1 DROP COLUMN x;
ALTER TABLE tree_1 ATTACH PARTITION tree_1_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN (2) PARTITION BY RANGE (b);
CREATE TABLE tree_2_0 PARTITION OF tree_2 FOR VALUES FROM (0) TO (10);
CREATE TABLE tree_n PARTITION OF tree FOR VALUES IN (NULL);
CREATE TABLE tree_d PARTITION OF tree DEFAULT;
CREATE INDEX tree_id ON tree USING bloomx (id) WITH (partition_lookup = on);
INSERT INTO tree SELECT CASE WHEN g % 5 > 0 THEN g % 5 END, g % 10, 't' || g FROM generate_series(1, 50) g;
SELECT id, tableoid::regclass AS "is in", partitions(format('SELECT * FROM tree WHERE id = %L', id)) FROM tree WHERE substr(id, 2)::int <= 8 ORDER BY id;
SELECT partitions('SELECT * FROM tree WHERE id = ''t7'' AND a = 2'), partitions('SELECT * FROM tree_1 WHERE id = ''t6'''), partitions('SELECT * FROM tree WHERE id = ''none''');
PREPARE absent AS SELECT tableoid::regclass, * FROM tree WHERE id = 'late';
EXECUTE absent;
SELECT partitions('EXECUTE absent');
CREATE TABLE tree_2_1 (a int, b int, id text);
INSERT INTO tree_2_1 VALUES (2, 15, 'late');
ALTER TABLE tree_2 ATTACH PARTITION tree_2_1 FOR VALUES FROM (10) TO (20);
EXECUTE absent;
-- a partition whose own index does not feed the store
CREATE TABLE tree_2_2 (a int, b int, id text);
CREATE INDEX ON tree_2_2 USING bloomx (id);
ALTER TABLE tree_2 ATTACH PARTITION tree_2_2 FOR VALUES FROM (20) TO (30);
INSERT INTO tree VALUES (2, 25, 'late');
EXECUTE absent;
DEALLOCATE absent;
SELECT tableoid::regclass, * FROM tree WHERE id = 'late' ORDER BY b;

-- A partition that comes back with an index that the store does not know is read.
SELECT count(*) FROM log WHERE id = 77777;
ALTER TABLE log DETACH PARTITION log_1;
DROP INDEX log_1_id_idx;
CREATE INDEX log_1_plain ON log_1 USING bloomx (id);
ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (100) TO (200);
INSERT INTO log VALUES (77777, 101, 'back');
SELECT tableoid::regclass, * FROM log WHERE id = 77777;

-- A partition that comes back with two columns in each other's place has its indexes in each other's place, too.
CREATE TABLE pair (id int, other int, a int) PARTITION BY LIST (a);
CREATE TABLE pair_0 PARTITION OF pair FOR VALUES IN (0);
CREATE TABLE pair_1 PARTITION OF pair FOR VALUES IN (1);
CREATE INDEX pair_id ON pair USING bloomx (id) WITH (partition_lookup = on);
CREATE INDEX pair_other ON pair USING bloomx (other) WITH (partition_lookup = on);
INSERT INTO pair SELECT g, 1000 + g, g % 2 FROM generate_series(1, 100) g;
ALTER TABLE pair DETACH PARTITION pair_1;
ALTER TABLE pair_1 RENAME id TO spare;
ALTER TABLE pair_1 RENAME other TO id;
ALTER TABLE pair_1 RENAME spare TO other;
ALTER TABLE pair ATTACH PARTITION pair_1 FOR VALUES IN (1);
SELECT tableoid::regclass, * FROM pair WHERE id = 1007;
SELECT tableoid::regclass, * FROM pair WHERE other = 7;

-- A value that may fail is not computed before a row needs it.
CREATE TABLE divided (a text, b int);
INSERT INTO divided VALUES ('none', 0);
CREATE INDEX ON log (note);
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT (SELECT count(*) FROM log WHERE note = a AND id = 10 / b) FROM divided;
RESET enable_seqscan; RESET enable_bitmapscan;

-- Nobody is told about rows that he may not see.
CREATE ROLE bloomx_lookup_reader;
GRANT USAGE ON SCHEMA lookups TO bloomx_lookup_reader;
GRANT SELECT ON log TO bloomx_lookup_reader;
CREATE FUNCTION owners_count(bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN (SELECT count(*) FROM lookups.log WHERE id = $1); END';
CREATE FUNCTION of_tree(text) RETURNS SETOF tree LANGUAGE sql STABLE AS 'SELECT * FROM lookups.tree WHERE id = $1';
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
CREATE POLICY shown ON log FOR SELECT USING (note <> 'hidden');
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, note FROM log WHERE note <> 'hidden';
SET SESSION AUTHORIZATION bloomx_lookup_reader;
SELECT partitions('SELECT * FROM log WHERE id = 5') AS "row security", (SELECT count(*) FROM log WHERE id = 5);
-- no privilege: refused before anything is asked
SELECT partitions_pruned AS before FROM bloomx_stat_partition_lookups WHERE scope = 'session' \gset
SELECT * FROM tree WHERE id = 't7';
UPDATE log SET note = 'x' WHERE id = 5;
SELECT * FROM of_tree('t7');
-- nor is what somebody else's function looked up
SELECT owners_count(5);
SELECT partitions_pruned - :before AS pruned FROM bloomx_stat_partition_lookups WHERE scope = 'session';
RESET SESSION AUTHORIZATION;
SELECT partitions('SELECT * FROM barrier WHERE id = 5') AS barrier, partitions('SELECT * FROM log WHERE id = 5') AS owner;
ALTER TABLE log DISABLE ROW LEVEL SECURITY;

-- A plan that has run is as others see it; parallel plans.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SELECT count(*) FROM log WHERE id IN (1, 101, 201, 301, 401, 501, 601);
SELECT count(*) FROM log a JOIN log b USING (id) WHERE id IN (1, 101, 201, 301, 401, 501, 601);
-- parallel workers ask nothing: what a nested loop costs with lookups does not hold for them
SET enable_hashjoin = off; SET enable_mergejoin = off;
CREATE FUNCTION is_partial(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || statement LOOP
		result := result OR line ~ 'Partial';
	END LOOP;
	RETURN result;
END $$;
CREATE TABLE many AS SELECT g AS k FROM generate_series(0, 9999) g;
ANALYZE many;
SELECT is_partial('SELECT sum(ts) FROM log'), is_partial('SELECT sum(ts) FROM many JOIN log ON id = k') AS "nested loop";
RESET enable_hashjoin; RESET enable_mergejoin;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- A session that has used a table sees that its index has become valid.
CREATE TABLE late (id int, a int) PARTITION BY LIST (a);
CREATE TABLE late_0 PARTITION OF late FOR VALUES IN (0);
CREATE TABLE late_1 PARTITION OF late FOR VALUES IN (1);
CREATE INDEX late_i ON ONLY late USING bloomx (id) WITH (partition_lookup = on);
CREATE INDEX late_0_i ON late_0 USING bloomx (id) WITH (partition_lookup = on);
CREATE INDEX late_1_i ON late_1 USING bloomx (id) WITH (partition_lookup = on);
SELECT partitions('SELECT * FROM late WHERE id = 1');
ALTER INDEX late_i ATTACH PARTITION late_0_i;
ALTER INDEX late_i ATTACH PARTITION late_1_i;
INSERT INTO late VALUES (0, 0), (1, 1);
SELECT partitions('SELECT * FROM late WHERE id = 1');

SELECT lookups > 0 AS counted FROM bloomx_stat_partition_lookups WHERE scope = 'session';
SELECT bloomx_stat_reset();
SELECT lookups, partitions, partitions_pruned, plans_made_again, stubs FROM bloomx_stat_partition_lookups WHERE scope = 'session';

DROP SCHEMA lookups CASCADE;
DROP ROLE bloomx_lookup_reader;
