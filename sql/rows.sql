--
-- Several columns as one key: ROW(a, b), without a named type.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SET bloomx.overfill = off;

CREATE TABLE r_orders AS SELECT i % 50 AS a, 'w' || i % 20 AS b, i AS id FROM generate_series(1, 1000) i;
CREATE TABLE r_one AS SELECT bloom_agg(ROW(a, b), 1000, 1e-6) AS f FROM r_orders;

-- Built and asked; a literal inside the row is a text.
SELECT (bloom_info(f)).key_type, f @> ROW(1, 'w1') AS "there", f @> ROW(1, 'w2') AS absent, ROW(1, 'w1') <@ f AS "<@", f @> ROW(1::bigint, 'w1'::varchar) AS wider,
       bloom_contains_any(f, ARRAY[ROW(1, 'w2'), ROW(2, 'w2')]) AS "any", bloom_contains_all(f, ARRAY[ROW(1, 'w2'), ROW(2, 'w2')]) AS "all" FROM r_one;
SELECT count(*) AS found FROM r_orders, r_one WHERE f @> ROW(a, b);
SELECT count(*) AS found FROM r_orders o, r_one WHERE f @> (SELECT x FROM (SELECT o.a, o.b) x);
-- A composite type with such columns is the same key type. The text of a row is not read as one.
CREATE TYPE r_pair AS (x int, y text);
SELECT f @> ROW(1, 'w1')::r_pair AS named, f @> '(1,w1)'::r_pair AS text, f @> '(1,w2)'::r_pair AS "absent text", f = bloom_agg(ROW(a, b)::r_pair, 1000, 1e-6) AS same
FROM r_orders, r_one GROUP BY f;
SELECT f @> '(1,w1)' FROM r_one;
PREPARE r_ask(int, text) AS SELECT f @> ROW($1, $2) FROM r_one;
SET plan_cache_mode = force_generic_plan;
EXECUTE r_ask(1, 'w1');
RESET plan_cache_mode;

-- The columns' types count, not their names: others are an error, never a "no", and so is a null of another type.
SELECT f @> ROW(1.0, 'w1') FROM r_one;
SELECT f @> ROW(1, 'w1', 2) FROM r_one;
SELECT f @> ROW(1, 'w1'::char(9)) FROM r_one;
SELECT f @> 1 FROM r_one;
SELECT bloom_add(bloom_empty(10), ROW(1, 2)) @> ROW(1, NULL);
SELECT f @> ROW(1, NULL::int) AS "there", f @> ROW(NULL::bigint, 1) AS absent, f @> NULL::record AS "null" FROM bloom_add(bloom_empty(10, 1e-9), ROW(1, NULL::int)) f;
SELECT f @> ROW() AS "no columns" FROM bloom_add(bloom_empty(10), ROW()) f;

-- Rows in rows, and arrays in them.
SELECT (bloom_info(f)).key_type, f @> ROW(1, ROW('x', ARRAY[1, 2])) AS "there", f @> ROW(1, ROW('x', ARRAY[1, 3])) AS absent, f @> ROW(1, ROW('x', '{1,2}'::bigint[])) AS wider FROM bloom_add(bloom_empty(10, 1e-9), ROW(1::bigint, ROW('x'::text, ARRAY[1, 2]))) f;
SELECT bloom_add(bloom_empty(10), ROW(1, ROW(2, 'x'))) @> ROW(1, ROW('2', 'x'));
SELECT bloom_add(bloom_empty(10), ROW(1, NULL::record));
SELECT bloom_add(bloom_empty(10), ROW(1, ARRAY[ROW(1)]));
-- What cannot be a key cannot be part of one.
SELECT bloom_add(bloom_empty(10), ROW(1, '{}'::json));
SELECT bloom_add(bloom_empty(10), ROW(1, 'pg_class'::regclass));

