--
-- Objects of an ordinary user that have the names of the extension's own, but other types: the planner must not take
-- them for the extension's. Each query is planned and run: a crash would end the session.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
CREATE ROLE regress_bloomx_hostile;
CREATE SCHEMA hostile;
GRANT CREATE, USAGE ON SCHEMA hostile TO regress_bloomx_hostile;

-- The rows that the planner expects, and the outcome: the number of rows, or an error.
CREATE FUNCTION planned_and_run(query text, OUT planned_rows float8, OUT came text) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	planned_rows := plan -> 0 -> 'Plan' ->> 'Plan Rows';
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO came;
EXCEPTION WHEN OTHERS THEN
	came := SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE TABLE h_filters AS SELECT g, bloom_agg(i) AS f FROM generate_series(1, 2000) g, generate_series(g, g + 9) i GROUP BY g;
CREATE INDEX h_bloomx ON h_filters USING bloomx (f);
ANALYZE h_filters;
GRANT SELECT ON h_filters TO regress_bloomx_hostile;

SET ROLE regress_bloomx_hostile;
SET search_path = hostile, pg_temp, public;

-- ---- aggregates: bloom_agg and bloom_union_agg over other types ----

CREATE FUNCTION keep(bloomfilter, int) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep(bloomfilter, int, int) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep(bloomfilter, int, timestamp) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep(bloomfilter, int, text) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep(bloomfilter, int, bigint, text) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep(bloomfilter, int, bloomfilter, bool) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep_all(bloomfilter, VARIADIC int[]) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep() RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT NULL::bloomfilter';
CREATE FUNCTION keep(bloomfilter) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep_number(int, int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION keep_ordered(bloomfilter, int) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION final_ordered(bloomfilter, text) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE AGGREGATE bloom_agg(int) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_agg(int, int) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_agg(int, timestamp) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_agg(int, text) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_agg(int, bigint, text) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_agg(int, bloomfilter, bool) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_agg(*) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_union_agg(int) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_union_agg(int, int) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE bloom_union_agg(VARIADIC int[]) (sfunc = keep_all, stype = bloomfilter);
CREATE AGGREGATE bloom_union_agg(*) (sfunc = keep, stype = bloomfilter);
CREATE AGGREGATE pg_temp.bloom_agg(int, int) (sfunc = keep_number, stype = int);
CREATE AGGREGATE pg_temp.bloom_agg(text ORDER BY int) (sfunc = keep_ordered, stype = bloomfilter, finalfunc = final_ordered);

SELECT n, what, p.* FROM (VALUES
	(1, 'an int as the template', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, 5) FROM generate_series(1, 10) x) @> k'),
	(2, 'a timestamp as the template', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, timestamp ''2222-02-02'') FROM generate_series(1, 10) x) @> k'),
	(3, 'a text as the template', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, ''x''::text) FROM generate_series(1, 10) x) @> k'),
	(4, 'a text as the rate', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, 5::bigint, ''x''::text) FROM generate_series(1, 10) x) @> k'),
	(5, 'a boolean as the rate', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, bloom_empty(5), true) FROM generate_series(1, 10) x) @> k'),
	(6, 'no arguments', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(*) FROM generate_series(1, 10) x) @> k'),
	(7, 'one argument', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x) FROM generate_series(1, 10) x) @> k'),
	(8, 'FILTER', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, 5) FILTER (WHERE x > 3) FROM generate_series(1, 10) x) @> k'),
	(9, 'DISTINCT', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(DISTINCT x, 5) FROM generate_series(1, 10) x) @> k'),
	(10, 'ORDER BY', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, 5 ORDER BY x, x + 1, x + 2) FROM generate_series(1, 10) x) @> k'),
	(11, 'a window', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, 5) OVER () FROM generate_series(1, 10) x LIMIT 1) @> k'),
	(12, 'an ordered set', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT pg_temp.bloom_agg(''x''::text) WITHIN GROUP (ORDER BY x) FROM generate_series(1, 10) x) @> k'),
	(13, 'FROM', 'SELECT * FROM generate_series(1, 10) k, (SELECT hostile.bloom_agg(x, 5) AS f FROM generate_series(1, 10) x) s WHERE f @> k'),
	(14, 'FROM, grouped', 'SELECT * FROM generate_series(1, 10) k, (SELECT x % 2 AS g, hostile.bloom_agg(x, 5) AS f FROM generate_series(1, 10) x GROUP BY 1) s WHERE k <@ f'),
	(15, 'a common table expression', 'WITH c AS MATERIALIZED (SELECT hostile.bloom_agg(x, timestamp ''2222-02-02'') AS f FROM generate_series(1, 10) x) SELECT * FROM generate_series(1, 10) k, c WHERE f @> k'),
	(16, 'a correlated subquery', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_agg(x, 5) FROM generate_series(1, k) x) @> k'),
	(17, 'HAVING', 'SELECT k FROM generate_series(1, 10) k GROUP BY k HAVING hostile.bloom_agg(k, 5) @> k'),
	(18, 'a function call', 'SELECT * FROM generate_series(1, 10) k WHERE bloom_contains((SELECT hostile.bloom_agg(x, 5) FROM generate_series(1, 10) x), k)'),
	(19, 'bloom_union_agg of int', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_union_agg(x) FROM generate_series(1, 10) x) @> k'),
	(20, 'bloom_union_agg of constants', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_union_agg(5) FROM generate_series(1, 10) x) @> k'),
	(21, 'bloom_union_agg of two', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_union_agg(5, x) FROM generate_series(1, 10) x) @> k'),
	(22, 'bloom_union_agg, VARIADIC', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_union_agg(VARIADIC ARRAY[x, 1]) FROM generate_series(1, 10) x) @> k'),
	(23, 'bloom_union_agg of nothing', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT hostile.bloom_union_agg(*) FROM generate_series(1, 10) x) @> k'),
	(24, 'an aggregate that gives a number', 'SELECT * FROM generate_series(1, 10) k WHERE (SELECT pg_temp.bloom_agg(x, 5) FROM generate_series(1, 10) x) = k'),
	(25, 'a number through a cast', 'SELECT * FROM generate_series(1, 10) k WHERE bloom_empty((SELECT pg_temp.bloom_agg(x, 5) FROM generate_series(1, 10) x)) @> k'))
	v(n, what, query), planned_and_run(query) p ORDER BY n;

