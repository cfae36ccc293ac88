--
-- The index access method bloomx where rows have many keys, conditions have many keys, or memory is small: what bounds entries, memory and work.
--
\set VERBOSITY terse
SET jit = off;
SET client_min_messages = warning;

-- The rows that a query's recheck took out, by EXPLAIN ANALYZE.
CREATE FUNCTION rechecked(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; removed text := '0';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Seq Scan' THEN RETURN 'Seq Scan'; END IF;
        removed := coalesce(substring(line FROM 'Rows Removed by Index Recheck: (\d+)'), removed);
    END LOOP;
    RETURN removed;
END $$;
CREATE FUNCTION random_keys(seed int, n int) RETURNS int[] LANGUAGE sql AS $$ SELECT array(SELECT hashint8(seed * 10000000::bigint + i) & 1073741823 FROM generate_series(1, n) i) $$;
SET enable_seqscan = off;

-- A block of rows in TOAST has more keys than the largest signature tells apart: it gets several entries, and every row can be excluded.
CREATE TABLE toasted AS SELECT i AS id, random_keys(i, 1000) AS keys FROM generate_series(1, 400) i;
CREATE INDEX toasted_keys ON toasted USING bloomx (keys);
SELECT entries > 6 AS some_entries, entries < 30 AS not_one_per_row, anything FROM bloomx_index_info('toasted_keys');
SELECT rechecked('SELECT * FROM toasted WHERE keys @> ''{-1}''')::int < 60 AS few;
SELECT id FROM toasted WHERE keys @> random_keys(77, 3);
-- The same if the first entries, from which the width is taken, have few keys; and after VACUUM has made the entries of inserted rows.
CREATE TABLE mostly_small AS SELECT i AS id, random_keys(i, 2) AS keys, repeat('x', 900) AS filler FROM generate_series(1, 9000) i;
INSERT INTO mostly_small SELECT i, random_keys(i, 1000), '' FROM generate_series(9001, 9400) i;
CREATE INDEX mostly_small_keys ON mostly_small USING bloomx (keys);
SELECT anything FROM bloomx_index_info('mostly_small_keys');
INSERT INTO mostly_small SELECT i, random_keys(i, 1000), '' FROM generate_series(9401, 9800) i;
VACUUM mostly_small;
SELECT anything, bloomx_check_index('mostly_small_keys') AS checked FROM bloomx_index_info('mostly_small_keys');
SELECT rechecked('SELECT * FROM mostly_small WHERE keys @> ''{-1}''')::int < 100 AS few;
DROP TABLE mostly_small;

-- Rows of more keys: up to a number their signatures are fuller; beyond it a row is in every answer, without the other rows of its block.
CREATE TABLE wide AS SELECT i AS id, random_keys(i, CASE i WHEN 50 THEN 300000 WHEN 60 THEN 100000 WHEN 61 THEN 20000 ELSE 5 END) AS keys
FROM generate_series(1, 90) i;
SET client_min_messages = notice;
\set VERBOSITY default
CREATE INDEX wide_keys ON wide USING bloomx (keys);
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT rows, entries, anything FROM bloomx_index_info('wide_keys');
SELECT rechecked('SELECT * FROM wide WHERE keys @> ''{-1}'''), rechecked('SELECT * FROM wide WHERE keys @> ''{-2}''');
SELECT id FROM wide WHERE keys @> random_keys(60, 10);
SELECT id FROM wide WHERE keys @> random_keys(50, 10);
-- The option says the most keys of an entry, exactly: each here is one row of five keys, of which two share three.
CREATE TABLE shared_keys AS SELECT i AS id, array(SELECT i / 2 * 10 + j FROM generate_series(1, 3) j) || array[i + 100000, i + 200000] AS keys FROM generate_series(2, 101) i;
CREATE INDEX shared_keys_key ON shared_keys USING bloomx (keys) WITH (max_keys_per_filter = 7);
SELECT rows, entries FROM bloomx_index_info('shared_keys_key');
DROP TABLE toasted, wide, shared_keys;

-- The processes of a parallel VACUUM: entries of updated rows are made anew, whichever process has the index.
CREATE TABLE updated WITH (autovacuum_enabled = off) AS SELECT i AS a, i AS b FROM generate_series(1, 40000) i;
CREATE INDEX updated_a ON updated USING bloomx (a);
CREATE INDEX updated_b ON updated USING bloomx (b);
CREATE INDEX updated_ab ON updated USING bloomx ((a + b));
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
UPDATE updated SET a = a + 1, b = b + 1;
SET min_parallel_index_scan_size = 0;
SET max_parallel_maintenance_workers = 4;
VACUUM (PARALLEL 4) updated;
SELECT i AS index, rows < 60000 AS anew, bloomx_check_index(i) AS checked FROM unnest('{updated_a,updated_b,updated_ab}'::regclass[]) i, bloomx_index_info(i);
RESET min_parallel_index_scan_size;
RESET max_parallel_maintenance_workers;
DROP TABLE updated;

-- Of `column = ANY (array)` the scan finds the rows itself: a type whose equality counts how often it is asked.
CREATE SEQUENCE compared;
CREATE TYPE counted;
CREATE FUNCTION counted_in(cstring) RETURNS counted LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION counted_out(counted) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE counted (INPUT = counted_in, OUTPUT = counted_out, LIKE = int4);
CREATE CAST (counted AS int4) WITHOUT FUNCTION;
CREATE CAST (int4 AS counted) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION counted_eq(a counted, b counted) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN PERFORM nextval('compared'); RETURN a::int4 = b::int4; END $$;
CREATE FUNCTION counted_hash(counted) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE FUNCTION counted_hash_extended(counted, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashint4extended';
CREATE OPERATOR = (LEFTARG = counted, RIGHTARG = counted, FUNCTION = counted_eq, COMMUTATOR = =, HASHES, RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR CLASS counted_hash DEFAULT FOR TYPE counted USING hash AS OPERATOR 1 =, FUNCTION 1 counted_hash(counted), FUNCTION 2 counted_hash_extended(counted, bigint);
CREATE OPERATOR CLASS counted_keys DEFAULT FOR TYPE counted USING bloomx AS OPERATOR 1 =, FUNCTION 1 bloomx_extract_scalar(internal);
CREATE TABLE many AS SELECT i AS id, (i * 7)::counted AS k FROM generate_series(1, 3000) i;
CREATE INDEX many_k ON many USING bloomx (k);
CREATE FUNCTION comparisons(query text, OUT rows bigint, OUT of_each bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setval('compared', 1);
    EXECUTE query INTO rows;
    of_each := (SELECT last_value FROM compared) / 3000;
END $$;
SELECT array_agg(i * 70 ORDER BY i) AS keys FROM generate_series(1, 400) i \gset
SET plan_cache_mode = force_generic_plan;
PREPARE any_of(counted[]) AS SELECT count(*) FROM many WHERE k = ANY ($1);
PREPARE any_or(counted[], int) AS SELECT count(*) FROM many WHERE k = ANY ($1) AND (id > $2 OR id < $2);
EXPLAIN (COSTS OFF) EXECUTE any_of('{1}');
SELECT * FROM comparisons(format('EXECUTE any_of(%L)', :'keys'));
SELECT * FROM comparisons(format('EXECUTE any_or(%L, 50)', :'keys'));
SELECT * FROM comparisons(format('SELECT count(*) FROM many WHERE k = ANY ((SELECT %L::counted[])::counted[])', :'keys'));
EXECUTE any_of('{7, NULL, 14}');
EXECUTE any_of('{NULL}');
EXECUTE any_of('{}');
EXECUTE any_of(NULL);
EXECUTE any_of('{21, 28}');
-- An array of the outer row differs from scan to scan.
CREATE TABLE outer_rows AS SELECT i AS id, array[i * 7, i * 14]::int[]::counted[] AS keys FROM generate_series(1, 4) i;
SET enable_material = off;
SELECT o.id, array_agg(m.id ORDER BY m.id) FROM outer_rows o, many m WHERE m.k = ANY (o.keys) GROUP BY o.id ORDER BY o.id;
SELECT o.id, (SELECT count(*) FROM many m WHERE m.k = ANY ((SELECT o.keys || array_agg('700'::counted))::counted[])) FROM outer_rows o ORDER BY o.id;
RESET plan_cache_mode;
RESET enable_material;
DROP TABLE many, outer_rows;
DROP FUNCTION comparisons;

-- Whatever the array is and the rows are, they are those of a sequential scan, and none is rechecked.
CREATE TABLE keyed (id int, k text, n numeric, a int[], note text) WITH (fillfactor = 60, autovacuum_enabled = off);
INSERT INTO keyed SELECT i, md5((i % 2500)::text), i % 2500 / 2.0, array[i % 2500, 1], CASE WHEN i % 3 > 0 THEN 'noted' END FROM generate_series(1, 5000) i;
INSERT INTO keyed VALUES (5001, NULL, NULL, NULL, 'noted'), (5002, md5('7'), 3.500, '{}', NULL);
CREATE INDEX keyed_key ON keyed USING bloomx (k, n, a, note);
CREATE INDEX keyed_part ON keyed USING bloomx (id) WHERE note IS NOT NULL;
CREATE INDEX keyed_upper ON keyed USING bloomx (upper(k), (id + 1));
CREATE FUNCTION array_differences(condition text, OUT rows bigint, OUT others bigint, OUT removed text) LANGUAGE plpgsql AS $$
DECLARE ids text;
BEGIN
    SET LOCAL plan_cache_mode = force_generic_plan;
    SET LOCAL enable_seqscan = off;
    SET LOCAL cpu_tuple_cost = 1; -- all conditions at once
    EXECUTE format('PREPARE by_index(text[], numeric[], int[]) AS SELECT id FROM keyed WHERE %s', condition);
    SELECT format('%L, %L, %L', array_agg(md5(i::text)), array_agg(i / 2.0) || 3.50000 || NULL, array_agg(i)) INTO ids FROM generate_series(0, 700) i;
    EXECUTE format('CREATE TEMP TABLE by_index AS EXECUTE by_index(%s)', ids);
    removed := rechecked(format('EXECUTE by_index(%s)', ids));
    SET LOCAL enable_seqscan = on;
    SET LOCAL enable_bitmapscan = off;
    EXECUTE format('PREPARE by_scan(text[], numeric[], int[]) AS SELECT id FROM keyed WHERE %s', condition);
    EXECUTE format('CREATE TEMP TABLE by_scan AS EXECUTE by_scan(%s)', ids);
    SET LOCAL enable_bitmapscan = on;
    SELECT count(*), (SELECT count(*) FROM ((TABLE by_scan EXCEPT ALL TABLE by_index) UNION ALL (TABLE by_index EXCEPT ALL TABLE by_scan)) d) INTO rows, others FROM by_index;
    DEALLOCATE by_index;
    DEALLOCATE by_scan;
    DROP TABLE by_index, by_scan;
END $$;
CREATE TABLE conditions (condition text);
INSERT INTO conditions VALUES
    ('k = ANY ($1)'), ('n = ANY ($2)'), ('k = ANY (string_to_array(array_to_string($1, '',''), '',''))'), ('n = ANY ($2 || $2 || $2)'),
    ('k = ANY ($1) AND n = ANY ($2) AND note IS NULL'), ('k = ANY ($1) AND n = 3.5'), ('k = ANY ($1) AND a @> ''{1}'' AND note IS NOT NULL'),
    ('id = ANY ($3) AND note IS NOT NULL'), ('upper(k) = ANY (string_to_array(upper(array_to_string($1, '','')), '',''))'), ('id + 1 = ANY ($3) AND upper(k) = upper(md5(''30''))'),
    ('(k = ANY ($1) OR n = ANY ($2[5:20]))'), ('k = ANY ($1[1:12]) AND n = ANY ($2)'), ('k = ANY ($1) AND n = ANY ($2[11:15])'), ('k = ANY ($1[3:3] || array_fill(md5(''7''), array[300]))');
SELECT condition, d.* FROM conditions, array_differences(condition) d;
-- the same after HOT updates, whose rows the index knows by the first version of each
UPDATE keyed SET id = id WHERE id % 4 = 0;
UPDATE keyed SET id = id WHERE id % 8 = 0;
UPDATE keyed SET k = md5('700'), n = -n WHERE id % 16 = 0;
DELETE FROM keyed WHERE id % 11 = 0;
SELECT condition, d.* FROM conditions, array_differences(condition) d;
-- a cursor sees the rows as they were
SET enable_seqscan = off;
BEGIN;
DECLARE before CURSOR FOR SELECT count(*) FROM keyed WHERE k = ANY ((SELECT array_agg(md5(i::text)) FROM generate_series(0, 99) i)::text[]);
UPDATE keyed SET k = 'other' WHERE n < 20;
FETCH before;
SELECT count(*) FROM keyed WHERE k = ANY ((SELECT array_agg(md5(i::text)) FROM generate_series(0, 99) i)::text[]);
ROLLBACK;
VACUUM keyed;
SELECT condition, d.* FROM conditions, array_differences(condition) d;
-- an operator that returns NULL, as of a jsonpath that fails, finds nothing
CREATE TABLE paths AS SELECT i AS id, CASE WHEN i % 3 > 0 THEN jsonb_build_object('a', i) ELSE '{}' END AS j FROM generate_series(1, 100) i;
CREATE INDEX paths_key ON paths USING bloomx (id, j);
SELECT array_agg(id ORDER BY id) FROM paths WHERE id = ANY ('{1,2,3,4,5,6,7,8,9}') AND j @? 'strict $.a';
-- a function in the predicate of an index, which the table's owner has made, does not run in a query that implies the predicate
CREATE FUNCTION told(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'told of %', $1; RETURN true; END $$;
CREATE TABLE private AS SELECT i AS id FROM generate_series(1, 20) i;
CREATE INDEX private_told ON private USING bloomx (id) WHERE told(id) OR id IS NOT NULL;
SET client_min_messages = notice;
EXPLAIN (COSTS OFF) SELECT count(*) FROM private WHERE id = ANY ('{1,2,3,4,5,6,7,8,9}');
SELECT count(*) FROM private WHERE id = ANY ('{1,2,3,4,5,6,7,8,9}');
SET client_min_messages = warning;
DROP TABLE private;
DROP FUNCTION told;
-- a parameter is copied once, however many partitions have the subplan that searches for it
CREATE TABLE parts (k int) PARTITION BY LIST (k);
DO $$ BEGIN FOR i IN 1..40 LOOP EXECUTE format('CREATE TABLE parts_%1$s PARTITION OF parts FOR VALUES IN (%1$s)', i); END LOOP; END $$;
INSERT INTO parts VALUES (1);
PREPARE in_parts(int[]) AS SELECT max((SELECT max(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'ExecutorState')) < 4000000 AS once
    FROM parts WHERE (SELECT count(*) FROM paths WHERE id = ANY ($1) AND id > k) > 0;
SELECT array_agg(i) AS keys FROM generate_series(1, 50000) i \gset
SET plan_cache_mode = force_generic_plan;
EXECUTE in_parts(:'keys');
RESET plan_cache_mode;
DEALLOCATE in_parts;
RESET enable_seqscan;
DROP TABLE keyed, paths, parts, conditions;
DROP FUNCTION array_differences;
DROP TYPE counted CASCADE;
DROP SEQUENCE compared;

-- A sequential scan reads TOASTed values, too: for a rare needle in them the index is the cheaper one.
CREATE TABLE letters AS SELECT i AS id, string_agg(md5((i * 1000 + j)::text), ' ') AS body FROM generate_series(1, 500) i, generate_series(1, 150) j GROUP BY i;
CREATE INDEX letters_body ON letters USING bloomx (body text_ngram_ops);
VACUUM ANALYZE letters;
CREATE FUNCTION cost_of(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan; RETURN plan->0->'Plan'->>'Total Cost'; END $$;
SELECT cost_of('SELECT * FROM letters WHERE body LIKE ''%c4ca4238a0%''') AS by_index \gset
SET enable_bitmapscan = off;
SET enable_seqscan = on;
SELECT :by_index < cost_of('SELECT * FROM letters WHERE body LIKE ''%c4ca4238a0%''') AS cheaper;
RESET enable_bitmapscan;
SET enable_seqscan = off;
DROP TABLE letters;
DROP FUNCTION cost_of;

-- VACUUM leaves hardly any pending rows, and as few segments as CREATE INDEX makes, or nearly.
CREATE TABLE grown WITH (autovacuum_enabled = off) AS SELECT i AS id, bloom_agg(i * 10) AS f FROM generate_series(1, 5000) i GROUP BY i;
CREATE INDEX grown_id ON grown USING bloomx (id);
CREATE INDEX grown_f ON grown USING bloomx (f);
DO $$ BEGIN FOR i IN 1..12 LOOP INSERT INTO grown SELECT j + 10000 * i, bloom_agg(j) FROM generate_series(1, 300 * i) j GROUP BY j; END LOOP; END $$;
SELECT columns, pending > 1000 AS pending FROM unnest('{grown_id,grown_f}'::regclass[]) i, bloomx_index_info(i);
VACUUM grown;
SELECT columns, rows + pending AS rows, pending < 500 AS few_pending, segments < 3 AS few_segments, lost FROM unnest('{grown_id,grown_f}'::regclass[]) i, bloomx_index_info(i);
UPDATE grown SET id = id + 1 WHERE id % 3 = 0;
DELETE FROM grown WHERE id % 5 = 0;
VACUUM grown;
VACUUM grown;
SELECT columns, pending < 500 AS few_pending, segments < 5 AS few_segments, lost FROM unnest('{grown_id,grown_f}'::regclass[]) i, bloomx_index_info(i);
SELECT bloomx_check_index('grown_id') - count(*) AS missing, bloomx_check_index('grown_f') - count(f) AS missing_filters FROM grown;
DROP TABLE grown;

-- Conditions of more keys than work_mem has room for are looked up in parts, or say less.
SET work_mem = '64kB';
CREATE TABLE few (a int, b int, keys int[]);
INSERT INTO few SELECT i, i * 3, array[i, i + 1] FROM generate_series(1, 20000) i;
CREATE INDEX few_key ON few USING bloomx (a, b, keys);
SELECT count(*) FROM few WHERE a = ANY ((SELECT array_agg(i * 11 ORDER BY i) FROM generate_series(0, 5000) i)::int[]);
SELECT count(*) FROM few WHERE a = ANY ((SELECT array_agg(i * 11 ORDER BY i) FROM generate_series(0, 5000) i)::int[]) AND b = ANY ((SELECT array_agg(i * 33 ORDER BY i) || NULL FROM generate_series(0, 5000, 2) i)::int[]);
SELECT count(*) FROM few WHERE keys && (SELECT array_agg(i * 11 ORDER BY i) FROM generate_series(0, 5000) i);
SELECT count(*) FROM few WHERE keys @> (SELECT array_agg(77 + i % 2 ORDER BY i) FROM generate_series(0, 5000) i);
SELECT rechecked('SELECT * FROM few WHERE a = ANY ((SELECT array_agg(-i ORDER BY i) FROM generate_series(1, 1000) i)::int[])')::int < 10000 AS few;
RESET work_mem;
DROP TABLE few;

DROP FUNCTION rechecked, random_keys;
