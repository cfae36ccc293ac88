--
-- Keys without a type: a literal or a parameter is read as a key of the filter's type, as in integer_column = '42'.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SET bloomx.overfill = off;
\set VERBOSITY default
\set SHOW_CONTEXT always

CREATE TABLE u_one AS SELECT bloom_agg(i) AS f FROM generate_series(1, 100) i;

-- Literals: every spelling of membership.
SELECT f @> '42' AS "@>", ' 42 ' <@ f AS "<@", bloom_contains(f, '042') AS function, bloom_prefilter(f, '42') AS prefilter,
       bloom_contains_any(f, '{1000,42}') AS "any", bloom_contains_all(f, '{1, 42}') AS "all",
       bloom_contains_any(f, ARRAY['1000', '42']) AS "any of an ARRAY", f @> ANY (ARRAY['1000', '42']) AS "= ANY"
FROM u_one;
SELECT f @> '4242' AS "@>", bloom_contains_any(f, '{1000,4242}') AS "any", bloom_contains_all(f, '{1,4242}') AS "all",
       bloom_contains_all(f, '{1,NULL}') AS "all, and null", f @> NULL AS "null", bloom_contains_any(f, '{}') AS "none"
FROM u_one;

-- A text that is no such key is an error, with the message and the SQLSTATE of the type's input function.
SELECT f @> 'forty-two' FROM u_one;
SELECT f @> '' FROM u_one;
SELECT bloom_contains_any(f, '{1,99999999999999999999}') FROM u_one;
\echo :LAST_ERROR_SQLSTATE
SELECT bloom_agg(i::text::uuid) @> 'no' FROM (VALUES ('550e8400-e29b-41d4-a716-446655440000')) v(i);
\echo :LAST_ERROR_SQLSTATE

-- A column or another expression that differs from row to row is no constant, nor is the result of a subquery or of now().
SELECT f @> v FROM u_one, (VALUES ('42'), ('43')) v(v);
SELECT bloom_contains_any(f, array_agg(v)) FROM u_one, (VALUES ('42'), ('43')) v(v) GROUP BY f;
SELECT f @> (SELECT '42') FROM u_one;
SELECT f @> now()::text FROM u_one;
SELECT f @> current_setting('port') FROM u_one;
-- ... nor has a varchar, a name or a char(n) no type, and no value of another type is converted.
SELECT f @> '42'::varchar FROM u_one;
SELECT f @> 42.0 FROM u_one;

-- Parameters: custom plans and generic plans agree, also on expressions that the planner computes from a parameter.
PREPARE u_test AS SELECT f @> $1, $1 <@ f, bloom_contains(f, $1), bloom_contains_any(f, ARRAY[$1]), f @> ('0' || $1), f @> coalesce($1, '5') FROM u_one;
PREPARE u_array AS SELECT bloom_contains_any(f, $1), bloom_contains_all(f, $1), f @> ANY ($1::text[]) FROM u_one;
SET plan_cache_mode = force_custom_plan;
EXECUTE u_test('42');
EXECUTE u_array('{42,1000}');
EXECUTE u_test('no');
SET plan_cache_mode = force_generic_plan;
EXECUTE u_test('42');
EXECUTE u_array('{42,1000}');
EXECUTE u_test('no');
EXECUTE u_test('1000');
RESET plan_cache_mode;