-- ---- functions ----

CREATE FUNCTION bloomx_probe() RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT NULL::bloomfilter';
CREATE FUNCTION bloomx_probe(a int, b int) RETURNS bloomfilter LANGUAGE sql VOLATILE AS 'SELECT NULL::bloomfilter';
CREATE FUNCTION bloomx_probe_all() RETURNS bloomfilter LANGUAGE plpgsql STABLE AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION bloomx_probe_all(int) RETURNS bloomfilter LANGUAGE plpgsql STABLE AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION bloomx_probe_all(VARIADIC a text[]) RETURNS bloomfilter LANGUAGE plpgsql STABLE AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION bloomx_probe_hash(text DEFAULT 'x') RETURNS bloomfilter LANGUAGE plpgsql STABLE AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION bloomx_probe_hash(int) RETURNS bloomfilter LANGUAGE plpgsql STABLE AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION bloom_contains(int, int) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION bloom_contains(text) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION bloom_contained(int, int) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION bloom_prefilter(int, int) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION bloom_contains_hash(int, text) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION bloom_contains_any(int, int) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION bloom_contains_all(int[], text) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION bloomx_holds_all(int, int) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';
CREATE FUNCTION bloomx_holds_any(text, text) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END';

SET enable_seqscan = off;
SELECT n, what, p.came FROM (VALUES
	(1, 'bloomx_probe()', 'SELECT * FROM h_filters WHERE f ?& hostile.bloomx_probe()'),
	(2, 'bloomx_probe(a, b)', 'SELECT * FROM h_filters WHERE f ?& hostile.bloomx_probe(1, 2)'),
	(3, 'named', 'SELECT * FROM h_filters WHERE f ?& hostile.bloomx_probe(b => 1, a => 2)'),
	(4, 'bloomx_probe_all()', 'SELECT * FROM h_filters WHERE f ?| hostile.bloomx_probe_all()'),
	(5, 'bloomx_probe_all(int)', 'SELECT * FROM h_filters WHERE f ?| hostile.bloomx_probe_all(7)'),
	(6, 'VARIADIC', 'SELECT * FROM h_filters WHERE f ?| hostile.bloomx_probe_all(''a''::text, ''b''::text)'),
	(7, 'a default argument', 'SELECT * FROM h_filters WHERE f ?& hostile.bloomx_probe_hash()'),
	(8, 'bloomx_probe_hash(text)', 'SELECT * FROM h_filters WHERE f ?& hostile.bloomx_probe_hash(''x''::text)'),
	(9, 'bloomx_probe_hash(int)', 'SELECT * FROM h_filters WHERE f ?& hostile.bloomx_probe_hash(g)'),
	(10, 'bloomx_probe_hash of an int', 'SELECT * FROM h_filters WHERE f ?& hostile.bloomx_probe_hash(7)'),
	(11, 'in a join', 'SELECT * FROM h_filters a, h_filters b WHERE a.f ?& hostile.bloomx_probe_hash(b.g) AND a.g < 3'),
	(12, 'functions of membership', 'SELECT * FROM generate_series(1, 5) g WHERE hostile.bloom_contains(g, 7) AND hostile.bloom_contains(''x''::text)
		AND hostile.bloom_contained(7, g) AND hostile.bloom_prefilter(g, 5) AND hostile.bloom_contains_hash(g, ''x'') AND hostile.bloom_contains_any(g, 7)
		AND hostile.bloom_contains_all(ARRAY[g], ''x'') AND hostile.bloomx_holds_all(g, 7) AND hostile.bloomx_holds_any(g::text, ''x'')'))
	v(n, what, query), planned_and_run(query) p ORDER BY n;
RESET enable_seqscan;

-- ---- operators ----

-- With the extension's estimators; newer minor releases let only their owner use them.
RESET ROLE;
SET search_path = hostile, pg_temp, public;
CREATE OPERATOR hostile.@>> (LEFTARG = int, RIGHTARG = int, FUNCTION = hostile.bloom_contains, RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel);
CREATE OPERATOR hostile.<<@ (LEFTARG = int, RIGHTARG = int, FUNCTION = hostile.bloom_contained, COMMUTATOR = OPERATOR(hostile.@>>), RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel);
CREATE OPERATOR hostile.?&& (LEFTARG = int, RIGHTARG = int, FUNCTION = hostile.bloomx_holds_all, RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel);
CREATE OPERATOR hostile.?|| (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.bloomx_holds_any, RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel);
CREATE OPERATOR hostile.## (RIGHTARG = text, FUNCTION = hostile.bloom_contains, RESTRICT = bloomx_contains_sel);
CREATE OPERATOR hostile.@>|> (LEFTARG = bloomfilter, RIGHTARG = anycompatible, FUNCTION = bloom_contains, RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel);
CREATE OPERATOR hostile.=== (LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomfilter_eq, RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel);
-- Operators with the names of the extension's
CREATE OPERATOR hostile.?& (LEFTARG = int, RIGHTARG = int, FUNCTION = hostile.bloomx_holds_all);
CREATE OPERATOR hostile.?| (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.bloomx_holds_any);
SET ROLE regress_bloomx_hostile;
SELECT n, what, p.* FROM (VALUES
	(1, 'bloom_contains(int, int)', 'SELECT * FROM generate_series(1, 1000) g WHERE 5 OPERATOR(hostile.@>>) g'),
	(2, 'commuted', 'SELECT * FROM generate_series(1, 1000) g WHERE g OPERATOR(hostile.@>>) 5'),
	(3, 'bloom_contained(int, int)', 'SELECT * FROM generate_series(1, 1000) g WHERE g OPERATOR(hostile.<<@) 5'),
	(4, 'bloomx_holds_all(int, int)', 'SELECT * FROM generate_series(1, 1000) g WHERE 7 OPERATOR(hostile.?&&) g'),
	(5, 'bloomx_holds_any(text, text)', 'SELECT * FROM generate_series(1, 1000) g WHERE g::text OPERATOR(hostile.?||) ''x'''),
	(6, 'unary', 'SELECT * FROM generate_series(1, 1000) g WHERE OPERATOR(hostile.##) g::text'),
	(7, 'a join', 'SELECT * FROM generate_series(1, 1000) g, generate_series(1, 10) h WHERE g OPERATOR(hostile.@>>) h'),
	(8, 'EXISTS', 'SELECT * FROM generate_series(1, 1000) g WHERE EXISTS (SELECT FROM generate_series(1, 10) h WHERE g OPERATOR(hostile.@>>) h)'),
	(9, 'ANY', 'SELECT * FROM generate_series(1, 1000) g WHERE g OPERATOR(hostile.@>>) ANY (ARRAY[1, 2])'),
	(10, 'NOT', 'SELECT * FROM generate_series(1, 1000) g WHERE NOT g OPERATOR(hostile.@>>) 5'),
	(11, 'NULL', 'SELECT * FROM generate_series(1, 1000) g WHERE g OPERATOR(hostile.@>>) NULL'),
	(12, 'of the extension''s function', 'SELECT * FROM generate_series(1, 1000) g WHERE bloom_add(bloom_empty(9), 7) OPERATOR(hostile.@>|>) g'),
	(13, 'of another function of filters', 'SELECT * FROM h_filters WHERE f OPERATOR(hostile.===) bloom_empty(1)'))
	v(n, what, query), planned_and_run(query) p ORDER BY n;

-- The estimators and support functions cannot be called.
SELECT call, came !~ '^[0-9]+$' AS refused FROM unnest(ARRAY['bloomx_contains_sel(NULL, ''int4eq''::regproc, NULL, 0)',
	'bloomx_contains_joinsel(NULL, ''int4eq''::regproc, NULL, 0::smallint, NULL)', 'bloomx_contains_support(NULL)']) call, planned_and_run('SELECT ' || call);

-- ---- a type of that name ----

CREATE DOMAIN hostile.bloomfilter AS int;
CREATE FUNCTION bloomx_probe(hostile.bloomfilter) RETURNS public.bloomfilter LANGUAGE sql IMMUTABLE AS 'SELECT NULL::public.bloomfilter';
CREATE DOMAIN of_filters AS public.bloomfilter;
CREATE TABLE in_domain AS SELECT f::of_filters AS f, g FROM h_filters;
ANALYZE in_domain;
SELECT n, what, p.came FROM (VALUES
	(1, 'a domain over int called bloomfilter', 'SELECT * FROM generate_series(1, 1000) g WHERE 5::hostile.bloomfilter OPERATOR(hostile.@>>) g'),
	(2, 'bloomx_probe of it', 'SELECT * FROM h_filters WHERE f ?& hostile.bloomx_probe(5::hostile.bloomfilter)'),
	(3, 'a domain over filters', 'SELECT * FROM in_domain WHERE f @> 5'),
	(4, 'one of its filters', 'SELECT * FROM generate_series(1, 1000) k WHERE k <@ (SELECT f FROM in_domain WHERE g = 3)'),
	(5, 'a constant of it', 'SELECT * FROM generate_series(1, 1000) k WHERE k <@ bloom_add(bloom_empty(9), 7)::of_filters'))
	v(n, what, query), planned_and_run(query) p ORDER BY n;

-- ---- the extension's own, with odd arguments ----

SELECT n, what, came FROM (VALUES
	(1, 'named arguments', 'SELECT * FROM generate_series(1, 1000) k WHERE public.bloom_contains(v => k, f => bloom_add(bloom_empty(9), 7))'),
	(2, 'NULL filter', 'SELECT * FROM generate_series(1, 1000) k WHERE public.bloom_contains(NULL, k)'),
	(3, 'set of keys as the filter', 'SELECT * FROM generate_series(1, 1000) k WHERE k <@ public.bloomx_probe(7)'),
	(4, 'any of the filters', 'SELECT * FROM generate_series(1, 1000) k WHERE k <@ ANY (ARRAY[bloom_add(bloom_empty(9), 7), bloom_add(bloom_empty(9), 8)])'),
	(5, 'any of an array', 'SELECT * FROM h_filters WHERE f @> ANY (ARRAY[7, 8])'),
	(6, 'a rate that is none', 'SELECT * FROM generate_series(1, 1000) k WHERE false AND k <@ (SELECT public.bloom_agg(x, 10::bigint, ''NaN''::float8) FROM generate_series(1, 10) x)'),
	(7, 'a capacity that is none', 'SELECT * FROM generate_series(1, 1000) k WHERE k <@ (SELECT public.bloom_agg(x, -5::bigint) FROM generate_series(1, 10) x)'),
	(8, 'FILTER of nothing', 'SELECT * FROM generate_series(1, 1000) k WHERE k <@ (SELECT public.bloom_agg(x) FILTER (WHERE x < 0) FROM generate_series(1, 10) x)'))
	v(n, what, query), planned_and_run(query) ORDER BY n;
-- A set of keys has no geometry: it cannot be a template, for the planner either.
CREATE FUNCTION planned(query text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN EXECUTE ''EXPLAIN '' || query; RETURN true; END';
SELECT template, planned(format('SELECT * FROM generate_series(1, 10) k WHERE (SELECT public.bloom_agg(x, %s) FROM generate_series(1, 10) x) @> k', template))
FROM unnest('{public.bloomx_probe_all(ARRAY[5]),"public.bloomx_probe_all(''{}''::int[])",public.bloomx_probe_hash(5::bigint),NULL::public.bloomfilter,-1::bigint,NULL::bigint}'::text[]) template;

RESET ROLE;
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA hostile CASCADE;
DROP OWNED BY regress_bloomx_hostile;
RESET client_min_messages;
DROP ROLE regress_bloomx_hostile;

-- ---- types that somebody gives the names of others ----

-- A filter of a type that is hashed by its own function: an untyped key is read as that type, whatever else has its name.
CREATE EXTENSION citext;
CREATE TABLE h_citext AS SELECT bloom_agg(('User' || i)::citext) AS f FROM generate_series(1, 10) i;
CREATE SCHEMA other;
CREATE TYPE other.citext AS RANGE (subtype = tsvector);
CREATE TYPE pg_temp.citext AS RANGE (subtype = tsquery, multirange_type_name = citexts);
SELECT f @> 'uSER5' AS untyped, f @> 'uSER5'::public.citext AS typed FROM h_citext;
DROP TABLE h_citext;
DROP EXTENSION citext;
DROP TYPE other.citext, pg_temp.citext;

-- The name of a key type does not depend on what hides the type's own name.
CREATE TYPE other.int4range AS ENUM ('a');
CREATE TABLE pg_temp.jsonb (x int);
CREATE TABLE pg_temp.tid (x int);
SET search_path = other, pg_catalog, public;
SELECT k AS key, (bloom_info(f)).key_type FROM (VALUES
	('jsonb', bloom_add(bloom_empty(1), '{"a": 1}'::pg_catalog.jsonb)), ('tid', bloom_add(bloom_empty(1), '(1,1)'::pg_catalog.tid)), ('int4range', bloom_add(bloom_empty(1), '[1,2]'::pg_catalog.int4range)),
	('int4range[]', bloom_add(bloom_empty(1), ARRAY['[1,2]'::pg_catalog.int4range])), ('record(jsonb)', bloom_add(bloom_empty(1), ROW('1'::pg_catalog.jsonb))), ('"char"', bloom_add(bloom_empty(1), 'x'::"char"))) v(k, f)
ORDER BY k COLLATE "C";
SET search_path = public;
DROP TABLE pg_temp.jsonb, pg_temp.tid;
DROP TYPE other.int4range;
DROP SCHEMA other;

-- ---- the extension dropped, created again, and moved, in one session: its objects are looked up again ----

DROP TABLE h_filters;
CREATE FUNCTION selectivity() RETURNS float8 LANGUAGE sql AS
	$$SELECT (planned_and_run('SELECT FROM generate_series(1, 1000) k WHERE k <@ bloom_empty(9)')).planned_rows$$;
SELECT selectivity() AS "an empty filter";
DROP EXTENSION bloomx;
CREATE SCHEMA second_home;
CREATE EXTENSION bloomx SCHEMA second_home;
SET search_path = second_home, public;
SELECT selectivity() AS "created again";
SET search_path = public;
ALTER EXTENSION bloomx SET SCHEMA public;
SELECT selectivity() AS moved;
BEGIN;
DROP EXTENSION bloomx;
ROLLBACK;
SELECT selectivity() AS "dropped, rolled back";
-- An index needs them too.
CREATE TABLE h_index AS SELECT i, bloom_agg(i) AS f FROM generate_series(1, 1000) i GROUP BY i;
CREATE INDEX ON h_index USING bloomx (f);
CREATE INDEX ON h_index USING brin (i int4_bloomx_ops);
SET enable_seqscan = off;
SELECT count(*) FROM h_index WHERE f @> 5 AND i = 5;
EXPLAIN (COSTS OFF) SELECT count(*) FROM h_index WHERE f @> 5;
DROP TABLE h_index;
DROP SCHEMA second_home;
DROP FUNCTION planned_and_run, selectivity;
