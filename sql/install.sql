--
-- The extension itself: what it installs, how its objects are declared, and that it can be relocated.
--

-- It can be installed
CREATE EXTENSION bloomx;
SELECT extname, extversion, extrelocatable, bloomx_version() FROM pg_extension WHERE extname = 'bloomx';

-- Its members
CREATE TEMP VIEW members AS
    SELECT classid, objid FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
        AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomx');

-- Every operator class is complete and valid
SELECT opcname, amname, opcdefault, opcintype::regtype, amvalidate(c.oid)
    FROM members JOIN pg_opclass c ON classid = 'pg_opclass'::regclass AND objid = c.oid
        JOIN pg_am ON pg_am.oid = opcmethod
    ORDER BY amname, opcname COLLATE "C";

-- Every function, aggregate, operator, type, cast and operator class has a comment: no rows
-- (array types and operator families are made by PostgreSQL)
SELECT pg_describe_object(classid, objid, 0)
    FROM members
    WHERE classid <> 'pg_opfamily'::regclass
        AND NOT (classid = 'pg_type'::regclass AND EXISTS (SELECT FROM pg_type WHERE oid = objid AND typcategory IN ('A', 'C')))
        AND obj_description(objid, classid::regclass::name) IS NULL
    ORDER BY 1;

-- So has every column of a view: no rows
SELECT attrelid::regclass, attname
    FROM members JOIN pg_class c ON classid = 'pg_class'::regclass AND objid = c.oid AND relkind = 'v'
        JOIN pg_attribute ON attrelid = c.oid AND attnum > 0
    WHERE col_description(c.oid, attnum) IS NULL;

-- The public functions and their volatility; everything is parallel safe except the functions of the index method
\a
SELECT p.oid::regprocedure AS function, provolatile AS volatile, proisstrict AS strict
    FROM members JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
    WHERE prokind = 'f' AND proname LIKE 'bloom\_%' AND proname !~ 'transfn|finalfn|sel$|support$'
    ORDER BY proname COLLATE "C", pronargs, 1::text COLLATE "C";
\a
SELECT proparallel AS parallel, prokind AS kind, count(*) > 0 AS some
    FROM members JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
    WHERE proname !~ '^bloom(x_(handler|check|index)|set_)'
    GROUP BY 1, 2 ORDER BY 2;

-- Only the planner's estimators, the random seed, the totals of runtime filters and the reading of texts depend on anything besides their arguments
SELECT proname, provolatile AS volatile
    FROM members JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
    WHERE provolatile <> 'i' AND prokind = 'f' AND proname !~ '^bloom(x_(handler|check|index)|set_)'
    ORDER BY proname COLLATE "C";

-- Every aggregate has a state that can be sent (no pseudo-type) and combined
SELECT a.aggfnoid::regprocedure AS aggregate, aggtranstype::regtype AS state, typtype = 'p' AS pseudo,
        aggcombinefn <> 0 AS combines
    FROM members JOIN pg_aggregate a ON classid = 'pg_proc'::regclass AND objid = a.aggfnoid
        JOIN pg_type t ON t.oid = aggtranstype
    ORDER BY aggfnoid::regprocedure::text COLLATE "C";

-- The operators, with commutators and negators
SELECT o.oid::regoperator AS operator, oprcode AS function, oprcom::regoperator AS commutator,
        oprnegate::regoperator AS negator, oprcanhash AS hashes, oprcanmerge AS merges
    FROM members JOIN pg_operator o ON classid = 'pg_operator'::regclass AND objid = o.oid
    ORDER BY oprname COLLATE "C", oprcode::text COLLATE "C";

-- The type is stored out of line, never compressed, aligned for 64-bit words
SELECT typname, typstorage AS storage, typalign AS alignment, typlen, typbyval
    FROM pg_type WHERE oid = 'bloomfilter'::regtype;

-- The casts are explicit, or made in assignments
SELECT castsource::regtype AS source, casttarget::regtype AS target, castcontext AS context
    FROM members JOIN pg_cast c ON classid = 'pg_cast'::regclass AND objid = c.oid
    ORDER BY castsource::regtype::text COLLATE "C";

-- The settings and their defaults
SELECT name, boot_val, unit, vartype, context, min_val, max_val, enumvals
    FROM pg_settings WHERE name LIKE 'bloomx.%' ORDER BY name;

-- A misspelled setting is an error, not a silent placeholder
SET bloomx.overfil = off;

-- It can be dropped, and created in another schema
DROP VIEW members;
DROP EXTENSION bloomx;
CREATE SCHEMA elsewhere;
CREATE EXTENSION bloomx SCHEMA elsewhere;
SELECT 'elsewhere.bloomfilter'::regtype;
SELECT elsewhere.bloom_contains(elsewhere.bloom_add(elsewhere.bloom_empty(10), 1), 1) AS found,
    elsewhere.bloom_agg(x) OPERATOR(elsewhere.@>) 3 AS found_too
    FROM generate_series(1, 10) x;

-- It can be moved to another schema, and stored filters still work
CREATE TABLE moved AS SELECT elsewhere.bloom_agg(x) AS f FROM generate_series(1, 100) x;
ALTER EXTENSION bloomx SET SCHEMA public;
DROP SCHEMA elsewhere;
SELECT count(*) FROM moved, generate_series(1, 100) x WHERE f @> x;

-- It cannot be dropped while a table uses it
\set VERBOSITY terse
DROP EXTENSION bloomx;
\set VERBOSITY default
DROP TABLE moved;

-- It is trusted: a role with CREATE on the database may install and drop it
DROP EXTENSION bloomx;
SELECT current_database() AS database \gset
CREATE ROLE regress_bloomx_user;
GRANT CREATE ON DATABASE :"database" TO regress_bloomx_user;
SET ROLE regress_bloomx_user;
CREATE SCHEMA regress_bloomx_schema;
CREATE EXTENSION bloomx SCHEMA regress_bloomx_schema;
SELECT regress_bloomx_schema.bloom_contains(regress_bloomx_schema.bloom_agg(x), 7) FROM generate_series(1, 10) x;
DROP EXTENSION bloomx;
DROP SCHEMA regress_bloomx_schema;
RESET ROLE;
REVOKE CREATE ON DATABASE :"database" FROM regress_bloomx_user;
DROP ROLE regress_bloomx_user;

-- For the tests that follow
CREATE EXTENSION bloomx;
-- The number of lookups in which index and sequential scan differ, and of those that found nothing.  The query has the probe as $1, and gives an array.
CREATE FUNCTION index_differences(query text, probes text, OUT lookups int, OUT differ int, OUT empty int)
LANGUAGE plpgsql AS $$
DECLARE
    probe int;
    by_index text;
    by_scan text;
BEGIN
    lookups := 0; differ := 0; empty := 0;
    FOR probe IN EXECUTE probes LOOP
        SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = on;
        EXECUTE query INTO by_index USING probe;
        SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = off;
        EXECUTE query INTO by_scan USING probe;
        lookups := lookups + 1;
        differ := differ + (by_index IS DISTINCT FROM by_scan)::int;
        empty := empty + (by_scan = '{}')::int;
    END LOOP;
END $$;
