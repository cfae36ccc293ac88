--
-- The type modifier: bloomfilter(capacity, fpr, layout).
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
CREATE FUNCTION attempt(command text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE message text; detail text; hint text;
BEGIN
    EXECUTE command;
    RETURN NEXT 'ok';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
    RETURN NEXT sqlstate || ': ' || message;
    IF detail <> '' THEN RETURN NEXT '  detail: ' || detail; END IF;
    IF hint <> '' THEN RETURN NEXT '  hint: ' || hint; END IF;
END $$;
CREATE FUNCTION refusal(command text) RETURNS text LANGUAGE sql AS 'SELECT attempt FROM attempt(command) LIMIT 1';
CREATE FUNCTION keys(low int, high int) RETURNS int[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY(SELECT generate_series(low, high))';

-- A modifier is printed in one way, however it was written; the rate is 1 % and the layout the default unless given.
CREATE TABLE written (a bloomfilter(1000), b bloomfilter(1e6, 0.001), c bloomfilter('20000', '5e-4'), d bloomfilter(0123.0, .50),
    e bloomfilter(1000, 0.01, blocked), f bloomfilter(1000, 0.01, 'STANDARD'), g bloomfilter(1000, 0.010, partitioned_blocked), h bloomfilter(70)[], i bloomfilter);
\d written
-- The number that catalogs keep never changes its meaning.
SELECT attname, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'written'::regclass AND attnum > 0 ORDER BY attnum;
DROP TABLE written;

-- Every capacity of up to four significant digits and every rate of two come back as they went in.
CREATE FUNCTION round_trip(capacity text, rate text, layout text) RETURNS boolean LANGUAGE sql AS
    $$SELECT bloomfilter_typmod_out(bloomfilter_typmod_in(ARRAY[capacity, rate, layout]::cstring[]))::text
        = format('(%s,%s%s)', capacity, rate, CASE layout WHEN 'partitioned_blocked' THEN '' ELSE ',' || layout END)$$;
SELECT count(*), bool_and(round_trip(c::text, '0.5', 'standard')) AS same FROM generate_series(1, 9999, 7) c;
SELECT count(*), bool_and(round_trip(c || repeat('0', z), '0.9', 'standard')) AS same FROM unnest(ARRAY[1, 9, 10, 99, 101, 999, 1000, 1001, 1234, 9998, 9999]) c, generate_series(0, 6) z;
SELECT count(*), bool_and(round_trip('1000', '0.' || repeat('0', z) || m, 'partitioned_blocked')) AS same FROM generate_series(1, 99) m, generate_series(0, 13) z WHERE m % 10 <> 0;
SELECT count(*), bool_and(round_trip('1000', '0.001', l)) AS same FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked', 'hybrid', 'rational', 'variable_blocked', 'counting']) l;
DROP FUNCTION round_trip;

\pset tuples_only on
\pset format unaligned
-- What cannot be written says why.
SELECT attempt('SELECT NULL::bloomfilter(0)');
SELECT attempt('SELECT NULL::bloomfilter(''-5'')');
SELECT attempt('SELECT NULL::bloomfilter(1.5)');
SELECT attempt('SELECT NULL::bloomfilter(''NaN'')');
SELECT attempt('SELECT NULL::bloomfilter(''Infinity'')');
SELECT attempt('SELECT NULL::bloomfilter('''')');
SELECT attempt('SELECT NULL::bloomfilter(many)');
SELECT attempt('SELECT NULL::bloomfilter(12345)');
SELECT attempt('SELECT NULL::bloomfilter(1e13)');
SELECT attempt('SELECT NULL::bloomfilter(1e1000)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 0)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 1)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 0.995)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 1.0)');
SELECT attempt('SELECT NULL::bloomfilter(1000, ''NaN'')');
SELECT attempt('SELECT NULL::bloomfilter(1000, 0.0125)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 1e-17)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 0.01, nonsense)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 0.01, scalable)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 0.01, dynamic_blocked)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 0.01, age_partitioned)');
SELECT attempt('SELECT NULL::bloomfilter(1000, 0.01, blocked, 5)');
-- ... also a filter that would be too large
SELECT regexp_replace(attempt, '[0-9]{9}', '#') FROM attempt('SELECT NULL::bloomfilter(1e12)');
-- The functions behind it take anything.
SELECT attempt('SELECT bloomfilter_typmod_in(''{}'')');
SELECT attempt('SELECT bloomfilter_typmod_in(''{1,NULL}'')');
SELECT attempt('SELECT bloomfilter_typmod_in(''{{1}}'')');
SELECT '"' || bloomfilter_typmod_out(-1)::text || '"';
SELECT attempt('SELECT bloomfilter_typmod_out(0)');
SELECT attempt('SELECT bloomfilter_typmod_out(2147483647)');
SELECT attempt('SELECT bloomfilter(bloom_empty(10), 2147483647, false)');
SELECT bloomfilter(bloom_empty(10), -1, false) = bloom_empty(10);

-- A column takes filters of its geometry, with keys of any type and number, and nothing else.
SET bloomx.overfill = off;
CREATE TABLE days (day int, f bloomfilter(1000, 0.01));
INSERT INTO days VALUES (1, bloom_empty(1000, 0.01)), (2, bloom_add(bloom_empty(1000), 'a'));
INSERT INTO days SELECT 3, bloom_agg(n, 1000) FROM generate_series(1, 5000) n;
SELECT attempt('INSERT INTO days VALUES (0, bloom_add(bloom_empty(1000, 0.01, ''standard''), 1))');
SELECT attempt('INSERT INTO days VALUES (0, bloom_empty(1000, seed => 42))');
SELECT refusal('INSERT INTO days SELECT 0, bloom_agg(n) FROM generate_series(1, 20) n');
SELECT refusal('UPDATE days SET f = (SELECT bloom_agg(n, 30000) FROM generate_series(1, 20) n)');
SELECT attempt('UPDATE days SET f = f | bloom_add(bloom_empty(30000), ''b'') WHERE day = 2');
-- ... a filter that was expanded to the geometry is none that was built with it
SELECT attempt('UPDATE days SET f = f | bloom_add(bloom_empty_bits(1024, 16), ''b'') WHERE day = 2');
RESET bloomx.overfill;

-- What holds no keys, or keeps their hashes, is sized to it, with its key type; layout and seed stay the user's choice.
INSERT INTO days SELECT 4, bloom_agg(NULL::int);
INSERT INTO days SELECT 5, bloom_union_agg(f) FROM days WHERE false;
INSERT INTO days VALUES (6, bloom_empty(7)), (7, bloomx_probe_all(keys(1, 500)));
CREATE AGGREGATE t_state(anycompatible, bigint) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE t_state(anycompatible) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
INSERT INTO days SELECT 8, t_state(n, 100000) FROM generate_series(1, 500) n;
INSERT INTO days SELECT 9, t_state(n) FROM generate_series(1, 500) n;
SELECT refusal('INSERT INTO days VALUES (0, bloom_empty(7, layout => ''standard''))');
SELECT refusal('INSERT INTO days VALUES (0, bloom_empty(7, seed => 42))');
\pset tuples_only off
\pset format aligned
SELECT day, i.capacity, i.key_type, round(i.cardinality) AS keys, (i.blocks, i.parts) = (p.blocks, p.parts) AS geometry,
    f = (SELECT bloom_agg(n, 1000) FROM generate_series(1, 500) n) AS "as built"
    FROM days, bloom_info(f) i, bloom_plan(1000, 0.01) p ORDER BY day;
-- ... with a warning if it is too small
INSERT INTO days VALUES (10, bloomx_probe_all(keys(1, 2000)));
-- So any two unite exactly.
SELECT a.day, b.day, a.f | b.f = (SELECT bloom_agg(n, 1000) FROM generate_series(1, 500) n) AS exact FROM days a, days b WHERE a.day IN (4, 7) AND b.day IN (7, 8, 9) ORDER BY 1, 2;
SELECT bloom_union_agg(f) = (SELECT f FROM days WHERE day = 7) AS exact FROM days WHERE day IN (4, 5, 6, 7, 8, 9);
-- A filter of no rows becomes one of any layout.
CREATE TABLE others (b bloomfilter(100, 0.01, blocked), c bloomfilter(100, 0.01, counting));
INSERT INTO others SELECT bloom_agg(n), bloom_agg(n) FROM generate_series(1, 0) n;
INSERT INTO others VALUES (bloomx_probe_all(keys(1, 100)), bloomx_probe_all(keys(1, 100)));
INSERT INTO others VALUES (bloom_add(bloom_empty(100, 0.01, 'blocked'), 1), bloom_add(bloom_empty(100, 0.01, 'counting'), 1));
SELECT bloom_summary(b), bloom_summary(c), bloom_contains_all(b, keys(1, 100)) AS all_b, bloom_contains_all(c, keys(1, 100)) AS all_c FROM others;
SELECT bloom_remove(c, 5) @> 5 AS still FROM others WHERE c @> 5;

-- An explicit cast folds and cuts a finer filter: exactly what would have been built.
SELECT bloom_add_all(bloom_empty(40000, 1e-5), keys(1, 900))::bloomfilter(1000) = bloom_add_all(bloom_empty(1000), keys(1, 900)) AS folded;
SELECT bloom_summary(bloom_add_all(bloom_empty(40000, 1e-5), keys(1, 2000))::bloomfilter(1000)) AS "too small";
SELECT bloom_add_all(bloom_empty(40000, 1e-5), keys(1, 900))::bloomfilter(1000, 0.01, partitioned_blocked)::bloomfilter(500) @> 900 AS twice;
SELECT bloom_add_all(bloom_empty(40000, 1e-5, 'counting'), keys(1, 900))::bloomfilter(1000, 0.01, counting) = bloom_add_all(bloom_empty(1000, 0.01, 'counting'), keys(1, 900)) AS counting;
\pset tuples_only on
\pset format unaligned
SELECT attempt('INSERT INTO days VALUES (0, bloom_add(bloom_empty(40000, 1e-5), 1))');
SELECT refusal('SELECT bloom_add(bloom_empty(1000), 1)::bloomfilter(40000, 1e-5)');
SELECT refusal('SELECT bloom_add(bloom_empty(40000, 1e-5, seed => 5), 1)::bloomfilter(1000)');
SELECT refusal('SELECT bloom_add(bloom_empty(40000, 1e-5, ''blocked''), 1)::bloomfilter(1000, 0.01, blocked)');

-- The modifier stays in domains, arrays, composites, views, CREATE TABLE AS, partitions, variables and casts of them.
CREATE DOMAIN daily AS bloomfilter(1000, 0.01) CHECK (bloom_fill(VALUE) < 0.9);
CREATE TYPE pair AS (n int, f bloomfilter(1000));
CREATE VIEW view AS SELECT day, f, f::bloomfilter(1000) AS same, NULL::bloomfilter(500, 0.2, standard) AS other FROM days;
CREATE TABLE copied AS SELECT day, f, other, ARRAY[f, f] AS fs FROM view;
CREATE TABLE parted (day int, f bloomfilter(1000)) PARTITION BY RANGE (day);
CREATE TABLE part PARTITION OF parted DEFAULT;
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid IN ('copied'::regclass, 'view'::regclass, 'pair'::regclass, 'part'::regclass) AND attname <> 'day' AND attnum > 0 ORDER BY 1, attnum;
SELECT refusal('SELECT bloom_add(bloom_empty(7), 1)::daily');
SELECT attempt('SELECT bloom_add(bloom_empty(1000), 1)::daily');
SELECT refusal('SELECT ARRAY[bloom_empty(1000), bloom_add(bloom_empty(7), 1)]::bloomfilter(1000)[]');
SELECT attempt('SELECT ARRAY[bloom_empty(1000), bloom_empty(7), NULL]::bloomfilter(1000)[]');
SELECT refusal('SELECT ROW(1, bloom_add(bloom_empty(7), 1))::pair');
SELECT refusal('INSERT INTO parted VALUES (1, bloom_add(bloom_empty(7), 1))');
SELECT refusal('INSERT INTO copied SELECT day, f, other, ARRAY[bloom_add(bloom_empty(7), 1)] FROM view LIMIT 1');
-- ... a variable refuses what its type does, and is not copied each time that it grows
DO $$
DECLARE f bloomfilter(1000000) := bloom_empty(1000000); g daily;
BEGIN
    FOR i IN 1..20000 LOOP f := bloom_add(f, i); END LOOP;
    RAISE INFO '%', bloom_contains_all(f, keys(1, 20000));
    g := bloom_agg(n, 1000) FROM generate_series(1, 10) n;
    g := bloom_add(g, 11);
    RAISE INFO '%', g = (SELECT bloom_agg(n, 1000) FROM generate_series(1, 11) n);
    g := f;
EXCEPTION WHEN datatype_mismatch THEN
    RAISE INFO '%', SQLERRM;
END $$;

-- Text and COPY are read with the modifier; so are parameters.
CREATE TABLE tiny (f bloomfilter(1));
COPY tiny FROM stdin;
QkxYAQQBAAACAAAAAAAAAAAAAAABAAAAAAAAAEAAAAAAAAAAAQABAAAAAAAAAAAAAAAAAAAgAAAAAAAA
\.
COPY tiny FROM stdin;
QkxYAQEBAAABAAAAAAAAAAAAAAAAAAAAAAAAAGQAAAAAAAAAAQADAAAAAAAAAAgAAAAAAAAQAAQAAAAA
\.
PREPARE store(bloomfilter) AS INSERT INTO tiny VALUES ($1);
EXECUTE store('QkxYAQQBAAACAAAAAAAAAAAAAAABAAAAAAAAAEAAAAAAAAAAAQABAAAAAAAAAAAAAAAAAAAgAAAAAAAA');
SELECT refusal('SELECT bloom_add(bloom_empty(9), 1)::text::bloomfilter(1)');
SELECT attempt('SELECT ''{}''::bloomfilter(1)[]');
-- ... from PostgreSQL 16 on also without an error
DO $$
DECLARE fits boolean := true; does_not boolean := false;
BEGIN
    IF current_setting('server_version_num')::int >= 160000 THEN
        EXECUTE 'SELECT pg_input_is_valid(bloom_empty(1)::text, ''bloomfilter(1)''), pg_input_is_valid(bloom_add(bloom_empty(9), 1)::text, ''bloomfilter(1)'')' INTO fits, does_not;
    END IF;
    RAISE INFO '% %', fits, does_not;
END $$;
SELECT count(*) FROM tiny WHERE f @> 42;

-- ALTER TABLE checks what is there; the type without a modifier takes everything as it is.
CREATE TABLE altered (f bloomfilter);
INSERT INTO altered VALUES (bloom_add(bloom_empty(40000, 1e-5), 1)), (NULL), (bloomx_probe(1));
SELECT attempt('ALTER TABLE altered ALTER f TYPE bloomfilter(1000)');
SELECT attempt('ALTER TABLE altered ALTER f TYPE bloomfilter(1000) USING f::bloomfilter(1000)');
SELECT f = bloom_add(bloom_empty(1000), 1) FROM altered;
SELECT refusal('ALTER TABLE altered ALTER f TYPE bloomfilter(2000)');
SELECT pg_relation_filenode('altered') AS before \gset
SELECT attempt('ALTER TABLE altered ALTER f TYPE bloomfilter');
SELECT pg_relation_filenode('altered') = :before AS "not rewritten";
SELECT attempt('INSERT INTO altered VALUES (bloom_add(bloom_empty(7), 1))');
\pset tuples_only off
\pset format aligned

-- An index finds what the column holds.
CREATE INDEX ON days USING bloomx (f);
SET enable_seqscan = off;
SELECT day FROM days WHERE f @> 500 AND day > 6 ORDER BY day;
RESET enable_seqscan;

DROP VIEW view;
DROP TABLE days, others, copied, parted, tiny, altered;
DROP TYPE pair;
DROP DOMAIN daily;
DROP AGGREGATE t_state(anycompatible), t_state(anycompatible, bigint);
DROP FUNCTION refusal, attempt, keys;
