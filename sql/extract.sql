--
-- Values with many keys: elements of arrays, members of documents, words and n-grams.  A filter of them for each
-- page range answers each operator; every condition finds the rows that a scan finds.
--
\set VERBOSITY terse
SET bloomx.overfill = off;

-- The rows that an index finds for a condition, whether a scan finds the same, and whether a tenth of the pages was skipped.
CREATE FUNCTION x_found(tab regclass, condition text, OUT rows bigint, OUT same boolean, OUT skips boolean) LANGUAGE plpgsql AS $$
DECLARE by_index int[]; by_scan int[]; plan json;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
    EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) SELECT id FROM %s WHERE %s', tab, condition) INTO plan;
    plan := plan -> 0 -> 'Plan';
    IF plan ->> 'Node Type' <> 'Bitmap Heap Scan' THEN RAISE EXCEPTION 'a %', plan ->> 'Node Type'; END IF;
    -- (the table may have empty pages)
    EXECUTE format('SELECT 0.9 * count(DISTINCT (ctid::text::point)[0]) > %s FROM %s', (plan ->> 'Exact Heap Blocks')::int + (plan ->> 'Lossy Heap Blocks')::int, tab) INTO skips;
    EXECUTE format('SELECT array_agg(id ORDER BY id), count(*) FROM %s WHERE %s', tab, condition) INTO by_index, rows;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE %s', tab, condition) INTO by_scan;
    same := by_index IS NOT DISTINCT FROM by_scan;
