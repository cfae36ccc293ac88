--
-- The index access method bloomx on types of other extensions: bloomx_citext and bloomx_hstore have the operator classes.
--
\set VERBOSITY terse
SET client_min_messages = warning;
SET jit = off;
SET enable_seqscan = off;
CREATE SCHEMA other;
CREATE EXTENSION citext SCHEMA other;
CREATE EXTENSION hstore SCHEMA other;
CREATE EXTENSION bloomx_citext;
CREATE EXTENSION bloomx_hstore;
SET search_path = public, other;
SELECT a.amname, opcname, opcintype::regtype, opcdefault, amvalidate(c.oid), obj_description(c.oid, 'pg_opclass') IS NOT NULL AS described
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = c.oid AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid WHERE e.extname LIKE 'bloomx\__%' ORDER BY opcname;

-- The rows that an index finds for a condition, whether a scan finds the same, and whether a tenth of the pages was skipped.
CREATE FUNCTION e_found(condition text, OUT rows bigint, OUT same boolean, OUT skips boolean) LANGUAGE plpgsql AS $$
DECLARE by_index int[]; by_scan int[]; plan json;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) SELECT id FROM e_table WHERE ' || condition INTO plan;
    plan := plan -> 0 -> 'Plan';
    IF plan ->> 'Node Type' <> 'Bitmap Heap Scan' THEN RAISE EXCEPTION '%: a %', condition, plan ->> 'Node Type'; END IF;
    -- (the table may have empty pages)
    SELECT 0.9 * count(DISTINCT (ctid::text::point)[0]) > (plan ->> 'Exact Heap Blocks')::int + (plan ->> 'Lossy Heap Blocks')::int INTO skips FROM e_table;
    EXECUTE 'SELECT array_agg(id ORDER BY id), count(*) FROM e_table WHERE ' || condition INTO by_index, rows;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE 'SELECT array_agg(id ORDER BY id) FROM e_table WHERE ' || condition INTO by_scan;
    same := by_index IS NOT DISTINCT FROM by_scan;
END $$;
CREATE FUNCTION e_all(conditions text[], OUT condition text, OUT rows bigint, OUT same boolean, OUT skips boolean)
RETURNS SETOF record LANGUAGE sql AS $$
    SELECT c, f.* FROM unnest(conditions) WITH ORDINALITY u(c, n), e_found(c) f ORDER BY n
$$;

-- hstore: names, and pairs of a name and a value, which may be NULL.
CREATE TABLE e_table AS SELECT i AS id, hstore(ARRAY['id', 'k' || i, 'n'], ARRAY[i::text, 'v', NULL]) AS h, ('Row ' || md5(i::text))::citext AS c, repeat('-', 100) AS room
FROM generate_series(1, 3000) i;
INSERT INTO e_table VALUES (3001, '', ''), (3002, NULL, NULL), (3003, 'k77=>NULL', 'ABC'), (3004, '""=>""', 'abc'), (3005, 'id=>"NULL", a=>b, aq=>b', 'Needle_in'), (3006, hstore('long', repeat('x', 5000)), '50% \ Straße İI'),
    (3007, (SELECT hstore(array_agg('many' || i), array_agg(i::text)) FROM generate_series(1, 3000) i), repeat('Long ', 2000) || 'end');