-- PL/pgSQL variables, EXECUTE ... USING, SQL functions, views and defaults of columns.
CREATE FUNCTION u_sql(bloomfilter, text) RETURNS boolean LANGUAGE sql AS 'SELECT $1 @> $2';
CREATE FUNCTION u_plpgsql(f bloomfilter, v text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE found boolean;
BEGIN
    EXECUTE 'SELECT $1 @> $2' INTO found USING f, v;
    RETURN found AND f @> v;
END $$;
CREATE VIEW u_view AS SELECT f @> '42' AS "42", f @> '4242' AS "4242" FROM u_one;
CREATE TABLE u_defaults (f bloomfilter, known boolean GENERATED ALWAYS AS (f @> '42') STORED, CHECK (f @> '1'));
INSERT INTO u_defaults SELECT f FROM u_one;
SELECT u_sql(f, '42'), u_plpgsql(f, '42'), u_plpgsql(f, '4242'), u_view.*, known FROM u_one, u_view, u_defaults AS d(g, known);
-- One call of a function meets filters of several types, and back; an error between them leaves nothing behind.
DO $$
DECLARE
    filters bloomfilter[] := ARRAY[bloom_add(bloom_empty(9), 42), bloom_add(bloom_empty(9), '42'::text), bloom_add(bloom_empty(9), 42.0),
        bloom_add_hash(bloom_empty(9), 42), bloom_add(bloom_empty(9), 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid), bloom_empty(9),
        bloom_add(bloom_empty(9), ARRAY[42]), bloom_add(bloom_empty(9), 42)];
    key text := '42';
    said text := '';
BEGIN
    FOR n IN 1..3 LOOP
        FOR i IN 1..8 LOOP
            BEGIN
                said := said || ' ' || (filters[i] @> key)::text;
            EXCEPTION WHEN OTHERS THEN
                said := said || ' ' || SQLSTATE;
            END;
        END LOOP;
        said := said || ';';
    END LOOP;
    RAISE INFO '%', said;
END $$;
SELECT n, f @> '42' AS found FROM (VALUES (1, bloom_add(bloom_empty(9), 42)), (2, bloom_add(bloom_empty(9), 42.0)), (3, bloom_empty(9)),
    (4, bloom_add(bloom_empty(9), '42'::text)), (5, bloom_add(bloom_empty(9), 42)), (6, bloom_add(bloom_empty(9), 43))) v(n, f);

-- Adding and removing.
SELECT bloom_add(f, '4242') = bloom_add(f, 4242) AS add, bloom_add_all(f, '{4242,NULL}') = bloom_add(f, 4242) AS add_all FROM u_one;
SELECT bloom_remove(f, '5') = bloom_remove(f, 5) AS remove, bloom_remove_all(f, '{5,6}') = bloom_remove_all(f, ARRAY[5, 6]) AS remove_all
FROM (SELECT bloom_add_all(bloom_empty(100, 0.01, 'counting'), ARRAY[5, 6, 7]) AS f) s;
-- ... in a variable that changes in place
DO $$
DECLARE f bloomfilter := bloom_add(bloom_empty(100000), 0); keys text[] := ARRAY(SELECT generate_series(1, 200));
BEGIN
    FOR i IN 1..200 LOOP f := bloom_add(f, keys[i]); END LOOP;
    RAISE INFO '% %', f = bloom_add_all(bloom_empty(100000), ARRAY(SELECT generate_series(0, 200))), f @> keys[200];
    f := bloom_add(f, 'x'::text || keys[1]);
END $$;

-- An empty filter says nothing of its key type, unless bloom_empty was told: then it reads texts and refuses other types.
SELECT (bloom_info(bloom_add(bloom_empty(100), '42'))).key_type AS without,
       (bloom_info(f)).key_type, bloom_add(f, '42') @> 42 AS found FROM (SELECT bloom_empty(100, key_type => 'integer') AS f) s;
SELECT bloom_add(bloom_empty(100, key_type => 'integer'), 'no');
SELECT bloom_add(bloom_empty(100, key_type => 'integer'), 42.0);
SELECT bloom_empty(100, key_type => 'integer') = bloom_agg(NULL::integer, bloom_empty(100)) AS "as of no rows",
       bloom_empty(100, key_type => NULL) = bloom_empty(100) AS "none", bloom_empty(100, key_type => '-') = bloom_empty(100) AS "none, too",
       bloom_empty_bits(1000, 4, key_type => 'uuid') @> 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' AS "in bits", bloom_empty(NULL, key_type => 'integer') AS "null";
SELECT (bloom_info(bloom_empty(100, key_type => t))).key_type FROM unnest('{bigint,char(3),varchar(10),name,int[],int4range,jsonb,cidr,timestamptz,float4,u_one}'::regtype[]) t;
SELECT bloom_empty(100, key_type => 'nonsense');
SELECT bloom_empty(100, key_type => 4294967295);
SELECT bloom_empty(100, key_type => 'json');
SELECT bloom_empty(100, key_type => 'regclass');
SELECT bloom_empty(100, key_type => 'anyelement');
SELECT bloom_empty(100, key_type => 'integer') | bloom_empty(100, key_type => 'text');

-- Types: text is read as the widest type of a key type; whatever that type's input takes is right.
SELECT bloom_agg('2024-02-29'::date) @> 'February 29, 2024' AS date, bloom_agg('10.0.0.0/8'::cidr) @> '10.0.0.0/8' AS cidr,
       bloom_agg('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid) @> '{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}' AS uuid,
       bloom_agg(1.50) @> '1.5' AS "numeric", bloom_agg('x'::char(6)) @> 'x ' AS "char(n)", bloom_agg('30 days'::interval) @> '1 mon' AS "interval",
       bloom_agg('\xdead'::bytea) @> '\xDEAD' AS bytea, bloom_agg('{"a": 1}'::jsonb) @> '{"a":1.0}' AS jsonb, bloom_agg(ARRAY[1, 2]) @> '{1, 2}' AS "array",
       bloom_agg('[1,5]'::int4range) @> '[1,6)' AS range, bloom_agg('(0,1)'::tid) @> '(0,1)' AS tid, bloom_agg(true) @> 'yes' AS boolean;
-- ... bytes are read in hex format only: what a driver sends without a type is a text, and would be other bytes in the escape format
SELECT bloom_agg(''::bytea) @> '' AS empty;
SELECT bloom_agg('abc'::bytea) @> 'abc';
PREPARE bytes AS SELECT bloom_agg('abc'::bytea) @> $1 AS found;
EXECUTE bytes('abc');
EXECUTE bytes('\x616263');
DEALLOCATE bytes;
-- ... a text that two types of a key type read differently is refused
SELECT bloom_agg(v::real) @> '0.5' AS half, bloom_agg(v::real) @> '-0' AS zero, bloom_agg('NaN'::real) @> 'nan' AS nan, bloom_agg(1e300::float8) @> '1e300' AS large,
       bloom_agg(1e-300::float8) @> '1e-300' AS small FROM (VALUES (0.5), (0)) v(v);
SELECT bloom_agg(0.1::real) @> '0.1';
SELECT bloom_agg(0.1::real) @> '1e400';
-- ... and where the texts inside might be
SELECT bloom_agg(ARRAY[0.5::real]) @> '{0.5}';
-- ... a filter of an enum does not know the labels: any text is one
CREATE TYPE u_mood AS ENUM ('sad', 'ok');
SELECT bloom_agg('ok'::u_mood) @> 'ok' AS ok, bloom_agg('ok'::u_mood) @> 'sad' AS sad, bloom_agg('ok'::u_mood) @> 'none of them' AS other;
-- ... types that are known by the extension that made them
CREATE SCHEMA u_schema;
CREATE DOMAIN u_schema.int4range AS text;
SELECT bloom_agg(int4range(1, 5)) @> '[1,4]' AS "not the domain";

-- Indexes: the text is the condition, and is read as the index's key type.
CREATE TABLE u_many AS SELECT g, bloom_agg(10 * g + i) AS f FROM generate_series(1, 500) g, generate_series(0, 9) i GROUP BY g;
CREATE FUNCTION u_rows(condition text) RETURNS TABLE (rows bigint, has_42 boolean, plan text) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) SELECT g FROM u_many WHERE ' || condition LOOP
        IF line ~ 'Index Cond|Seq Scan' THEN plan := trim(line); END IF;
    END LOOP;
    RETURN QUERY EXECUTE 'SELECT count(*), bool_or(g = 42), $1 FROM u_many WHERE ' || condition USING plan;
END $$;
CREATE TABLE u_results (index text, condition text, rows bigint, has_42 boolean, plan text);
CREATE FUNCTION u_run(index text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO u_results SELECT index, c.v, r.* FROM unnest(ARRAY['f @> 425', 'f @> ''425''', '''425'' <@ f', 'bloom_contains_any(f, ''{425,99999}'')',
        'bloom_contains_all(f, ''{425,426}'')', 'bloom_contains_any(f, ''{}'')', 'bloom_contains_all(f, ''{}'')']) c(v), u_rows(c.v) r
$$;
ANALYZE u_many;
SELECT u_run('none');
SET enable_seqscan = off;
CREATE INDEX u_index ON u_many USING bloomx (f);
SELECT u_run('bloomx');
SELECT g FROM u_many WHERE f @> 'no';
-- ... a parameter, also in a generic plan
PREPARE u_search AS SELECT count(*) FROM u_many WHERE f @> $1 AND g = 42;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS off) EXECUTE u_search('425');
EXECUTE u_search('425');
EXECUTE u_search('no');
RESET plan_cache_mode;
DROP INDEX u_index;
SELECT i.index, i.condition, i.has_42, i.rows = n.rows AS same_rows, i.plan FROM u_results i JOIN u_results n USING (condition)
    WHERE i.index <> 'none' AND n.index = 'none' ORDER BY i.index, i.condition COLLATE "C";
-- ... a text column is no constant there either; the operator says so that its text be read
CREATE TABLE u_texts (v text);
INSERT INTO u_texts VALUES ('425'), ('436');
CREATE INDEX u_index ON u_many USING bloomx (f);
SELECT v, g FROM u_texts, u_many WHERE f @> v;
EXPLAIN (COSTS off) SELECT v FROM unnest('{425,436}'::text[]) v, u_many WHERE f ?& v AND g BETWEEN 42 AND 43;
SELECT v, g FROM u_texts, u_many WHERE f ?& v AND g BETWEEN 42 AND 43 ORDER BY v;
SELECT g FROM u_many WHERE f ?& '{425,426}'::text[] AND g BETWEEN 42 AND 43;
-- ... what a text is read as depends on settings such as TimeZone: no index, generated column or other server may keep the result
CREATE INDEX ON u_many (g) WHERE f ?& '425'::text;
SELECT g FROM u_many WHERE f ?| '{425,436}'::text[] AND g BETWEEN 42 AND 43 ORDER BY g;
-- ... filters of several types in one index: all rows of another type are asked themselves
INSERT INTO u_many SELECT 1000, bloom_agg(v) FROM (VALUES (425.0)) v(v);
INSERT INTO u_many SELECT 1001, bloom_agg(v) FROM (VALUES ('425')) v(v);
INSERT INTO u_many SELECT 1002, bloom_empty(10);
SELECT g FROM u_many WHERE f @> '425' AND g IN (42, 43, 1000, 1001, 1002) ORDER BY g;
RESET enable_seqscan;

-- A type that is hashed under a collation, as a type that has the operators of text: neither a text nor statistics have one.
SET client_min_messages = warning;
CREATE TYPE u_word;
CREATE FUNCTION u_word_in(cstring) RETURNS u_word LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION u_word_out(u_word) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE u_word (INPUT = u_word_in, OUTPUT = u_word_out, LIKE = text, COLLATABLE = true);
CREATE CAST (u_word AS text) WITHOUT FUNCTION AS IMPLICIT;
RESET client_min_messages;
CREATE TABLE u_words AS SELECT ('w' || i % 7)::u_word AS word FROM generate_series(1, 70) i;
SELECT bloom_agg(word) @> 'w3'::u_word AS typed, bloom_agg(word) @> 'w3' AS untyped, bloom_agg(word) @> 'w8' AS absent FROM u_words;
ANALYZE u_words;
PREPARE u_found(bloomfilter) AS SELECT count(*) FROM u_words WHERE word <@ $1;
SELECT bloom_agg(word) AS f FROM u_words WHERE word < 'w2' \gset
EXECUTE u_found(:'f');

SET client_min_messages = warning;
DROP TYPE u_word CASCADE;
DROP TABLE u_words, u_one, u_defaults, u_many, u_texts, u_results CASCADE;
DROP FUNCTION u_sql, u_plpgsql, u_rows, u_run;
DROP TYPE u_mood;
DROP SCHEMA u_schema CASCADE;
RESET client_min_messages;
RESET bloomx.overfill;
DEALLOCATE ALL;