END $$;
CREATE FUNCTION x_node(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan #>> '{0,Plan,Node Type}';
END $$;
CREATE FUNCTION x_all(tab regclass, conditions text[], OUT condition text, OUT rows bigint, OUT same boolean, OUT skips boolean)
RETURNS SETOF record LANGUAGE sql AS $$
    SELECT c, f.* FROM unnest(conditions) WITH ORDINALITY u(c, n), x_found(tab, c) f ORDER BY n
$$;

-- Arrays: of 2,000 rows each has three of 6,000 integers, and a few have what is special.
CREATE TABLE x_array AS SELECT i AS id, ARRAY[i, i + 2000, i + 4000] AS v, repeat('-', 100) AS room FROM generate_series(1, 2000) i;
INSERT INTO x_array VALUES (2001, '{}'), (2002, NULL), (2003, '{NULL}'), (2004, '{7,NULL,8001}'), (2005, '{{8001,8002},{8003,7}}'), (2006, '[5:6]={8001,7}');
CREATE INDEX x_array_brin ON x_array USING brin (v array_bloomx_ops (fpr = 0.001)) WITH (pages_per_range = 4);
SELECT * FROM x_all('x_array', ARRAY[
    'v @> ''{1234}''', 'v @> ''{1234,3234}''', 'v @> ''{1234,3235}''', 'v @> ''{8001,7}''', 'v @> ''{{8003,7},{8002,8001}}''', 'v @> ''{}''', 'v @> ''{7,NULL}''',
    'v @> ARRAY[NULL::int]', 'v && ''{1234,5,99999}''', 'v && ''{99999,NULL}''', 'v && ''{NULL}''', 'v && ''{}''', 'v = ''{1234,3234,5234}''', 'v = ''{}''',
    'v = ''{NULL}''', 'v = ''{7,NULL,8001}''', 'v = ''{8001,7}''', 'v = ''[5:6]={8001,7}''', 'v @> ''{1234}'' AND v && ''{3234}'' AND v @> ''{5234}''', 'v IS NULL']);

-- An array that holds the column's: what overlaps it, and the empty arrays, by the access method bloomx.
CREATE INDEX x_array_bloomx ON x_array USING bloomx (v);
SELECT * FROM x_all('x_array', ARRAY[
    'v <@ ''{1234,3234,5234}''', 'v <@ ''{5234,3234,99999,1234,7,8001}''', 'v <@ ''{7,8001,8002,8003}''', 'v <@ ''{7,8001,NULL}''', 'v <@ ''{99999}''', 'v <@ ''{}''', 'v <@ ''{NULL}''', '''{7,8001}'' @> v', 'v <@ ''{1234,3234,5234}'' AND v @> ''{1234}''',
    'v = ''{}''', 'v = ''{NULL}''', 'v @> ''{}''', 'v && ''{}''']);
SELECT bloomx_check_index('x_array_bloomx');
DROP INDEX x_array_bloomx;

-- A value on the left of ANY: no index can be asked, so PostgreSQL does not.  BRIN has no <@.
SET enable_seqscan = off;
SELECT x_node('SELECT FROM x_array WHERE 1234 = ANY (v)');
SELECT x_node('SELECT FROM x_array WHERE v <@ ''{1234,3234,5234}''');
RESET enable_seqscan;

-- Elements of other types.  A label of an enum may change.  Rows whose columns may change are refused.
CREATE TYPE x_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE x_pair AS (a int, b text, mood x_mood);
CREATE TABLE x_arrays AS SELECT i AS id, ARRAY['word ' || i, 'word'] AS t, ARRAY['word ' || i]::varchar[] AS v, ARRAY[('w' || i)::char(8)] AS c,
        ARRAY[i / 4.0] AS n, ARRAY[i / 4.0]::float8[] AS f, ARRAY[(enum_range(NULL::x_mood))[1 + i % 3]] AS e,
        ARRAY[row(i, 'b', (enum_range(NULL::x_mood))[1 + i % 3])::x_pair] AS p, ARRAY[int4range(i, i + 2)] AS r, ARRAY[jsonb_build_object('n', i)] AS j, repeat('-', 100) AS room
    FROM generate_series(1, 1000) i;
SELECT format('CREATE INDEX ON x_arrays USING brin (%I array_bloomx_ops) WITH (pages_per_range = 2)', attname)
FROM pg_attribute JOIN pg_type t ON t.oid = atttypid WHERE attrelid = 'x_arrays'::regclass AND typcategory = 'A' ORDER BY attnum \gexec
ALTER TYPE x_mood RENAME VALUE 'ok' TO 'fine';
SELECT * FROM x_all('x_arrays', ARRAY['t @> ''{word 77}''', 't && ''{word,word 77}''', 'v @> ''{word 77}''', 'v && ''{word 1,word 2}''', 'c @> ''{w77}''', 'n @> ''{19.2500}''', 'f @> ''{19.25}''',
    'e @> ''{fine}''', 'p @> ''{"(77,b,happy)"}''', 'p @> ARRAY[row(76, ''b'', ''fine'')::x_pair]', 'r @> ''{"[77,78]"}''', 'j @> ARRAY[''{"n": 77.0}''::jsonb]']);
CREATE TABLE x_rows (id int, v x_arrays[]);
CREATE INDEX ON x_rows USING brin (v array_bloomx_ops);
INSERT INTO x_rows VALUES (1, '{}');

-- Documents: paths with values for @>, what is at the top for ?, ?| and ?&.
CREATE TABLE x_jsonb AS SELECT i AS id, jsonb_build_object('id', i, 'tags', jsonb_build_array('t' || i, 't' || i + 1, i), 'user', jsonb_build_object('name', 'u' || i % 500, 'n', NULL), 'k' || i, true) AS v,
        repeat('-', 100) AS room FROM generate_series(1, 2000) i;
INSERT INTO x_jsonb VALUES (2001, '{}'), (2002, '[]'), (2003, '"alone"'), (2004, '5.50'), (2005, 'null'), (2006, NULL), (2007, '["alone", 5.5, [6, {"x": 6}], null, true]'),
    (2008, '{"tags": [[["deep"]]], "a": {"b": {"c": [1, {"d": 2}]}}, "e": {}, "f": []}'), (2009, 'true'), (2010, '[["alone"]]'), (2011, '{"": ""}');
CREATE INDEX x_jsonb_brin ON x_jsonb USING brin (v jsonb_bloomx_ops (fpr = 0.001)) WITH (pages_per_range = 4);
SELECT * FROM x_all('x_jsonb', ARRAY[
    'v @> ''{"id": 77}''', 'v @> ''{"id": 77.00}''', 'v @> ''{"id": "77"}''', 'v @> ''{"tags": ["t77"]}''', 'v @> ''{"tags": ["t77", 76]}''', 'v @> ''{"user": {"name": "u77"}}''', 'v @> ''{"name": "u77"}''',
    'v @> ''{"user": {"n": null}, "id": 77}''', 'v @> ''{"k77": true}''', 'v @> ''{"k77": false}''', 'v @> ''{}''', 'v @> ''[]''', 'v @> ''"alone"''', 'v @> ''["alone"]''', 'v @> ''[["alone"]]''', 'v @> ''5.5''', 'v @> ''null''', 'v @> ''[5.500]''',
    'v @> ''[[{"x": 6}]]''', 'v @> ''[{"x": 6}]''', 'v @> ''{"a": {"b": {"c": [{"d": 2}]}}}''', 'v @> ''{"a": {"b": {"c": {"d": 2}}}}''', 'v @> ''{"e": {}}''', 'v @> ''{"f": []}''', 'v @> ''{"e": []}''', 'v @> ''{"tags": [[["deep"]]]}''', 'v @> ''true''',
    'v @> ''{"": ""}''',
    'v = ''{"": ""}''', 'v = ''5.5''', 'v = ''[]''', 'v = ''{}''', 'v IS NULL']);
-- jsonpath: what it asks of scalars at paths of names, through arrays.  Methods, wildcards, other comparisons and negation say nothing.
SELECT * FROM x_all('x_jsonb', ARRAY[
    'v @@ ''$.id == 77''', 'v @@ ''77.00 == $.id''', 'v @@ ''strict $.id == 77''', 'v @@ ''$.id == "77"''', 'v @@ ''$.tags == "t77"''', 'v @@ ''strict $.tags == "t77"''', 'v @@ ''strict $.tags[*] == "t77"''', 'v @@ ''$.tags[1] == "t77"''', 'v @@ ''$[*].tags[last] == 77''',
    'v @@ ''$.user.name == "u77" && $.id == 577''', 'v @@ ''$.user.name == "u77" || $.id == 78''', 'v @@ ''$.user.n == null && $.id == 77''', 'v @@ ''$.id == 77 || $.id > 1990''', 'v @@ ''$.id == 77 && $.id > 2''', 'v @@ ''!($.id == 77) && $.id < 80''', 'v @@ ''!(!($.id == 77))''', 'v @@ ''($.id == 77) is unknown''',
    'v @@ ''exists($.tags ? (@ == "t77"))''', 'v @@ ''exists($.a)''', 'v @@ ''$.k77''', 'v @@ ''$.id''', 'v @@ ''$ == "alone"''', 'v @@ ''$[*] == 5.50''', 'v @@ ''$.*.name == "u77"''', 'v @@ ''$.**.name == "u77"''', 'v @@ ''$.user.name starts with "u77"''', 'v @@ ''$.id + 0 == 77''', 'v @@ ''$.id == $.tags[2] && $.id < 4''', 'v @@ ''$.id == 78 - 1''',
    'v @@ ''$.id == "77".double()''', 'v @@ ''$.id == "t".size()''', 'v @@ ''(($.id == 77) ? (@ == false)) == false && $.id < 80''', 'v @@ ''($.id == 77).type() == "boolean" && $.id < 80''', 'v @@ ''$.id.double() == 77''',
    'v @? ''$.id ? (@ == 77)''', 'v @? ''$ ? (@.id == 77).user''', 'v @? ''$ ? (@.id == 77).nobody''', 'v @? ''$.user ? (@.name == "u77" && $.id == 77)''', 'v @? ''$.user ? (@.name == "u77") ? ($.id == 77).size()''', 'v @? ''$.* ? (@.name == "u77")''', 'v @? ''$ ? (@.id == 77).**''', 'v @? ''$.id == 77 ? (@ == true)''', 'v @? ''$.a.b.c[*] ? (@.d == 2)''',
    'v @? ''$.a.b.c[*].d ? (@ == 2)''', 'v @? ''$.tags ? (@ == "deep")''', 'v @? ''$.tags[*][*] ? (@ == "deep")''', 'v @? ''$.""''', 'v @? ''$."" ? (@ == "")''', 'v @? ''$.e''']);
-- As long and as deep as people never write them.
SELECT rows, same, skips FROM (SELECT string_agg('$.id == ' || i, ' || ') AS path FROM generate_series(71, 270) i) p, x_found('x_jsonb', format('v @@ %L', path));
SELECT rows, same, skips FROM x_found('x_jsonb', format('v @@ %L', repeat('!(', 1000) || '$.id == 77' || repeat(')', 1000)));
SELECT rows, same, skips FROM unnest('{90,150}'::int[]) n, x_found('x_jsonb', format('v @? %L', '$' || repeat(' ? (exists(@', n) || ' ? (@.id == 77)' || repeat('))', n)));

-- BRIN has no operators of names, whose collation is not the column's.  So names are no keys there: more of them than a summary holds leave it empty.
CREATE TABLE x_names AS SELECT jsonb_build_object('k' || i, '{}'::jsonb) AS v FROM generate_series(1, 10000) i;
SET bloomx.overfill = notice;
CREATE INDEX ON x_names USING brin (v jsonb_bloomx_ops);
SET bloomx.overfill = off;
CREATE INDEX x_jsonb_names ON x_jsonb USING bloomx (v);
SELECT * FROM x_all('x_jsonb', ARRAY[
    'v ? ''k77''', 'v ? ''alone''', 'v ? ''t77''', 'v ? ''''', 'v ? ''e''', 'v ? ''name''', 'v ?| ''{k77,k1077,nobody}''', 'v ?| ''{nobody,NULL}''', 'v ?| ''{}''', 'v ?& ''{k77,id}''', 'v ?& ''{k77,k78}''', 'v ?& ''{k77,NULL}''', 'v ?& ''{}''']);

-- Texts with their words: positions and weights make a query stricter, NOT and prefixes say nothing.
CREATE TABLE x_words AS SELECT i AS id, to_tsvector('simple', 'common word' || i || ' then follows' || i) || setweight(to_tsvector('simple', 'title' || i), 'A') AS v, repeat('-', 100) AS room
    FROM generate_series(1, 2000) i;
INSERT INTO x_words VALUES (2001, ''), (2002, NULL), (2003, 'word77 follows77'), (2004, strip(to_tsvector('simple', 'word88 then follows88')));
CREATE INDEX x_words_brin ON x_words USING brin (v tsvector_bloomx_ops (fpr = 0.001)) WITH (pages_per_range = 4);
SELECT * FROM x_all('x_words', ARRAY[
    'v @@ ''word77''', 'v @@ ''word77 & follows77''', 'v @@ ''word77 & follows78''', 'v @@ ''word77 | follows1078''', 'v @@ ''word77 | !follows1078''', 'v @@ ''!common''', 'v @@ ''word77 & !common''', 'v @@ ''common & !word77''', 'v @@ ''word77 <-> then''',
    'v @@ ''word77 <2> follows77''', 'v @@ ''word77 <-> follows77''', 'v @@ ''!word77 <-> then''', 'v @@ ''word77 <-> !then''', 'v @@ ''word88 <2> follows88''', 'v @@ ''word77:*''', 'v @@ ''word77:* & title777''', 'v @@ ''title77:A''', 'v @@ ''title77:B''', 'v @@ ''word77:A''',
    'v @@ ''(word77 | word78) & (then | nothing) & !(word79 <-> then)''', 'v @@ to_tsquery(''english'', ''the'')', '''word77''::tsquery @@ v', 'v = ''word77 follows77''', 'v = ''''', 'v IS NULL']);

-- The planner chooses the index by itself for rare words, and a scan for a word of every row.
CREATE TABLE x_many_words AS SELECT to_tsvector('simple', 'common word' || i || ' then follows' || i) AS v, repeat('-', 100) AS room FROM generate_series(1, 20000) i;
CREATE INDEX ON x_many_words USING brin (v tsvector_bloomx_ops) WITH (pages_per_range = 4);
ANALYZE x_many_words;
SELECT x_node('SELECT FROM x_many_words WHERE v @@ ''word77 & follows77''') AS rare, x_node('SELECT FROM x_many_words WHERE v @@ ''common''') AS common;

-- 3,000 rows with a word of their own each, and a few with what is special.
CREATE TABLE x_text AS SELECT i AS id, 'Row ' || i || ' has the word ' || md5(i::text) || ' and no other' AS v FROM generate_series(1, 3000) i;
ALTER TABLE x_text ALTER v SET STORAGE EXTERNAL;
INSERT INTO x_text VALUES (3001, ''), (3002, NULL), (3003, 'ab'), (3004, 'abc'), (3005, '100% of_it \ back'), (3006, repeat('x', 10000) || 'Needle' || repeat('y', 10000)), (3007, 'first line' || chr(10) || 'Second line');
CREATE INDEX x_text_brin ON x_text USING brin (v text_ngram_bloomx_ops (fpr = 0.01)) WITH (pages_per_range = 2);

-- LIKE: pieces of three letters and more, inside words and across them, with escapes.
SELECT * FROM x_all('x_text', ARRAY[
    'v LIKE ''%c81e728d%''', 'v LIKE ''Row 2 %c81e728d%''', 'v LIKE ''%C81E728D%''', 'v LIKE ''%c81e7_8d9d4c%''', 'v LIKE ''%c81%8d9d%''', 'v LIKE ''%8d9d%c81%''', 'v LIKE ''Row 2 has%''', 'v LIKE ''%2 h%''', 'v LIKE ''%zqz%''', 'v LIKE ''%zq%''', 'v LIKE ''%c\81e728d%''',
    'v LIKE ''%0\% of\_it%''', 'v LIKE ''%0% of_it%''', 'v LIKE ''%\\ back''', 'v LIKE ''%!% of!_it%'' ESCAPE ''!''', 'v LIKE ''%_% of_it \ back'' ESCAPE ''''', 'v LIKE ''%Needle%''', 'v LIKE ''%xNeedley%''', 'v LIKE ''%line%Second%''', 'v LIKE ''%''', 'v LIKE ''''', 'v LIKE ''ab_''', 'v LIKE ''abc''', 'v LIKE ''___''',
    'v LIKE ''%c81e728d%'' AND v LIKE ''%no other''', 'v LIKE ''%word 45c48cce2e2d7fbdea1afc51c7c6ad26 and no other''']);
SELECT count(*) FROM x_text WHERE v LIKE 'Row 1%\';		-- an error of the operator's
SELECT count(*) FROM x_text WHERE v NOT LIKE '%has%';

-- Equality, ILIKE, regular expressions.
SELECT * FROM x_all('x_text', ARRAY[
    'v = ''abc''', 'v = ''ab''', 'v = ''Row 2 has the word c81e728d9d4c2f636f067f89cc14862c and no other''', 'v = ''row 2 has the word c81e728d9d4c2f636f067f89cc14862c and no other''', 'v = repeat(''x'', 10000) || ''Needle'' || repeat(''y'', 10000)',
    'v ILIKE ''%C81E728D%''', 'v ILIKE ''row 2 HAS%''', 'v ILIKE ''%nEEdLe%''', 'v ILIKE ''%zqz%''', 'v ILIKE ''%\c\8\1\E728D%''',
    'v ~ ''c81e728d''', 'v ~ ''C81E728D''', 'v ~ ''(?i)C81E728D''', 'v ~* ''C81E728D''', 'v ~ ''^Row 2 has''', 'v ~ ''c81e(728|729)d''', 'v ~ ''(c81e728d|eccbc87e|nothing)''', 'v ~ ''c81e72[89]d''', 'v ~ ''c81e[0-9]+d9d4''', 'v ~ ''c81e.*9d4c''', 'v ~ ''9d4c.*c81e''', 'v ~ ''(c81e)+728''',
    'v ~ ''c81e(728d)?9d4c''', 'v ~ ''c81ex?728d''', 'v ~ ''x{20}Needle''', 'v ~ ''x{200}Needle''', 'v ~ ''(x|y)Need(le|el)[xy]''', 'v ~ ''[a-z]''', 'v ~ ''zq|zz''', 'v ~ ''zqz|other''', 'v ~ ''zqz|''', 'v ~ ''''', 'v ~ ''(?=c81e)c8''', 'v ~ ''c8(?!1e7)1f[0-9]a''', 'v ~ ''(8d9d)4c.*\1''', 'v ~ ''([0-9a-f]{4})\1''', 'v ~ ''\mword\M c81e728d''', 'v ~ ''\yno\y other$''',
    'v ~ ''^abc$''', 'v ~ ''(?n)^Second line$''', 'v ~ ''(?n)first line$''', 'v ~ ''first line$''', 'v ~ ''line\nSecond''', 'v ~ ''(?x) c81e # comment
      728d''', 'v ~ ''***=100% of_it''', 'v ~ ''(a|b|c)(d|e|f)(1|2|3)(4|5|6)(7|8|9)(a|b|c)''', 'v ~ ''((a|b)*c)*d{2,5}needle''', 'v SIMILAR TO ''%(c81e728d|zqzq)%''', 'v ~ ''a^b''', 'v ~ ''[^a]c81e728d[^z]''', 'v ~ ''c81[[:alpha:]]728d''', 'v ~ ''.''']);
SELECT count(*) FROM x_text WHERE v ~ 'a(b';

-- The same of a char(n), whose blanks LIKE and regular expressions see and = does not, and of a name.
CREATE TABLE x_padded (id int, c char(80), n name, room text);
INSERT INTO x_padded SELECT id, v, v, repeat('-', 300) FROM x_text WHERE length(v) < 1000;
INSERT INTO x_padded VALUES (3008, 'Needle', 'Needle'), (3009, 'Needle     end', 'Needle     end');
CREATE INDEX x_padded_idx ON x_padded USING bloomx (c bpchar_ngram_ops, n name_ngram_ops);
SELECT * FROM x_all('x_padded', ARRAY[
    'c LIKE ''Needle''', 'c LIKE ''Needle%''', 'c LIKE ''Needle   %''', 'c LIKE ''%edle     _''', 'c LIKE rpad(''Needle'', 80)', 'c = ''Needle''', 'c = ''Needle           ''', 'c = ''needle''', 'c ILIKE ''nEEdle%''', 'c ~ ''Needle$''', 'c ~ ''Needle +$''', 'c ~* ''^needle {10}''', 'c ~ ''^Row 2 has''', 'c LIKE ''%c81e728d%''',
    'n LIKE ''Needle''', 'n LIKE ''%c81e728d%''', 'n = ''Needle''', 'n = ''Needle''::text', 'n = ''Row 2 has the word c81e728d9d4c2f636f067f89cc14862c and no other''', 'n = ''Row 2 has the word c81e728d9d4c2f636f067f89cc14862c and no other''::text', 'n ILIKE ''nEEdle%''', 'n ~ ''(Needle|c81e728d)''', 'n ~* ''^needle''', 'c = ''Needle'' AND n LIKE ''Need%''']);
SELECT bloomx_check_index('x_padded_idx');

-- Letters with cases, in all collations that every server has: the same rows as a scan, and letters whose cases agree everywhere are looked for.
CREATE TABLE x_letters (id int GENERATED ALWAYS AS IDENTITY, v text, c text COLLATE "C", d text COLLATE ucs_basic);
INSERT INTO x_letters (v, c, d) SELECT w, w, w FROM unnest(ARRAY['STRASSE straße STRAẞE', 'ΟΔΥΣΣΕΥΣ Οδυσσευς οδυσσευσ', 'İSTANBUL istanbul ISTANBUL ıstanbul', 'Москва МОСКВА москва', 'ÀÉÎÕÜ àéîõü', 'Việt Nam VIỆT NAM', '日本語のテキスト', '한국어 텍스트', 'ЇЖАК їжак',
    U&'\212A\212Aelvin kkelvin KKELVIN', U&'lo\017F\017F loss LOSS', U&'\01C4\01C5\01C6 \01C6\01C6\01C6', U&'e\0301te\0301 \00E9t\00E9', U&'\1E9B\0323 \03D0\03B2\0392', U&'\10D0\10D1\10D2 \1C90\1C91\1C92', U&'\+01F600\+01F601\+01F602', U&'a\0307i\0307\012F']) w;
INSERT INTO x_letters (v, c, d) SELECT w, w, w FROM generate_series(1, 500) i, concat('row ', i, repeat(' filler', 20)) w;
CREATE INDEX ON x_letters USING brin (v text_ngram_bloomx_ops (fpr = 0.01)) WITH (pages_per_range = 1);
CREATE INDEX ON x_letters USING brin (c text_ngram_bloomx_ops (fpr = 0.01)) WITH (pages_per_range = 1);
CREATE INDEX ON x_letters USING brin (d text_ngram_bloomx_ops (fpr = 0.01)) WITH (pages_per_range = 1);
SELECT col, op, count(*) AS conditions, count(*) FILTER (WHERE same) AS same, count(*) FILTER (WHERE skips) AS skip
FROM unnest(ARRAY['STRASSE', 'straße', 'οδυσσευς', 'ΟΔΥΣΣΕΥΣ', 'istanbul', 'ISTANBUL', 'İSTANBUL', 'москва', 'МОСКВА', 'ÀÉÎÕÜ', 'VIỆT', '日本語', 'テキスト', '텍스트', 'ЇЖАК', 'kkelvin', 'KKELVIN', 'loss', 'LOSS', 'ǆǆǆ', U&'e\0301te\0301', 'été', 'βββ', 'აბგ', U&'\+01F600\+01F601\+01F602', 'į']) w,
     unnest(ARRAY['v', 'c', 'd']) col, unnest(ARRAY['LIKE', 'ILIKE', '~', '~*']) op,
     x_found('x_letters', format('%I %s %L', col, op, CASE WHEN op LIKE '%LIKE' THEN '%' || w || '%' ELSE w END)) GROUP BY col, op ORDER BY col, op;
SELECT * FROM x_all('x_letters', ARRAY['v LIKE ''%日本語%''', 'v ILIKE ''%москва%''', 'v ~* ''МОСКВА''', 'v ILIKE ''%VIỆT n%''', 'v LIKE ''%本語の_キスト''']);

-- Nondeterministic collations are refused; so is another collation than the index's.
CREATE TABLE x_column (v varchar(40), n int);
CREATE INDEX x_column_idx ON x_column USING brin (v text_ngram_bloomx_ops, lower(v) text_ngram_bloomx_ops);
INSERT INTO x_column SELECT 'value ' || i, i FROM generate_series(1, 100) i;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT FROM x_column WHERE v LIKE '%alue 7%';
EXPLAIN (COSTS OFF) SELECT FROM x_column WHERE lower(v) LIKE '%alue 7%';
SELECT x_node('SELECT FROM x_column WHERE v COLLATE "C" LIKE ''%alue 7%''');
SELECT n FROM x_column WHERE v LIKE '%alue 77%';

-- A join asks for one needle after the other; an insert into a summarised range adds its n-grams.
SELECT n, found FROM (VALUES (1, 'alue 12'), (2, 'alue 34'), (3, 'alue 999'), (4, 'al'), (5, NULL)) w(n, needle),
    LATERAL (SELECT count(*) AS found FROM x_column WHERE v LIKE '%' || needle || '%') f ORDER BY n;
SELECT brin_summarize_new_values('x_column_idx') > 0 AS summarised;
INSERT INTO x_column VALUES ('entirely unheard of', 101);
SELECT n FROM x_column WHERE v LIKE '%heard%';
RESET enable_seqscan;

-- A runtime filter asks no index of n-grams whether a range has a value, nor one of elements.
CREATE TABLE x_small AS SELECT 'value 1777' AS v, ARRAY['value 1777'] AS a;
CREATE TABLE x_large AS SELECT 'value ' || i AS v, ARRAY['value ' || i] AS a, repeat('-', 100) AS room FROM generate_series(1, 2000) i;
CREATE INDEX ON x_large USING brin (v text_ngram_bloomx_ops, a array_bloomx_ops) WITH (pages_per_range = 1);
SET bloomx.runtime_filter = on;
SET bloomx.runtime_filter_min_rows = 0;
SET bloomx.runtime_filter_min_pages = 0;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT count(*) FROM x_large JOIN x_small USING (v);
SELECT count(*) FROM x_large JOIN x_small USING (a);
RESET bloomx.runtime_filter;
RESET bloomx.runtime_filter_min_rows;
RESET bloomx.runtime_filter_min_pages;
RESET enable_nestloop;
RESET enable_mergejoin;

-- A text of more n-grams than are kept apart while they are collected.
CREATE TABLE x_long AS SELECT string_agg(md5(i::text), ' ') || ' the needle' AS v FROM generate_series(1, 17000) i;
CREATE INDEX ON x_long USING brin (v text_ngram_bloomx_ops);
SET enable_seqscan = off;
SELECT count(*) FROM x_long WHERE v LIKE '%the needle';
RESET enable_seqscan;

DROP TABLE x_array, x_arrays, x_rows, x_jsonb, x_names, x_words, x_many_words, x_text, x_padded, x_letters, x_column, x_small, x_large, x_long;
DROP TYPE x_pair, x_mood;
DROP FUNCTION x_all, x_node, x_found;
