--
-- BRIN operator classes: the values of each page range in a filter of the size that they need.
--
\set VERBOSITY terse
SET enable_seqscan = off;

-- Every operator class is valid.
SELECT opcname, amvalidate(c.oid) AS valid FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'brin' AND opcname LIKE '%bloomx%' ORDER BY opcname COLLATE "C";

-- One table with a column of each type, its values in random order; 8,000 different integers, fewer of other types.
CREATE TYPE b_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE b AS SELECT i,
        (i % 1000)::int2 AS c_int2, (i * 7919)::int4 AS c_int4, i::int8 << 32 | 5 AS c_int8, (i / 8.0)::float4 AS c_float4, (i / 8.0)::float8 AS c_float8,
        (i / 100.0)::numeric AS c_numeric, md5(i::text) AS c_text, ('k' || i)::varchar AS c_varchar, ('k' || i)::char(12) AS c_bpchar, ('k' || i)::name AS c_name,
        decode(md5(i::text), 'hex') AS c_bytea, md5(i::text)::uuid AS c_uuid, i % 2 = 0 AS c_bool, date '2020-01-01' + i AS c_date,
        time '00:00' + i * interval '1 s' AS c_time, timetz '00:00+02' + i * interval '1 s' AS c_timetz, timestamp '2020-01-01' + i * interval '1 min' AS c_timestamp,
        timestamptz '2020-01-01 00:00+00' + i * interval '1 min' AS c_timestamptz, i * interval '1 h' AS c_interval, inet '10.0.0.0' + i AS c_inet,
        ('08:00:2b:00:' || lpad(to_hex(i / 256), 2, '0') || ':' || lpad(to_hex(i % 256), 2, '0'))::macaddr AS c_macaddr,
        ('08:00:2b:00:00:00:' || lpad(to_hex(i / 256), 2, '0') || ':' || lpad(to_hex(i % 256), 2, '0'))::macaddr8 AS c_macaddr8,
        i::oid AS c_oid, (i / 100.0)::numeric::money AS c_money, (enum_range(NULL::b_mood))[1 + i % 3] AS c_enum,
        chr(33 + i % 90)::"char" AS c_char, ('0/' || to_hex(i))::pg_lsn AS c_pg_lsn, ('(' || i || ',1)')::tid AS c_tid
    FROM (SELECT i FROM generate_series(1, 8000) i ORDER BY hashint4(i)) s;
INSERT INTO b (i) VALUES (0);		-- all NULL
ANALYZE b;
SELECT format('CREATE INDEX ON b USING brin (%I %s_bloomx_ops) WITH (pages_per_range = 8)', attname,
              CASE WHEN typtype = 'e' THEN 'anyenum' WHEN typname = 'varchar' THEN 'text' ELSE typname END)
FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid WHERE attrelid = 'b'::regclass AND attnum > 1 ORDER BY attnum \gexec