-- One call with rows of several shapes: compared one by one where a filter is asked, an error where they would be keys of one filter.
SELECT f @> r AS found FROM bloom_add(bloom_empty(10), ROW(1, 'a')) f, (VALUES (1, ROW(1, 'a')), (2, ROW(1::bigint, 'a'::varchar)), (3, ROW(1::smallint, 'b'))) v(n, r) ORDER BY n;
SELECT bloom_agg(r) FROM (VALUES (ROW(1, 'a')), (ROW('a', 1))) v(r);
SELECT bloom_agg(CASE WHEN i < 9000 THEN ROW(i, 'a') ELSE ROW('a', i) END, 100000) FROM generate_series(1, 10000) i;
SELECT bloom_add_all(bloom_empty(10), ARRAY[ROW(1, 'a'), ROW('a', 1)]);
SELECT bloom_agg(r) @> ROW(1, 'a') AS found FROM (SELECT NULL::record UNION ALL SELECT ROW(1, 'a')) v(r);
-- Groups that are built at the same time have columns of their own, and each row is compared with those of its group, however large the state is.
SET enable_sort = off;
SELECT g, (bloom_info(f)).key_type, round(bloom_cardinality(f)) AS keys
FROM (SELECT i % 2 AS g, bloom_agg(CASE WHEN i % 2 = 0 THEN ROW(i, i) ELSE ROW(i::text, 'x'::text) END, 100000) AS f FROM generate_series(1, 40) i GROUP BY i % 2) s ORDER BY g;
SELECT g, bloom_summary(bloom_agg(r, 100000))
FROM (SELECT CASE WHEN i = 19 THEN 2 ELSE 1 END, CASE WHEN i < 19 THEN ROW(i, i) ELSE ROW('x'::text, 'y'::text) END FROM generate_series(1, 20) i) v(g, r) GROUP BY g;
RESET enable_sort;
DO $$
DECLARE r record; f bloomfilter := bloom_add(bloom_empty(10), ROW(1, 'a'::text)); said text := '';
BEGIN
    FOR i IN 1..2 LOOP
        FOR r IN SELECT 1 AS x, 'a' AS y LOOP said := said || ' ' || (f @> r)::text; END LOOP;
        FOR r IN SELECT 1::bigint AS p, 'b' AS q LOOP said := said || ' ' || (f @> r)::text; END LOOP;
        BEGIN
            FOR r IN SELECT 1.0 AS x, 'a' AS y LOOP said := said || ' ' || (f @> r)::text; END LOOP;
        EXCEPTION WHEN datatype_mismatch THEN said := said || ' ' || SQLSTATE;
        END;
    END LOOP;
    RAISE INFO '%', said;
END $$;

-- No rows: an empty filter without a key type. A template's key type holds.
SELECT (bloom_info(bloom_agg(ROW(a, b)))).key_type IS NULL AS unknown, bloom_agg(ROW(a, b)) @> ROW(1, 2) AS found FROM r_orders WHERE a < 0;
SELECT bloom_agg(r, bloom_empty(10, key_type => 'integer')) FROM (VALUES (NULL::record), (ROW(1, 'a'))) v(r);
SELECT (bloom_info(bloom_empty(10, key_type => 'r_pair'))).key_type;
SELECT bloom_empty(10, key_type => 'record');
SELECT bloom_empty(10, key_type => 'record[]');

-- In parallel, through an index, after a dump, and hashed.
CREATE FUNCTION r_parallel() RETURNS TABLE (workers boolean) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXPLAIN (COSTS off) SELECT bloom_agg(ROW(a, b), 1000, 1e-6) FROM r_orders LOOP
        IF line ~ 'Parallel' THEN RETURN QUERY SELECT true; RETURN; END IF;
    END LOOP;
END $$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT workers, f = (SELECT bloom_agg(ROW(a, b), 1000, 1e-6) FROM r_orders) AS same FROM r_parallel(), r_one;
SELECT count(*) AS found FROM r_orders WHERE (SELECT f FROM r_one) @> ROW(a, b);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
CREATE TABLE r_many AS SELECT a % 10 AS n, bloom_agg(ROW(a, b)) AS f FROM r_orders GROUP BY 1;
CREATE INDEX ON r_many USING bloomx (f);
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT n FROM r_many WHERE f @> ROW(13, 'w3');
SELECT n FROM r_many WHERE f @> ROW(13, 'w3');
RESET enable_seqscan;
SELECT f::text::bloomfilter @> ROW(1, 'w1') AS found, bloom_hash(ROW(1, 'w1')) = bloom_hash(ROW(1::smallint, 'w1'::name)) AS same_hash, bloom_hash(ROW(1, 'w1')) = bloom_hash('(1,w1)'::r_pair) AS named FROM r_one;

SET client_min_messages = warning;
DROP TABLE r_orders, r_one, r_many;
DROP FUNCTION r_parallel;
DROP TYPE r_pair;
RESET client_min_messages;
RESET bloomx.overfill;
DEALLOCATE ALL;
