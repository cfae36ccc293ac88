--
-- Keys: every type that is accepted, which keys are the same, and what is refused.
--

-- For any type: all keys of a filter are found, however they were added, and equal values have equal hashes.
-- Some of the values are equal on purpose: `distinct` counts them by =, `hashes` by bloom_hash.
CREATE FUNCTION check_keys(type text, VARIADIC keys text[],
    OUT key_type text, OUT vals int, OUT found_agg int, OUT found_add int, OUT found_all boolean, OUT found_literal int,
    OUT "distinct" int, OUT hashes int)
LANGUAGE plpgsql AS $$
DECLARE
    f bloomfilter;
    g bloomfilter := bloom_empty(1000, 1e-9);
    h bloomfilter;
    v text;
    found boolean;
BEGIN
    EXECUTE format('SELECT bloom_agg(v::%s, 1000, 1e-9) FROM unnest($1) v', type) INTO f USING $2;
    EXECUTE format('SELECT (bloom_info($1)).key_type, count(*), count(*) FILTER (WHERE $1 @> v::%1$s AND v::%1$s <@ $1 AND bloom_contains($1, v::%1$s)),
            count(DISTINCT v::%1$s), count(DISTINCT bloom_hash(v::%1$s)) FROM unnest($2) v', type)
        INTO key_type, vals, found_agg, "distinct", hashes USING f, $2;
    found_literal := 0;
    FOREACH v IN ARRAY $2 LOOP
        EXECUTE format('SELECT bloom_add($1, %L::%s)', v, type) INTO g USING g;
        EXECUTE format('SELECT $1 @> %L::%s', v, type) INTO found USING f;
        found_literal := found_literal + found::int;
    END LOOP;
    EXECUTE format('SELECT count(*) FILTER (WHERE $1 @> v::%s) FROM unnest($2) v', type) INTO found_add USING g, $2;
    IF type NOT LIKE '%[]' THEN -- an array of arrays is one array, of their elements
        EXECUTE format('SELECT bloom_add_all(bloom_empty(1000, 1e-9), ARRAY(SELECT v::%s FROM unnest($1) v))', type) INTO h USING $2;
        EXECUTE format('SELECT bloom_contains_all($1, ARRAY(SELECT v::%s FROM unnest($2) v))', type) INTO found_all USING h, $2;
    END IF;
    IF g <> f OR h <> f THEN
        RAISE EXCEPTION 'the filters of % differ', type;
    END IF;
END $$;

-- Numbers
SELECT * FROM check_keys('int2', '0', '1', '-1', '32767', '-32768');
SELECT * FROM check_keys('int4', '0', '1', '-1', '2147483647', '-2147483648');
SELECT * FROM check_keys('int8', '0', '1', '-1', '9223372036854775807', '-9223372036854775808', '4294967296', '4294967297');
SELECT * FROM check_keys('oid', '0', '1', '4294967295');
SELECT * FROM check_keys('float4', '0', '-0', '1.5', '-1.5', 'NaN', 'Infinity', '-Infinity', '1e-45', '3.4e38');
SELECT * FROM check_keys('float8', '0', '-0', '0.1', '0.3', 'NaN', 'Infinity', '-Infinity', '5e-324', '1.7e308');
SELECT * FROM check_keys('numeric', '0', '0.00', '-0.0', '1', '1.0', '1.00', '100', '1e2', '-12.25', '-12.2500', 'NaN', 'Infinity', '-Infinity', '1e-100', '1e1000');
SELECT * FROM check_keys('numeric(10,3)', '1', '1.000', '1.0004', '99.5');
SET lc_monetary = 'C';
SELECT * FROM check_keys('money', '0', '1.00', '1', '-12.34');

-- Strings
SELECT * FROM check_keys('text', '', ' ', 'a', 'a ', 'A', 'é', 'a rather longer key than the others are', '日本');
SELECT * FROM check_keys('varchar(3)', '', 'a', 'abc', 'a ');
SELECT * FROM check_keys('char(5)', '', 'a', 'a ', 'a    ', ' a');
SELECT * FROM check_keys('name', '', 'a', 'a_name');
SELECT * FROM check_keys('"char"', 'a', 'b', '');
SELECT * FROM check_keys('bytea', '', '\x00', '\x0000', '\xdeadbeef');
SELECT * FROM check_keys('uuid', '00000000-0000-0000-0000-000000000000', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{a0eebc999c0b4ef8bb6d6bb9bd380a12}');
SELECT * FROM check_keys('boolean', 'true', 'false', 'yes');

-- Dates and times
SELECT * FROM check_keys('date', '2000-01-01', '1999-12-31', '2024-02-29', 'infinity', '-infinity', '4713-01-01 BC');
SELECT * FROM check_keys('time', '00:00', '24:00', '12:34:56.789012');
SELECT * FROM check_keys('timetz', '00:00+00', '00:00-08', '08:00+00', '12:34:56.789012+05:30');
SELECT * FROM check_keys('timestamp', '2000-01-01', '2000-01-01 00:00:00.000001', 'infinity', '-infinity', '1900-01-01');
SELECT * FROM check_keys('timestamptz', '2000-01-01 00:00+00', '2000-01-01 01:00+01', '2000-01-01 00:00+01', 'infinity', '-infinity');
SELECT * FROM check_keys('interval', '1 mon', '30 days', '720 hours', '1 day', '24:00', '-1 mon', '1 year', '1 microsecond', '-1 microsecond', '0');

-- Networks
SELECT * FROM check_keys('inet', '10.0.0.1', '10.0.0.1/32', '10.0.0.1/8', '::1', '::ffff:10.0.0.1', '0.0.0.0/0');
SELECT * FROM check_keys('cidr', '10.0.0.0/8', '10.0.0.0/16', '::/0');
SELECT * FROM check_keys('macaddr', '08:00:2b:01:02:03', '08-00-2B-01-02-03', '000000000000');
SELECT * FROM check_keys('macaddr8', '08:00:2b:01:02:03:04:05', '08:00:2b:01:02:03');

-- Enums, by label
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
SELECT * FROM check_keys('mood', 'sad', 'ok', 'happy', 'ok');
SELECT bloom_hash('ok'::mood) = bloom_hash('ok'::text) AS hash_of_label;
CREATE TYPE temper AS ENUM ('calm', 'ok');
SELECT bloom_add(bloom_empty(10), 'ok'::mood) = bloom_add(bloom_empty(10), 'ok'::temper) AS other_enum_same_label;

-- Types that consist of others: the key type names their elements
CREATE TYPE pair AS (a int, b text);
SELECT * FROM check_keys('pair', '(1,x)', '(1,y)', '(2,)', '(,)');
SELECT * FROM check_keys('int[]', '{}', '{1}', '{1,2}', '{2,1}', '{NULL}', '{{1,2},{3,4}}');
SELECT * FROM check_keys('text[]', '{}', '{a}', '{a,NULL}', '{"a b"}');
SELECT * FROM check_keys('numeric[]', '{1.0}', '{1.00}', '{2}');
SELECT * FROM check_keys('pair[]', '{"(1,x)"}', '{"(1,x)","(2,y)"}');
SELECT * FROM check_keys('mood[]', '{ok}', '{ok,sad}');
SELECT * FROM check_keys('int4range', '[1,5]', '[1,6)', 'empty', '(,)');
SELECT * FROM check_keys('int4multirange', '{[1,5]}', '{[1,3],[4,5]}', '{}');
SELECT * FROM check_keys('jsonb', '1', '1.0', '"a"', '{"a": 1, "b": [true, null]}', '{"b": [true, null], "a": 1.00}', 'null');
SELECT * FROM check_keys('int2[]', '{1,2}', '[0:1]={1,2}', '{{1,2}}');
SELECT * FROM check_keys('char(3)[]', '{a}', '{"a  "}', '{ab}');
SELECT * FROM check_keys('money[]', '{1}', '{1.00}');
-- The canonical bytes of a numeric are its text without trailing zeros, however it is stored.
WITH numbers AS (
	SELECT round((sign || digits || 'e' || exponent)::numeric, decimals) AS n
	FROM unnest('{"",-}'::text[]) sign,
	     unnest('{0,1,7,10,99,1000,9999,10000,10001,12003400,50000000600070008,123456789012345678901234567890}'::text[]) digits,
	     generate_series(-70, 270, 3) exponent, unnest('{-2,0,1,4,7,63,64,90}'::int[]) decimals)
SELECT count(*), count(*) FILTER (WHERE bloom_hash(n) <> bloom_hash(trim_scale(n)::text)) AS other_hash,
	count(*) FILTER (WHERE bloom_hash(to_jsonb(n)) <> bloom_hash(to_jsonb(trim_scale(n)))) AS other_hash_of_json FROM numbers;
-- Built-in types without a key type code, and types of extensions, which are identified by their hash function
SELECT * FROM check_keys('pg_lsn', '0/0', '16/B374D848');
SELECT * FROM check_keys('xid8', '0', '18446744073709551615');
SELECT * FROM check_keys('tid', '(0,1)', '(1,0)');
SELECT * FROM check_keys('bloomfilter', bloom_empty(10)::text, bloom_add(bloom_empty(10), 1)::text);
CREATE EXTENSION citext;
SELECT * FROM check_keys('citext', 'abc', 'ABC', 'abd');
DROP EXTENSION citext;

-- Tables are composite types; whole rows are keys
CREATE TABLE points (x int, y int);
INSERT INTO points SELECT i, i * i FROM generate_series(1, 50) i;
SELECT (SELECT bool_and(f @> p) FROM points p) AS found, f @> ROW(1, 2)::points AS other, (bloom_info(f)).key_type
    FROM (SELECT bloom_agg(p) AS f FROM points p) a;
DROP TABLE points;

-- Integers are one key type: a filter built with any width finds all others
CREATE TABLE numbers AS SELECT i::int2 AS s, i::int4 AS i, i::int8 AS b FROM generate_series(-300, 300, 3) i;
SELECT built, count(*) AS keys, count(*) FILTER (WHERE f @> s) AS int2, count(*) FILTER (WHERE f @> i) AS int4, count(*) FILTER (WHERE f @> b) AS int8
    FROM (SELECT 'int2', bloom_agg(s) FROM numbers UNION ALL SELECT 'int4', bloom_agg(i) FROM numbers UNION ALL SELECT 'int8', bloom_agg(b) FROM numbers) AS x(built, f),
        numbers GROUP BY built ORDER BY built;
SELECT bloom_agg(s) = bloom_agg(i) AND bloom_agg(i) = bloom_agg(b) AS equal FROM numbers;
DROP TABLE numbers;

-- ... but 2^32 + x is not x, and -1 is not 2^32 - 1 or 65535 (as in hash functions that fold)
SELECT f @> 5::int8 AS five, f @> 4294967301 AS two_to_32_plus_5, f @> -1 AS minus_one, f @> 4294967295 AS two_to_32_minus_1, f @> 65535 AS two_to_16_minus_1
    FROM bloom_add_all(bloom_empty(10, 1e-9), ARRAY[5, -1]::int2[]) f;
SELECT f @> 4294967301 AS two_to_32_plus_5, f @> 5 AS five FROM bloom_add(bloom_empty(10, 1e-9), 4294967301) f;

-- Floats are one key type, by value; 0.1 is another number in float4 than in float8
SELECT f @> 1.5::float8 AS one_and_half, f @> (-0.0)::float8 AS minus_zero, f @> 'NaN'::float8 AS nan, f @> 0.1::float4::float8 AS widened, f @> 0.1::float8 AS a_tenth
    FROM bloom_add_all(bloom_empty(10, 1e-9), ARRAY[0, 1.5, 'NaN', 0.1]::float4[]) f;

-- Strings are one key type, except char(n), in which trailing blanks do not count
SELECT f @> 'a'::varchar AS varchar, f @> 'a'::name AS name, f @> 'a '::text AS text_with_blank, f @> 'a '::char(2)::text AS bpchar_as_text
    FROM bloom_add(bloom_empty(10, 1e-9), 'a'::text) f;
SELECT f @> 'a'::bpchar AS bpchar, f @> 'a  '::bpchar AS with_blanks, f @> 'a'::char(4) AS longer, f @> ' a'::bpchar AS blank_in_front
    FROM bloom_add(bloom_empty(10, 1e-9), 'a'::char(9)) f;
CREATE TABLE countries (code char(6));
INSERT INTO countries VALUES ('DE'), ('FR');
SELECT f @> 'DE    ' AS as_a_client_reads_it FROM (SELECT bloom_agg(code) AS f FROM countries) a;
SELECT f @> 'DE    '::bpchar AS bpchar FROM (SELECT bloom_agg(code) AS f FROM countries) a;
SELECT f @> 'DE' AS text FROM (SELECT bloom_agg(code::text) AS f FROM countries) a;
SELECT f @> code FROM countries, (SELECT bloom_agg(code::text) AS f FROM countries) a;
SELECT bloom_contains_any(f, ARRAY['DE  ']) FROM (SELECT bloom_agg(code) AS f FROM countries) a;
SELECT bloom_contains_all(f, ARRAY['DE  ', 'FR']::bpchar[]) AS all, bloom_contains_any(f, ARRAY[code, 'XX']) AS any FROM countries, (SELECT bloom_agg(code) AS f FROM countries) a;
CREATE DOMAIN country AS char(2);
SELECT f @> 'DE'::country AS of_domain FROM (SELECT bloom_agg(code) AS f FROM countries) a;
-- ... through an index too
CREATE TABLE lists AS SELECT id, bloom_agg(code || '', 100) AS t, bloom_agg(code, 100) AS f FROM countries, generate_series(1, 3) id GROUP BY id;
CREATE INDEX ON lists USING bloomx (f);
SET enable_seqscan = off;
SELECT count(*) AS by_index FROM lists WHERE f @> 'DE    '::bpchar;
SELECT count(*) FROM lists WHERE f @> 'DE    ';
RESET enable_seqscan;
DROP DOMAIN country;
DROP TABLE countries, lists;

-- inet and cidr are one key type, integers and numeric are not
SELECT f @> '10.0.0.0/8'::cidr AS cidr FROM bloom_add(bloom_empty(10, 1e-9), '10.0.0.0/8'::inet) f;
SELECT bloom_add(bloom_empty(10), 1) @> 1.0;
SELECT bloom_add(bloom_empty(10), 1) @> 1.0::int AS cast_as_the_hint_says;

-- A domain is the same as its base type; so are domains over domains and over arrays, and domains as elements and fields
CREATE DOMAIN id AS int CHECK (VALUE > 0);
CREATE DOMAIN small_id AS id CHECK (VALUE < 1000);
CREATE DOMAIN tags AS text[];
CREATE TYPE labelled AS (id small_id, label text);
SELECT (bloom_info(f)).key_type, f @> 7 AS as_int, f @> 7::id AS as_id, f @> 7::small_id AS as_small_id, f @> 7::bigint AS as_bigint
    FROM (SELECT bloom_agg(i::small_id) AS f FROM generate_series(1, 9) i) a;
SELECT (bloom_info(f)).key_type, f @> '{a,b}'::text[] AS as_array, f @> '{a,b}'::tags AS as_domain
    FROM bloom_add(bloom_empty(10), '{a,b}'::tags) f;
SELECT (bloom_info(f)).key_type, f @> ARRAY[1, 2]::id[] AS as_ids, f @> ARRAY[1, 2] AS as_ints
    FROM bloom_add(bloom_empty(10), ARRAY[1, 2]::id[]) f;
SELECT bloom_contains_all(f, ARRAY[1, 2]::id[]) AS elements, bloom_contains_all(f, ARRAY[1, 2]) AS as_ints, f @> 2 AS one, bloom_contains_any(g, 'x'::text || '{a}'::tags) AS domain_over_array
    FROM bloom_add_all(bloom_empty(10), ARRAY[1, 2]::id[]) f, bloom_add_all(bloom_empty(10), '{a,b}'::tags) g;
SELECT (bloom_info(f)).key_type, f @> (1, 'x')::labelled AS found, f @> (2, 'x')::labelled AS other
    FROM bloom_add(bloom_empty(10, 1e-9), (1, 'x')::labelled) f;
DROP TYPE labelled;
DROP DOMAIN tags, small_id, id;

-- An empty filter takes untyped literals for strings (untyped.sql has other filters); parameters have their declared type
SELECT bloom_add(bloom_empty(10), 'a') @> 'a' AS literals, 'a' <@ bloom_add(bloom_empty(10), 'a'::text) AS commuted, (bloom_info(bloom_add(bloom_empty(10), '1'))).key_type;
CREATE TABLE filters AS SELECT bloom_agg(i) AS f, bloom_agg(i::text) AS g FROM generate_series(1, 100) i;
PREPARE by_int AS SELECT f @> $1::int AS found FROM filters;
PREPARE by_bigint(bigint) AS SELECT f @> $1 AS found FROM filters;
PREPARE by_text AS SELECT g @> $1 AS found FROM filters;
PREPARE by_array(int[]) AS SELECT bloom_contains_any(f, $1) AS found FROM filters;
EXECUTE by_int(42);
EXECUTE by_bigint(42);
EXECUTE by_bigint(4200000000);
EXECUTE by_text('42');
EXECUTE by_text('0');
EXECUTE by_array('{0,NULL,42}');
SET plan_cache_mode = force_generic_plan;
EXECUTE by_int(42);
EXECUTE by_text('42');
EXECUTE by_array('{0,-1}');
RESET plan_cache_mode;
DEALLOCATE ALL;
SELECT f @> '42'::varchar FROM filters;

-- NULL keys: the answer is unknown; no key
SELECT f @> NULL::int AS "@>", NULL::int <@ f AS "<@", bloom_contains(f, NULL::int) AS bloom_contains, bloom_contains_any(f, NULL::int[]) AS any_of_null,
        bloom_contains_any(f, ARRAY[NULL, 1]) AS any_true, bloom_contains_any(f, ARRAY[NULL, -1]) AS any_unknown,
        bloom_contains_all(f, ARRAY[NULL, 1]) AS all_unknown, bloom_contains_all(f, ARRAY[NULL, -1]) AS all_false
    FROM filters;
DROP TABLE filters;
SELECT bloom_agg(v) = bloom_agg(v) FILTER (WHERE v IS NOT NULL) AS skipped FROM (VALUES (1), (NULL), (2)) t(v);

-- One call site, keys of all lengths; TOASTed and compressed keys are the same keys
CREATE TABLE documents (id int, body text, packed bytea);
ALTER TABLE documents ALTER packed SET STORAGE external;
INSERT INTO documents SELECT i, repeat('x', i * i * 20), convert_to(repeat('y', i * i * 20), 'UTF8') FROM generate_series(0, 60) i;
SELECT count(*) FILTER (WHERE f @> body) AS text, count(*) FILTER (WHERE f @> repeat('x', id * id * 20)) AS computed,
        count(*) FILTER (WHERE g @> packed) AS bytea
    FROM documents, (SELECT bloom_agg(body) AS f, bloom_agg(packed) AS g FROM documents) a;
DROP TABLE documents;

-- Keys of the wrong type are errors that name both, never a false "not in the filter"
\set VERBOSITY default
CREATE FUNCTION attempt(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    message text; detail text; hint text;
BEGIN
    EXECUTE statement;
    RETURN NEXT 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
    RETURN NEXT sqlstate || ': ' || message;
    IF detail <> '' THEN RETURN NEXT '  detail: ' || detail; END IF;
    IF hint <> '' THEN RETURN NEXT '  hint: ' || hint; END IF;
END $$;
\pset tuples_only on
\pset format unaligned
SELECT attempt('SELECT bloom_add(bloom_empty(10), 1) @> ''a''::varchar');
SELECT attempt('SELECT bloom_add(bloom_add(bloom_empty(10), 1), 1.5::float8)');
SELECT attempt('SELECT bloom_add_all(bloom_add(bloom_empty(10), ''x''::bytea), ARRAY[''x''::name])');
SELECT attempt('SELECT bloom_contains_any(bloom_add(bloom_empty(10), now()), ARRAY[localtimestamp])');
SELECT attempt('SELECT bloom_contains_all(bloom_add(bloom_empty(10), current_date), ARRAY[localtimestamp])');
SELECT attempt('SELECT bloom_add(bloom_empty(10), ''(1,x)''::pair) @> ''{1}''::int[]');
SELECT attempt('SELECT bloom_add(bloom_empty(10), ''{a}''::text[]) @> ''{1}''::int[]');
SELECT attempt('SELECT bloom_add(bloom_empty(10), ''a'') | bloom_add(bloom_empty(10), 1)');
-- ... and where a cast is not the remedy the hint says what is
SELECT attempt('SELECT bloom_add(bloom_empty(10), 1) @> bloom_empty(10)');
SELECT attempt('SELECT bloom_empty(10) <@ bloom_add(bloom_empty(10), 1)');
SELECT attempt('SELECT bloom_add(bloom_empty(10), 1) @> ARRAY[1]');
SELECT attempt('SELECT bloom_add(bloom_add(bloom_empty(10), ''a''), ARRAY[''a''])');
-- ... as when a filter was built from arrays, or from filters, in place of what they hold
SELECT attempt('SELECT bloom_agg(ARRAY[1, 2]) @> 1');
SELECT attempt('SELECT bloom_contains_any(bloom_agg(ARRAY[1, 2]), ARRAY[1])');
SELECT attempt('SELECT bloom_agg(bloom_empty(10)) @> 1');
SELECT attempt('SELECT bloom_agg(bloom_empty(10)) @> ARRAY[1]');
SELECT attempt('SELECT bloom_add_hash(bloom_empty(10), bloom_hash(1)) @> 1');
SELECT attempt('SELECT bloom_add(bloom_add_hash(bloom_empty(10), bloom_hash(1)), 1)');
SELECT attempt('SELECT bloom_union_agg(f) FROM (VALUES (bloom_add(bloom_empty(10), 1)), (bloom_add(bloom_empty(10), 1.5))) v(f)');
SELECT attempt('SELECT bloom_agg(x, bloom_add(bloom_empty(10), 1)) FROM unnest(ARRAY[''a'']) x');

-- Types without a hash function cannot be keys, nor can types that contain them
SELECT attempt('SELECT bloom_hash(''(1,2)''::point)');
SELECT attempt('SELECT bloom_add(bloom_empty(10), ''{}''::json)');
SELECT attempt('SELECT bloom_agg(''a b''::tsvector)');
SELECT attempt('SELECT bloom_agg(ARRAY[''(1,2)''::point])');
SELECT attempt('SELECT bloom_empty(10) @> ''((1,2),(3,4))''::box');
CREATE TYPE spot AS (name text, place point);
SELECT attempt('SELECT bloom_agg(''(x,"(1,2)")''::spot)');
DROP TYPE spot;
-- ... nor an array of rows without a named type; such a row alone is a key (rows.sql)
SELECT attempt('SELECT bloom_agg(ROW(1, 2))');
SELECT attempt('SELECT bloom_empty(10) @> (1, 2)');
SELECT attempt('SELECT bloom_agg(ARRAY[ROW(1, 2)])');
-- ... also when there are no keys at all
SELECT attempt('SELECT bloom_agg(p) FROM (SELECT ''(1,2)''::point AS p) s WHERE false');

-- Nondeterministic collations are refused, also inside arrays, rows and ranges, and in domains; COLLATE "C" helps.
-- (They need ICU. On a server without it there is nothing to refuse, and the helper functions answer as if there were.)
\pset tuples_only off
\pset format aligned
CREATE FUNCTION refused(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text; detail text; hint text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') THEN RETURN 'refused'; END IF;
    EXECUTE statement;
    RETURN 'accepted';
EXCEPTION WHEN feature_not_supported THEN
    GET STACKED DIAGNOSTICS message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
    IF (message, detail, hint) = ('nondeterministic collations are not supported for bloom filter keys',
        'Collation "regress_nondeterministic" calls strings equal that differ in their bytes.', 'Use COLLATE "C" on the key.') THEN
        RETURN 'refused';
    END IF;
    RETURN format('%s / %s / %s', message, detail, hint);
END $$;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') THEN
        CREATE COLLATION regress_nondeterministic (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
        CREATE TYPE note AS (id int, body text COLLATE regress_nondeterministic);
        CREATE TYPE outer_note AS (id int, n note);
        CREATE DOMAIN word AS text COLLATE regress_nondeterministic;
        CREATE TYPE span AS RANGE (SUBTYPE = text, COLLATION = regress_nondeterministic, MULTIRANGE_TYPE_NAME = spans);
    END IF;
END $$;
SELECT what, refused('SELECT ' || expression)
    FROM (VALUES
        (1, 'aggregate', $$bloom_agg('a' COLLATE regress_nondeterministic)$$),
        (2, 'operator', $$bloom_empty(10) @> 'a'::varchar COLLATE regress_nondeterministic$$),
        (3, 'commuted', $$'a'::text COLLATE regress_nondeterministic <@ bloom_empty(10)$$),
        (4, 'hash', $$bloom_hash('a' COLLATE regress_nondeterministic)$$),
        (5, 'elements', $$bloom_add_all(bloom_empty(10), ARRAY['a'] COLLATE regress_nondeterministic)$$),
        (6, 'array', $$bloom_agg(ARRAY['a'] COLLATE regress_nondeterministic)$$),
        (7, 'row', $$bloom_agg('(1,a)'::note)$$),
        (8, 'row in a row', $$bloom_agg('(1,"(1,a)")'::outer_note)$$),
        (9, 'array of rows', $$bloom_agg('{"(1,a)"}'::note[])$$),
        (10, 'domain', $$bloom_agg('a'::word)$$),
        (11, 'range', $$bloom_agg('[a,b]'::span)$$),
        (12, 'multirange', $$bloom_agg('{[a,b]}'::spans)$$)) v(n, what, expression) ORDER BY n;
SELECT CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i')
    THEN refused($$SELECT bloom_agg('a' COLLATE regress_nondeterministic COLLATE "C")$$) ELSE 'accepted' END AS with_collate_c;
SET client_min_messages = warning;
DROP TYPE IF EXISTS outer_note, note, span;
DROP DOMAIN IF EXISTS word;
DROP COLLATION IF EXISTS regress_nondeterministic;
RESET client_min_messages;
DROP FUNCTION refused;

-- Deterministic collations do not matter: equal strings have equal bytes
SELECT bloom_agg('a' COLLATE "C") = bloom_agg('a' COLLATE "POSIX") AS same FROM generate_series(1, 1);

-- The key type of rows consists of the types of their columns, as SQL compares rows: the names of the type, its schema and its columns do not matter
CREATE SCHEMA s1;
CREATE SCHEMA s2;
CREATE TYPE s1.p AS (a int);
CREATE TYPE s1.q AS (x int);
CREATE TYPE s2.p AS (a int, b int);
SELECT '(1)'::s1.p = '(1)'::s1.q AS equal, f @> '(1)'::s1.p AS found, f @> '(1)'::s1.q AS found_too, f @> '(2)'::s1.q AS other
    FROM bloom_add(bloom_empty(10, 1e-9), '(1)'::s1.p) f;
SELECT bloom_add(bloom_empty(10), '(1)'::s1.p) @> '(1,)'::s2.p;
-- ... so one more column makes it another key type
CREATE TABLE kept AS SELECT bloom_agg('(1)'::s1.p) AS f;
ALTER TYPE s1.p ADD ATTRIBUTE b int;
SELECT f @> '(1,)'::s1.p FROM kept;
ALTER TYPE s1.p DROP ATTRIBUTE b;
SELECT f @> '(1)'::s1.p AS found FROM kept;
-- Many columns: the name is truncated, and ends in a fingerprint of the whole name
CREATE TYPE s1.long AS (a timestamptz, b timestamptz, c timestamptz, d timestamptz, e timestamptz, f timestamptz);
CREATE TYPE s2.long AS (a timestamptz, b timestamptz, c timestamptz, d timestamptz, e timestamptz, f timestamp);
SELECT (bloom_info(bloom_agg(NULL::s1.long))).key_type AS one, (bloom_info(bloom_agg(NULL::s2.long))).key_type AS another;
-- Enums inside count by label
CREATE TYPE s1.m AS ENUM ('sad', 'ok');
CREATE TYPE s2.m AS ENUM ('ok');
SELECT f @> '{ok}'::s2.m[] AS found, f @> '{ok,ok}'::s2.m[] AS other FROM bloom_add(bloom_empty(10, 1e-9), '{ok}'::s1.m[]) f;
-- Ranges are identified by their subtype; a subtype whose ordering differs from its own `=` is refused
CREATE TYPE s1.r AS RANGE (SUBTYPE = float8);
CREATE TYPE s2.r AS RANGE (SUBTYPE = date);
SELECT (bloom_info(bloom_agg('[1,2]'::s1.r))).key_type, (bloom_info(bloom_agg('{[1,2]}'::s1.r_multirange))).key_type AS multirange;
SELECT bloom_add(bloom_empty(10), '[1,2]'::s1.r) @> '[2000-01-01,2000-01-02]'::s2.r;
CREATE FUNCTION s1.same(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 = $2 / 10';
CREATE FUNCTION s1.less(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 < $2 / 10';
CREATE FUNCTION s1.compare(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 / 10 - $2 / 10';
CREATE OPERATOR s1.= (LEFTARG = int, RIGHTARG = int, FUNCTION = s1.same);
CREATE OPERATOR s1.< (LEFTARG = int, RIGHTARG = int, FUNCTION = s1.less);
CREATE OPERATOR CLASS s1.tens FOR TYPE int USING btree AS OPERATOR 1 s1.<, OPERATOR 3 s1.=, FUNCTION 1 s1.compare(int, int);
CREATE TYPE s1.coarse AS RANGE (SUBTYPE = int, SUBTYPE_OPCLASS = s1.tens);
SELECT bloom_agg('[1,20]'::s1.coarse);
-- Values that are object identifiers are refused, because they change with a dump and restore; oid is a number
SELECT bloom_agg('pg_class'::regclass);
SELECT bloom_agg(NULL::regtype[]);
SELECT bloom_agg(NULL::aclitem);
SELECT bloom_agg(t) FROM pg_am t;
SELECT f @> 'pg_class'::regclass::oid AS as_oid FROM bloom_add(bloom_empty(10), 'pg_class'::regclass::oid) f;
-- Base types of the same name are told apart by their hash functions
SET client_min_messages = warning;
CREATE TYPE s1.b;
CREATE FUNCTION s1.b_in(cstring) RETURNS s1.b LANGUAGE internal IMMUTABLE STRICT AS 'int8in';
CREATE FUNCTION s1.b_out(s1.b) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int8out';
CREATE TYPE s1.b (INPUT = s1.b_in, OUTPUT = s1.b_out, LIKE = int8);
CREATE FUNCTION s1.b_eq(s1.b, s1.b) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
CREATE FUNCTION s1.b_hash(s1.b) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint8';
CREATE FUNCTION s1.b_hash(s1.b, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashint8extended';
CREATE OPERATOR s1.= (LEFTARG = s1.b, RIGHTARG = s1.b, FUNCTION = s1.b_eq, HASHES);
CREATE OPERATOR CLASS s1.b_ops DEFAULT FOR TYPE s1.b USING hash AS OPERATOR 1 s1.=, FUNCTION 1 s1.b_hash(s1.b), FUNCTION 2 s1.b_hash(s1.b, bigint);
CREATE TYPE s2.b;
CREATE FUNCTION s2.b_in(cstring) RETURNS s2.b LANGUAGE internal IMMUTABLE STRICT AS 'int8in';
CREATE FUNCTION s2.b_out(s2.b) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int8out';
CREATE TYPE s2.b (INPUT = s2.b_in, OUTPUT = s2.b_out, LIKE = int8);
CREATE FUNCTION s2.b_eq(s2.b, s2.b) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
CREATE FUNCTION s2.b_hash(s2.b) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'timestamp_hash';
CREATE FUNCTION s2.b_hash(s2.b, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'timestamp_hash_extended';
CREATE OPERATOR s2.= (LEFTARG = s2.b, RIGHTARG = s2.b, FUNCTION = s2.b_eq, HASHES);
CREATE OPERATOR CLASS s2.b_ops DEFAULT FOR TYPE s2.b USING hash AS OPERATOR 1 s2.=, FUNCTION 1 s2.b_hash(s2.b), FUNCTION 2 s2.b_hash(s2.b, bigint);
RESET client_min_messages;
SELECT f @> '1'::s1.b AS found, f @> '2'::s1.b AS other FROM bloom_add(bloom_empty(10, 1e-9), '1'::s1.b) f;
SELECT bloom_add(bloom_empty(10), '1'::s1.b) @> '1'::s2.b;
DROP TABLE kept;
SET client_min_messages = warning;
DROP SCHEMA s1, s2 CASCADE;
RESET client_min_messages;

DROP FUNCTION check_keys;
DROP FUNCTION attempt;
DROP TYPE pair;
DROP TYPE mood, temper;
RESET lc_monetary;