CREATE INDEX e_hstore ON e_table USING bloomx (h);
SELECT bloomx_check_index('e_hstore');
SELECT * FROM e_all(ARRAY[
    'h @> ''id=>77''', 'h @> ''id=>77, k77=>v''', 'h @> ''id=>77, k78=>v''', 'h @> ''k77=>NULL''', 'h @> ''k77=>v''', 'h @> ''n=>NULL, id=>77''', 'h @> ''id=>"NULL"''', 'h @> ''id=>NULL''', 'h @> ''""=>""''', 'h @> ''''', 'h @> ''aq=>b''', 'h @> ''a=>b''', 'h @> ''many77=>77''',
    'h @> hstore(''long'', repeat(''x'', 5000))', 'h ? ''k77''', 'h ? ''id''', 'h ? ''v''', 'h ? ''''', 'h ?| ''{k77,k78,nobody}''', 'h ?| ''{nobody,NULL}''', 'h ?| ''{}''', 'h ?& ''{k77,id}''', 'h ?& ''{k77,k78}''', 'h ?& ''{k77,NULL}''', 'h ?& ''{}''', 'h = ''id=>77, k77=>v, n=>NULL''', 'h = ''id=>77, k77=>v''',
    'h = ''''', 'h IS NULL', 'h @> ''id=>77'' AND h ? ''k77''', 'h @> ''id=>77'' OR h @> ''id=>78''', 'h @> ANY (ARRAY[''id=>77'', ''id=>78'']::hstore[])']);
EXPLAIN (COSTS OFF) SELECT id FROM e_table WHERE h @> 'id=>77';
INSERT INTO e_table VALUES (3008, 'id=>77', 'aBC');
SELECT id FROM e_table WHERE h @> 'id=>77' ORDER BY id;

-- citext: = without regard to case, and patterns, also of type text.
CREATE INDEX e_citext ON e_table USING bloomx (c);
SELECT * FROM e_all(ARRAY['c = ''abc''', 'c = ''Abd''', 'c IN (''AbC'', ''needle_IN'')', 'c = lower(''NEEDLE_IN'')::citext', 'c = ''''']);
DROP INDEX e_citext;
CREATE INDEX e_ngrams ON e_table USING bloomx (c citext_ngram_ops);
SELECT * FROM e_all(ARRAY[
    'c = ''abc''', 'c = ''needle_IN''', 'c = ''NEEDLE%IN''', 'c = ''50% \ STRAßE İI''', 'c = ''''', 'c LIKE ''%C81E728D%''', 'c LIKE ''%C81E728D%''::text', 'c ILIKE ''%C81E728D%''', 'c ILIKE ''%c81e728D%''::text', 'c LIKE ''row C81E7%''', 'c LIKE ''%Needle\_IN''', 'c LIKE ''%50\% \\ sTRA%''',
    'c ~ ''C81E728D''', 'c ~ ''C81E728D''::text', 'c ~* ''c81E(728|729)d''', 'c ~* ''^ROW (C81E|eccb).*''::text', 'c ~ ''(?c)C81E728D''', 'c ~ ''g END$''', 'c LIKE ''%ab%''']);
EXPLAIN (COSTS OFF) SELECT id FROM e_table WHERE c LIKE '%C81E728D%';
SELECT bloomx_check_index('e_ngrams');

-- A type that only has the same name is refused: its values are something else.
CREATE SCHEMA fake;
CREATE TYPE fake.hstore AS ENUM ('a', 'b');
CREATE TYPE fake.citext AS ENUM ('a', 'b');
CREATE TABLE e_fake (h fake.hstore, c fake.citext);
CREATE OPERATOR CLASS fake.hstore_ops FOR TYPE fake.hstore USING bloomx AS OPERATOR 1 = (anyenum, anyenum), FUNCTION 1 bloomx_extract_hstore(internal);
CREATE OPERATOR CLASS fake.citext_ops FOR TYPE fake.citext USING bloomx AS OPERATOR 1 = (anyenum, anyenum), FUNCTION 1 bloomx_extract_citext_ngram(internal);
CREATE INDEX ON e_fake USING bloomx (h fake.hstore_ops);
CREATE INDEX ON e_fake USING bloomx (c fake.citext_ops);

-- The extensions go with those that they are for.
DROP TABLE e_table, e_fake;
DROP EXTENSION hstore;
DROP EXTENSION hstore, citext CASCADE;
SELECT extname FROM pg_extension WHERE extname ~ 'hstore|citext';
DROP SCHEMA fake, other CASCADE;
DROP FUNCTION e_all, e_found;