-- For each column: for 5 of its values the index finds the rows that a scan finds; the number of pages read shows that ranges were skipped.
CREATE FUNCTION b_find(col name, by_index boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint; total bigint := 0; v text;
BEGIN
    PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_bitmapscan', by_index::text, true);
    FOR v IN EXECUTE format('SELECT %I::text FROM b WHERE i %% 4000 = 500', col) LOOP
        EXECUTE format('SELECT count(*) FROM b WHERE %I = %L', col, v) INTO n;
        total := total + n;
    END LOOP;
    RETURN total;
END $$;
CREATE FUNCTION b_pages(query text, OUT pages int, OUT rows int) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
    plan := plan -> 0 -> 'Plan';
    IF plan ->> 'Node Type' <> 'Bitmap Heap Scan' THEN RAISE EXCEPTION 'a %', plan ->> 'Node Type'; END IF;
    pages := (plan ->> 'Exact Heap Blocks')::int + (plan ->> 'Lossy Heap Blocks')::int;
    rows := (plan ->> 'Actual Rows')::numeric;
END $$;
SELECT attname, b_find(attname, true) = b_find(attname, false) AS same FROM pg_attribute WHERE attrelid = 'b'::regclass AND attnum > 1 ORDER BY attnum;
SELECT attname AS "all ranges read" FROM pg_attribute, pg_class c
WHERE attrelid = 'b'::regclass AND attnum > 1 AND c.oid = 'b'::regclass
      AND (b_pages(format('SELECT FROM b WHERE %I = (SELECT %1$I FROM b WHERE i = 777)', attname))).pages > 0.5 * relpages ORDER BY attnum;

-- For an absent value only the false positive ranges are read; = ANY and a join look for several values.
SELECT avg(pages / relpages) < 0.02 AS "absent keys read 1 % of the pages"
FROM generate_series(1, 100) n, pg_class c, b_pages(format('SELECT FROM b WHERE c_text = %L', 'absent' || n)) WHERE c.oid = 'b'::regclass;
SELECT rows FROM b_pages('SELECT FROM b WHERE c_int4 = ANY (ARRAY[7919, 15838, 1, NULL])');
SELECT count(*) FROM (VALUES (7919), (15838), (3)) v(k), LATERAL (SELECT FROM b WHERE c_int4 = k OFFSET 0) s;

-- Integers and floats of other widths are the same keys.
SELECT (b_pages('SELECT FROM b WHERE c_int4 = 7919::int8')).rows AS int8, (b_pages('SELECT FROM b WHERE c_int2 = 5::int8')).rows AS int2,
       (b_pages('SELECT FROM b WHERE c_int8 = 5::int2')).rows AS "int8 5", (b_pages('SELECT FROM b WHERE c_float4 = 0.125::float8')).rows AS float8;
-- Keys that PostgreSQL's own hash maps to one value, because it folds their halves together: these classes tell them apart.
SELECT (b_pages('SELECT FROM b WHERE c_int8 = 777::int8 << 32 | 5')).pages < 0.1 * relpages AS "few pages" FROM pg_class WHERE oid = 'b'::regclass;

-- Sizes adapt: columns of two, of 1,000 and of 8,000 values.
SELECT attname, pg_relation_size(format('b_%s_idx', attname)::regclass) / 8192 AS pages
FROM pg_attribute WHERE attrelid = 'b'::regclass AND attname IN ('c_bool', 'c_int2', 'c_int4') ORDER BY 1;

-- Later rows: in summarized ranges, in new ones, and in a table that was empty.
-- (From PostgreSQL 16 on, CREATE TABLE AS leaves empty pages behind its rows: whether the last range gets too full depends on the version.)
SET client_min_messages = warning;
INSERT INTO b (i, c_int4, c_text) SELECT i, i * 7919, md5(i::text) FROM generate_series(8001, 11000) i;
RESET client_min_messages;
CREATE TABLE b_empty (k int8, t text);
CREATE INDEX b_empty_idx ON b_empty USING brin (k int8_bloomx_ops, t text_bloomx_ops (fpr = 0.001)) WITH (pages_per_range = 4);
INSERT INTO b_empty SELECT v, md5(v::text) FROM generate_series(1, 3000) v;
SELECT count(*) FILTER (WHERE rows <> 1) AS lost FROM generate_series(1, 11000, 197) v, b_pages(format('SELECT FROM b WHERE c_int4 = %s', v * 7919));
SELECT count(*) FILTER (WHERE rows <> 1) AS lost FROM generate_series(1, 3000, 59) v, b_pages(format('SELECT FROM b_empty WHERE k = %s AND t = %L', v, md5(v::text)));
SELECT brin_summarize_new_values('b_empty_idx') > 0 AS summarised;
SELECT count(*) FILTER (WHERE rows <> 1) AS lost, avg(pages) < 10 AS "few pages" FROM generate_series(1, 3000, 59) v, b_pages(format('SELECT FROM b_empty WHERE k = %s', v));
SELECT brin_desummarize_range('b_empty_idx', 0), brin_summarize_range('b_empty_idx', 0);
SELECT count(*) FILTER (WHERE rows <> 1) AS lost FROM generate_series(1, 3000, 59) v, b_pages(format('SELECT FROM b_empty WHERE k = %s', v));

-- A range of more values than a summary that fits a page can tell apart: no range is skipped, and no row is lost.
CREATE TABLE b_many AS SELECT v FROM generate_series(1, 100000) v;
CREATE INDEX b_many_idx ON b_many USING brin (v int4_bloomx_ops) WITH (pages_per_range = 10000);
SELECT pages >= relpages AS "all pages", rows FROM b_pages('SELECT FROM b_many WHERE v = 4711'), pg_class WHERE oid = 'b_many'::regclass;
SELECT count(*) FILTER (WHERE rows <> 1) AS lost, count(*) FROM generate_series(4711, 100000, 4000) v, b_pages(format('SELECT FROM b_many WHERE v = %s', v));
SET bloomx.build_mem = '64kB';
REINDEX INDEX b_many_idx;
SELECT count(*) FILTER (WHERE rows <> 1) AS lost, count(*) FROM generate_series(4711, 100000, 4000) v, b_pages(format('SELECT FROM b_many WHERE v = %s', v));
RESET bloomx.build_mem;
-- The same of values that come one by one.
CREATE TABLE b_grown AS SELECT v FROM generate_series(1, 10) v;
CREATE INDEX b_grown_idx ON b_grown USING brin (v int4_bloomx_ops) WITH (pages_per_range = 10000);
INSERT INTO b_grown SELECT v FROM generate_series(11, 30000) v;
SELECT count(*) FILTER (WHERE rows <> 1) AS lost, count(*) FROM generate_series(1, 30000, 1300) v, b_pages(format('SELECT FROM b_grown WHERE v = %s', v));
DROP TABLE b_grown;

-- Built by five processes (by one before PostgreSQL 17), each of which scans parts of every range: as good as if built by one, and not much larger.
CREATE TABLE b_shared WITH (parallel_workers = 4) AS SELECT i::int8 AS v FROM generate_series(1, 100000) i;
ANALYZE b_shared;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '256MB';
SET max_parallel_maintenance_workers = 0;
CREATE INDEX b_by_one ON b_shared USING brin (v int8_bloomx_ops) WITH (pages_per_range = 16);
SELECT pg_relation_size('b_by_one') AS by_one \gset
DROP INDEX b_by_one;
SET max_parallel_maintenance_workers = 4;
-- (A range whose pages were dealt out unevenly may get a notice that it is too full; few do.)
SET client_min_messages = warning;
CREATE INDEX b_by_many ON b_shared USING brin (v int8_bloomx_ops) WITH (pages_per_range = 16);
RESET client_min_messages;
SELECT pg_relation_size('b_by_many') < 1.5 * :by_one AS "not much larger", avg(pages / relpages) < 0.02 AS "absent keys read 1 % of the pages"
FROM generate_series(1, 200) n, pg_class c, b_pages(format('SELECT FROM b_shared WHERE v = %s', -n)) WHERE c.oid = 'b_shared'::regclass GROUP BY relpages;
SELECT count(*) FILTER (WHERE rows <> 1) AS lost FROM generate_series(1, 100000, 997) v, b_pages(format('SELECT FROM b_shared WHERE v = %s', v));
-- However the pages are dealt out, hardly any build makes a range too full.
CREATE FUNCTION b_overfull_builds(n int) RETURNS int LANGUAGE plpgsql SET bloomx.overfill = error AS $$
DECLARE failed int := 0;
BEGIN
    FOR i IN 1..n LOOP
        BEGIN
            CREATE INDEX b_again ON b_shared USING brin (v int8_bloomx_ops) WITH (pages_per_range = 16);
            DROP INDEX b_again;
        EXCEPTION WHEN program_limit_exceeded THEN
            failed := failed + 1;
        END;
    END LOOP;
    RETURN failed;
END $$;
SELECT b_overfull_builds(10) < 4 AS "hardly any";
RESET min_parallel_table_scan_size;
RESET maintenance_work_mem;
RESET max_parallel_maintenance_workers;

-- Rows inserted into a range while it is summarized: a few, and more than remain a set of hashes. The index's own expression inserts them.
CREATE TABLE b_late (v int);
CREATE FUNCTION b_insert(n int) RETURNS void LANGUAGE sql AS 'INSERT INTO public.b_late SELECT -i FROM generate_series(1, n) i';
CREATE FUNCTION b_key(v int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE n int := nullif(current_setting('b.late', true), '');
BEGIN
    IF n > 0 THEN PERFORM set_config('b.late', '0', false); PERFORM public.b_insert(n); END IF;
    RETURN v;
END $$;
INSERT INTO b_late SELECT i FROM generate_series(1, 500) i;
CREATE INDEX b_late_idx ON b_late USING brin (b_key(v) int4_bloomx_ops) WITH (pages_per_range = 16);
CREATE FUNCTION b_resummarise(n int, OUT there bigint, OUT lost bigint, OUT "false" numeric) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM brin_desummarize_range('b_late_idx', 0), set_config('b.late', n::text, false);
    PERFORM brin_summarize_range('b_late_idx', 0);
    PERFORM set_config('b.late', '0', false);
    SELECT count(*) FILTER (WHERE v < 0) INTO there FROM b_late;
    SELECT count(*) FILTER (WHERE rows <> 1) INTO lost
    FROM generate_series(-n, 500, 9) v, b_pages(format('SELECT FROM b_late WHERE b_key(v) = %s', v)) WHERE v <> 0;
    SELECT avg(least(pages, 1)) INTO "false" FROM generate_series(5001, 5200) v, b_pages(format('SELECT FROM b_late WHERE b_key(v) = %s', v));
    DELETE FROM b_late WHERE v < 0;
END $$;
SELECT n, there, lost, "false" < 0.06 AS "few false ranges" FROM unnest(ARRAY[0, 20, 400]) n, b_resummarise(n);

-- A column whose type is not that of the class is hashed as the class's type, and so are the conditions.
CREATE TABLE b_coerced AS SELECT oid::regclass AS r, oid::int8::int4 AS i FROM pg_class WHERE oid < 16384;
CREATE INDEX ON b_coerced USING brin (r oid_bloomx_ops);
CREATE INDEX ON b_coerced USING brin (i oid_bloomx_ops);
SELECT (b_pages('SELECT FROM b_coerced WHERE r = ''pg_class''::regclass')).rows AS regclass,
       (b_pages('SELECT FROM b_coerced WHERE i::oid = 1259::oid')).rows AS "int4 as oid";

-- Renamed enum values are found by their new labels.
ALTER TYPE b_mood RENAME VALUE 'happy' TO 'glad';
SELECT count(*) > 0 AND count(*) = (SELECT count(*) FROM b WHERE c_enum::text = 'glad') AS found FROM b WHERE c_enum = 'glad';

-- The summaries of many columns share a page: fewer values are kept exactly.
SELECT 'CREATE TABLE b_wide AS SELECT ' || string_agg(format('i * %s %% 29 AS c%1$s', n), ', ') || ' FROM generate_series(1, 3000) i'
FROM generate_series(1, 30) n \gexec
SELECT 'CREATE INDEX ON b_wide USING brin (' || string_agg(format('c%s int4_bloomx_ops', n), ', ') || ')' FROM generate_series(1, 30) n \gexec
SELECT rows FROM b_pages('SELECT FROM b_wide WHERE c7 = 7 AND c30 = 1');
INSERT INTO b_wide (c1, c7) SELECT 100 + i, 100 + i FROM generate_series(1, 50) i;
SELECT rows FROM b_pages('SELECT FROM b_wide WHERE c7 = 150');

-- Indexes that are refused.
CREATE INDEX ON b USING brin (c_int4 int4_bloomx_ops (fpr = 2));
CREATE INDEX ON b USING brin (c_int4 int4_bloomx_ops (n_distinct_per_range = 2));
CREATE COLLATION b_fold (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE INDEX ON b USING brin (c_text COLLATE b_fold text_bloomx_ops);
-- The class learns the collation with the first value.
CREATE TABLE b_folded (t text COLLATE b_fold);
CREATE INDEX ON b_folded USING brin (t text_bloomx_ops);
INSERT INTO b_folded VALUES ('a');

-- The planner knows that filters exclude ranges in whatever order the values are; of core's classes it expects that they read all.
RESET enable_seqscan;
CREATE TABLE b_unordered AS SELECT md5(i::text)::uuid AS id, 'request ' || md5((i * 7)::text) AS message FROM generate_series(1, 50000) i;
CREATE INDEX b_unordered_core ON b_unordered USING brin (id uuid_bloom_ops) WITH (pages_per_range = 8);
ANALYZE b_unordered;
EXPLAIN (COSTS OFF) SELECT FROM b_unordered WHERE id = 'b52340b4-de45-66b8-04c9-880aa0b4af5f';
DROP INDEX b_unordered_core;
CREATE INDEX b_unordered_id ON b_unordered USING brin (id uuid_bloomx_ops) WITH (pages_per_range = 8);
CREATE INDEX b_unordered_message ON b_unordered USING brin (message text_ngram_bloomx_ops) WITH (pages_per_range = 4);
EXPLAIN (COSTS OFF) SELECT FROM b_unordered WHERE id = 'b52340b4-de45-66b8-04c9-880aa0b4af5f';
-- No message has this: one that was a bound of the histogram would be taken for one in a hundred.
EXPLAIN (COSTS OFF) SELECT FROM b_unordered WHERE message LIKE '%28dd2c7955ce92645z%';
EXPLAIN (COSTS OFF) SELECT FROM b_unordered WHERE message LIKE '%req%';

DROP TABLE b, b_empty, b_many, b_shared, b_late, b_coerced, b_wide, b_folded, b_unordered;
DROP TYPE b_mood;
DROP COLLATION b_fold;
DROP FUNCTION b_find, b_pages, b_insert, b_key, b_resummarise;
