--
-- A key that SQL calls equal to a key of the filter is found, or refused with an error: never a silent "no".
-- All pairs of types that can be keys, and all pairs of sample values that their `=` calls equal.
--
SET lc_monetary = 'C';
SET datestyle = 'ISO, YMD';
SET timezone = 'UTC';
SELECT bloom_hash(1) IS NOT NULL AS loaded;
SET bloomx.overfill = off;
SET jit = off;

CREATE TABLE samples (type text, vals text[]);
INSERT INTO samples VALUES
    ('int2', '{0,1,-1,5,32767,-32768}'),
    ('int4', '{0,1,-1,5,32767,-32768,2147483647,-2147483648,65535}'),
    ('int8', '{0,1,-1,5,32767,-32768,2147483647,4294967295,4294967301,9223372036854775807,-9223372036854775808}'),
    ('float4', '{0,-0,1,-1,5,0.1,0.5,NaN,Infinity,-Infinity,1e-45,32767}'),
    ('float8', '{0,-0,1,-1,5,0.1,0.5,0.10000000149011612,NaN,Infinity,-Infinity,5e-324,32767}'),
    ('numeric', '{0,-0.0,0.00,1,1.0,1.00,-1,5,0.1,0.5,0.50,NaN,Infinity,-Infinity,32767.0,9223372036854775807}'),
    ('numeric(10,3)', '{0,1,1.0,5,0.1,0.5}'),
    ('money', '{0,1,1.00,-1,5}'),
    ('text', '{"",a,"a ",A,DE,"DE    ","  DE",1,true,pg_class}'),
    ('varchar', '{"",a,"a ",A,DE,"DE    ",1}'),
    ('varchar(3)', '{"",a,"a ",DE,"DE "}'),
    ('bpchar', '{"",a,"a ",A,DE,"DE    ","  DE",1}'),
    ('char(1)', '{"",a,A,1}'),
    ('char(6)', '{"",a,A,DE,"DE  ","  DE",1}'),
    ('name', '{"",a,"a ",A,DE,"DE    ",pg_class}'),
    ('"char"', '{"",a,A,1}'),
    ('bytea', '{"",a,"a ",DE}'),
    ('uuid', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'),
    ('bool', '{true,false,1,0,t}'),
    ('date', '{2000-01-01,2024-02-29,infinity,-infinity}'),
    ('time', '{00:00,24:00,12:34:56}'),
    ('timetz', '{00:00+00,24:00+00,00:00-08,08:00+00,12:34:56+05:30}'),
    ('timestamp', '{2000-01-01,2024-02-29,infinity,-infinity,2000-01-01 12:34:56}'),
    ('timestamp(0)', '{2000-01-01,2000-01-01 12:34:56}'),
    ('timestamptz', '{2000-01-01 00:00+00,2000-01-01 01:00+01,2024-02-29,infinity,-infinity}'),
    ('interval', '{1 mon,30 days,720 hours,1 day,24:00,0,-1 mon,1 year,12 mons,360 days}'),
    ('inet', '{10.0.0.1,10.0.0.1/32,10.0.0.1/8,10.0.0.0/8,::1,::1/128}'),
    ('cidr', '{10.0.0.1,10.0.0.1/32,10.0.0.0/8,::1}'),
    ('macaddr', '{08:00:2b:01:02:03,08-00-2B-01-02-03}'),
    ('macaddr8', '{08:00:2b:01:02:03,08:00:2b:ff:fe:01:02:03}'),
    ('oid', '{0,1,5,1259,4294967295}'),
    ('xid', '{0,1,5}'),
    ('cid', '{0,1,5}'),
    ('xid8', '{0,1,5,18446744073709551615}'),
    ('tid', '{"(0,1)","(1,0)","(65536,1)"}'),
    ('pg_lsn', '{0/0,16/B374D848}'),
    ('jsonb', '{1,1.0,1.00,"\"a\"","[]","{}","[1]","[1.0]","{\"a\": 1, \"b\": [true, null]}","{\"b\": [true, null], \"a\": 1.00}",null,true,"[[], {}]"}'),
    ('oidvector', '{"",1,"1 5"}'),
    ('int2vector', '{"",1,"1 5"}'),
    ('int4range', '{"[1,5]","[1,6)","(0,6)",empty,"[1,1)","(,)","[,5]"}'),
    ('int8range', '{"[1,5]","[1,6)",empty,"(,)"}'),
    ('numrange', '{"[1,5]","[1.0,5.00]","(1,5]","[1,)",empty,"(1,1]"}'),
    ('daterange', '{"[2000-01-01,2000-01-31]","[2000-01-01,2000-02-01)","[2000-01-01,infinity]",empty}'),
    ('tsrange', '{"[2000-01-01,2000-02-01)",empty}'),
    ('tstzrange', '{"[2000-01-01 00:00+00,2000-02-01)","[2000-01-01 01:00+01,2000-02-01)",empty}'),
    ('int4multirange', '{"{[1,5]}","{[1,3],[4,5]}","{}","{[1,2],[4,5]}","{empty}"}'),
    ('int8multirange', '{"{[1,5]}","{[1,3],[4,5]}","{}"}'),
    ('nummultirange', '{"{[1,5]}","{[1.0,3],(3,5.0]}","{}"}'),
    ('datemultirange', '{"{[2000-01-01,2000-01-31]}","{[2000-01-01,2000-02-01)}"}'),
    ('tsmultirange', '{"{[2000-01-01,2000-02-01)}","{}"}'),
    ('tstzmultirange', '{"{[2000-01-01 00:00+00,2000-02-01)}","{[2000-01-01 01:00+01,2000-02-01)}"}');

-- User-defined types: enums, domains, rows of two schemas, a range without a canonical function, a row with dropped columns
CREATE SCHEMA pairs_1;
CREATE SCHEMA pairs_2;
CREATE TYPE pairs_1.mood AS ENUM ('sad', 'ok', 'a');
CREATE TYPE pairs_2.mood AS ENUM ('ok', 'a');
CREATE DOMAIN pairs_1.code AS char(6);
CREATE DOMAIN pairs_1.word AS text;
CREATE DOMAIN pairs_1.numbers AS int[];
CREATE TYPE pairs_1.pair AS (a int, b text);
CREATE TYPE pairs_2.pair AS (b int, a text);
CREATE TYPE pairs_2.triple AS (a int, b text, c int);
CREATE TYPE pairs_1.wide AS (a numeric, b char(6), c pairs_1.mood, d jsonb, e int4range, f int[], g pairs_1.pair, h pairs_1.code);
CREATE TYPE pairs_1.doubles AS RANGE (SUBTYPE = float8);
CREATE TYPE pairs_1.words AS RANGE (SUBTYPE = bpchar);
CREATE TABLE pairs_2.altered (dropped int, a int, gone text, b text);
ALTER TABLE pairs_2.altered DROP dropped, DROP gone;
INSERT INTO samples VALUES
    ('pairs_1.mood', '{sad,ok,a}'), ('pairs_2.mood', '{ok,a}'),
    ('pairs_1.code', '{DE,"DE  ",a}'), ('pairs_1.word', '{DE,"DE  ",a}'), ('pairs_1.numbers', '{"{1,5}","{NULL}","{}"}'),
    ('pairs_1.pair', '{"(1,x)","(1,)","(,)"}'), ('pairs_2.pair', '{"(1,x)","(1,)","(,)"}'), ('pairs_2.altered', '{"(1,x)","(1,)","(,)"}'),
    ('pairs_2.triple', '{"(1,x,2)","(1,,)"}'),
    ('pairs_1.wide', $${"(1.0,DE,ok,\"{\"\"a\"\": 1}\",\"[1,5]\",\"{1,2}\",\"(1,x)\",DE)","(1.00,\"DE    \",ok,\"{\"\"a\"\":1.0}\",\"[1,6)\",\"{1,2}\",\"(1,x)\",\"DE \")"}$$),
    ('pairs_1.doubles', '{"[0,1]","[-0,1.0]",empty,"(1,1)","[NaN,NaN]"}'),
    ('pairs_1.words', '{"[a,b]","[\"a  \",b]"}');
-- Types of later versions (19)
INSERT INTO samples SELECT 'oid8', '{0,1,5,4294967296,18446744073709551615}' WHERE to_regtype('oid8') IS NOT NULL;
-- Arrays of all these: of one value, with a NULL, with another lower bound, of two dimensions, empty
DO $$
DECLARE
    s record;
    arrays text[];
BEGIN
    FOR s IN SELECT * FROM samples WHERE type !~ 'numbers' LOOP
        EXECUTE format('SELECT array_agg(a) FROM (SELECT ARRAY[v::%1$s]::text AS a FROM unnest($1) v UNION ALL
            SELECT ARRAY[v::%1$s, NULL, v::%1$s]::text FROM unnest($1) v UNION ALL
            SELECT ''[0:0]='' || ARRAY[v::%1$s]::text FROM unnest($1) v UNION ALL
            SELECT ARRAY[ARRAY[v::%1$s]]::text FROM unnest($1) v UNION ALL VALUES (''{}'')) x', s.type) INTO arrays USING s.vals;
        INSERT INTO samples VALUES (s.type || '[]', arrays);
    END LOOP;
END $$;

-- Every built-in type that is accepted as a key has samples here
CREATE FUNCTION accepted(type text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT bloom_agg(NULL::%s)', type);
    RETURN true;
EXCEPTION WHEN undefined_function OR feature_not_supported OR invalid_object_definition OR syntax_error OR datatype_mismatch THEN
    RETURN false;
END $$;
SELECT typname AS without_samples FROM pg_type t
    WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm', 'e') AND accepted(t.oid::regtype::text)
        AND t.oid NOT IN (SELECT to_regtype(type) FROM samples)
        AND typname NOT IN ('pg_dependencies', 'pg_mcv_list', 'pg_ndistinct', 'pg_node_tree') -- which take no input
        AND NOT EXISTS (SELECT FROM pg_type r WHERE r.oid = t.typelem AND r.typtype = 'c' AND r.typarray = t.oid) -- catalogs' rows
    ORDER BY 1;
-- ... and all types of the samples are accepted
SELECT type AS refused FROM samples WHERE NOT accepted(type) ORDER BY 1;

-- The ways to probe for a key: f is a filter of key a, and b is a key that SQL calls equal to a
CREATE TABLE questions (question text, of_arrays boolean);
INSERT INTO questions VALUES
    ('f @> b', true),
    ('b <@ f', true),
    ('bloom_contains(f, b)', true),
    ('bloom_contains_any(f, ARRAY[b])', false),
    ('bloom_contains_all(f, ARRAY[b, b])', false),
    ('f ?& bloomx_probe(b)', true),
    ('f ?| bloomx_probe_all(ARRAY[b])', false),
    ('f && bloom_add(bloom_empty(1, 1e-9), b)', true),
    ('NOT f !&& bloom_add_all(bloom_empty(1, 1e-9), ARRAY[b])', false),
    ('(SELECT bloom_agg(x) FROM (VALUES (a), (a)) v(x)) @> b', true),
    ('(f | bloom_empty(100)) @> b', true);

CREATE TABLE answers (a text, b text, question text, found int, violations int, refusal text);
DO $$
DECLARE
    p record;
    q record;
    equals text := 'CREATE TEMP TABLE equals AS SELECT x::%1$s AS a, y::%2$s AS b, bloom_add(bloom_empty(1, 1e-9), x::%1$s) AS f
        FROM unnest($1) x, unnest($2) y WHERE x::%1$s = y::%2$s';
    equal int;
    found int;
BEGIN
    FOR p IN SELECT x.type AS a, y.type AS b, x.vals AS x, y.vals AS y FROM samples x, samples y LOOP
        -- Whether SQL compares the two types, and which samples are equal
        BEGIN
            EXECUTE format(equals, p.a, p.b) USING p.x, p.y;
        EXCEPTION
            WHEN undefined_function OR ambiguous_function OR datatype_mismatch THEN
                CONTINUE;
            WHEN numeric_value_out_of_range THEN -- a bigint that is no oid
                EXECUTE format(equals, p.a, p.b) USING ARRAY['0', '1', '5'], ARRAY['0', '1', '5'];
        END;
        EXECUTE 'SELECT count(*) FROM equals' INTO equal;
        FOR q IN SELECT * FROM questions WHERE of_arrays OR p.b NOT LIKE '%[]' AND p.b <> 'pairs_1.numbers' LOOP
            BEGIN
                EXECUTE format('SELECT count(*) FILTER (WHERE %s) FROM equals', q.question) INTO found;
                INSERT INTO answers VALUES (p.a, p.b, q.question, found, equal - found);
            EXCEPTION WHEN datatype_mismatch THEN
                INSERT INTO answers VALUES (p.a, p.b, q.question, 0, 0, SQLERRM);
            END;
        END LOOP;
        DROP TABLE equals;
    END LOOP;
END $$;

-- No violations
SELECT a, b, question, violations FROM answers WHERE violations <> 0 ORDER BY 1, 2, 3;
-- The test made comparisons, and only keys of other types were refused
SELECT count(DISTINCT (a, b)) > 150 AS pairs, sum(found) > 5000 AS answers, count(*) FILTER (WHERE refusal IS NOT NULL) > 100 AS refusals,
       bool_and(refusal LIKE 'bloom filter key types do not match: %') AS all_name_both FROM answers;
-- Values of the same type are never refused, nor are those of another width
SELECT DISTINCT a, b FROM answers WHERE refusal IS NOT NULL AND (a = b OR (a ~ '^int[248]$' AND b ~ '^int[248]$') OR (a ~ '^float' AND b ~ '^float'));

-- A BRIN index returns as many rows as a scan of the table, for a key of every type that its column can be compared with
CREATE TABLE scans (a text, b text, key text, by_table int, by_index int);
CREATE TABLE compared AS SELECT DISTINCT a, b FROM answers;
ANALYZE samples, compared;
DO $$
DECLARE
    i record;
    p record;
    by_table int;
    by_index int;
BEGIN
    FOR i IN SELECT type, vals, opcname FROM samples JOIN pg_opclass ON opcname LIKE '%\_bloomx\_ops' AND opcintype = CASE
            WHEN type ~ 'mood$' THEN 'anyenum'::regtype WHEN type ~ '^varchar[^[]*$' THEN 'text' WHEN type = 'cidr' THEN 'inet'
            ELSE to_regtype(type) END LOOP
        EXECUTE format('CREATE TEMP TABLE indexed (v %s)', i.type);
        EXECUTE format('INSERT INTO indexed SELECT v::%s FROM unnest($1) v', i.type) USING i.vals;
        EXECUTE format('CREATE INDEX ON indexed USING brin (v %s)', i.opcname);
        FOR p IN SELECT type, key FROM compared JOIN samples ON type = b, unnest(vals) key WHERE a = i.type LOOP
            BEGIN
                SET LOCAL enable_seqscan = on;
                EXECUTE format('SELECT count(*) FROM indexed WHERE v = %L::%s', p.key, p.type) INTO by_table;
                SET LOCAL enable_seqscan = off;
                EXECUTE format('SELECT count(*) FROM indexed WHERE v = %L::%s', p.key, p.type) INTO by_index;
                INSERT INTO scans VALUES (i.type, p.type, p.key, by_table, by_index);
            EXCEPTION WHEN numeric_value_out_of_range THEN -- no oid
                NULL;
            END;
        END LOOP;
        DROP TABLE indexed;
    END LOOP;
END $$;
SELECT * FROM scans WHERE by_table <> by_index;
SELECT count(DISTINCT a) > 25 AS types, count(DISTINCT (a, b)) > 100 AS pairs, sum(by_index) > 500 AS found FROM scans;

-- A literal without a type, and a parameter, is the key that it is in `column = '...'`: found, or refused with an error
CREATE TABLE texts (type text, key text, literal boolean, parameter boolean, added boolean, refusal text);
DO $$
DECLARE
    s record;
    literal boolean;
    parameter boolean;
    added boolean;
BEGIN
    FOR s IN SELECT type, key FROM samples, unnest(vals) key WHERE key IS NOT NULL LOOP
        BEGIN
            EXECUTE format('SELECT f @> %1$L, f @> $1, bloom_add(bloom_empty(1, 1e-9, key_type => %3$L), %1$L) = f
                FROM (SELECT bloom_add(bloom_empty(1, 1e-9), %1$L::%2$s)) x(f)', s.key, s.type, regexp_replace(s.type, '\(.*\)', ''))
                INTO literal, parameter, added USING s.key;
            INSERT INTO texts VALUES (s.type, s.key, literal, parameter, added);
        EXCEPTION WHEN datatype_mismatch OR invalid_text_representation THEN
            INSERT INTO texts VALUES (s.type, s.key, NULL, NULL, NULL, SQLERRM);
        END;
    END LOOP;
END $$;
SELECT * FROM texts WHERE NOT (literal AND parameter AND added);
-- ... refused are: a text that is another value as real than as double precision; bytes in the escape format; a container of floats; a vector, which is an array
-- as a key; a container of enums, whose labels the filter does not know; a range that is known by its subtype only
SELECT CASE WHEN refusal ~ '^text ' THEN 'real' WHEN refusal ~ 'hex format' THEN 'bytea' WHEN refusal ~ 'malformed array' THEN 'vector' ELSE substring(refusal, 'match: ([a-z0-9]*(\(|\[|$|.*$))') END AS refused,
       count(*) > 0 AS some, array_agg(DISTINCT type ORDER BY type) AS types
    FROM texts WHERE refusal IS NOT NULL GROUP BY 1 ORDER BY 1;
SELECT count(*) > 350 AS found FROM texts WHERE literal;

SET client_min_messages = warning;
DROP TABLE texts, samples, questions, answers, compared, scans;
DROP FUNCTION accepted;
DROP SCHEMA pairs_1, pairs_2 CASCADE;
RESET client_min_messages;
RESET bloomx.overfill;
RESET jit;
RESET timezone;
RESET datestyle;
RESET lc_monetary;
